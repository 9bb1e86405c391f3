package bzip2

import (
	"bytes"
	stdbzip2 "compress/bzip2"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"testing"

	dsnet "github.com/dsnet/compress/bzip2"

	"github.com/gorosbag/gorosbag/internal/testkit"
)

// inputs are data of all shapes.
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
	if testkit.Full() { // whole blocks throughout, for minutes on a busy machine
		scale = 10
	}
	in := map[string][]byte{
		"nothing":           nil,
		"every byte":        random(4<<10, 256),
		"two blocks":        random(9*levelBytes+5000, 16),
		"one byte":          bytes.Repeat([]byte{7}, 30_000*scale),
		"period of 3":       bytes.Repeat([]byte("abc"), 10_000*scale),
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
	for _, n := range []int{50, 190, 210, 590, 610, 1190, 1210, 2390, 2410} { // packers choose the number of tables by it
		in[fmt.Sprintf("%d random bytes", n)] = random(n, 256)
	}
	return in
}

// stream is packed data and what it was made of.
type stream struct {
	name         string
	packed, want []byte
}

// checkUnpacks unpacks streams with every decoder at hand: all of them one after the other,
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

// pack packs with the program's packer, in blocks of 100 kB for each level.
func pack(tb testing.TB, data []byte, level int) []byte {
	tb.Helper()
	var b bytes.Buffer
	w, err := dsnet.NewWriter(&b, &dsnet.WriterConfig{Level: level})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}
