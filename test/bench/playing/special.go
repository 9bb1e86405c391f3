//go:build linux

package playing

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/bench/figures"
	"github.com/gorosbag/gorosbag/test/bench/station"
	"github.com/gorosbag/gorosbag/test/probe"
)

// What the rows ask for that have no ratio to stock.
const (
	unchanged    = 1.25                  // p99 with a stuck subscriber, times that without,
	unchangedBy  = 50 * time.Microsecond // or more by so much
	firstWithin  = time.Second
	playMemory   = 256 << 20
	seekWarm     = 50 * time.Millisecond
	seekCold     = 300 * time.Millisecond
	seekCount    = 20
	seekPlaces   = 4 // of who goes to and fro
	clockMostGap = 30 * time.Millisecond
)

// besideStuck plays to two subscribers of which one never reads, and without that one.
func besideStuck(ctx context.Context, b *station.Bench, t *figures.Table) error {
	p := pace{tape: tape{topics: 10, size: 50_000, count: 1000, period: 10 * time.Millisecond}}
	return p.use(b, func(bag string) error {
		stuck := func(ctx context.Context, s *station.Station) (func(), error) {
			links, err := connect(ctx, s, "/stuck", p.names()...)
			return func() { probe.Close(links) }, err
		}
		var with, without []keeping
		for range b.Rounds {
			k, err := p.keep(ctx, b, b.Goplay, bag, stuck)
			if err != nil {
				return err
			}
			with = append(with, k)
			if k, err = p.keep(ctx, b, b.Goplay, bag, nil); err != nil {
				return err
			}
			without = append(without, k)
		}
		wrong := figures.Most(with, func(k keeping) int { return k.Missed + k.Disordered })
		t.Target(wrong == 0, "the other gets all, in order", "%d of %d missing or late", wrong, p.topics*p.count)
		r := figures.Ratio(with, without, quantile(p99))
		more := figures.Micro(figures.Median(with, quantile(p99)) - figures.Median(without, quantile(p99)))
		t.Target(r <= unchanged || more <= unchangedBy, "p99 of the other unchanged", "%.2f (%v beside %v)", r,
			figures.Micro(figures.Median(with, quantile(p99))), figures.Micro(figures.Median(without, quantile(p99))))
		return nil
	})
}

// opening is how a player began.
type opening struct {
	station.Usage
	first time.Duration // from the start of the process
}

// manyChunks starts to play a bag of so many chunks, and plays all of it.
func manyChunks(ctx context.Context, b *station.Bench, t *figures.Table) error {
	bag := tape{topics: 10, size: 100, count: 10_000, period: 10 * time.Millisecond, chunkBytes: 1}
	return bag.use(b, func(path string) error {
		var ours, stock []opening
		for range b.Rounds {
			o, err := bag.open(ctx, b, b.Goplay, path)
			if err != nil {
				return err
			}
			ours = append(ours, o)
			if b.Rosplay != "" {
				if o, err = bag.open(ctx, b, b.Rosplay, path); err != nil {
					return err
				}
				stock = append(stock, o)
			}
		}
		seconds := func(o opening) float64 { return o.first.Seconds() }
		first := time.Duration(figures.Median(ours, seconds) * float64(time.Second))
		others := ""
		if len(stock) > 0 {
			others = fmt.Sprintf(" (stock %.0f ms, %d MiB)", 1e3*figures.Median(stock, seconds), figures.Most(stock, func(o opening) int64 { return o.Memory })>>20)
		}
		t.Target(first <= firstWithin, fmt.Sprintf("first message within %v", firstWithin), "%v%s", first.Round(time.Millisecond), others)
		peak := figures.Most(ours, func(o opening) int64 { return o.Memory })
		t.Target(peak <= playMemory, fmt.Sprintf("memory <= %d MiB", playMemory>>20), "%d MiB", peak>>20)
		return nil
	})
}

// open plays a bag and notes when the first message comes.
func (t tape) open(ctx context.Context, b *station.Bench, program, bag string) (o opening, err error) {
	started := probe.Now()
	o.Usage, err = play(ctx, b, program, []string{"--immediate", "--quiet", "--delay=0", "--wait-for-subscribers", bag}, func(ctx context.Context, s *station.Station) error {
		links, err := connect(ctx, s, "/probe", t.names()...)
		if err != nil {
			return err
		}
		defer probe.Close(links)
		all, err := stamp(links, t.size, t.topics*t.count)
		if err != nil || len(all) == 0 {
			return errors.Join(err, errors.New("no message has come")) // of stock a part may be lost
		}
		o.first = all[0].At - started
		return nil
	})
	return o, err
}

// seeking is a way to jump about in a bag.
type seeking struct {
	name   string
	cold   bool // nothing of the bag is in memory
	again  bool // to where play was before
	target time.Duration
}

// seeks jumps back and forth in a bag.
func seeks(ctx context.Context, b *station.Bench, t *figures.Table) error {
	bag := tape{topics: 20, size: 5000, count: 6000, period: 10 * time.Millisecond, compression: rosbag.CompressionLZ4}
	return bag.seeks(ctx, b, t, seeking{name: "warm", target: seekWarm}, seeking{name: "cold", cold: true, target: seekCold})
}

