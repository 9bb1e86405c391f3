package recorder

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/time/rate"

	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// heard is a message of a latching publisher.
type heard struct {
	publisher string // topic and node
	at        rosbag.Time
	n         uint32
}

// latchedAt returns the number of the latest message of each publisher at a time.
func latchedAt(all []heard, at rosbag.Time) map[string]uint32 {
	state := map[string]uint32{}
	for _, m := range all {
		if !at.Before(m.at) {
			state[m.publisher] = m.n
		}
	}
	return state
}

// latchedIn returns the messages of latching publishers in a bag by time, and its beginning.
func latchedIn(t testing.TB, path string) (all []heard, start rosbag.Time) {
	t.Helper()
	r := testlink.OpenBag(t, path)
	for m, err := range rosbag.Messages(r, rosbag.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if h := m.Conn.Header; h.Latching() {
			all = append(all, heard{m.Conn.Topic + h.CallerID(), m.Time, binary.LittleEndian.Uint32(m.Data()[4:])})
		}
	}
	return all, r.Info().Start
}

// TestSnapshotBeginsWithWhatWasLatched: where a publisher has latched something new within the
// pre-roll, the snapshot begins with what was latched before. It does so once.
func TestSnapshotBeginsWithWhatWasLatched(t *testing.T) {
	t.Parallel()
	for _, c := range []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4} {
		for _, chunkBytes := range []int{1, 500, 0} {
			for _, size := range []int{10, 300_000} {
				t.Run(fmt.Sprintf("%s/chunk=%d/size=%d", c, chunkBytes, size), func(t *testing.T) {
					t.Parallel()
					p := ringPipeline(t, Options{Compression: c, ChunkBytes: chunkBytes, Snapshot: Snapshot{PreRoll: 10 * time.Second}})
					start := time.Now()
					at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
					odom, chart := open(t, p, "/odom", "/p"), latching(t, p, "/map", "/server")
					base, arm := latching(t, p, "/tf_static", "/base"), latching(t, p, "/tf_static", "/arm")
					send := func(l *intake.Link, n uint32, s int) {
						if f := testlink.Frame(1, n, size); size > 1000 && l != odom {
							large := l.Large(len(f))
							if !testlink.Fill(large, f) {
								t.Fatal("no memory")
							}
							large.Commit(at(s))
						} else {
							l.Frames(f, 1, at(s))
						}
					}
					send(chart, 0, 1)
					send(chart, 1, 2)
					send(base, 0, 2)
					send(arm, 0, 3)
					for s := 4; s < 100; s++ {
						switch s {
						case 88: // in the chunk where the window begins, if that is large
							send(base, 1, s)
						case 92, 95:
							send(chart, uint32(s), s)
						case 97:
							send(arm, uint32(s), s)
						}
						send(odom, uint32(s), s)
					}
					got, begin := latchedIn(t, take(t, p, at(99)).Out.Target())
					first := rosbag.TimeOf(at(89))
					stamp := func(s int) rosbag.Time { return rosbag.TimeOf(at(s)) }
					want := []heard{
						{"/map/server", first, 1},
						{"/map/server", stamp(92), 92},
						{"/map/server", stamp(95), 95},
						{"/tf_static/arm", first, 0},
						{"/tf_static/arm", stamp(97), 97},
						{"/tf_static/base", first, 1},
					}
					slices.SortStableFunc(got, func(a, b heard) int { return cmp.Compare(a.publisher, b.publisher) })
					if begin != first || !slices.Equal(got, want) {
						t.Errorf("from %v: %v\nwant %v: %v", begin, got, first, want)
					}
					closePipeline(t, p)
				})
			}
		}
	}
}

// latchedWorld is a recording with latching publishers, and what is known of it.
type latchedWorld struct {
	t     *testing.T
	p     *pipeline
	rnd   *rand.Rand
	now   time.Time
	links []*intake.Link // some of publishers with several connections
	said  []heard
	n     uint32

	paused  bool
	unheard map[string]uint32 // since the pause
}

