//go:build linux

package recording

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/tcpros/master"
	"github.com/gorosbag/gorosbag/test/load"
)

// stream is what one publisher sends.
type stream struct {
	topic       string
	node        string // that publishes; empty for one with the name of the topic
	size, count int
	period      time.Duration // between messages; zero sends as fast as they are taken
	until       <-chan struct{}
	kind        load.Kind                               // with a Payload of size bytes; the zero Kind sends std_msgs/String
	each        func(l *load.Link, due time.Time) error // told of each message; needs a period
}

// flow is a number of publishers that begin together when each has its subscriber.
// They share one process, but each is a node with one topic.
type flow struct {
	streams []stream
	pubs    []*load.Publisher
	begun   time.Time
	sent    []int // by stream, when send has returned
}

// advertise registers all streams.
func advertise(ctx context.Context, m *master.Master, streams []stream) (*flow, error) {
	f := &flow{streams: streams, sent: make([]int, len(streams))}
	for _, s := range streams {
		p, err := load.AdvertiseKind(ctx, m.Addr().String(), cmp.Or(s.node, s.topic), s.topic, s.kind)
		if err != nil {
			return nil, errors.Join(err, f.close())
		}
		f.pubs = append(f.pubs, p)
	}
	return f, nil
}

// topics returns the names of all streams.
func (f *flow) topics() []string {
	names := make([]string, len(f.streams))
	for i, s := range f.streams {
		names[i] = s.topic
	}
	return names
}

// send returns when the subscribers have read everything.
func (f *flow) send(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(f.streams))
	together := newGate(len(f.streams))
	var wg sync.WaitGroup
	for i, s := range f.streams {
		// owner: send; ends with the stream, or with ctx.
		wg.Go(func() {
			errs[i] = f.pubs[i].Serve(ctx, s.size, func(l *load.Link) error {
				if err := together.pass(ctx); err != nil {
					return err
				}
				// Paced topics of one period are spread over it, as they are on a robot.
				offset := s.period * time.Duration(i) / time.Duration(len(f.streams))
				return f.stream(ctx, l, i, offset)
			})
			if errs[i] != nil {
				errs[i] = fmt.Errorf("%s: %w", s.topic, errs[i])
				cancel()
			}
		})
	}
	wg.Wait()
	f.begun = together.opened
	return errors.Join(errs...)
}

// stream sends stream i.
func (f *flow) stream(ctx context.Context, l *load.Link, i int, offset time.Duration) (err error) {
	s := f.streams[i]
	if s.period == 0 {
		f.sent[i], err = l.Flood(s.count, s.until)
		return err
	}
	select {
	case <-time.After(offset):
	case <-ctx.Done():
		return ctx.Err()
	}
	return l.Pace(ctx, s.count, s.period, func(n int, due time.Time) error {
		f.sent[i] = n
		if s.each != nil {
			return s.each(l, due)
		}
		return nil
	})
}

func (f *flow) close() error {
	var errs []error
	for _, p := range f.pubs {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// gate opens when as many have come as it waits for.
type gate struct {
	mu     sync.Mutex
	left   int
	open   chan struct{}
	opened time.Time
}

func newGate(n int) *gate { return &gate{left: n, open: make(chan struct{})} }

func (g *gate) pass(ctx context.Context) error {
	g.mu.Lock()
	g.left--
	if g.left == 0 {
		g.opened = time.Now()
		close(g.open)
	}
	g.mu.Unlock()
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
