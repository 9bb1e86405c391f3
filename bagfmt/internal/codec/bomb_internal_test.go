package codec

import (
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/gorosbag/gorosbag/rosbag"
)

// TestBombMemory: a chunk that unpacks to a thousand times its stored size and more takes at most 1.2 times the memory of
// the chunk, whatever packed it, and garbage included.
func TestBombMemory(t *testing.T) { // not parallel: it measures the heap
	const size = 64 << 20
	plain := make([]byte, size)
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	stored := map[rosbag.Compression][]byte{rosbag.CompressionZstd: enc.EncodeAll(plain, nil)}
	for _, kind := range []rosbag.Compression{rosbag.CompressionLZ4, rosbag.CompressionBZ2} {
		z, err := NewCompressor(kind)
		if err != nil {
			t.Fatal(err)
		}
		stored[kind] = z.Append(nil, plain)
	}
	for kind, b := range stored {
		var d Decompressor
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out, err := d.Unpack(kind, b, size, nil)
		runtime.ReadMemStats(&after)
		factor := float64(after.TotalAlloc-before.TotalAlloc) / size
		t.Logf("%s: %d bytes, factor %.2f", kind, len(b), factor)
		if err != nil || len(out) != size || factor > 1.2 {
			t.Errorf("%s: %d bytes, %v, factor %.2f", kind, len(out), err, factor)
		}
	}
}

// TestLargeWindows: a chunk is unpacked also if its zstd data refers back farther than what is counted, as that of the
// levels above 19 does.
func TestLargeWindows(t *testing.T) {
	t.Parallel()
	plain := make([]byte, 2*maxCountedWindow+1)
	for _, single := range []bool{false, true} {
		enc, err := zstd.NewWriter(nil, zstd.WithWindowSize(4*maxCountedWindow), zstd.WithSingleSegment(single), zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		var d Decompressor
		out, err := d.Unpack(rosbag.CompressionZstd, enc.EncodeAll(plain, nil), int64(len(plain)), nil)
		if err != nil || len(out) != len(plain) {
			t.Errorf("single segment %v: %d bytes, %v", single, len(out), err)
		}
	}
}