// send sends a message of a random publisher, after some time.
func (w *latchedWorld) send() {
	w.now = w.now.Add(time.Duration(1+w.rnd.IntN(1000)) * time.Millisecond)
	l := w.links[w.rnd.IntN(len(w.links))]
	size := []int{8, 8, 100, 5_000}[w.rnd.IntN(4)]
	if w.rnd.IntN(10) == 0 {
		size = 60_000
	}
	w.n++
	f := testlink.Frame(7, w.n, size)
	if w.rnd.IntN(2) == 0 {
		for i := 12; i < len(f); i++ { // what cannot be packed
			f[i] = byte(w.rnd.Uint32())
		}
	}
	if size > 50_000 {
		large := l.Large(len(f))
		if large == nil {
			if w.paused {
				return
			}
			w.t.Fatal("a message is refused")
		}
		if !testlink.Fill(large, f) {
			w.t.Fatal("no memory")
		}
		large.Commit(w.now)
	} else {
		l.Frames(f, 1, w.now)
	}
	c := l.Conn()
	publisher := c.Topic + c.Header.CallerID()
	switch {
	case !c.Header.Latching():
	case w.paused:
		w.unheard[publisher] = w.n
	default:
		w.said = append(w.said, heard{publisher, rosbag.TimeOf(w.now), w.n})
	}
}

// resume ends a pause. What was latched meanwhile counts from now on.
func (w *latchedWorld) resume() {
	w.now = w.now.Add(time.Second)
	if err := w.p.Resume(w.now); err != nil {
		w.t.Fatal(err)
	}
	for publisher, n := range w.unheard {
		w.said = append(w.said, heard{publisher, rosbag.TimeOf(w.now), n})
	}
	w.paused, w.unheard = false, map[string]uint32{}
}

// check compares what is latched at any time of a snapshot with what was.
func (w *latchedWorld) check(what, path string) {
	w.t.Helper()
	got, start := latchedIn(w.t, path)
	times := []rosbag.Time{start}
	for _, m := range got {
		times = append(times, m.at)
	}
	for _, at := range times {
		if want, got := latchedAt(w.said, at), latchedAt(got, at); !maps.Equal(want, got) {
			w.t.Fatalf("%s, from %v, at %v: %v is latched, want %v", what, start, at, got, want)
		}
	}
}

// checkAccount checks that every byte counts once, after all that was queued is done.
func (w *latchedWorld) checkAccount(what string) {
	w.t.Helper()
	if _, err := w.p.Pin(w.t.Context(), w.now); err != nil { // after what is queued
		w.t.Fatal(err)
	}
	u := w.p.Usage()
	if u.Held != u.Idle+u.Ring+u.Latched {
		w.t.Errorf("%s: %d bytes in use, %d free, %d in the ring, %d counted for what is latched", what, u.Held, u.Idle, u.Ring, u.Latched)
	}
	if u.Waiting != 0 || u.Shared != 0 {
		w.t.Errorf("%s: %d bytes wait for the disk, %d shared chunks are in use", what, u.Waiting, u.Shared)
	}
	if limit := w.p.o.MemoryBytes(); u.Held > limit {
		w.t.Errorf("%s: %d bytes held of %d", what, u.Held, limit)
	}
}

// checkReleased checks that no message is latched that nobody needs: when each publisher has latched a small message,
// and a snapshot has taken the ring twice, little memory is used.
func (w *latchedWorld) checkReleased() {
	w.t.Helper()
	for range 2 {
		for _, l := range w.links {
			w.now = w.now.Add(time.Second)
			f := testlink.Frame(7, 0, 8)
			large := l.Large(len(f)) // takes the memory of the message before back
			if !testlink.Fill(large, f) {
				w.t.Fatal("no memory")
			}
			large.Commit(w.now)
		}
		sn, err := w.p.Snapshotter.Trigger(w.t.Context(), w.now)
		if err != nil {
			w.t.Fatal(err)
		}
		w.p.tick(w.now.Add(2 * time.Hour))
		<-sn.Out.Finished
	}
	w.checkAccount("at the end")
	// The last message of each publisher, its copy in the ring and one before the ring take 1,250 to 1,600 bytes. A
	// single message that each snapshot does not release takes more than the rest.
	const most = 2000
	if n := w.p.Usage().Latched; n > most {
		w.t.Errorf("%d bytes are counted for latched messages, of which %d are needed at most", n, most)
	}
}

