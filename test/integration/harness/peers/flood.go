package peers

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/load"
)

// Flood is a lossless publisher inside the test that sends one message after the
// other to one subscriber.
type Flood struct {
	G    *harness.Graph
	Pub  *load.Publisher
	Sent atomic.Int64
	Done chan error
}

// NewFlood starts to publish count messages of 1 kB, about 100 a second, as soon as
// there is a subscriber.
func NewFlood(g *harness.Graph, topic string, count int) *Flood {
	g.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*harness.Timeout)
	pub, err := load.Advertise(ctx, "127.0.0.1:"+g.Port, "/flood"+topic, topic)
	if err != nil {
		cancel()
		g.T.Fatal(err)
	}
	f := &Flood{G: g, Pub: pub, Done: make(chan error, 1)}
	go func() {
		f.Done <- pub.Pace(ctx, 1000, count, 10*time.Millisecond, func(n int) { f.Sent.Store(int64(n)) })
	}()
	g.T.Cleanup(func() {
		cancel()
		pub.Close() // the master may be gone
	})
	return f
}

// WaitSent waits until that many messages are sent.
func (f *Flood) WaitSent(n int64) {
	f.G.T.Helper()
	f.G.Eventually("messages flow", func() bool { return f.Sent.Load() >= n })
}

// WaitDone waits until all messages are sent.
func (f *Flood) WaitDone() {
	f.G.T.Helper()
	if err := <-f.Done; err != nil {
		f.G.T.Fatal(err)
	}
}

// Offer advertises a topic of the load until the test ends.
func Offer(ctx context.Context, g *harness.Graph, topic string) *load.Publisher {
	g.T.Helper()
	pub, err := load.Advertise(ctx, "127.0.0.1:"+g.Port, "/load"+topic, topic)
	if err != nil {
		g.T.Fatal(err)
	}
	g.T.Cleanup(func() { pub.Close() })
	return pub
}
