//go:build linux

package recording

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorosbag/gorosbag/test/bench/child"
	"github.com/gorosbag/gorosbag/test/bench/figures"
	"github.com/gorosbag/gorosbag/test/bench/station"
	"github.com/gorosbag/gorosbag/test/viewer"
)

// watchedMost is how many times the processor time of a recording may be while somebody
// looks at its page and its metrics are asked for each second.
const watchedMost = 1.05

// watched records the load without and with somebody who watches, in turn. A recorder
// that runs for as long as messages are sent uses the same time in both, but for noise.
func watched(ctx context.Context, b *station.Bench, t *figures.Table) error {
	s := scenario{topics: 40, size: 12_500, count: 1500, period: 10 * time.Millisecond} // 50 MB/s
	var page *watcher
	alone, seen, err := inTurn(ctx, b, s, func(w *watcher) func() error {
		page = w
		return w.start(ctx)
	})
	if err != nil {
		return err
	}
	t.Target(figures.Most(seen, result.lost) == 0, "0 lost", "%d of %d", figures.Most(seen, result.lost), seen[0].sent)
	share := figures.Ratio(seen, alone, func(r result) float64 { return r.CPU.Seconds() })
	cpu := func(r result) float64 { return r.CPU.Seconds() }
	t.Target(share <= watchedMost, fmt.Sprintf("processor time <= %.2f of unwatched", watchedMost), "%.3f (%.2f beside %.2f s)", share, figures.Median(seen, cpu), figures.Median(alone, cpu))
	t.Note("%d events and %d scrapes in a recording of %v", page.events, page.scrapes, seen[0].took.Round(time.Second))
	return nil
}

