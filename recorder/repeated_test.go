package recorder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// markedIn returns the numbers of the messages that a bag marks as repeated, and of the others, of
// latching publishers.
func markedIn(t *testing.T, path string) (marked, others []uint32) {
	t.Helper()
	r := testlink.OpenBag(t, path)
	is := rosbag.FindRepeats(r)
	for m, err := range rosbag.Messages(r, rosbag.Query{}) {
		switch {
		case err != nil:
			t.Fatal(err)
		case is.Is(m):
			marked = append(marked, binary.LittleEndian.Uint32(m.Data()[4:]))
		case m.Conn.Header.Latching():
			others = append(others, binary.LittleEndian.Uint32(m.Data()[4:]))
		}
	}
	if int(r.Info().Repeated.Count) != len(marked) {
		t.Errorf("%s says %+v, and has %v", path, r.Info().Repeated, marked)
	}
	slices.Sort(marked)
	return marked, others
}

// TestRepeatedAreMarked: files after the first one say which messages they begin with are repeated.
// What came in a pause is in no other file, and one that comes when a file begins is not repeated.
func TestRepeatedAreMarked(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"plain": {}, "small chunks": {ChunkBytes: 1}, "lz4": {Compression: rosbag.CompressionLZ4}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.Split = true
			p, c := controlled(t, o)
			chart, base, arm := latching(t, p, "/map", "/server"), latching(t, p, "/tf_static", "/base"), latching(t, p, "/tf_static", "/arm")
			send := func(l *intake.Link, n uint32, at time.Time) { l.Frames(testlink.Frame(1, n, 10), 1, at) }
			send(chart, 1, time.Now())
			send(base, 2, time.Now())
			split := func() {
				t.Helper()
				if _, err := c.Split(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			before := time.Now()
			split()
			send(arm, 3, time.Now())
			send(chart, 4, before) // it was received before the file began
			if err := c.Pause(); err != nil {
				t.Fatal(err)
			}
			send(base, 5, time.Now())
			if err := c.Resume(); err != nil {
				t.Fatal(err)
			}
			split()
			closePipeline(t, p)
			var got [][2][]uint32
			for _, path := range filesOf(t, p) {
				marked, others := markedIn(t, path)
				got = append(got, [2][]uint32{marked, others})
			}
			want := [][2][]uint32{{nil, {1, 2}}, {{1, 2}, {4, 3, 5}}, {{3, 4, 5}, nil}}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("marked and others of each file (-want +got):\n%s", d)
			}
		})
	}
}

// TestFileBeginsAfterTheOneBefore: a split does not begin the next file before a message that is in
// the old one, though that came after the time of the split was taken.
func TestFileBeginsAfterTheOneBefore(t *testing.T) {
	t.Parallel()
	for _, large := range []bool{false, true} {
		t.Run(fmt.Sprint("large=", large), func(t *testing.T) {
			t.Parallel()
			p := testPipeline(t, Options{Split: true}, nil)
			chart, odom := latching(t, p, "/map", "/server"), open(t, p, "/odom", "/p")
			start := time.Now()
			latest := start.Add(2 * time.Second)
			if f := testlink.Frame(1, 1, 300_000); large {
				l := chart.Large(len(f))
				if !testlink.Fill(l, f) {
					t.Fatal("no memory")
				}
				l.Commit(latest)
			} else {
				chart.Frames(f, 1, latest)
			}
			odom.Frames(testlink.Frame(2, 1, 10), 1, start) // its link has waited for the lock
			split, err := p.RequestSplit(start.Add(time.Second))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := split.ClosedFile(t.Context()); err != nil {
				t.Fatal(err)
			}
			closePipeline(t, p)
			if got, want := testlink.OpenBag(t, filesOf(t, p)[1]).Info().Start, rosbag.TimeOf(latest); got != want {
				t.Errorf("the next file begins at %v, the one before ends at %v", got, want)
			}
		})
	}
}

// TestRepeatedAfterAFault: so does the file in which a recording goes on after a fault.
func TestRepeatedAfterAFault(t *testing.T) {
	t.Parallel()
	f := &faulty{err: errInjected, at: 2}
	p := testPipeline(t, Options{}, f.wrap)
	latching(t, p, "/map", "/server").Frames(testlink.Frame(1, 1, 10), 1, time.Now())
	odom := open(t, p, "/odom", "/p")
	flushOpen(p)
	odom.Frames(testlink.Frame(2, 2, 10), 1, time.Now())
	if err := p.close(); !errors.Is(err, errInjected) {
		t.Fatal(err)
	}
	paths := filesOf(t, p)
	if len(paths) != 2 {
		t.Fatalf("files %v", paths)
	}
	if marked, others := markedIn(t, paths[1]); !slices.Equal(marked, []uint32{1}) || others != nil {
		t.Errorf("marked %v, others %v", marked, others)
	}
}

// TestRepeatedInSnapshots: and so do snapshots.
func TestRepeatedInSnapshots(t *testing.T) {
	t.Parallel()
	p := ringPipeline(t, Options{ChunkBytes: 1, Snapshot: Snapshot{PreRoll: 10 * time.Second}})
	start := time.Now()
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	chart, base, odom := latching(t, p, "/map", "/server"), latching(t, p, "/tf_static", "/base"), open(t, p, "/odom", "/p")
	chart.Frames(testlink.Frame(1, 1, 10), 1, at(1))
	base.Frames(testlink.Frame(1, 2, 10), 1, at(2))
	odom.Frames(testlink.Frame(2, 0, 10), 1, at(15))
	chart.Frames(testlink.Frame(1, 3, 10), 1, at(18))
	path := take(t, p, at(20)).Out.Target()
	closePipeline(t, p)
	if marked, others := markedIn(t, path); !slices.Equal(marked, []uint32{1, 2}) || !slices.Equal(others, []uint32{3}) {
		t.Errorf("marked %v, others %v", marked, others)
	}
}
