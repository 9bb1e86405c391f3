package bzip2

import (
	"bytes"
	"errors"
	"io"
	"strings"
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

// crafted is a stream of one block. The zero value has the data of sound.
type crafted struct {
	magic, level, block, sum, total uint64 // are added to what is right
	random, origin                  uint64
	unused                          bool   // the block has no bytes
	tables, groups                  int    // are added to what is right
	selector                        string // bits, "0" if empty
	lengths                         []int  // of the words of the second table, 1, 2, 2 if empty
	start                           int    // what the lengths begin with, the first of them if zero
	codes                           string // bits, those of the data "a" if empty
	data                            string // "a" if empty
}

// sound is a crafted stream without damage.
var sound crafted

func (c crafted) bytes() []byte {
	var s bitString
	var sum checksum
	if c.data == "" {
		c.data = "a"
	}
	sum.add([]byte(c.data))
	s.put(streamMagic+c.magic, 24)
	s.put('9'+c.level, 8)
	s.put(blockMagic+c.block, 48)
	s.put(uint64(sum.value())+c.sum, 32)
	s.put(c.random, 1)
	s.put(c.origin, 24)
	if c.unused {
		s.put(0, 16)
	} else {
		s.put(1<<(15-'a'>>4), 16)
		s.put(1<<(15-'a'&15), 16)
	}
	s.put(uint64(2+c.tables), 3)
	s.put(uint64(1+c.groups), 15)
	putString := func(text, otherwise string) {
		if text == "" {
			text = otherwise
		}
		for _, bit := range text {
			s.put(uint64(bit-'0'), 1)
		}
	}
	if c.groups >= 0 {
		putString(c.selector, "0")
	}
	if c.lengths == nil {
		c.lengths = []int{1, 2, 2} // the words 0, 10 and 11
	}
	if c.start == 0 {
		c.start = c.lengths[0]
	}
	for range 2 {
		at := c.start
		s.put(uint64(at), 5)
		for _, n := range c.lengths {
			for ; at < n; at++ {
				s.put(0b10, 2)
			}
			for ; at > n; at-- {
				s.put(0b11, 2)
			}
			s.put(0, 1)
		}
	}
	putString(c.codes, "011")
	s.put(endMagic, 48)
	s.put(uint64(sum.value())+c.total, 32)
	return s.bytes()
}

// TestCrafted: unusual data is unpacked as libbz2 does, and for data that is wrong it is told
// what is. The library agrees about which is which.
func TestCrafted(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("0", 19)
	var r Reader
	for name, test := range map[string]struct {
		data crafted
		want string // data, or what the error contains if data is wrong
		bad  bool
	}{
		"sound":                      {data: sound, want: "a"},
		"a run":                      {data: crafted{codes: "01011", data: strings.Repeat("a", 4+'a')}, want: strings.Repeat("a", 4+'a')},
		"long words, a tree of few":  {data: crafted{lengths: []int{20, 20, 20}, codes: zeros + "0" + zeros[1:] + "10"}, want: "a"},
		"a tree with a hole":         {data: crafted{lengths: []int{2, 2, 2}, codes: "0010"}, want: "a"},
		"a tree with too much":       {data: crafted{lengths: []int{2, 1, 1}, codes: "01", data: "aa"}, want: "aa"},
		"lengths that go to 0":       {data: crafted{lengths: []int{1, 0, 1}}, want: "length of a Huffman word", bad: true},
		"lengths that go to 21":      {data: crafted{lengths: []int{20, 21, 20}}, want: "length of a Huffman word", bad: true},
		"lengths that begin at 31":   {data: crafted{start: 31}, want: "length of a Huffman word", bad: true},
		"a hole in a tree":           {data: crafted{lengths: []int{2, 2, 2}, codes: "0011"}, want: "no Huffman word", bad: true},
		"a deep hole in a tree":      {data: crafted{lengths: []int{2, 12, 13}, codes: "0011111111111111111111"}, want: "no Huffman word", bad: true},
		"what no stream begins with": {data: crafted{magic: 1}, want: "no stream", bad: true},
		"level 0":                    {data: crafted{level: ^uint64(8)}, want: "no stream", bad: true},
		"level :":                    {data: crafted{level: 1}, want: "no stream", bad: true},
		"what no block begins with":  {data: crafted{block: 1}, want: "neither a block", bad: true},
		"the sum of the block":       {data: crafted{sum: 1}, want: "checksum of a block", bad: true},
		"the sum of the stream":      {data: crafted{total: 1}, want: "checksum of a stream", bad: true},
		"a randomized block":         {data: crafted{random: 1}, want: "randomized", bad: true},
		"the origin":                 {data: crafted{origin: 1}, want: "outside of itself", bad: true},
		"the largest origin":         {data: crafted{origin: 1<<24 - 1}, want: "outside of itself", bad: true},
		"no codes":                   {data: crafted{codes: "11"}, want: "outside of itself", bad: true},
		"no bytes":                   {data: crafted{unused: true}, want: "without bytes", bad: true},
		"one table":                  {data: crafted{tables: -1}, want: "Huffman tables", bad: true},
		"seven tables":               {data: crafted{tables: 5}, want: "Huffman tables", bad: true},
		"a table too high":           {data: crafted{selector: "110"}, want: "table that does not exist", bad: true},
		"no groups":                  {data: crafted{groups: -1}, want: "without an end", bad: true},
		"a block without an end":     {data: crafted{codes: strings.Repeat("10"+"1011"[:0], 10) + strings.Repeat("0", 50)}, want: "larger than its stream", bad: true},
		"a run of 2^20":              {data: crafted{codes: strings.Repeat("10", 20) + "11"}, want: "larger than its stream", bad: true},
		"a run without its length":   {data: crafted{codes: "10011", data: "aaaa"}, want: "run without its length", bad: true},
	} {
		data := test.data.bytes()
		r.Reset(data)
		got, err := io.ReadAll(&r)
		switch {
		case !test.bad && (err != nil || string(got) != test.want):
			t.Errorf("%s: %q, error %v", name, got, err)
		case test.bad && (!errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %q, error %v, want %q", name, got, err, test.want)
		}
		if want, err := unpackDsnet(data); (err != nil) != test.bad || !bytes.Equal(got, want) {
			t.Errorf("%s: we unpack %q, the library %q, error %v", name, got, want, err)
		}
	}
}

// TestCutData: wherever data ends too early, that is the error.
func TestCutData(t *testing.T) {
	t.Parallel()
	var r Reader
	for name, want := range map[string][]byte{"text": []byte("seven words that are cut somewhere"), "nothing": nil} {
		data := pack(t, want, 9)
		for end := range data {
			r.Reset(data[:end:end])
			if got, err := io.ReadAll(&r); !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.HasPrefix(want, got) {
				t.Errorf("%s cut at %d of %d: %q, error %v", name, end, len(data), got, err)
			}
		}
	}
}

// TestFlippedBits: no flipped bit but those after the end of a stream goes unnoticed.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	var r Reader
	want := []byte("bits, that are flipped one after the other: bits.")
	data := pack(t, want, 9)
	unnoticed := 0
	for i := range 8 * len(data) {
		data[i/8] ^= 0x80 >> (i % 8)
		r.Reset(data)
		got, err := io.ReadAll(&r)
		switch {
		case err == nil && bytes.Equal(got, want):
			unnoticed++
		case !errors.Is(err, ErrCorrupt) && !errors.Is(err, io.ErrUnexpectedEOF):
			t.Errorf("bit %d: %q, error %v", i, got, err)
		}
		data[i/8] ^= 0x80 >> (i % 8)
	}
	// Of the table that no group has chosen, and of a level, nothing but the form matters.
	if most := len(data) * 8 / 4; unnoticed > most {
		t.Errorf("%d of %d flipped bits were not noticed, want at most %d", unnoticed, 8*len(data), most)
	}
}

// TestClaims: a stream takes memory for what it has, not for what its level allows, and a
// Reader gives an error again.
func TestClaims(t *testing.T) {
	t.Parallel()
	var r Reader
	r.Reset(pack(t, bytes.Repeat([]byte("little"), 100), 9))
	if _, err := io.ReadAll(&r); err != nil {
		t.Fatal(err)
	}
	if n := cap(r.column.column) + 4*cap(r.invert.links) + cap(r.invert.walked); n > 10_000 {
		t.Errorf("%d bytes for 600", n)
	}
	r.Reset(crafted{codes: strings.Repeat("10", 20) + "11"}.bytes())
	for range 3 {
		if n, err := r.Read(make([]byte, 1000)); n != 0 || !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d bytes, error %v", n, err)
		}
	}
	if n := cap(r.column.column); n > 2*9*levelBytes {
		t.Errorf("%d bytes for a block that is too large", n)
	}
}