// seeksSlow does so in one that takes long to unpack.
func seeksSlow(ctx context.Context, b *station.Bench, t *figures.Table) error {
	bag := tape{topics: 20, size: 1000, count: 6000, period: 10 * time.Millisecond, compression: rosbag.CompressionBZ2}
	return bag.seeks(ctx, b, t, seeking{name: "again", again: true, target: seekWarm}, seeking{name: "cold", cold: true, target: seekCold})
}

func (t tape) seeks(ctx context.Context, b *station.Bench, tab *figures.Table, kinds ...seeking) error {
	return t.use(b, func(path string) error {
		for _, kind := range kinds {
			all, err := t.seek(ctx, b, path, kind)
			if err != nil {
				return err
			}
			slices.Sort(all)
			worst := all[len(all)-1]
			tab.Target(worst <= kind.target, fmt.Sprintf("%s within %v", kind.name, kind.target), "%v at most of %d, median %v",
				worst.Round(100*time.Microsecond), len(all), all[len(all)/2].Round(100*time.Microsecond))
		}
		return nil
	})
}

// seek plays in this process, and returns how long after each order the first message
// from there came.
func (t tape) seek(ctx context.Context, b *station.Bench, path string, kind seeking) (all []time.Duration, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2)) // as goplay does
	ctx, cancel := context.WithTimeout(ctx, playPatience)
	defer cancel()
	s, err := b.Station(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Remove()) }()
	node, err := tcpros.NewNode(ctx, tcpros.NodeOptions{BaseName: "play", MasterURI: s.Master.URI(), Getenv: func(string) string { return "" }})
	if err != nil {
		return nil, err
	}
	defer node.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the master ends, too
	recording, err := bags.Open(ctx, path, bags.Options{})
	if err != nil {
		return nil, err
	}
	defer recording.Close() //nolint:errcheck // read only
	bag, err := player.NewBag(ctx, path, recording.Source)
	if err != nil {
		return nil, err
	}
	running, played := make(chan control.Control, 1), make(chan error, 1)
	playing, stop := context.WithCancel(ctx)
	defer func() { stop(); err = errors.Join(err, <-played) }()
	// owner: seek; ends with playing.
	go func() {
		_, err := player.Run(playing, player.Options{
			Node: node, Bags: []*player.Bag{bag}, WaitForSubscribers: true, Queue: 100,
			OnStart: func(c control.Control) { running <- c },
		})
		played <- err
	}()
	links, err := connect(ctx, s, "/probe", t.names()...)
	if err != nil {
		return nil, err
	}
	defer probe.Close(links)
	for _, l := range links[1:] {
		// owner: seek; ends when the player has.
		go l.Discard()
	}
	return t.jump(links[0], <-running, path, kind)
}

// jump goes to and fro.
func (t tape) jump(l *probe.Link, c control.Control, path string, kind seeking) (all []time.Duration, err error) {
	end := t.period * time.Duration(t.count)
	if _, err := l.Next(t.size); err != nil { // play has begun: nobody is waited for any more
		return nil, err
	}
	for i := range seekCount {
		n := i
		if kind.again {
			n %= seekPlaces
		}
		to := (end/4 + end/2*time.Duration(n%2) + end/100*time.Duration(n)).Truncate(t.period)
		if kind.cold {
			if err := forget(path); err != nil {
				return nil, err
			}
		}
		given := probe.Now()
		c.Seek(to)
		for {
			a, err := l.Next(t.size)
			if err != nil {
				return nil, err
			}
			if d := a.Due - to; d >= 0 && d < end/10 {
				if !kind.again || i >= seekPlaces {
					all = append(all, a.At-given)
				}
				break
			}
		}
	}
	return all, nil
}

// forget takes a file out of the page cache.
func forget(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // read only
	return errors.Join(unix.Fdatasync(int(f.Fd())), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
}

// clockGaps plays 300 MB/s and looks for gaps in the clock.
func clockGaps(ctx context.Context, b *station.Bench, t *figures.Table) error {
	bag := tape{topics: 1, size: 1_000_000, count: 1500, period: time.Second / 300}
	return bag.use(b, func(path string) error {
		var worst time.Duration
		for range b.Rounds {
			gap, err := bag.clockGap(ctx, b, path)
			if err != nil {
				return err
			}
			worst = max(worst, gap)
		}
		t.Target(worst <= clockMostGap, fmt.Sprintf("no gap over %v", clockMostGap), "%v at most", worst.Round(100*time.Microsecond))
		return nil
	})
}

func (t tape) clockGap(ctx context.Context, b *station.Bench, path string) (worst time.Duration, err error) {
	_, err = play(ctx, b, b.Goplay, []string{"--quiet", "--clock", "--wait-for-subscribers", path}, func(ctx context.Context, s *station.Station) error {
		clock, err := connect(ctx, s, "/probe", "/clock")
		if err != nil {
			return err
		}
		defer probe.Close(clock)
		links, err := connect(ctx, s, "/probe", t.names()...)
		if err != nil {
			return err
		}
		defer probe.Close(links)
		counted := make(chan error, 1)
		// owner: clockGap; ends when the player has.
		go func() {
			c, err := links[0].Count()
			if err == nil && c.Messages != t.count {
				err = fmt.Errorf("%d of %d messages have come", c.Messages, t.count)
			}
			counted <- err
		}()
		all, err := stamp(clock, 8, 1<<20)
		for i := 1; i < len(all); i++ {
			worst = max(worst, all[i].At-all[i-1].At)
		}
		return errors.Join(err, <-counted)
	})
	return worst, err
}
