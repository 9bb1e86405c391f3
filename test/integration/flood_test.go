package integration_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/gorosbag/gorosbag/test/load"
)

// flood is a lossless publisher inside the test that sends one message after the
// other to one subscriber.
type flood struct {
	g    *graph
	pub  *load.Publisher
	sent atomic.Int64
	done chan error
}

// flood starts to publish count messages of 1 kB, about 100 a second, as soon as
// there is a subscriber.
func (g *graph) flood(topic string, count int) *flood {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	pub, err := load.Advertise(ctx, "127.0.0.1:"+g.port, "/flood"+topic, topic)
	if err != nil {
		cancel()
		g.t.Fatal(err)
	}
	f := &flood{g: g, pub: pub, done: make(chan error, 1)}
	go func() {
		f.done <- pub.Pace(ctx, 1000, count, 10*time.Millisecond, func(n int) { f.sent.Store(int64(n)) })
	}()
	g.t.Cleanup(func() {
		cancel()
		pub.Close() // the master may be gone
	})
	return f
}

func (f *flood) waitSent(n int64) {
	f.g.t.Helper()
	f.g.eventually("messages flow", func() bool { return f.sent.Load() >= n })
}

func (f *flood) waitDone() {
	f.g.t.Helper()
	if err := <-f.done; err != nil {
		f.g.t.Fatal(err)
	}
}

func statIn(g *graph, name string) (int64, error) {
	st, err := os.Stat(filepath.Join(g.dir, name))
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

// offer advertises a topic of the load until the test ends.
func (g *graph) offer(ctx context.Context, topic string) *load.Publisher {
	g.t.Helper()
	pub, err := load.Advertise(ctx, "127.0.0.1:"+g.port, "/load"+topic, topic)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { pub.Close() })
	return pub
}
