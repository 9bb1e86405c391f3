package bagfmt

import (
	"bytes"
	stdbzip2 "compress/bzip2"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/dsnet/compress/bzip2"
)

// bz2Inputs are inputs that take every path of the packer.
func bz2Inputs() map[string][]byte {
	rnd := rand.New(rand.NewPCG(3, 4))
	random := func(n, values int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rnd.IntN(values))
		}
		return b
	}
	in := map[string][]byte{
		"nothing":        nil,
		"every byte":     random(4<<10, 256),
		"two blocks":     random(bz2BlockBytes+5000, 16),
		"one byte":       bytes.Repeat([]byte{7}, 300_000),
		"period of 3":    bytes.Repeat([]byte("abc"), 100_000),
		"period of 5001": bytes.Repeat(random(5001, 256), 50),
		"long repeats":   bytes.Repeat(append(random(10_000, 4), 0), 20),
		"few of a kind":  append(bytes.Repeat([]byte{1, 2}, 70_000), random(64, 256)...),
	}
	for n := 1; n < 12; n++ {
		in[fmt.Sprintf("%d of two bytes", n)] = random(n, 2)
	}
	for _, n := range []int{3, 4, 5, 254, 255, 256, 258, 259, 260, 510, 511} {
		in[fmt.Sprintf("a run of %d", n)] = append(bytes.Repeat([]byte{9}, n), 8)
		in[fmt.Sprintf("only a run of %d", n)] = bytes.Repeat([]byte{9}, n)
	}
	for _, n := range []int{50, 190, 210, 590, 610, 1190, 1210, 2390, 2410} { // around the numbers of tables
		in[fmt.Sprintf("%d random bytes", n)] = random(n, 256)
	}
	return in
}

// TestBZ2Pack unpacks with both libraries what was packed, with one packer for all, so
// that what is left from one input meets the next.
func TestBZ2Pack(t *testing.T) {
	t.Parallel()
	var p bz2Packer
	for name, want := range bz2Inputs() {
		packed := p.appendTo([]byte("before"), want)
		packed, ok := bytes.CutPrefix(packed, []byte("before"))
		if !ok {
			t.Fatalf("%s: not appended", name)
		}
		if got, err := io.ReadAll(stdbzip2.NewReader(bytes.NewReader(packed))); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: compress/bzip2 gives %d bytes, want %d; %v", name, len(got), len(want), err)
		}
		r, err := bzip2.NewReader(bytes.NewReader(packed), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: dsnet gives %d bytes, want %d; %v", name, len(got), len(want), err)
		}
	}
}

// TestBZ2Tree packs frequencies for which the best tree would be too deep.
func TestBZ2Tree(t *testing.T) {
	t.Parallel()
	var tree bz2Tree
	freq := []uint32{1, 1}
	for n := 2; n < 40; n++ {
		freq = append(freq, freq[n-1]+freq[n-2])
	}
	lengths := make([]uint8, len(freq))
	tree.lengths(lengths, freq)
	sum := 0 // of the shares that the codes take; all together take the whole
	for c, l := range lengths {
		if l < 1 || l > bz2Depth {
			t.Fatalf("code %d has %d bits", c, l)
		}
		sum += 1 << (bz2Depth - l)
	}
	if sum != 1<<bz2Depth {
		t.Errorf("the tree has holes, or no room: %d, want %d", sum, 1<<bz2Depth)
	}
	if lengths[39] > 3 {
		t.Errorf("the most frequent code has %d bits", lengths[39])
	}
}

func TestBZ2PackAllocs(t *testing.T) {
	data := bytes.Repeat([]byte("twelve bytes"), 20_000)
	var p bz2Packer
	out := p.appendTo(nil, data)
	if n := testing.AllocsPerRun(5, func() { out = p.appendTo(out[:0], data) }); n != 0 {
		t.Errorf("%v allocations for a chunk, want none", n)
	}
}

func FuzzBZ2Pack(f *testing.F) {
	for _, in := range bz2Inputs() {
		if len(in) < 10_000 {
			f.Add(in)
		}
	}
	var p bz2Packer
	f.Fuzz(func(t *testing.T, want []byte) {
		got, err := io.ReadAll(stdbzip2.NewReader(bytes.NewReader(p.appendTo(nil, want))))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes come back, want %d; %v", len(got), len(want), err)
		}
	})
}
