package master

import (
	"context"
	"time"

	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
)

// Location is the host in the URI of a master, and the addresses that the master listens on.
type Location = endpoint.Serving

// lookupTimeout bounds the one name lookup of Locate.
const lookupTimeout = 3 * time.Second

// Locate determines the location of a master on this machine. If listen is empty, the master
// listens on the addresses of the host that a and the environment advertise, and on loopback;
// otherwise on the address listen.
func Locate(ctx context.Context, listen string, a tcpros.Args, getenv func(string) string) Location {
	l := endpoint.NewLocator(endpoint.NewDialer(nil, lookupTimeout), getenv)
	return l.ForMaster(ctx, listen, a, getenv("ROS_IPV6") == "on")
}
