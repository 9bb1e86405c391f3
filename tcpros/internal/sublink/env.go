package sublink

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// Env is the node as its links see it. No field changes while the node lives.
type Env struct {
	CallerID string // the node's name
	Host     string // advertised
	Bind     string // address to listen on for UDPROS; empty means all
	Log      *zap.Logger
	Master   *rosapi.Master
	Dialer   *endpoint.Dialer
	Pending  *wire.Pending
	Timing   Timing
	Links    *endpoint.Links // of the whole process

	KeepAlive func() bool                                  // whether connections are probed now
	NextLink  func() int                                   // the number of a new link
	Child     func() (context.Context, context.CancelFunc) // a context that ends with the node
}

// probe connects to the slave API at hostport and makes no call.
func (e *Env) probe(ctx context.Context, hostport string) error {
	return e.Master.Probe(ctx, hostport)
}

// Timing has the intervals of links.
type Timing struct {
	Retry       RetryTiming
	LingerCheck time.Duration // between checks of links that the master no longer lists
	UDPIdle     time.Duration // time after which an idle UDPROS publisher is asked for its links
}

// RetryTiming has the waits between attempts to reach a publisher.
type RetryTiming struct {
	First   time.Duration
	Most    time.Duration
	Silent  time.Duration // maximum while not even the publisher's machine answers
	Healthy time.Duration // after a link that was up this long, the next wait is First
}

// DefaultTiming returns the intervals of every node outside tests.
func DefaultTiming() Timing {
	return Timing{
		Retry: RetryTiming{
			First:   100 * time.Millisecond,
			Most:    20 * time.Second,
			Silent:  time.Second,
			Healthy: 10 * time.Second,
		},
		LingerCheck: time.Second,
		UDPIdle:     5 * time.Second,
	}
}
