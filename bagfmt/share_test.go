package bagfmt_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestShare checks that the shares of a chunk's selected messages pay for its memory.
func TestShare(t *testing.T) {
	t.Parallel()
	for _, comp := range compressions {
		full := sampleBag(t, comp)
		r, err := openBag(full)
		if err != nil {
			t.Fatal(err)
		}
		var memory int
		for i := range r.NumSpans() {
			h, err := r.ChunkHeader(i)
			if err != nil {
				t.Fatal(err)
			}
			memory += int(h.UncompressedBytes)
		}
		for _, keep := range []func(*rosbag.Connection) bool{nil, func(c *rosbag.Connection) bool { return c.ID == 1 }} {
			sum, n := 0, 0
			for m, err := range rosbag.Messages(r, rosbag.Query{Keep: keep}) {
				if err != nil {
					t.Fatal(err)
				}
				sum += m.Share
				n++
			}
			if sum < memory || sum > memory+n {
				t.Errorf("%s: shares of %d messages are %d bytes, the chunks %d", comp, n, sum, memory)
			}
		}
	}
}

// TestRecovered tells damage to an index from damage to a chunk.
func TestRecovered(t *testing.T) {
	t.Parallel()
	full := sampleBag(t, rosbag.CompressionNone)
	chunk, index := recordsOf(t, full, 5), recordsOf(t, full, 4)
	headless := setU32(full, chunk[1].off, 1<<21)
	tests := map[string]struct {
		bag  []byte
		want bool
	}{
		"index version":   {setU32(full, index[0].fields["ver"], 2), true},
		"index offset":    {setU32(full, index[0].dataAt+4+8, 3), true},
		"chunk data":      {setU32(full, chunk[1].dataAt+60, 99), false},
		"chunk header":    {headless, false},
		"index and chunk": {setU32(setU32(full, index[0].fields["ver"], 2), chunk[0].dataAt+60, 99), false},
	}
	for name, tc := range tests {
		msgs, errs := readAll(t, tc.bag, rosbag.Query{})
		var c *rosbag.CorruptError
		if len(errs) != 1 || !errors.As(errs[0], &c) || c.Recovered != tc.want || (len(msgs) == 30) != tc.want {
			t.Errorf("%s: %d messages, errors %v", name, len(msgs), errs)
		}
	}
}

// TestLimitOffset checks that a chunk which is too big can be told by its offset.
func TestLimitOffset(t *testing.T) {
	t.Parallel()
	full := sampleBag(t, rosbag.CompressionLZ4)
	r, err := bagfmt.NewReader(bytes.NewReader(full), int64(len(full)), bagfmt.ReaderOptions{MaxChunkBytes: 100})
	if err != nil {
		t.Fatal(err)
	}
	c := r.Cursor(rosbag.Query{})
	for i := range r.NumSpans() {
		var l *rosbag.LimitError
		if _, err := c.Next(); !errors.As(err, &l) || l.Offset != r.Span(i).Pos {
			t.Errorf("chunk %d: %v, want a limit at %d", i, err, r.Span(i).Pos)
		}
	}
	if _, err := c.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want the end", err)
	}
}
