package bagfmt

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestManyPublishers reads bags with many publishers of a topic and a message of each, all in one chunk
// or each in its own: sixteen times as many take about sixteen times as long, not 256.
func TestManyPublishers(t *testing.T) {
	const few, times, tries = 2000, 16, 5
	for name, chunkBytes := range map[string]int{"one chunk": 1 << 30, "a chunk each": 1} {
		small, large := manyPublishers(t, few, chunkBytes), manyPublishers(t, few*times, chunkBytes)
		for what, find := range map[string]func(*testing.T, *Reader) int{"indexes": readIndexes, "last messages": findLasts} {
			ratio := 0.0
			for range tries { // the garbage collector may run during one of the two
				before, after := timed(t, small, few, find), timed(t, large, few*times, find)
				if ratio = after.Seconds() / before.Seconds(); ratio < 2.5*times {
					break
				}
			}
			if ratio >= 2.5*times {
				t.Errorf("%s, %s: %d times as many publishers take %.0f times as long", name, what, times, ratio)
			}
		}
	}
}

// manyPublishers makes a bag with a message of each of n publishers.
func manyPublishers(t *testing.T, n, chunkBytes int) []byte {
	t.Helper()
	var b buffer
	w, err := NewWriter(&b, WriterOptions{ChunkBytes: chunkBytes})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		c, err := w.AddConnection("/tf", rosbag.Header{
			{Key: "callerid", Value: fmt.Sprint("/", i)}, {Key: "latching", Value: "1"}, {Key: "md5sum", Value: "*"}, {Key: "type", Value: "a/B"},
		})
		if err == nil {
			err = w.Write(c, rosbag.Time{Sec: 1, Nsec: uint32(i)}, []byte{1})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.data
}

// timed opens a bag with n messages and returns how much processor time find takes, which has to find
// them all. Other processes on the machine prolong the time on the clock, but not the processor time.
func timed(t *testing.T, bag []byte, n int, find func(*testing.T, *Reader) int) time.Duration {
	t.Helper()
	r, err := NewReader(bytes.NewReader(bag), int64(len(bag)), ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	began := testkit.CPUTime(t)
	if found := find(t, r); found != n {
		t.Fatalf("%d messages, want %d", found, n)
	}
	return testkit.CPUTime(t) - began
}

func readIndexes(t *testing.T, r *Reader) (entries int) {
	t.Helper()
	for i := range r.NumSpans() {
		list, err := r.Index(i, nil)
		if err != nil {
			t.Fatal(err)
		}
		entries += len(list)
	}
	return entries
}

func findLasts(t *testing.T, r *Reader) (found int) {
	t.Helper()
	for _, last := range rosbag.Latched(r, r.Info().End, nil) {
		if last.Err != nil {
			t.Fatal(last.Err)
		}
		found++
	}
	return found
}
