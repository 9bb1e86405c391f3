package bagfmt_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/rosbag"
)

// uniformBag holds n messages of 100 bytes in one chunk or more.
func uniformBag(tb testing.TB, o bagfmt.WriterOptions, n int) []byte {
	tb.Helper()
	conns, _ := sample(0)
	msgs := make([]msg, n)
	for i := range msgs {
		msgs[i] = msg{conns[i%3].Topic, rosbag.Time{Sec: uint32(i)}, "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"}
	}
	return writeBag(tb, o, conns, msgs)
}

func TestAppendRunAllocs(t *testing.T) {
	conns, _ := sample(0)
	var b chunk.Builder
	var r chunk.Records
	run := slices.Concat(frame("one"), frame("two"))
	fill := func() {
		b.Reset(&r)
		for i := range uint32(200) {
			b.AppendRun(conns[i%3], rosbag.Time{Sec: i}, run, 2)
		}
		b.BeginMessage(conns[0], len(run)/2)
		copy(b.Room(len(run)/2), run)
		b.FinishMessage(rosbag.Time{Sec: 1})
	}
	fill()
	if n := testing.AllocsPerRun(10, fill); n != 0 {
		t.Errorf("%v allocations for 401 messages in warm memory", n)
	}
}

func TestCursorNextAllocs(t *testing.T) {
	for _, comp := range compressions {
		b := uniformBag(t, bagfmt.WriterOptions{Compression: comp}, 2000)
		r, err := openBag(b)
		if err != nil {
			t.Fatal(err)
		}
		c := r.Cursor(rosbag.Query{})
		if _, err := c.Next(); err != nil { // loads the chunk
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(1000, func() {
			if _, err := c.Next(); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations per message", comp, n)
		}
	}
}

func TestScannerNextAllocs(t *testing.T) {
	for _, comp := range compressions {
		full := uniformBag(t, bagfmt.WriterOptions{Compression: comp}, 2000)
		chunk := recordsOf(t, full, 5)[0]
		bags := map[string][]byte{string(comp): full}
		if comp == rosbag.CompressionNone {
			// As stock's recorder leaves a chunk that it did not close.
			bags["open chunk"] = slices.Concat(full[:4117], rawChunkHeader(), chunk.data)
		}
		for name, b := range bags {
			s, err := bagfmt.NewScanner(bytes.NewReader(b), bagfmt.ScannerOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Next(); err != nil {
				t.Fatal(err)
			}
			if n := testing.AllocsPerRun(1000, func() {
				if _, err := s.Next(); err != nil {
					t.Fatal(err)
				}
			}); n != 0 {
				t.Errorf("%s: %v allocations per message", name, n)
			}
			count := 1002 // AllocsPerRun runs once more
			for {
				_, err := s.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				count++
			}
			if count != 2000 {
				t.Errorf("%s: %d messages, want 2000", name, count)
			}
		}
	}
}