// TestSnapshotLatchedRandom compares what is latched in snapshots of random recordings with what
// was latched then: with little and much memory, large and small messages, nodes that come back
// with another header, pauses and post-rolls.
func TestSnapshotLatchedRandom(t *testing.T) {
	t.Parallel()
	seeds := uint64(12)
	if testkit.Full() {
		seeds = 24
	}
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 1))
			o := Options{
				BufferBytes: []int64{4 << 20, 16 << 20, 64 << 20}[rnd.IntN(3)], Overflow: OverflowBlock,
				ChunkBytes: []int{1, 20 << 10, 200 << 10}[rnd.IntN(3)], FlushInterval: time.Hour,
				Compression: []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4}[rnd.IntN(2)],
				Snapshot: Snapshot{
					Mode:    []control.SnapshotMode{control.SnapshotOnly, control.SnapshotBeside}[rnd.IntN(2)],
					PreRoll: []time.Duration{0, 5 * time.Second, time.Minute}[rnd.IntN(3)], PostRoll: time.Duration(rnd.IntN(2)) * 10 * time.Second,
				},
			}
			if rnd.IntN(2) == 0 {
				o.Snapshot.Bytes = 300 << 10
			}
			core, logged := observer.New(zapcore.WarnLevel)
			o.Log = zap.New(core)
			w := &latchedWorld{t: t, p: ringPipeline(t, o), rnd: rnd, now: time.Now(), unheard: map[string]uint32{}}
			w.p.Snapshotter.Limiter.SetLimit(rate.Inf)
			topic := w.p.AddTopic("/map", "/map", time.Time{})
			first, err1 := w.p.OpenLink(topic, testlink.LatchedInfo("/map", "/node0"))
			w.links = append(w.links, first)
			for i := 1; i < 4; i++ {
				w.links = append(w.links, latching(t, w.p, "/map", fmt.Sprint("/node", i)))
			}
			w.links = append(w.links, latching(t, w.p, "/tf_static", "/node0"), open(t, w.p, "/odom", "/node0"), open(t, w.p, "/odom", "/node1"))
			again := testlink.LatchedInfo("/map", "/node0")
			again.Header = append(again.Header, rosbag.Field{Key: "tcp_nodelay", Value: "1"})
			l, err2 := w.p.OpenLink(topic, again)
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			w.links = append(w.links, l)
			for snapshot := range 4 {
				for range rnd.IntN(300) {
					switch w.send(); {
					case rnd.IntN(30) == 0:
						w.p.tick(w.now.Add(2 * time.Hour)) // seals the open chunk
					case !w.paused && rnd.IntN(50) == 0:
						if err := w.p.Pause(); err != nil {
							t.Fatal(err)
						}
						w.paused = true
					case w.paused && rnd.IntN(5) == 0:
						w.resume()
					}
				}
				if w.paused {
					w.resume()
				}
				what := fmt.Sprint("snapshot ", snapshot)
				sn, err := w.p.Snapshotter.Trigger(t.Context(), w.now)
				if err != nil {
					t.Fatal(err)
				}
				for until := w.now.Add(o.Snapshot.PostRoll); !w.now.After(until); {
					w.send()
				}
				w.p.tick(w.now)
				<-sn.Out.Finished
				if noMemory := logged.FilterMessageSnippet("no memory").Len(); noMemory == 0 {
					w.check(what, sn.Out.Target())
				} else if o.BufferBytes > 16<<20 {
					t.Fatalf("%s: %v", what, logged.All())
				}
				w.p.tick(w.now.Add(2 * time.Hour))
				w.checkAccount(what)
			}
			w.checkReleased()
			closePipeline(t, w.p)
			for _, l := range w.links {
				if n := lost(w.p, l); n != 0 {
					t.Errorf("%d messages lost", n)
				}
			}
		})
	}
}

// TestSnapshotInAPause: what was latched in a pause that has not ended is in a snapshot that begins
// after it, and not in one that begins before.
func TestSnapshotInAPause(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		trigger int // seconds
		want    uint32
	}{"begins before": {9, 1}, "begins after": {30, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := ringPipeline(t, Options{Snapshot: Snapshot{PreRoll: 5 * time.Second}})
			start := time.Now()
			at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
			odom, chart := open(t, p, "/odom", "/p"), latching(t, p, "/map", "/server")
			chart.Frames(testlink.Frame(1, 1, 10), 1, at(1))
			for s := 2; s < 8; s++ {
				odom.Frames(testlink.Frame(1, 0, 10), 1, at(s))
				p.tick(at(s + 1))
			}
			if err := p.Pause(); err != nil {
				t.Fatal(err)
			}
			chart.Frames(testlink.Frame(1, 2, 10), 1, at(8))
			got, _ := latchedIn(t, take(t, p, at(tc.trigger)).Out.Target())
			if len(got) != 1 || got[0].n != tc.want {
				t.Errorf("%v, want message %d", got, tc.want)
			}
			closePipeline(t, p)
		})
	}
}

