package lz4frame

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"

	"github.com/pierrec/lz4/v4"

	"github.com/gorosbag/gorosbag/test/kinds"
)

const (
	window     = 65535   // how far back a match may be; bytes
	largeBlock = 1 << 20 // of the frames that stock makes; bytes
)

// full makes tests take every distance at every size, for tens of seconds on a busy
// machine. Else data of more than one window has the distances that matter there.
var full = os.Getenv("GOROSBAG_FULL") != ""

// samples are data of all sorts and sizes: around the limits of the format,
// random, constant, repeating at short and long distances, and mixtures.
func samples(most int) [][]byte {
	rnd := rand.New(rand.NewPCG(5, 6))
	noise := rand.NewChaCha8([32]byte{5, 6})
	var list [][]byte
	sizes := []int{0, 1, 4, 5, 11, 12, 13, 14, 16, 17, 18, 19, 20, 31, 33, 64, 100, 255, 270, 271, 285, 300, 1000, 5000, 65_535, 65_536, 66_000, 70_000, 2*blockBytes + 77, 200_000, largeBlock - 1, largeBlock, largeBlock + 13, 2*largeBlock + 77}
	for _, n := range sizes {
		if n > most {
			break
		}
		distances := []int{1, 2, 3, 4, 5, 7, 8, 13, 1000, window - 1, window, window + 1}
		if n > 70_000 && !full {
			distances = []int{3, window - 1, window, window + 1}
		}
		if n > largeBlock && !full {
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

// TestPackAndUnpack packs data and has it unpacked by the library and by us, and unpacks what
// the library has packed.
func TestPackAndUnpack(t *testing.T) {
	t.Parallel()
	var e Encoder
	var lib bytes.Buffer
	z := lz4.NewWriter(&lib)
	most := 3 * largeBlock
	if testing.Short() {
		most = 70_000 // as with the race detector, which makes this many times slower
	}
	for i, data := range samples(most) {
		frame := e.Append([]byte("before"), data)[len("before"):]
		got, err := unpackByLibrary(frame, len(data))
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("sample %d of %d bytes: the library unpacks %d bytes, error %v", i, len(data), len(got), err)
		}
		out := make([]byte, len(data))
		if !Unpack(out, frame, false) || !bytes.Equal(out, data) {
			t.Fatalf("sample %d of %d bytes: not unpacked", i, len(data))
		}
		if most := len(data) + 4*(len(data)/blockBytes+1) + headerBytes + 8; len(frame) > most {
			t.Errorf("sample %d of %d bytes: packed to %d", i, len(data), len(frame))
		}
		for _, size := range []lz4.BlockSize{lz4.Block64Kb, lz4.Block1Mb, lz4.Block4Mb} {
			lib.Reset()
			z.Reset(&lib)
			if err := z.Apply(lz4.BlockSizeOption(size), lz4.ConcurrencyOption(1)); err != nil {
				t.Fatal(err)
			}
			if _, err := z.Write(data); err != nil {
				t.Fatal(err)
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			clear(out)
			if !Unpack(out, lib.Bytes(), false) || !bytes.Equal(out, data) {
				t.Fatalf("sample %d of %d bytes: frame of the library not unpacked", i, len(data))
			}
		}
	}
}

// TestMemory packs a chunk of many blocks: what was packed is not copied again for
// each of them.
func TestMemory(t *testing.T) {
	data := make([]byte, 24<<20)
	rnd := rand.New(rand.NewPCG(9, 10))
	for at := 0; at < len(data); at += 8 {
		binary.LittleEndian.PutUint64(data[at:], rnd.Uint64())
	}
	var e Encoder
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	frame := e.Append(nil, data)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > uint64(3*len(data)) { // for each block it would be a dozen times
		t.Errorf("%d bytes allocated to pack %d bytes to %d", n, len(data), len(frame))
	}
}

// TestRoom packs into destinations of all capacities, of which what is in front and
// what is behind belongs to others.
func TestRoom(t *testing.T) {
	t.Parallel()
	var e Encoder
	for _, data := range samples(1000) {
		want := e.Append(nil, data)
		for room := 0; room < 2*len(data)+64; room += 1 + room/8 {
			memory := bytes.Repeat([]byte{0xa5}, 3+room+64)
			got := e.Append(memory[:3:3+room], data)
			if string(got[:3]) != "\xa5\xa5\xa5" || !bytes.Equal(got[3:], want) {
				t.Fatalf("%d bytes with room for %d: other bytes", len(data), room)
			}
			if len(bytes.Trim(memory[3+room:], "\xa5")) > 0 {
				t.Fatalf("%d bytes with room for %d: bytes behind it were overwritten", len(data), room)
			}
		}
	}
}

// TestDamage flips each bit of a frame, cuts it everywhere and unpacks it to other
// sizes: that is left to the library, which says what is wrong.
func TestDamage(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("some data, some more data; "), 40)
	frame := new(Encoder).Append(nil, data)
	out := make([]byte, len(data)+1)
	if Unpack(out, frame, false) || Unpack(out[:len(data)-1], frame, false) || Unpack(nil, frame, false) {
		t.Error("unpacked to a wrong size")
	}
	out = out[:len(data)]
	for i := range frame {
		if Unpack(out, frame[:i:i], false) {
			t.Errorf("cut at %d: unpacked", i)
		}
		for bit := range 8 {
			bad := bytes.Clone(frame)
			bad[i] ^= 1 << bit
			if Unpack(out, bad, false) && !bytes.Equal(out, data) {
				t.Errorf("bit %d of byte %d flipped: wrong data", bit, i)
			}
		}
	}
	if Unpack(out, append(frame, 0), false) {
		t.Error("unpacked with a byte behind the frame")
	}
}

// FuzzFrame: what is packed is unpacked, by us and by the library. And anything is a
// frame to somebody: it is unpacked to what the library makes of it, or not at all.
func FuzzFrame(f *testing.F) {
	var e Encoder
	for _, b := range samples(5000) {
		f.Add(b)
		frame := e.Append(nil, b)
		f.Add(frame[headerBytes : len(frame)-8])
	}
	var block [largeBlock]byte
	f.Fuzz(func(t *testing.T, b []byte) {
		frame := e.Append(nil, b)
		out := make([]byte, len(b))
		if !Unpack(out, frame, false) || !bytes.Equal(out, b) {
			t.Fatal("other data after packing and unpacking")
		}
		if got, err := unpackByLibrary(frame, len(b)); err != nil || !bytes.Equal(got, b) {
			t.Fatalf("the library unpacks %d of %d bytes, error %v", len(got), len(b), err)
		}
		// Once as a frame behind its header, and once as the only block of one.
		frame = append(frame[:headerBytes], b...)
		compareWithLibrary(t, frame)
		frame = binary.LittleEndian.AppendUint32(frame[:headerBytes], uint32(len(b)))
		frame = binary.LittleEndian.AppendUint32(append(frame, b...), 0)
		n, err := lz4.UncompressBlock(b, block[:])
		if err == nil {
			frame = binary.LittleEndian.AppendUint32(frame, xxh32(block[:n]))
		} else {
			frame = append(frame, "four"...)
		}
		compareWithLibrary(t, frame)
	})
}

// compareWithLibrary unpacks frame to what the library says it holds, one byte less and one more.
func compareWithLibrary(t *testing.T, frame []byte) {
	t.Helper()
	want, err := io.ReadAll(io.LimitReader(lz4.NewReader(bytes.NewReader(frame)), 4*largeBlock))
	for _, n := range []int{len(want), len(want) - 1, len(want) + 1} {
		room := bytes.Repeat([]byte{0xa5}, max(n, 0)+64)
		if Unpack(room[:max(n, 0)], frame, false) && (err != nil || !bytes.Equal(room[:n], want)) {
			t.Fatalf("unpacked to %d bytes, the library to %d, error %v", n, len(want), err)
		}
		if len(bytes.Trim(room[max(n, 0):], "\xa5")) > 0 {
			t.Fatal("bytes behind the destination were overwritten")
		}
	}
}

// unpackByLibrary unpacks a frame of about size bytes.
func unpackByLibrary(frame []byte, size int) ([]byte, error) {
	out := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	_, err := out.ReadFrom(lz4.NewReader(bytes.NewReader(frame)))
	return out.Bytes(), err
}

// TestReader uses one Reader for sound frames behind sound and damaged ones, some of a
// shape that Unpack leaves to it.
func TestReader(t *testing.T) {
	t.Parallel()
	var e Encoder
	want := bytes.Repeat([]byte("some data, some more data; "), 40)
	sound := e.Append(nil, want)
	var linked bytes.Buffer
	z := lz4.NewWriter(&linked)
	if err := z.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false), lz4.BlockChecksumOption(true), lz4.ConcurrencyOption(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(want); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if Unpack(make([]byte, len(want)), linked.Bytes(), false) {
		t.Error("Unpack takes frames with checksums of blocks: find another shape for this test")
	}
	flipped := bytes.Clone(sound)
	flipped[len(flipped)-1] ^= 1
	var r Reader
	for name, tc := range map[string]struct {
		data  []byte
		sound bool
	}{
		"sound": {sound, true}, "another shape": {linked.Bytes(), true}, "cut": {sound[:len(sound)/2], false},
		"wrong checksum": {flipped, false}, "no frame": {[]byte("no frame"), false},
	} {
		r.Reset(bytes.NewReader(tc.data))
		if got, err := io.ReadAll(&r); (err == nil) != tc.sound || tc.sound && !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, error %v", name, len(got), err)
		}
		r.Reset(bytes.NewReader(sound))
		if got, err := io.ReadAll(&r); err != nil || !bytes.Equal(got, want) {
			t.Errorf("behind %s: %d bytes, error %v", name, len(got), err)
		}
	}
}

func TestIsFrame(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]bool{
		"\x04\x22\x4d\x18": true, "\x04\x22\x4d\x18 and more": true, "\x04\x22\x4d": false, "": false,
		"\x02\x21\x4c\x18": false, // legacy
	} {
		if got := IsFrame([]byte(data)); got != want {
			t.Errorf("%q: %v, want %v", data, got, want)
		}
	}
}

