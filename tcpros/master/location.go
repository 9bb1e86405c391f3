package master

import (
	"context"
	"time"

	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
)

// Location says where a master is. Host is the host in its URI. Listen has the IP addresses that it
// listens on, or the one name or address that the user gave; it is empty if Host has no address of this
// machine. LoopbackDefault says that the master is on loopback because of the machine's name, not by the
// user's choice.
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
