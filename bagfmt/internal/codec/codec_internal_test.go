package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/pierrec/lz4/v4"

	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/test/kinds"
)

const (
	window     = 65535   // how far back a match may be; bytes
	largeBlock = 1 << 20 // of the frames that stock makes; bytes
)

// samples are data of all sorts and sizes: around the limits of the format,
// random, constant, repeating at short and long distances, and mixtures.
func samples(most int) [][]byte {
	rnd := rand.New(rand.NewPCG(5, 6))
	noise := rand.NewChaCha8([32]byte{5, 6})
	var list [][]byte
	sizes := []int{0, 1, 4, 5, 11, 12, 13, 14, 16, 17, 18, 19, 20, 31, 33, 64, 100, 255, 270, 271, 285, 300, 1000, 5000, 65_535, 65_536, 66_000, 70_000, 2*lz4BlockBytes + 77, 200_000, largeBlock - 1, largeBlock, largeBlock + 13, 2*largeBlock + 77}
	for _, n := range sizes {
		if n > most {
			break
		}
		distances := []int{1, 2, 3, 4, 5, 7, 8, 13, 1000, window - 1, window, window + 1}
		if n > 70_000 && !testkit.Full() {
			distances = []int{3, window - 1, window, window + 1}
		}
		if n > largeBlock && !testkit.Full() {
			distances = []int{window}
		}
		random, zero, mixed := make([]byte, n), make([]byte, n), make([]byte, n)
		_, _ = noise.Read(random)
		list = append(list, random, zero)
		for _, distance := range distances {
			if distance >= n {
				break
			}
			b := bytes.Clone(random)
			for at := distance; at < n; at += distance {
				copy(b[at:], b[at-distance:at])
			}
			list = append(list, b)
		}
		for at := 0; at < n; {
			run := min(1+rnd.IntN(40)*rnd.IntN(40), n-at)
			switch from := rnd.IntN(at + 1); rnd.IntN(3) {
			case 0:
				copy(mixed[at:at+run], random[from:])
			case 1:
				copy(mixed[at:at+run], mixed[from:])
			}
			at += run
		}
		list = append(list, mixed)
	}
	return list
}

func packLZ4(tb testing.TB, dst, src []byte) []byte {
	tb.Helper()
	z, err := NewCompressor(rosbag.CompressionLZ4)
	if err != nil {
		tb.Fatal(err)
	}
	return z.Append(dst, src)
}

// TestLZ4 packs data of many kinds and lengths, and unpacks that and the frames of other writers,
// into memory and without any.
func TestLZ4(t *testing.T) {
	t.Parallel()
	z, err := NewCompressor(rosbag.CompressionLZ4)
	if err != nil {
		t.Fatal(err)
	}
	var d Decompressor
	var other bytes.Buffer
	w := lz4.NewWriter(&other)
	most := 3 * largeBlock
	if testing.Short() {
		most = 70_000 // as with the race detector, which makes this many times slower
	}
	memory := make([]byte, most)
	for i, data := range samples(most) {
		frame := z.Append([]byte("before"), data)
		if string(frame[:6]) != "before" {
			t.Fatal("what was there is overwritten")
		}
		frame = frame[6:]
		if most := lz4Bound(len(data)); len(frame) > most {
			t.Errorf("sample %d of %d bytes: packed to %d, at most %d are expected", i, len(data), len(frame), most)
		}
		frames := [][]byte{frame}
		for _, size := range []lz4.BlockSize{lz4.Block64Kb, lz4.Block1Mb, lz4.Block4Mb} {
			other.Reset()
			w.Reset(&other)
			if err := w.Apply(lz4.BlockSizeOption(size), lz4.ConcurrencyOption(1)); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(data); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			frames = append(frames, bytes.Clone(other.Bytes()))
		}
		for n, frame := range frames {
			for _, into := range [][]byte{nil, memory} {
				got, err := d.Unpack(rosbag.CompressionLZ4, frame, int64(len(data)), into)
				if err != nil || !bytes.Equal(got, data) {
					t.Fatalf("sample %d of %d bytes, frame %d: %d bytes unpacked, error %v", i, len(data), n, len(got), err)
				}
			}
		}
	}
}