// inTurn records a load without and with somebody who watches, in turn. start makes the watcher of a round begin, and
// returns what ends it.
func inTurn(ctx context.Context, b *station.Bench, s scenario, start func(*watcher) (end func() error)) (alone, seen []result, err error) {
	for range b.Rounds {
		r, err := record(ctx, b, s, b.Gorecord, "--overflow=block")
		if err != nil {
			return nil, nil, err
		}
		alone = append(alone, r)
		w, err := newWatcher()
		if err != nil {
			return nil, nil, err
		}
		end := start(w)
		r, err = record(ctx, b, s, b.Gorecord, "--overflow=block", "--http="+w.address)
		if err := errors.Join(err, end()); err != nil {
			return nil, nil, err
		}
		seen = append(seen, r)
	}
	return alone, seen, nil
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
	for _, path := range []string{"/", "/static/style.css", "/static/gorecord.js", "/static/common.js", "/api/v1/bags"} {
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

// unviewedLeast is the least share of the messages a second that is recorded when viewers could come
// and none does.
const unviewedLeast = 0.99

// unviewedPairs is the number of recordings with and without the door for viewers: the rates of single
// ones differ by a quarter, so that the best of a few says nothing.
const unviewedPairs = 8

// slowRate is how fast the slow viewer reads, in bytes a second.
const slowRate = 1000

// viewed records 100 MB/s for no, one and eight viewers, and for a slow viewer beside a fast one, in
// turn. Then it records as fast as possible, with and without the door for viewers.
func viewed(ctx context.Context, b *station.Bench, t *figures.Table) error {
	s := scenario{topics: 4, size: 250_000, count: 500, period: 10 * time.Millisecond} // 100 MB/s
	flood := scenario{topics: 1, size: 100, count: 10_000_000}
	var alone, one, eight, beside []viewedResult
	var closed, open []result
	var sent []time.Duration // processor time of a plain copy to a socket
	for range b.Rounds {
		for _, group := range []struct {
			results    *[]viewedResult
			fast, slow int
		}{{&alone, 0, 0}, {&one, 1, 0}, {&eight, 8, 0}, {&beside, 1, 1}} {
			r, err := recordViewed(ctx, b, s, group.fast, group.slow)
			if err != nil {
				return err
			}
			*group.results = append(*group.results, r)
		}
		cpu, err := plainSend(ctx, int64(s.topics*s.count), s.size)
		if err != nil {
			return err
		}
		sent = append(sent, cpu)
	}
	for range unviewedPairs {
		r, err := record(ctx, b, flood, b.Gorecord, "--overflow=block")
		if err != nil {
			return err
		}
		closed = append(closed, r)
		if r, err = record(ctx, b, flood, b.Gorecord, "--overflow=block", "--http=127.0.0.1:0"); err != nil {
			return err
		}
		open = append(open, r)
	}
	for _, group := range []struct {
		what string
		all  []viewedResult
	}{{"1 viewer", one}, {"8 viewers", eight}, {"a slow viewer", beside}} {
		lost := figures.Most(group.all, viewedResult.lost)
		t.Target(lost == 0, "0 lost with "+group.what, "%d of %d", lost, group.all[0].sent)
	}
	perGB := func(all []viewedResult) float64 {
		return figures.Median(all, func(r viewedResult) float64 {
			return (r.CPU.Seconds() - figures.Median(alone, func(a viewedResult) float64 { return a.CPU.Seconds() })) / float64(r.viewed) * 1e9
		})
	}
	plain := figures.Median(sent, time.Duration.Seconds) / (float64(s.topics*s.count*s.size) / 1e9)
	t.Note("a viewer costs %.2f s/GB, each of eight %.2f s/GB, beside %.2f s/GB of a plain copy to a socket", perGB(one), perGB(eight), plain)
	share := func(all []viewedResult, viewers int) float64 {
		return 100 * figures.Median(all, func(r viewedResult) float64 { return float64(r.viewed) / float64(viewers) / float64(r.sent*s.size) })
	}
	t.Note("a viewer sees %.0f %% of 100 MB/s, each of eight %.0f %%, one beside a viewer of %d B/s %.0f %%", share(one, 1), share(eight, 8), slowRate, share(beside, 1))
	t.Note("memory %d MiB without, %d MiB with eight viewers", figures.Most(alone, viewedResult.peak)>>20, figures.Most(eight, viewedResult.peak)>>20)
	best, bestClosed := figures.Most(open, result.rate), figures.Most(closed, result.rate)
	t.Target(best >= unviewedLeast*bestClosed, fmt.Sprintf(">= %.2f of the rate without --http, nobody connected", unviewedLeast), "%.3f (%s beside %s)", best/bestClosed, figures.Speed(best, flood.size), figures.Speed(bestClosed, flood.size))
	return nil
}

// viewedResult is what a recorder made of a load that was viewed.
type viewedResult struct {
	result
	viewed int64 // bytes of messages that all fast viewers got
}

// recordViewed measures one recorder with viewers.
func recordViewed(ctx context.Context, b *station.Bench, s scenario, fast, slow int) (viewedResult, error) {
	w, err := newWatcher()
	if err != nil {
		return viewedResult{}, err
	}
	viewing, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	var bytes atomic.Int64
	for i := range fast + slow {
		// owner: recordViewed; ends when the recorder has, or with ctx.
		wg.Go(func() {
			if i < fast {
				viewer.Count(viewing, w.address, viewer.Options{}, &bytes)
			} else {
				viewer.Count(viewing, w.address, viewer.Options{ReadBuffer: 16 << 10, Wrap: viewer.Slowly(slowRate)}, &atomic.Int64{})
			}
		})
	}
	r, err := record(ctx, b, s, b.Gorecord, "--overflow=block", "--http="+w.address)
	cancel()
	wg.Wait()
	if err == nil && fast > 0 && bytes.Load() == 0 {
		err = errors.New("nobody has viewed anything")
	}
	return viewedResult{r, bytes.Load()}, err
}

// plainSend returns the processor time of a process that writes messages to a socket.
func plainSend(ctx context.Context, messages int64, size int) (time.Duration, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed below
	if err != nil {
		return 0, err
	}
	defer l.Close() //nolint:errcheck // only accepted from
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, self, child.FeedCommand, l.Addr().String(), strconv.FormatInt(messages, 10), strconv.Itoa(size))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	c, err := l.Accept()
	if err == nil {
		_, err = io.Copy(io.Discard, struct{ io.Reader }{c})
		err = errors.Join(err, c.Close())
	}
	err = errors.Join(err, cmd.Wait())
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err
}