// TestMissedLatchedIsInSnapshots: what was latched while nothing was recorded counts from the moment
// on when the recording goes on.
func TestMissedLatchedIsInSnapshots(t *testing.T) {
	t.Parallel()
	for _, mode := range []control.SnapshotMode{control.SnapshotOnly, control.SnapshotBeside} {
		for _, stopped := range []bool{false, true} {
			for name, preRoll := range map[string]time.Duration{"begins before": time.Hour, "begins after": 4 * time.Second} {
				t.Run(fmt.Sprintf("%d/%v/%s", mode, stopped, name), func(t *testing.T) {
					t.Parallel()
					p := ringPipeline(t, Options{ChunkBytes: 1, Snapshot: Snapshot{Mode: mode, PreRoll: preRoll}})
					start := time.Now().Add(-10 * time.Second)
					at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
					odom, chart := open(t, p, "/odom", "/p"), latching(t, p, "/map", "/server")
					chart.Frames(testlink.Frame(1, 1, 10), 1, at(1))
					if stopped {
						if c, err := p.RequestStop(); err != nil {
							t.Fatal(err)
						} else if _, err := c.ClosedFile(t.Context()); err != nil {
							t.Fatal(err)
						}
					} else if err := p.Pause(); err != nil {
						t.Fatal(err)
					}
					chart.Frames(testlink.Frame(1, 2, 10), 1, at(5))
					if stopped {
						if c, err := p.RequestStart(); err != nil {
							t.Fatal(err)
						} else if err := c.Wait(t.Context()); err != nil {
							t.Fatal(err)
						}
					} else if err := p.Resume(at(10)); err != nil {
						t.Fatal(err)
					}
					want := []uint32{2, 3}
					if preRoll == time.Hour {
						want = []uint32{1, 2, 3}
					}
					odom.Frames(testlink.Frame(1, 0, 10), 1, at(60)) // after some time in which the machine may stand still
					chart.Frames(testlink.Frame(1, 3, 10), 1, at(61))
					var got []uint32
					all, _ := latchedIn(t, take(t, p, at(62)).Out.Target())
					for _, m := range all {
						got = append(got, m.n)
					}
					if !slices.Equal(got, want) {
						t.Errorf("messages %v, want %v", got, want)
					}
					closePipeline(t, p)
				})
			}
		}
	}
}

// TestMissedLatchedInADeletedSnapshot: what came in a pause does not count as received, and so is
// not taken off that when the snapshot with it is deleted.
func TestMissedLatchedInADeletedSnapshot(t *testing.T) {
	t.Parallel()
	p := ringPipeline(t, Options{Snapshot: Snapshot{PostRoll: time.Hour}})
	chart, odom := latching(t, p, "/map", "/server"), open(t, p, "/odom", "/p")
	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	chart.Frames(testlink.Frame(1, 1, 10), 1, time.Now())
	if err := p.Resume(time.Now()); err != nil {
		t.Fatal(err)
	}
	odom.Frames(testlink.Frame(2, 0, 10), 1, time.Now())
	sn, err := p.Snapshotter.Trigger(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(sn.Out.Path()); err != nil {
		t.Fatal(err)
	}
	if err := p.close(); !errors.Is(err, bagfile.ErrDeleted) {
		t.Fatal(err)
	}
	for i, came := range p.Stats(time.Now()).Topics {
		recorded, want := accountOf(p, []*intake.Link{chart, odom}[i]), uint64(i)
		if came.Topic != recorded.Topic || came.Messages != want || recorded.Dropped[control.DropDeleted.String()] != 1 || recorded.Messages+recorded.Bytes != 0 {
			t.Errorf("%s: %d messages came, dropped %v, %d are recorded; want %d, 1 deleted, and 0", recorded.Topic, came.Messages, recorded.Dropped, recorded.Messages, want)
		}
	}
}
