package bzip2

import (
	"bytes"
	stdbzip2 "compress/bzip2"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"testing"

	dsnet "github.com/dsnet/compress/bzip2"
)

// full makes tests use whole blocks throughout, for minutes on a busy machine. Else one
// input has two blocks, and the others are as large as their structure needs.
var full = os.Getenv("GOROSBAG_FULL") != ""

// inputs are inputs that take every path of the packer.
func inputs() map[string][]byte {
	rnd := rand.New(rand.NewPCG(3, 4))
	random := func(n, values int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rnd.IntN(values))
		}
		return b
	}
	scale := 1
	if full {
		scale = 10
	}
	in := map[string][]byte{
		"nothing":           nil,
		"every byte":        random(4<<10, 256),
		"two blocks":        random(maxBlockBytes+5000, 16),
		"one byte":          bytes.Repeat([]byte{7}, 30_000*scale),
		"period of 3":       bytes.Repeat([]byte("abc"), 10_000*scale), // groups that are dealt out
		"period of 5001":    bytes.Repeat(random(5001, 256), 5*scale),
		"period but a byte": append(bytes.Repeat(random(1001, 4), 10*scale), 9),
		"long repeats":      bytes.Repeat(append(random(10_000, 4), 0), 2*scale),
		"few values":        random(30_000*scale, 2),
		"few of a kind":     append(bytes.Repeat([]byte{1, 2}, 7_000*scale), random(64, 256)...),
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

// stream is packed data and what it was made of.
type stream struct {
	name         string
	packed, want []byte
}

// checkUnpacks unpacks streams with every decoder at hand: all of them behind each other,
// as a decoder allocates megabytes, and each one alone if that goes wrong.
func checkUnpacks(t *testing.T, list ...stream) {
	t.Helper()
	all := stream{name: "all streams"}
	for _, s := range list {
		all.packed, all.want = append(all.packed, s.packed...), append(all.want, s.want...)
	}
	err := unpacks(t, all)
	if err == nil {
		return
	}
	t.Error(err)
	for _, s := range list {
		if err := unpacks(t, s); err != nil {
			t.Error(err)
		}
	}
}

// unpacks is checkUnpacks for one input of the decoders.
func unpacks(t *testing.T, s stream) error {
	t.Helper()
	check := func(decoder string, got []byte, err error) error {
		if err != nil || !bytes.Equal(got, s.want) {
			return fmt.Errorf("%s: %s gives %d bytes, want %d; %w", s.name, decoder, len(got), len(s.want), err)
		}
		return nil
	}
	got, err := io.ReadAll(stdbzip2.NewReader(bytes.NewReader(s.packed)))
	errs := []error{check("compress/bzip2", got, err)}
	got, err = unpackDsnet(s.packed)
	errs = append(errs, check("dsnet", got, err))
	var r Reader
	r.Reset(s.packed)
	got, err = io.ReadAll(&r)
	errs = append(errs, check("ours", got, err))
	if bunzip2 != "" {
		c := exec.CommandContext(t.Context(), bunzip2)
		c.Stdin = bytes.NewReader(s.packed)
		got, err = c.Output()
		errs = append(errs, check("bunzip2", got, err))
	}
	return errors.Join(errs...)
}

func unpackDsnet(packed []byte) ([]byte, error) {
	r, err := dsnet.NewReader(bytes.NewReader(packed), nil)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// bunzip2 is that of libbz2, which stock reads bags with; empty where it is not installed.
var bunzip2, _ = exec.LookPath("bunzip2")

// TestAppend unpacks what was packed, with one encoder for all, so that what is left from
// one input meets the next.
func TestAppend(t *testing.T) {
	t.Parallel()
	var e Encoder
	var list []stream
	for name, want := range inputs() {
		packed, ok := bytes.CutPrefix(e.Append([]byte("before"), want), []byte("before"))
		if !ok {
			t.Fatalf("%s: not appended", name)
		}
		list = append(list, stream{name, packed, want})
	}
	checkUnpacks(t, list...)
}

// TestBlockEnd moves the end of a block over all places within a run, and over the end
// of the data.
func TestBlockEnd(t *testing.T) {
	t.Parallel()
	const most = 100
	var e Encoder
	noise := make([]byte, most)
	for i := range noise {
		noise[i] = byte(i)
	}
	var list []stream
	for _, run := range []int{1, 4, 5, 300} {
		for before := most - 12; before <= most; before++ {
			want := slices.Concat(noise[:before], bytes.Repeat([]byte{200}, run))
			taken := e.takeBlock(want, most)
			if len(e.block) > most || taken < len(want) && len(e.block) < most-minRun {
				t.Errorf("%d bytes and a run of %d: a block of %d bytes takes %d", before, run, len(e.block), taken)
			}
			list = append(list, stream{fmt.Sprintf("%d bytes and a run of %d", before, run), e.appendBlocks(nil, want, most), want})
		}
	}
	checkUnpacks(t, list...)
}

// TestRepeatedBlock: rotations that are wholly equal are left alone as soon as nothing tells
// them apart, and those that differ in one byte far away are sorted.
func TestRepeatedBlock(t *testing.T) {
	t.Parallel()
	period := []byte("some bytes that repeat themselves, the whole block long. ")
	for name, test := range map[string]struct {
		data   []byte
		rounds int
	}{
		"wholly":       {bytes.Repeat(period, 1000), 5},
		"but one byte": {append(bytes.Repeat(period, 1000), '!'), 16},
		"one byte":     {bytes.Repeat([]byte{1}, 50_000), 1},
	} {
		var e Encoder
		e.block = bytes.Clone(test.data)
		n := len(e.block)
		e.order, e.rank, e.column = make([]int32, n), make([]int32, n), make([]byte, n)
		e.sortStarts()
		e.group()
		rounds := 1
		for h := sortedPrefix; !e.round(h); h *= 2 {
			rounds++
		}
		if rounds > test.rounds {
			t.Errorf("%s: %d rounds, want at most %d", name, rounds, test.rounds)
		}
		first := e.transform()
		var counts [256]uint32
		for _, b := range e.column {
			counts[b]++
		}
		if new(inverter).invert(e.column, &counts, first); !bytes.Equal(e.column, test.data) {
			t.Errorf("%s: sorted wrongly", name)
		}
	}
}

// TestTree packs frequencies for which the best tree would be too deep.
func TestTree(t *testing.T) {
	t.Parallel()
	var tree huffmanTree
	freq := []uint32{1, 1}
	for n := 2; n < 40; n++ {
		freq = append(freq, freq[n-1]+freq[n-2])
	}
	lengths := make([]uint8, len(freq))
	tree.lengths(lengths, freq)
	sum := 0 // of the shares that the codes take; all together take the whole
	for c, l := range lengths {
		if l < 1 || l > maxCodeBits {
			t.Fatalf("code %d has %d bits", c, l)
		}
		sum += 1 << (maxCodeBits - l)
	}
	if sum != 1<<maxCodeBits {
		t.Errorf("the tree has holes, or no room: %d, want %d", sum, 1<<maxCodeBits)
	}
	if lengths[39] > 3 {
		t.Errorf("the most frequent code has %d bits", lengths[39])
	}
}

func TestAppendAllocs(t *testing.T) {
	data := bytes.Repeat([]byte("twelve bytes"), 5000)
	var e Encoder
	out := e.Append(nil, data)
	if n := testing.AllocsPerRun(5, func() { out = e.Append(out[:0], data) }); n != 0 {
		t.Errorf("%v allocations for a chunk, want none", n)
	}
}

// FuzzAppend packs what a script of literals, runs, repeats and noise makes, in blocks of
// any size.
func FuzzAppend(f *testing.F) {
	for _, in := range inputs() {
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
	var e Encoder
	f.Fuzz(func(t *testing.T, block uint32, script []byte) {
		want := play(script)
		most := max(int(block%maxBlockBytes), len(want)/100, 10)
		checkUnpacks(t, stream{fmt.Sprintf("blocks of %d", most), e.appendBlocks(nil, want, most), want})
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
