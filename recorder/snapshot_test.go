package recorder

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/time/rate"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
	"github.com/gorosbag/gorosbag/recorder/internal/snapshot"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// take takes a snapshot and returns it when it is closed.
func take(t testing.TB, p *pipeline, now time.Time) *snapshot.Snapshot {
	t.Helper()
	sn, err := p.Snapshotter.Trigger(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	<-sn.Out.Finished
	if err := errors.Join(sn.Err, sn.Out.Fault); err != nil {
		t.Fatal(err)
	}
	return sn
}

// numbersOf reads the messages of publisher 1 in a bag, and judges it first.
func numbersOf(t testing.TB, path string) []uint32 {
	t.Helper()
	byTime, byFile := testlink.Numbers(t, path)
	if !slices.Equal(byTime[1], byFile[1]) {
		t.Errorf("%s: messages %v by time, %v in the file", path, byTime[1], byFile[1])
	}
	return byTime[1]
}

func sequence(from, to int) []uint32 {
	var all []uint32
	for n := from; n < to; n++ {
		all = append(all, uint32(n))
	}
	return all
}

// TestSnapshotHasTheWindow: of what came before the trigger exactly the pre-roll, of
// what comes after it exactly the post-roll.
func TestSnapshotHasTheWindow(t *testing.T) {
	t.Parallel()
	for _, c := range []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4} {
		for _, chunkBytes := range []int{1, 500, 0} {
			t.Run(fmt.Sprintf("%s/chunk=%d", c, chunkBytes), func(t *testing.T) {
				t.Parallel()
				p := ringPipeline(t, Options{
					Compression: c, ChunkBytes: chunkBytes,
					Snapshot: Snapshot{PreRoll: 10 * time.Second, PostRoll: 5 * time.Second},
				})
				l := open(t, p, "/t", "/p")
				start := time.Now()
				at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
				send := func(from, to int) {
					for n := from; n < to; n++ {
						l.Frames(testlink.Frame(1, uint32(n), 50), 1, at(float64(n)))
					}
				}
				send(0, 30)
				sn, err := p.Snapshotter.Trigger(t.Context(), at(29.5)) // 19.5 to 34.5
				if err != nil {
					t.Fatal(err)
				}
				send(30, 40)
				<-sn.Out.Finished
				if got := numbersOf(t, sn.Out.Target()); !slices.Equal(got, sequence(20, 35)) {
					t.Errorf("messages %v, want 20 to 34", got)
				}
				send(40, 42)
				p.tick(at(60))
				second := take2(t, p, at(41.5), at(60))
				if got := numbersOf(t, second); !slices.Equal(got, sequence(35, 42)) {
					t.Errorf("the next snapshot has %v, want 35 to 41", got)
				}
				if err := p.close(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// take2 takes a snapshot whose post-roll is over at end.
func take2(t *testing.T, p *pipeline, now, end time.Time) string {
	t.Helper()
	sn, err := p.Snapshotter.Trigger(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	p.tick(end)
	<-sn.Out.Finished
	return sn.Out.Target()
}

// TestSnapshotWithSlowClock: the pre-roll is time that passed, whatever the stamps say.
func TestSnapshotWithSlowClock(t *testing.T) {
	t.Parallel()
	sim := simtime.New()
	sim.Set(int64(time.Hour))
	p := ringPipeline(t, Options{sim: sim, FlushInterval: time.Hour, Snapshot: Snapshot{PreRoll: 10500 * time.Millisecond}})
	l := open(t, p, "/t", "/p")
	start := time.Now()
	for n := range 21 {
		sim.Set(int64(time.Hour + time.Duration(n)*time.Second/10))
		l.Frames(testlink.Frame(1, uint32(n), 50), 1, start.Add(time.Duration(n)*time.Second))
	}
	sn := take(t, p, start.Add(20*time.Second))
	if got := numbersOf(t, sn.Out.Target()); !slices.Equal(got, sequence(10, 21)) {
		t.Errorf("messages %v, want 10 to 20", got)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// TestSnapshotProlonged: a trigger within the post-roll makes it longer, in one file.
func TestSnapshotProlonged(t *testing.T) {
	t.Parallel()
	p := ringPipeline(t, Options{Snapshot: Snapshot{PostRoll: 5 * time.Second}})
	l := open(t, p, "/t", "/p")
	start := time.Now()
	var first, second *snapshot.Snapshot
	for n := range 20 {
		now := start.Add(time.Duration(n) * time.Second)
		l.Frames(testlink.Frame(1, uint32(n), 50), 1, now)
		var err error
		switch n {
		case 3:
			first, err = p.Snapshotter.Trigger(t.Context(), now)
		case 7:
			second, err = p.Snapshotter.Trigger(t.Context(), now)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if first != second {
		t.Error("the second trigger began another snapshot")
	}
	<-first.Out.Finished
	if got := numbersOf(t, first.Out.Target()); !slices.Equal(got, sequence(0, 12)) {
		t.Errorf("messages %v, want 0 to 11", got)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// TestSnapshotsInARow: what comes while snapshots are taken is in one of them, once.
func TestSnapshotsInARow(t *testing.T) {
	t.Parallel()
	for _, mode := range []control.SnapshotMode{control.SnapshotOnly, control.SnapshotBeside} {
		for _, c := range []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4} {
			t.Run(fmt.Sprintf("%d/%s", mode, c), func(t *testing.T) {
				t.Parallel()
				p := ringPipeline(t, Options{
					ChunkBytes: 20 << 10, BufferBytes: 64 << 20, Overflow: OverflowBlock, Compression: c,
					Snapshot: Snapshot{Mode: mode, PostRoll: time.Millisecond},
				})
				p.Snapshotter.Limiter.SetLimit(rate.Inf)
				const messages, snapshots = 20_000, 50
				links := []*intake.Link{open(t, p, "/t", "/p"), open(t, p, "/u", "/q")}
				done := make(chan struct{})
				go func() { // until the snapshots have been taken
					defer close(done)
					for n := range uint32(messages) {
						links[0].Frames(testlink.Frame(1, n, 300), 1, time.Now())
						if n%1000 == 0 {
							testlink.SendLarge(links[1], testlink.Frame(2, n/1000, 100_000))
						}
					}
				}()
				var paths []string
				for len(paths) < snapshots {
					sn, err := p.Snapshotter.Trigger(t.Context(), time.Now())
					if err != nil {
						t.Fatal(err)
					}
					if len(paths) == 0 || paths[len(paths)-1] != sn.Out.Target() {
						paths = append(paths, sn.Out.Target())
					}
					p.tick(time.Now())
				}
				<-done
				sn, err := p.Snapshotter.Trigger(t.Context(), time.Now())
				if err != nil {
					t.Fatal(err)
				}
				paths = append(paths, sn.Out.Target())
				if err := p.close(); err != nil {
					t.Fatal(err)
				}
				got := allNumbers(t, slices.Compact(paths))
				checkCount(t, "in the snapshots", map[uint32][]uint32{1: got[1]}, 1, messages)
				checkCount(t, "large ones", map[uint32][]uint32{2: got[2]}, 1, messages/1000)
				if mode == control.SnapshotBeside {
					byTime, _ := testlink.Numbers(t, p.Current().Target())
					checkCount(t, "in the recording", map[uint32][]uint32{1: byTime[1]}, 1, messages)
				}
				if m := accountOf(p, links[0]).Messages; m != messages {
					t.Errorf("%d messages counted", m)
				}
			})
		}
	}
}

// TestSnapshotStaysInMemory: the ring and all else together keep within the buffer, the
// oldest messages go, and that is said once.
func TestSnapshotStaysInMemory(t *testing.T) {
	t.Parallel()
	core, logged := observer.New(zapcore.WarnLevel)
	const buffer = 2 << 20
	p := ringPipeline(t, Options{
		BufferBytes: buffer, ChunkBytes: 50 << 10, Overflow: OverflowBlock, Log: zap.New(core),
		Snapshot: Snapshot{PreRoll: time.Hour},
	})
	l := open(t, p, "/t", "/p")
	const messages = 3000
	for n := range uint32(messages) {
		l.Frames(testlink.Frame(1, n, 5000), 1, time.Now())
		if n%100 == 0 {
			p.tick(time.Now())
		}
		if held := p.Usage().Held; held > buffer {
			t.Fatalf("%d bytes held", held)
		}
	}
	if n := logged.FilterMessageSnippet("memory does not hold").Len(); n != 1 {
		t.Errorf("said %d times that memory is short", n)
	}
	got := numbersOf(t, take(t, p, time.Now()).Out.Target())
	if n := len(got); n < 200 || n > buffer*3/4/5000 || !slices.Equal(got, sequence(messages-n, messages)) {
		t.Errorf("%d messages, %d to %d", n, got[0], got[n-1])
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if d := accountOf(p, l).Dropped; d != nil {
		t.Errorf("dropped %v", d)
	}
}

// TestSnapshotHasLatchedMessages: each snapshot begins with those that fell out of the
// ring, under their own header, and has none twice.
func TestSnapshotHasLatchedMessages(t *testing.T) {
	t.Parallel()
	p := ringPipeline(t, Options{Snapshot: Snapshot{PreRoll: 10 * time.Second}})
	l := open(t, p, "/t", "/p")
	topic := p.AddTopic("/tf_static", "/tf_static", time.Time{})
	old, err1 := p.OpenLink(topic, testlink.LatchedInfo("/tf_static", "/old"))
	fresh, err2 := p.OpenLink(topic, testlink.LatchedInfo("/tf_static", "/fresh"))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	old.Frames(testlink.Frame(7, 1, 10), 1, start)
	p.tick(start.Add(2 * time.Second))
	l.Frames(testlink.Frame(1, 0, 10), 1, start.Add(95*time.Second))
	fresh.Frames(testlink.Frame(8, 1, 10), 1, start.Add(99*time.Second))
	for i := range 2 {
		path := take(t, p, start.Add(time.Duration(100+i)*time.Second)).Out.Target()
		byTime, _ := testlink.Numbers(t, path)
		if len(byTime[7]) != 1 || len(byTime[8]) != 1 {
			t.Errorf("%s: latched messages %v and %v", path, byTime[7], byTime[8])
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		latching := 0
		for _, c := range r.Connections() {
			if c.Header.Latching() && slices.Contains([]string{"/old", "/fresh"}, c.Header.CallerID()) {
				latching++
			}
		}
		if latching != 2 {
			t.Errorf("%s: %d latching connections", path, latching)
		}
		if first := r.Info().Start; first.Std().Before(start.Add(94*time.Second)) || i == 0 && !first.Std().Before(start.Add(96*time.Second)) {
			t.Errorf("%s begins at %v", path, first)
		}
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// TestSnapshotEndsWithTheRecording: a post-roll that goes on is cut short, and what is
// in the ring only is no loss.
func TestSnapshotEndsWithTheRecording(t *testing.T) {
	t.Parallel()
	p := ringPipeline(t, Options{Snapshot: Snapshot{PostRoll: time.Hour}})
	l := open(t, p, "/t", "/p")
	l.Frames(testlink.Frame(1, 0, 10), 1, time.Now())
	sn, err := p.Snapshotter.Trigger(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	l.Frames(testlink.Frame(1, 1, 10), 1, time.Now())
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if got := numbersOf(t, sn.Out.Target()); !slices.Equal(got, sequence(0, 2)) {
		t.Errorf("messages %v", got)
	}
	if _, err := p.Snapshotter.Trigger(t.Context(), time.Now()); !errors.Is(err, control.ErrNotRecording) {
		t.Errorf("after the end: %v", err)
	}
	left, err := filepath.Glob(filepath.Dir(sn.Out.Target()) + "/*")
	if err != nil || len(left) != 1 {
		t.Errorf("files %v, %v", left, err)
	}
}

// TestEmptySnapshot: a trigger always makes a bag.
func TestEmptySnapshot(t *testing.T) {
	t.Parallel()
	p := ringPipeline(t, Options{})
	path := take(t, p, time.Now()).Out.Target()
	if byTime, _ := testlink.Numbers(t, path); len(byTime) != 0 {
		t.Errorf("messages %v", byTime)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

func TestSnapshotOptions(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	tests := map[string]struct {
		o    Options
		most int64 // of the ring; zero means refused
	}{
		"default":     {Options{BufferBytes: 100 * mb, Snapshot: Snapshot{Mode: control.SnapshotOnly}}, 75 * mb},
		"given":       {Options{BufferBytes: 100 * mb, Snapshot: Snapshot{Mode: control.SnapshotBeside, Bytes: 10 * mb}}, 10 * mb},
		"too much":    {Options{BufferBytes: 100 * mb, Snapshot: Snapshot{Mode: control.SnapshotOnly, Bytes: 76 * mb}}, 0},
		"no bound":    {Options{BufferBytes: Unlimited, Snapshot: Snapshot{Mode: control.SnapshotOnly}}, 0},
		"own bound":   {Options{BufferBytes: Unlimited, Snapshot: Snapshot{Mode: control.SnapshotOnly, Bytes: mb}}, mb},
		"no mode":     {Options{Snapshot: Snapshot{PreRoll: time.Second}}, 0},
		"split":       {Options{Split: true, Snapshot: Snapshot{Mode: control.SnapshotOnly}}, 0},
		"split aside": {Options{Split: true, BufferBytes: 4 * mb, Snapshot: Snapshot{Mode: control.SnapshotBeside}}, 3 * mb},
		"negative":    {Options{Snapshot: Snapshot{Mode: control.SnapshotOnly, PostRoll: -1}}, 0},
	}
	for name, tc := range tests {
		tc.o.Node, tc.o.Select.All = new(tcpros.Node), true
		o, err := tc.o.withDefaults()
		if refused := err != nil; refused != (tc.most == 0) || !refused && o.Snapshot.Bytes != tc.most {
			t.Errorf("%s: %d bytes, %v", name, o.Snapshot.Bytes, err)
		}
		if name == "too much" && !strings.HasSuffix(err.Error(), ": give it at least 106255704") { // a third more than 76 MiB
			t.Errorf("%s: %v", name, err)
		}
	}
}
