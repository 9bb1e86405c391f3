package codec

import (
	"bytes"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/gorosbag/gorosbag/rosbag"
)

// TestZstd unpacks frames that state their size and such that do not, of data that packs well and not.
func TestZstd(t *testing.T) {
	t.Parallel()
	random := make([]byte, 300_000)
	for i := range random {
		random[i] = byte(i * i >> 7)
	}
	for name, data := range map[string][]byte{"empty": {}, "short": []byte("short"), "zeros": make([]byte, 30<<20), "mixed": slices.Concat(random, make([]byte, 5<<20))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stream bytes.Buffer
			w, err := zstd.NewWriter(&stream)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = w.Write(data)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			for _, packed := range [][]byte{stream.Bytes(), w.EncodeAll(data, nil)} {
				var d Decompressor
				size := int64(len(data))
				got, err := d.Unpack(rosbag.CompressionZstd, packed, size, nil)
				if err != nil || !bytes.Equal(got, data) {
					t.Fatalf("%d bytes, %v", len(got), err)
				}
				memory := make([]byte, size)
				if got, err = d.Unpack(rosbag.CompressionZstd, packed, size, memory); err != nil || !bytes.Equal(got, data) || size > 0 && &got[0] != &memory[0] {
					t.Errorf("with memory: %d bytes, %v", len(got), err)
				}
				if size == 0 {
					continue
				}
				if _, err := d.Unpack(rosbag.CompressionZstd, packed, size-1, nil); err == nil {
					t.Error("more data than the size is no error")
				}
				if _, err := d.Unpack(rosbag.CompressionZstd, packed, size+1, nil); err == nil || !strings.Contains(err.Error(), "ends after") {
					t.Errorf("less data than the size: %v", err)
				}
				if _, err := d.Unpack(rosbag.CompressionZstd, packed[:len(packed)/2], size, nil); err == nil {
					t.Error("half of it is no error")
				}
			}
		})
	}
}

// TestZstdClaim takes no memory for a size that damaged data of a few bytes cannot have. It measures
// memory, so that nothing may run beside it.
func TestZstdClaim(t *testing.T) {
	const magic = "\x28\xb5\x2f\xfd"
	for name, stored := range map[string]string{"reserved block": magic + "\x00\x58\xff\xff\xff\xff", "torn block": magic + "\x00\x58\x54\x00\x00garbage"} {
		var d Decompressor
		if _, err := d.Unpack(rosbag.CompressionZstd, []byte(stored), 1<<10, nil); err == nil { // makes the decoder
			t.Errorf("%s: no error", name)
		}
		most := len(stored) / 4 * (128 << 10) // as blocks that repeat one byte
		if _, err := d.Unpack(rosbag.CompressionZstd, []byte(stored), int64(most+1), nil); err == nil || !strings.Contains(err.Error(), "hold at most") {
			t.Errorf("%s: one byte too many: %v", name, err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := d.Unpack(rosbag.CompressionZstd, []byte(stored), 512<<20, nil)
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; err == nil || got > 4<<20 {
			t.Errorf("%s: %d bytes of memory, %v", name, got, err)
		}
	}
}
