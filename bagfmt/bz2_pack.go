package bagfmt

import (
	"hash/crc32"
	"math/bits"
)

const (
	bz2End        = 0x177245385090 // at the end of the stream
	bz2BlockBytes = bz2Level*100_000 - 20
	bz2RunLeast   = 4   // equal bytes that are followed by a count of more of them
	bz2RunMost    = 255 // of them all
)

// bz2Packer compresses with bzip2. It keeps its memory from one call to the next: about
// 12 MB, or 25 MB once data has come that repeats itself a lot.
//
//	src -> block (runs) -> rotations sorted -> last column -> codes (move to front, runs
//	of zeros) -> up to six Huffman tables, one chosen for each 50 codes
type bz2Packer struct {
	block   []byte // and its first bytes again behind it
	order   []int32
	rank    []int32
	keys    []uint64
	dealt   []uint64
	starts  [1 << 16]int32
	column  []byte
	codes   []uint16
	used    [256]bool
	tables  bz2Tables
	reverse []byte
}

// appendTo adds src to dst as one stream of its own.
func (p *bz2Packer) appendTo(dst, src []byte) []byte { return p.appendBlocks(dst, src, bz2BlockBytes) }

// appendBlocks is appendTo for blocks of at most so many bytes, at least ten.
func (p *bz2Packer) appendBlocks(dst, src []byte, most int) []byte {
	w := bz2Bitwriter{out: append(dst, 'B', 'Z', 'h', '0'+bz2Level)}
	total := uint32(0)
	for len(src) > 0 {
		n := p.takeBlock(src, most)
		sum := p.sum(src[:n])
		total = bits.RotateLeft32(total, 1) ^ sum
		w.put48(bz2Magic)
		w.put(sum, 32)
		p.writeBlock(&w)
		src = src[n:]
	}
	w.put48(bz2End)
	w.put(total, 32)
	return w.flush()
}

// takeBlock fills the block, of at most so many bytes, from the start of src and returns
// how much it took. Four equal bytes are followed by a count of how many more there are.
func (p *bz2Packer) takeBlock(src []byte, most int) (taken int) {
	b := p.block[:0]
	for taken < len(src) && len(b) < most-bz2RunLeast {
		c, run := src[taken], 1
		for longest := min(bz2RunMost, len(src)-taken); run < longest && src[taken+run] == c; {
			run++
		}
		taken += run
		for range min(run, bz2RunLeast) {
			b = append(b, c)
		}
		if run >= bz2RunLeast {
			b = append(b, byte(run-bz2RunLeast))
		}
	}
	p.block = b
	return taken
}

// sum is the checksum of a block: that of zip files with the bits of every byte, and
// of the result, in the other order.
func (p *bz2Packer) sum(src []byte) uint32 {
	if p.reverse == nil {
		p.reverse = make([]byte, 4<<10)
	}
	sum := uint32(0)
	for len(src) > 0 {
		n := min(len(src), len(p.reverse))
		for i, c := range src[:n] {
			p.reverse[i] = bits.Reverse8(c)
		}
		sum = crc32.Update(sum, crc32.IEEETable, p.reverse[:n])
		src = src[n:]
	}
	return bits.Reverse32(sum)
}

// writeBlock writes what follows the checksum of the block.
func (p *bz2Packer) writeBlock(w *bz2Bitwriter) {
	first := p.transform()
	w.put(0, 1) // not randomized
	w.put(uint32(first), 24)
	p.writeUsed(w)
	symbols := p.encodeColumn()
	p.tables.choose(p.codes, symbols)
	p.tables.write(w, p.codes)
}

// writeUsed tells which bytes the block has.
func (p *bz2Packer) writeUsed(w *bz2Bitwriter) {
	clear(p.used[:])
	for _, c := range p.block {
		p.used[c] = true
	}
	var ranges uint32
	var bytes [16]uint32
	for c, used := range p.used {
		if used {
			ranges |= 1 << (15 - c>>4)
			bytes[c>>4] |= 1 << (15 - c&15)
		}
	}
	w.put(ranges, 16)
	for _, b := range bytes {
		if b != 0 {
			w.put(b, 16)
		}
	}
}

// The codes of runs of zeros, in base two with the digits one and two.
const (
	bz2RunA = 0
	bz2RunB = 1
)

// encodeColumn makes the codes of the column: where each byte stands in the list of
// those that came lately. It returns how many different codes there may be.
func (p *bz2Packer) encodeColumn() (symbols int) {
	var lately [256]byte
	n := 0
	for c, used := range p.used {
		if used {
			lately[n] = byte(c)
			n++
		}
	}
	codes, zeros := p.codes[:0], 0
	for _, c := range p.column {
		before := lately[0]
		if before == c {
			zeros++
			continue
		}
		if zeros > 0 {
			codes, zeros = bz2Zeros(codes, zeros), 0
		}
		at := uint8(1) // c is in the list: the byte cannot pass its end
		for ; lately[at] != c; at++ {
			lately[at], before = before, lately[at]
		}
		lately[at], lately[0] = before, c
		codes = append(codes, uint16(at)+1)
	}
	p.codes = append(bz2Zeros(codes, zeros), uint16(n)+1) // the end of the block
	return n + 2
}

func bz2Zeros(codes []uint16, zeros int) []uint16 {
	for ; zeros > 0; zeros = (zeros - 1) / 2 {
		if zeros&1 == 1 {
			codes = append(codes, bz2RunA)
		} else {
			codes = append(codes, bz2RunB)
		}
	}
	return codes
}

// bz2Bitwriter writes bits, the first one highest.
type bz2Bitwriter struct {
	out  []byte
	bits uint64 // the lowest held ones are not in out yet
	held int    // fewer than 32
}

// put writes the n lowest bits of v, at most 32. The others must be zero.
func (w *bz2Bitwriter) put(v uint32, n int) {
	w.bits = w.bits<<n | uint64(v)
	if w.held += n; w.held >= 32 {
		w.held -= 32
		v := uint32(w.bits >> w.held)
		w.out = append(w.out, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
	}
}

func (w *bz2Bitwriter) put48(v uint64) {
	w.put(uint32(v>>24), 24)
	w.put(uint32(v&(1<<24-1)), 24)
}

// flush fills the last byte with zeros.
func (w *bz2Bitwriter) flush() []byte {
	for ; w.held > 0; w.held -= 8 {
		w.out = append(w.out, byte(w.bits<<8>>w.held))
	}
	return w.out
}
