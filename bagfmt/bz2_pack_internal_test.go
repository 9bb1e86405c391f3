package bagfmt

import (
	"bytes"
	stdbzip2 "compress/bzip2"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"slices"
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
		"few values":     random(300_000, 2),
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

// checkBZ2 unpacks with every decoder at hand what was packed.
func checkBZ2(t *testing.T, name string, packed, want []byte) {
	t.Helper()
	check := func(decoder string, got []byte, err error) {
		t.Helper()
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %s gives %d bytes, want %d; %v", name, decoder, len(got), len(want), err)
		}
	}
	got, err := io.ReadAll(stdbzip2.NewReader(bytes.NewReader(packed)))
	check("compress/bzip2", got, err)
	r, err := bzip2.NewReader(bytes.NewReader(packed), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err = io.ReadAll(r)
	check("dsnet", got, err)
	if bunzip2 != "" {
		c := exec.CommandContext(t.Context(), bunzip2)
		c.Stdin = bytes.NewReader(packed)
		got, err = c.Output()
		check("bunzip2", got, err)
	}
}

// bunzip2 is that of libbz2, which stock reads bags with; empty where it is not installed.
var bunzip2, _ = exec.LookPath("bunzip2")

// TestBZ2Pack unpacks what was packed, with one packer for all, so that what is left from
// one input meets the next.
func TestBZ2Pack(t *testing.T) {
	t.Parallel()
	var p bz2Packer
	for name, want := range bz2Inputs() {
		packed, ok := bytes.CutPrefix(p.appendTo([]byte("before"), want), []byte("before"))
		if !ok {
			t.Fatalf("%s: not appended", name)
		}
		checkBZ2(t, name, packed, want)
	}
}

// TestBZ2BlockEnd moves the end of a block over all places within a run, and over the end
// of the data.
func TestBZ2BlockEnd(t *testing.T) {
	t.Parallel()
	const most = 100
	var p bz2Packer
	noise := make([]byte, most)
	for i := range noise {
		noise[i] = byte(i)
	}
	for _, run := range []int{1, 4, 5, 300} {
		for before := most - 12; before <= most; before++ {
			want := slices.Concat(noise[:before], bytes.Repeat([]byte{200}, run))
			taken := p.takeBlock(want, most)
			if len(p.block) > most || taken < len(want) && len(p.block) < most-bz2RunLeast {
				t.Errorf("%d bytes and a run of %d: a block of %d bytes takes %d", before, run, len(p.block), taken)
			}
			checkBZ2(t, fmt.Sprintf("%d bytes and a run of %d", before, run), p.appendBlocks(nil, want, most), want)
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

// FuzzBZ2Pack packs what a script of literals, runs, repeats and noise makes, in blocks of
// any size.
func FuzzBZ2Pack(f *testing.F) {
	for _, in := range bz2Inputs() {
		if len(in) < 10_000 {
			f.Add(uint32(0), append([]byte{0, 255}, in...))
		}
	}
	noise := rand.New(rand.NewPCG(5, 6))
	for n := range 20 {
		script := make([]byte, 40*n)
		for i := range script {
			script[i] = byte(noise.Uint32())
		}
		f.Add(noise.Uint32(), script)
	}
	var p bz2Packer
	f.Fuzz(func(t *testing.T, block uint32, script []byte) {
		want := play(script)
		most := max(int(block%bz2BlockBytes), len(want)/100, 10)
		checkBZ2(t, fmt.Sprintf("blocks of %d", most), p.appendBlocks(nil, want, most), want)
	})
}

// play makes data of a script. Each step has an operation and a number.
func play(script []byte) (out []byte) {
	const most = 200_000
	for len(script) >= 2 && len(out) < most {
		op, n := script[0]%8, int(script[1])
		script = script[2:]
		switch {
		case op < 3: // as it is
			n = min(n, len(script))
			out, script = append(out, script[:n]...), script[n:]
		case op < 5 && len(script) > 0: // a run
			out = append(out, bytes.Repeat(script[:1], n*(1+int(op-3)*50))...)
			script = script[1:]
		case op < 7 && len(script) > 0: // once more what came lately
			last := out[len(out)-min(len(out), n*(1+int(op-5)*20)):]
			out = append(out, bytes.Repeat(last, int(script[0]))...)
			script = script[1:]
		default: // noise, some values more often than others
			rnd := rand.New(rand.NewPCG(uint64(n), uint64(len(out))))
			for range 20 * n {
				v := rnd.Uint32()
				out = append(out, byte(v)&byte(v>>8)>>(n%6))
			}
		}
	}
	return out[:min(len(out), most)]
}