// TestLZ4Memory: packing allocates for a frame, not for each of its blocks.
func TestLZ4Memory(t *testing.T) {
	data := make([]byte, 24<<20)
	rnd := rand.New(rand.NewPCG(9, 10))
	for at := 0; at < len(data); at += 8 {
		binary.LittleEndian.PutUint64(data[at:], rnd.Uint64())
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	frame := packLZ4(t, nil, data)
	runtime.ReadMemStats(&after)
	if want := lz4Bound(len(data)); len(frame) != want {
		t.Errorf("random data packed to %d bytes, want %d", len(frame), want)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > uint64(3*len(data)) {
		t.Errorf("%d bytes allocated to pack %d bytes to %d", n, len(data), len(frame))
	}
}

// TestLZ4Damage flips each bit of a frame, cuts it everywhere and unpacks it to other sizes: never
// is other data taken for good. A Decompressor that has met damage unpacks what is sound.
func TestLZ4Damage(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("some data, some more data; "), 40)
	frame := packLZ4(t, nil, data)
	var d Decompressor
	unpack := func(frame []byte, size int) ([]byte, error) {
		return d.Unpack(rosbag.CompressionLZ4, frame, int64(size), nil)
	}
	for _, tt := range []struct {
		frame []byte
		size  int
		want  string
	}{
		{frame, 0, "lz4 data holds more than 0 bytes"},
		{frame, len(data) - 1, "lz4 data holds more than 1079 bytes"},
		{frame, len(data) + 1, "lz4 data ends after 1080 of 1081 bytes"},
		{packLZ4(t, nil, nil), 1, "lz4 data ends after 0 of 1 bytes"},
	} {
		if _, err := unpack(tt.frame, tt.size); err == nil || err.Error() != tt.want {
			t.Errorf("unpacked to %d bytes: %v, want %s", tt.size, err, tt.want)
		}
	}
	for i := range frame {
		if _, err := unpack(frame[:i:i], len(data)); err == nil && i < len(frame)-4 {
			t.Errorf("cut at %d: unpacked", i)
		}
		for bit := range 8 {
			bad := bytes.Clone(frame)
			bad[i] ^= 1 << bit
			if got, err := unpack(bad, len(data)); err == nil && !bytes.Equal(got, data) {
				t.Errorf("bit %d of byte %d flipped: wrong data", bit, i)
			}
		}
		if got, err := unpack(frame, len(data)); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("after damage at %d: %v", i, err)
		}
	}
}

func TestIsLZ4(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]bool{
		"\x04\x22\x4d\x18": true, "\x04\x22\x4d\x18 and more": true, "\x04\x22\x4d": false, "": false,
		"\x02\x21\x4c\x18": false, // an older format
	} {
		if got := IsLZ4([]byte(data)); got != want {
			t.Errorf("%q: %v, want %v", data, got, want)
		}
	}
}

// FuzzFrame: what is packed is unpacked. Anything else is unpacked to what the library makes of it,
// or is an error.
func FuzzFrame(f *testing.F) {
	for _, b := range samples(5000) {
		f.Add(b)
	}
	z, err := NewCompressor(rosbag.CompressionLZ4)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var d Decompressor
		frame := z.Append(nil, b)
		if got, err := d.Unpack(rosbag.CompressionLZ4, frame, int64(len(b)), nil); err != nil || !bytes.Equal(got, b) {
			t.Fatalf("other data after packing and unpacking, error %v", err)
		}
		frame = append(frame[:lz4FrameBytes-8], b...) // as what stands after the header of a frame
		want, err := io.ReadAll(io.LimitReader(lz4.NewReader(bytes.NewReader(frame)), 4*largeBlock))
		got, gotErr := d.Unpack(rosbag.CompressionLZ4, frame, int64(len(want)), nil)
		if gotErr == nil && (err != nil || !bytes.Equal(got, want)) {
			t.Fatalf("unpacked to %d bytes, by the library to %d, error %v", len(got), len(want), err)
		}
	})
}

// chunkBytes is the size of a recorder's chunk.
const chunkBytes = 768 << 10

// BenchmarkCodecs packs and unpacks each kind of data.
func BenchmarkCodecs(b *testing.B) {
	for _, comp := range []rosbag.Compression{rosbag.CompressionLZ4, rosbag.CompressionBZ2} {
		z, err := NewCompressor(comp)
		if err != nil {
			b.Fatal(err)
		}
		for _, kind := range kinds.All {
			data := kind.Make(chunkBytes)
			packed := z.Append(nil, data)
			b.Run(fmt.Sprintf("comp=%s/pack/data=%s", comp, kind.Name), func(b *testing.B) {
				out := bytes.Clone(packed)
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					out = z.Append(out[:0], data)
				}
				b.ReportMetric(float64(len(data))/float64(len(out)), "ratio")
			})
			b.Run(fmt.Sprintf("comp=%s/unpack/data=%s", comp, kind.Name), func(b *testing.B) {
				var d Decompressor
				memory := make([]byte, len(data))
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := d.Unpack(comp, packed, int64(len(data)), memory); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
