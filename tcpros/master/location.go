package master

import (
	"context"
	"time"

	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
)

// Location is where a master serves: the host in its URI, and the addresses to listen on.
type Location = endpoint.Serving

// lookupTimeout bounds the one name lookup of Locate.
const lookupTimeout = 3 * time.Second

// Locate determines where a master serves on this machine: on the address listen, if it is not
// empty, otherwise on the addresses of the host that a and the environment advertise, and on
// loopback.
func Locate(ctx context.Context, listen string, a tcpros.Args, getenv func(string) string) Location {
	l := endpoint.NewLocator(endpoint.NewDialer(nil, lookupTimeout), getenv)
	return l.ForMaster(ctx, listen, a, getenv("ROS_IPV6") == "on")
}