// chunkBytes is the size of a recorder's chunk.
const chunkBytes = 768 << 10

// BenchmarkAppend packs each kind of data as a frame, and beside it as a bare block: what
// is between them is the frame's checksum.
func BenchmarkAppend(b *testing.B) {
	for _, kind := range kinds.All {
		data := kind.Make(chunkBytes)
		b.Run("data="+kind.Name, func(b *testing.B) {
			var e Encoder
			out := e.Append(nil, data)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				out = e.Append(out[:0], data)
			}
			b.ReportMetric(float64(len(data))/float64(len(out)), "ratio")
		})
		b.Run("block/data="+kind.Name, func(b *testing.B) {
			var z lz4.Compressor
			out := make([]byte, len(data)-1)
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				_, _ = z.CompressBlock(data, out) // an error of jpeg: no room
			}
		})
	}
}

func BenchmarkUnpack(b *testing.B) {
	for _, kind := range kinds.All {
		data := kind.Make(chunkBytes)
		frame := new(Encoder).Append(nil, data)
		for _, verified := range []bool{false, true} {
			b.Run(fmt.Sprintf("data=%s/verified=%v", kind.Name, verified), func(b *testing.B) {
				out := make([]byte, len(data))
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					if !Unpack(out, frame, verified) {
						b.Fatal("not unpacked")
					}
				}
			})
		}
	}
}
