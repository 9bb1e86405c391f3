//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/test/bench/figures"
)

// watchedMost is how many times the processor time of a recording may be while somebody
// looks at its page and its metrics are asked for each second.
const watchedMost = 1.05

// watched records the load without and with somebody who watches, in turn. A recorder
// that runs for as long as messages are sent uses the same time in both, but for noise.
func watched(ctx context.Context, b *bench, t *figures.Table) error {
	s := scenario{topics: 40, size: 12_500, count: 1500, period: 10 * time.Millisecond} // 50 MB/s
	var alone, seen []result
	var events, scrapes int
	for range b.rounds {
		r, err := b.record(ctx, s, b.gorecord, "--overflow=block")
		if err != nil {
			return err
		}
		alone = append(alone, r)
		w, err := newWatcher()
		if err != nil {
			return err
		}
		end := w.start(ctx)
		r, err = b.record(ctx, s, b.gorecord, "--overflow=block", "--http="+w.address)
		if err := errors.Join(err, end()); err != nil {
			return err
		}
		seen = append(seen, r)
		events, scrapes = w.events, w.scrapes
	}
	t.Target(figures.Most(seen, result.lost) == 0, "0 lost", "%d of %d", figures.Most(seen, result.lost), seen[0].sent)
	share := figures.Ratio(seen, alone, func(r result) float64 { return r.cpu.Seconds() })
	cpu := func(r result) float64 { return r.cpu.Seconds() }
	t.Target(share <= watchedMost, fmt.Sprintf("processor time <= %.2f of unwatched", watchedMost), "%.3f (%.2f beside %.2f s)", share, figures.Median(seen, cpu), figures.Median(alone, cpu))
	t.Note("%d events and %d scrapes in a recording of %v", events, scrapes, seen[0].took.Round(time.Second))
	return nil
}

// watcher does what an open page does, and Prometheus.
type watcher struct {
	address         string
	events, scrapes int
}

func newWatcher() (*watcher, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed at once
	if err != nil {
		return nil, err
	}
	return &watcher{address: l.Addr().String()}, l.Close()
}

// start watches until end is called. A recorder that is not there yet, or not any more, is
// no error; one that nobody could watch is.
func (w *watcher) start(ctx context.Context) (end func() error) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	// owner: end; both end with ctx.
	wg.Go(func() { w.again(ctx, 100*time.Millisecond, func() { w.follow(ctx) }) })
	wg.Go(func() { w.again(ctx, time.Second, func() { w.scrape(ctx) }) })
	return func() error {
		cancel()
		wg.Wait()
		if w.events == 0 || w.scrapes == 0 {
			return fmt.Errorf("%d events and %d scrapes: nobody has watched", w.events, w.scrapes)
		}
		return nil
	}
}

func (*watcher) again(ctx context.Context, every time.Duration, do func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			do()
		case <-ctx.Done():
			return
		}
	}
}

// get asks for a path; nil if nobody answers.
func (w *watcher) get(ctx context.Context, path string) io.ReadCloser {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.address+path, http.NoBody)
	if err != nil {
		return nil
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil
	}
	return resp.Body
}

// follow reads events to their end. Each is in one write.
func (w *watcher) follow(ctx context.Context) {
	for _, path := range []string{"/", "/static/style.css", "/static/record.js", "/static/common.js", "/api/v1/bags"} {
		w.drain(w.get(ctx, path))
	}
	events := w.get(ctx, "/api/v1/events")
	if events == nil {
		return
	}
	defer events.Close() //nolint:errcheck // only read from
	buf := make([]byte, 64<<10)
	for {
		n, err := events.Read(buf)
		if n > 0 {
			w.events++
		}
		if err != nil {
			return
		}
	}
}

func (w *watcher) scrape(ctx context.Context) {
	if w.drain(w.get(ctx, "/metrics")) > 0 {
		w.scrapes++
	}
}

// drain reads to the end.
func (*watcher) drain(body io.ReadCloser) int64 {
	if body == nil {
		return 0
	}
	defer body.Close()                //nolint:errcheck // only read from
	n, _ := io.Copy(io.Discard, body) // the recorder may end meanwhile
	return n
}
