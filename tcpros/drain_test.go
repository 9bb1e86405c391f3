package tcpros_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/tcpros"
)

// A slow reader gets everything before the node leaves.
func TestDrainWaitsForSlowReader(t *testing.T) {
	n, p, address := publisherWith(t, calm, 0)
	c, _ := dial(t, address, subscriberHeader("/slow", "/t"))
	waitFor(t, "the link", func() bool { return p.Subscribers() == 1 })
	src := p.Source(false)
	const frames = 200
	for i := range frames {
		src.Publish(frame(fmt.Sprint(i, strings.Repeat("x", 50_000))))
	}
	got := make(chan int)
	go func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		b := make([]byte, 50_000)
		total := 0
		for {
			m, err := c.Read(b)
			total += m
			if err != nil {
				_ = c.Close()
				got <- total
				return
			}
			<-tick.C
		}
	}()
	if err := n.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	want := 0
	for i := range frames {
		want += len(frame(fmt.Sprint(i))) + 50_000
	}
	if total := <-got; total != want {
		t.Errorf("%d bytes of %d", total, want)
	}
	src.Publish(frame("too late"))
	if p.Dropped() != 1 {
		t.Errorf("%d dropped", p.Dropped())
	}
	if _, err := n.Advertise(tcpros.AdvertiseOptions{Topic: "/x", Type: stringType, MD5Sum: stringMD5}); !errors.Is(err, tcpros.ErrClosed) {
		t.Errorf("Advertise while draining: %v", err)
	}
	late, err := (&net.Dialer{}).DialContext(t.Context(), "tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	_, _ = late.Write(tcpros.AppendHeader(nil, subscriberHeader("/late", "/t")))
	if b, _ := io.ReadAll(late); len(b) != 0 {
		t.Errorf("a new subscriber got %q", b)
	}
}

// A transient topic neither delays Drain nor ends with Drain.
func TestDrainLeavesTransientTopics(t *testing.T) {
	n, played, address := publisher(t, 0)
	p, err := n.Advertise(tcpros.AdvertiseOptions{Topic: "/status", Type: stringType, MD5Sum: stringMD5, Transient: true})
	if err != nil {
		t.Fatal(err)
	}
	c, _ := dial(t, address, subscriberHeader("/idle", "/status"))
	waitFor(t, "the link", func() bool { return p.Subscribers() == 1 })
	other, _ := dial(t, address, subscriberHeader("/reader", "/t")) // of a topic after the other
	waitFor(t, "the other link", func() bool { return played.Subscribers() == 1 })
	var read sync.WaitGroup
	read.Go(func() {
		_, _ = io.Copy(io.Discard, other)
		_ = other.Close()
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // Drain would give up after 5 s
	defer cancel()
	if err := n.Drain(ctx); err != nil {
		t.Error(err)
	}
	read.Wait() // until Drain ends the topic that is not transient
	want := frame("still here")
	p.Source(false).Publish(want)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != string(want) {
		t.Errorf("after Drain: %q, %v", got, err)
	}
}

func TestDrainGivesUp(t *testing.T) {
	tests := map[string]struct {
		budget time.Duration
		leaves bool // the reader leaves when Drain has begun, with most of its data unread
		want   string
		least  time.Duration
		drain  time.Duration
	}{
		"takes nothing": {time.Hour, false, "takes nothing", 300 * time.Millisecond, 300 * time.Millisecond},
		"no time":       {300 * time.Millisecond, false, "no time left", 200 * time.Millisecond, never},
		"leaves early":  {time.Hour, true, "left early", 0, never},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, p, address := publisherWith(t, tcpros.Timing{Drain: tt.drain}, 0)
			c, _ := dial(t, address, subscriberHeader("/s", "/t"))
			waitFor(t, "the link", func() bool { return p.Subscribers() == 1 })
			src := p.Source(false)
			for range 300 {
				src.Publish(frame(strings.Repeat("x", 100_000)))
			}
			var left sync.WaitGroup
			defer left.Wait()
			if tt.leaves {
				left.Go(func() {
					waitFor(t, "the begin of Drain", func() bool {
						src.Publish(frame("late"))
						return p.Dropped() > 0
					})
					_ = c.Close()
				})
			}
			start := time.Now() // before the budget begins
			ctx, cancel := context.WithTimeout(t.Context(), tt.budget)
			defer cancel()
			err := n.Drain(ctx)
			if took := time.Since(start); took < tt.least || took > patience {
				t.Errorf("took %v", took)
			}
			d := (*tcpros.DrainError)(nil)
			if !errors.As(err, &d) || !errors.Is(err, tcpros.ErrNotDrained) {
				t.Fatalf("got %v", err)
			}
			if len(d.Subscribers) != 1 || d.Subscribers[0].CallerID != "/s" || d.Subscribers[0].Topic != "/t" || d.Subscribers[0].Reason != tt.want {
				t.Errorf("got %+v", d.Subscribers)
			}
			if tt.want == "no time left" && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	}
}
