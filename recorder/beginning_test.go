package recorder

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// TestBagBeginsWithItsFirstChunk: rosbag takes the time at which a bag begins from its first chunk, so that chunk has the
// earliest message, whatever arrives: a large message takes a chunk of its own, which may be written before the open
// chunk with earlier messages, and a link that waits for the lock has read the clock before others.
func TestBagBeginsWithItsFirstChunk(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for name, tt := range map[string]struct {
		o       Options
		arrives func(t *testing.T, p *pipeline, small, large, latched tcpros.LinkSink)
		files   int
	}{
		"a large message after small ones": {Options{}, func(_ *testing.T, _ *pipeline, small, large, _ tcpros.LinkSink) {
			arrive(small, start, 10)
			arrive(large, start.Add(65*time.Millisecond), 200_000)
			arrive(small, start.Add(70*time.Millisecond), 10)
			arrive(large, start.Add(80*time.Millisecond), 200_000)
		}, 1},
		"a large message first": {Options{}, func(_ *testing.T, _ *pipeline, small, large, _ tcpros.LinkSink) {
			arrive(large, start, 200_000)
			arrive(small, start.Add(time.Millisecond), 10)
		}, 1},
		"a large message that read the clock first": {Options{}, func(_ *testing.T, _ *pipeline, small, large, _ tcpros.LinkSink) {
			arrive(small, start.Add(time.Millisecond), 10)
			arrive(large, start, 200_000)
		}, 1},
		"a small message that read the clock first": {Options{}, func(_ *testing.T, _ *pipeline, small, large, _ tcpros.LinkSink) {
			arrive(large, start.Add(time.Millisecond), 200_000)
			arrive(small, start, 10)
		}, 1},
		"a second large one that read the clock first": {Options{}, func(_ *testing.T, _ *pipeline, _, large, _ tcpros.LinkSink) {
			arrive(large, start.Add(time.Millisecond), 200_000)
			arrive(large, start, 200_000)
		}, 1},
		"each file of a split recording": {Options{Split: true}, func(t *testing.T, p *pipeline, small, large, latched tcpros.LinkSink) {
			t.Helper()
			arrive(latched, start, 10)
			for range 3 {
				arrive(small, time.Now(), 10)
				arrive(large, time.Now(), 200_000)
				early := time.Now()
				if _, err := p.RequestSplit(time.Now()); err != nil {
					t.Error(err)
				}
				arrive(small, early, 10)
				arrive(large, early, 200_000)
			}
		}, 4},
		"a mark that is dated back": {Options{}, func(t *testing.T, p *pipeline, _, large, _ tcpros.LinkSink) {
			t.Helper()
			arrive(large, time.Now(), 200_000)
			if _, err := p.own.Mark("early", start); err != nil {
				t.Error(err)
			}
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := testPipeline(t, tt.o, nil)
			tt.arrives(t, p, open(t, p, "/small", "/p"), open(t, p, "/large", "/q"), latching(t, p, "/latched", "/r"))
			if err := p.close(); err != nil {
				t.Fatal(err)
			}
			bags := p.sink.Bags.Finished.Account().Files
			if len(bags) != tt.files {
				t.Fatalf("%d files, want %d", len(bags), tt.files)
			}
			for i, f := range bags {
				r := readBag(t, f.File)
				if first, all := r.Span(0).Start, r.Info().Start; first != all {
					t.Errorf("file %d: its first chunk begins at %v, and the bag %v before", i, first, first.Sub(all))
				}
			}
		})
	}
}

// arrive lets a message of n bytes arrive at a time.
func arrive(l tcpros.LinkSink, at time.Time, n int) {
	tcpros.Deliver(l, testlink.Frame(1, 1, n), at)
}

// TestSnapshotBesideLargeMessages: a snapshot begins with the pre-roll and no sooner, although the open chunk, which may
// begin a second before the window, comes after chunks of large messages. Its first chunk has its earliest message.
func TestSnapshotBesideLargeMessages(t *testing.T) {
	t.Parallel()
	const preRoll = 3 * time.Second
	for _, size := range []int{200_000, 3 << 20} {
		for _, late := range []int{0, 150, 420, 770, 990} { // milliseconds after a second of the recording
			t.Run(fmt.Sprintf("%d/%d", size, late), func(t *testing.T) {
				t.Parallel()
				p := ringPipeline(t, Options{Snapshot: Snapshot{PreRoll: preRoll, Bytes: 150 << 20}})
				small, large := open(t, p, "/small", "/p"), open(t, p, "/large", "/q")
				start := time.Now()
				trigger := start.Add(5*time.Second + time.Duration(late)*time.Millisecond)
				var want int // messages in the window
				for at := start; at.Before(trigger); at = at.Add(10 * time.Millisecond) {
					n := at.Sub(start) / (10 * time.Millisecond)
					p.tick(at)
					arrive(small, at, 50)
					if n%10 == 9 {
						arrive(large, at.Add(time.Millisecond), size)
					}
					if !at.Before(trigger.Add(-preRoll)) {
						want++
					}
				}
				sn := take(t, p, trigger)
				r := readBag(t, sn.Out.Target())
				if first, all := r.Span(0).Start, r.Info().Start; first != all {
					t.Errorf("its first chunk begins at %v, and the snapshot %v before", first, first.Sub(all))
				}
				from := rosbag.TimeOf(trigger.Add(-preRoll))
				if early := from.Sub(r.Info().Start); early > 0 || early < -10*time.Millisecond {
					t.Errorf("it begins %v before the window", early)
				}
				for c, n := range rosbag.Counts(r) {
					if c.Topic == "/small" && n != uint64(want) {
						t.Errorf("%d messages of %s, want %d", n, c.Topic, want)
					}
				}
				if err := p.close(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// TestSnapshotBeginsWithAnOpenChunk: the window begins with a message of the open chunk, which comes after the chunk of a large
// message that is a little later.
func TestSnapshotBeginsWithAnOpenChunk(t *testing.T) {
	t.Parallel()
	p := ringPipeline(t, Options{Snapshot: Snapshot{PreRoll: 3 * time.Second}})
	small, large := open(t, p, "/small", "/p"), open(t, p, "/large", "/q")
	start := time.Now()
	from := start.Add(10 * time.Second)
	arrive(small, start, 50)
	p.tick(start.Add(2 * time.Second))
	arrive(small, from.Add(time.Millisecond), 50)
	arrive(large, from.Add(2*time.Millisecond), 200_000)
	arrive(small, from.Add(20*time.Millisecond), 50)
	p.tick(from.Add(2 * time.Second))
	r := readBag(t, take(t, p, from.Add(3*time.Second)).Out.Target())
	if first, all := r.Span(0).Start, r.Info().Start; first != all || all != rosbag.TimeOf(from.Add(time.Millisecond)) {
		t.Errorf("its first chunk begins at %v, and the snapshot %v before", first, first.Sub(all))
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// readBag opens a bag until the end of the test.
func readBag(t *testing.T, path string) *bagfmt.Reader {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	r, err := bagfmt.NewReader(file, info.Size(), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
