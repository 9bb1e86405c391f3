package bagfmt_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestChunksInEachOther reads a bag of chunks each of which claims the whole rest of
// the file: it must not cost the square of the file, and no more memory than it has bytes.
func TestChunksInEachOther(t *testing.T) { // not parallel: it looks at what all goroutines allocate
	const n = 4000
	head := func(pos int) []byte {
		h := fields.List{
			{Key: "op", Value: "\x03"},
			{Key: "index_pos", Value: u32s(uint32(pos), 0)},
			{Key: "conn_count", Value: u32s(1)},
			{Key: "chunk_count", Value: u32s(n)},
		}
		return rec(h, bytes.Repeat([]byte(" "), 4096-h.Size()))
	}
	b := append([]byte("#ROSBAG V2.0\n"), head(0)...)
	chunk := rec(fields.List{{Key: "compression", Value: "none"}, {Key: "op", Value: "\x05"}, {Key: "size", Value: u32s(0)}}, nil)
	message := rec(fields.List{{Key: "conn", Value: u32s(0)}, {Key: "op", Value: "\x02"}, {Key: "time", Value: u32s(1, 0)}}, nil)
	start, step := len(b), len(chunk)+len(message)
	var infos []byte
	for i := range n {
		at := start + i*step
		b = append(b, setU32(chunk, len(chunk)-4, uint32(start+n*step-at-len(chunk)))...)
		b = append(b, message...)
		infos = append(infos, rec(fields.List{
			{Key: "op", Value: "\x06"},
			{Key: "ver", Value: u32s(1)},
			{Key: "chunk_pos", Value: u32s(uint32(at), 0)},
			{Key: "start_time", Value: u32s(1, 0)},
			{Key: "end_time", Value: u32s(1, 0)},
			{Key: "count", Value: u32s(1)},
		}, []byte(u32s(0, 1)))...)
	}
	copy(b[len("#ROSBAG V2.0\n"):], head(len(b)))
	b = append(b, rec(fields.List{{Key: "op", Value: "\x07"}, {Key: "topic", Value: "/a"}, {Key: "conn", Value: u32s(0)}}, fields.List(header("a/A")).Append(nil))...)
	b = append(b, infos...)
	r, err := openBag(b)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	messages := 0
	for m, err := range rosbag.Messages(r, rosbag.Query{}) {
		if err != nil && !typed(err) {
			t.Fatal(err)
		}
		if m != nil {
			messages++
		}
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 8*uint64(len(b))+1<<20 || messages != n {
		t.Errorf("%d messages, %d bytes allocated for a bag of %d", messages, got, len(b))
	}
}
