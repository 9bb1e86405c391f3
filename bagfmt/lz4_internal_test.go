package bagfmt

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/pierrec/lz4/v4"
)

// lz4Samples are data of all sorts and sizes: around the limits of the format,
// random, constant, repeating at short and long distances, and mixtures.
func lz4Samples(most int) [][]byte {
	rnd := rand.New(rand.NewPCG(5, 6))
	var list [][]byte
	sizes := []int{0, 1, 4, 5, 11, 12, 13, 14, 16, 17, 18, 19, 20, 31, 33, 64, 100, 255, 270, 271, 285, 300, 1000, 5000, 65_535, 65_536, 66_000, 70_000, 200_000, lz4BlockBytes - 1, lz4BlockBytes, lz4BlockBytes + 1, lz4BlockBytes + 13, 2*lz4BlockBytes + 77}
	for _, n := range sizes {
		if n > most {
			break
		}
		random, zero, mixed := make([]byte, n), make([]byte, n), make([]byte, n)
		for i := range random {
			random[i] = byte(rnd.Uint32())
		}
		list = append(list, random, zero)
		for _, distance := range []int{1, 2, 3, 4, 5, 7, 8, 13, 1000, lz4Window - 1, lz4Window, lz4Window + 1} {
			if distance >= n {
				break
			}
			b := bytes.Clone(random)
			for i := distance; i < n; i++ {
				b[i] = b[i-distance]
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

// TestLZ4 packs data and has it unpacked by the library and by us, and unpacks what
// the library has packed.
func TestLZ4(t *testing.T) {
	t.Parallel()
	var table lz4Table
	var lib bytes.Buffer
	z := lz4.NewWriter(&lib)
	most := 3 * lz4BlockBytes
	if testing.Short() {
		most = 70_000
	}
	for i, data := range lz4Samples(most) {
		frame := appendLZ4([]byte("before"), data, &table)[len("before"):]
		got, err := io.ReadAll(lz4.NewReader(bytes.NewReader(frame)))
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("sample %d of %d bytes: the library unpacks %d bytes, error %v", i, len(data), len(got), err)
		}
		out := make([]byte, len(data))
		if !unpackLZ4(out, frame, false) || !bytes.Equal(out, data) {
			t.Fatalf("sample %d of %d bytes: not unpacked", i, len(data))
		}
		if most := len(data) + 4*(len(data)/lz4BlockBytes+1) + lz4HeaderBytes + 8; len(frame) > most {
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
			if !unpackLZ4(out, lib.Bytes(), false) || !bytes.Equal(out, data) {
				t.Fatalf("sample %d of %d bytes: frame of the library not unpacked", i, len(data))
			}
		}
	}
}

// TestLZ4Memory packs a chunk of many blocks: what was packed is not copied again for
// each of them.
func TestLZ4Memory(t *testing.T) {
	data := make([]byte, 24*lz4BlockBytes)
	rnd := rand.New(rand.NewPCG(9, 10))
	for at := 0; at < len(data); at += 8 {
		binary.LittleEndian.PutUint64(data[at:], rnd.Uint64())
	}
	var table lz4Table
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	frame := appendLZ4(nil, data, &table)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > uint64(3*len(data)) { // for each block it would be a dozen times
		t.Errorf("%d bytes allocated to pack %d bytes to %d", n, len(data), len(frame))
	}
}

// TestLZ4Room packs into destinations of all capacities, of which what is in front and
// what is behind belongs to others.
func TestLZ4Room(t *testing.T) {
	t.Parallel()
	var table lz4Table
	for _, data := range lz4Samples(1000) {
		want := appendLZ4(nil, data, &table)
		for room := 0; room < len(data)+lz4BlockRoom+64; room += 1 + room/8 {
			memory := bytes.Repeat([]byte{0xa5}, 3+room+64)
			got := appendLZ4(memory[:3:3+room], data, &table)
			if string(got[:3]) != "\xa5\xa5\xa5" || !bytes.Equal(got[3:], want) {
				t.Fatalf("%d bytes with room for %d: other bytes", len(data), room)
			}
			if len(bytes.Trim(memory[3+room:], "\xa5")) > 0 {
				t.Fatalf("%d bytes with room for %d: bytes behind it were overwritten", len(data), room)
			}
		}
	}
}

// TestLZ4Damage flips each bit of a frame, cuts it everywhere and unpacks it to other
// sizes: that is left to the library, which says what is wrong.
func TestLZ4Damage(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("some data, some more data; "), 40)
	frame := appendLZ4(nil, data, new(lz4Table))
	out := make([]byte, len(data)+1)
	if unpackLZ4(out, frame, false) || unpackLZ4(out[:len(data)-1], frame, false) || unpackLZ4(nil, frame, false) {
		t.Error("unpacked to a wrong size")
	}
	out = out[:len(data)]
	for i := range frame {
		if unpackLZ4(out, frame[:i:i], false) {
			t.Errorf("cut at %d: unpacked", i)
		}
		for bit := range 8 {
			bad := bytes.Clone(frame)
			bad[i] ^= 1 << bit
			if unpackLZ4(out, bad, false) && !bytes.Equal(out, data) {
				t.Errorf("bit %d of byte %d flipped: wrong data", bit, i)
			}
		}
	}
	if unpackLZ4(out, append(frame, 0), false) {
		t.Error("unpacked with a byte behind the frame")
	}
}

// FuzzLZ4: what is packed is unpacked, by us and by the library. And anything is a
// frame to somebody: it is unpacked to what the library makes of it, or not at all.
func FuzzLZ4(f *testing.F) {
	var table lz4Table
	for _, b := range lz4Samples(5000) {
		f.Add(b)
		frame := appendLZ4(nil, b, &table)
		f.Add(frame[lz4HeaderBytes : len(frame)-8])
	}
	var block [lz4BlockBytes]byte
	f.Fuzz(func(t *testing.T, b []byte) {
		frame := appendLZ4(nil, b, &table)
		out := make([]byte, len(b))
		if !unpackLZ4(out, frame, false) || !bytes.Equal(out, b) {
			t.Fatal("other data after packing and unpacking")
		}
		if got := unpackByLibrary(t, frame); !bytes.Equal(got, b) {
			t.Fatalf("the library unpacks %d of %d bytes", len(got), len(b))
		}
		// Once as a frame behind its header, and once as the only block of one.
		frame = append(frame[:lz4HeaderBytes], b...)
		compareLZ4(t, frame)
		frame = binary.LittleEndian.AppendUint32(frame[:lz4HeaderBytes], uint32(len(b)))
		frame = binary.LittleEndian.AppendUint32(append(frame, b...), 0)
		n, err := lz4.UncompressBlock(b, block[:])
		if err == nil {
			frame = binary.LittleEndian.AppendUint32(frame, xxh32(block[:n]))
		} else {
			frame = append(frame, "four"...)
		}
		compareLZ4(t, frame)
	})
}

// compareLZ4 unpacks frame to what the library says it holds, one byte less and one more.
func compareLZ4(t *testing.T, frame []byte) {
	t.Helper()
	want, err := io.ReadAll(io.LimitReader(lz4.NewReader(bytes.NewReader(frame)), 4*lz4BlockBytes))
	for _, n := range []int{len(want), len(want) - 1, len(want) + 1} {
		room := bytes.Repeat([]byte{0xa5}, max(n, 0)+64)
		if unpackLZ4(room[:max(n, 0)], frame, false) && (err != nil || !bytes.Equal(room[:n], want)) {
			t.Fatalf("unpacked to %d bytes, the library to %d, error %v", n, len(want), err)
		}
		if len(bytes.Trim(room[max(n, 0):], "\xa5")) > 0 {
			t.Fatal("bytes behind the destination were overwritten")
		}
	}
}

func unpackByLibrary(t *testing.T, frame []byte) []byte {
	t.Helper()
	b, err := io.ReadAll(lz4.NewReader(bytes.NewReader(frame)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
