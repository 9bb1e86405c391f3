package bzip2

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// bitString is bits to be written, the first one first.
type bitString []byte

func (s *bitString) put(v uint64, n int) {
	for n--; n >= 0; n-- {
		*s = append(*s, byte(v>>n)&1)
	}
}

func (s *bitString) bytes() []byte {
	b := make([]byte, (len(*s)+7)/8)
	for i, bit := range *s {
		b[i/8] |= bit << (7 - i%8)
	}
	return b
}

// treeBlock is the start of a block whose second tree has three symbols of such lengths.
func treeBlock(shift int, lengths [3]int) []byte {
	var s bitString
	s.put(0x425a6839, 32)
	s.put(0, shift)
	s.put(blockMagic, 48)
	s.put(0, 32+1+24)
	s.put(1<<15, 16) // one byte value is used
	s.put(1<<15, 16)
	s.put(2, 3)
	s.put(3, 15)
	s.put(0b0_10_0, 4) // selectors
	for _, list := range [][3]int{{1, 2, 2}, lengths} {
		at := list[0]
		s.put(uint64(at), 5)
		for _, n := range list {
			for ; at < n; at++ {
				s.put(0b10, 2)
			}
			for ; at > n; at-- {
				s.put(0b11, 2)
			}
			s.put(0, 1)
		}
	}
	s.put(0, 100)
	return s.bytes()
}

// TestHoles finds deep trees with holes at every bit, and none in what compressors
// make.
func TestHoles(t *testing.T) {
	t.Parallel()
	for shift := range 16 {
		for lengths, want := range map[[3]int]bool{{1, 2, 2}: false, {2, 2, 2}: false, {1, 2, 20}: true, {20, 20, 20}: true, {13, 1, 3}: true} {
			if got := deepHoles(treeBlock(shift, lengths)); got != want {
				t.Errorf("shifted by %d bits, lengths %v: %v, want %v", shift, lengths, got, want)
			}
		}
	}
	if !deepHoles(bytes.Repeat([]byte{0x31, 0x41, 0x59, 0x26, 0x53, 0x59, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 30_000)) {
		t.Error("blocks in blocks are parsed without end")
	}
	var e Encoder
	rnd := rand.New(rand.NewPCG(1, 2))
	sizes := []int{0, 1, 2, 100, 70_000}
	if full {
		sizes = append(sizes, 2_000_000) // three blocks, as TestAppend has two of
	}
	for _, n := range sizes {
		for _, values := range []int{1, 2, 20, 256} {
			data := make([]byte, n)
			for i := range data {
				data[i] = byte(rnd.IntN(values))
			}
			if deepHoles(e.Append(nil, data)) {
				t.Errorf("%d bytes of %d values: holes", n, values)
			}
		}
	}
}
