package bzip2

import "math/bits"

const (
	level         = 9
	endMagic      = 0x177245385090 // at the end of the stream
	maxBlockBytes = level*100_000 - 20
	minRun        = 4   // equal bytes that are followed by a count of more of them
	maxRun        = 255 // of them all
)

// Encoder compresses with bzip2. It keeps its memory from one call to the next: about
// 12 MB, or 25 MB once data has come that repeats itself a lot.
//
//	src -> block (runs) -> rotations sorted -> last column -> codes (move to front, runs
//	of zeros) -> up to six Huffman tables, one chosen for each 50 codes
type Encoder struct {
	block  []byte // and its first bytes again behind it
	order  []int32
	rank   []int32
	keys   []uint64
	dealt  []uint64
	starts [1 << 16]int32
	column []byte
	codes  []uint16
	used   [256]bool
	tables huffmanTables
	sum    checksum
}

// Append adds src to dst as one stream of its own.
func (e *Encoder) Append(dst, src []byte) []byte { return e.appendBlocks(dst, src, maxBlockBytes) }

// appendBlocks is Append for blocks of at most so many bytes, at least ten.
func (e *Encoder) appendBlocks(dst, src []byte, most int) []byte {
	w := bitWriter{out: append(dst, 'B', 'Z', 'h', '0'+level)}
	total := uint32(0)
	for len(src) > 0 {
		n := e.takeBlock(src, most)
		e.sum.reset()
		e.sum.add(src[:n])
		sum := e.sum.value()
		total = bits.RotateLeft32(total, 1) ^ sum
		w.put48(blockMagic)
		w.put(sum, 32)
		e.writeBlock(&w)
		src = src[n:]
	}
	w.put48(endMagic)
	w.put(total, 32)
	return w.flush()
}

// takeBlock fills the block, of at most so many bytes, from the start of src and returns
// how much it took. Four equal bytes are followed by a count of how many more there are.
func (e *Encoder) takeBlock(src []byte, most int) (taken int) {
	b := e.block[:0]
	for taken < len(src) && len(b) < most-minRun {
		c, run := src[taken], 1
		for longest := min(maxRun, len(src)-taken); run < longest && src[taken+run] == c; {
			run++
		}
		taken += run
		for range min(run, minRun) {
			b = append(b, c)
		}
		if run >= minRun {
			b = append(b, byte(run-minRun))
		}
	}
	e.block = b
	return taken
}

// writeBlock writes what follows the checksum of the block.
func (e *Encoder) writeBlock(w *bitWriter) {
	first := e.transform()
	w.put(0, 1) // not randomized
	w.put(uint32(first), 24)
	e.writeUsed(w)
	symbols := e.encodeColumn()
	e.tables.choose(e.codes, symbols)
	e.tables.write(w, e.codes)
}

// writeUsed tells which bytes the block has.
func (e *Encoder) writeUsed(w *bitWriter) {
	clear(e.used[:])
	for _, c := range e.block {
		e.used[c] = true
	}
	var ranges uint32
	var bytes [16]uint32
	for c, used := range e.used {
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
	runA = 0
	runB = 1
)

// encodeColumn makes the codes of the column: where each byte stands in the list of
// those that came lately. It returns how many different codes there may be.
func (e *Encoder) encodeColumn() (symbols int) {
	var lately [256]byte
	n := 0
	for c, used := range e.used {
		if used {
			lately[n] = byte(c)
			n++
		}
	}
	codes, zeros := e.codes[:0], 0
	for _, c := range e.column {
		before := lately[0]
		if before == c {
			zeros++
			continue
		}
		if zeros > 0 {
			codes, zeros = appendZeroRun(codes, zeros), 0
		}
		at := uint8(1) // c is in the list: the byte cannot pass its end
		for ; lately[at] != c; at++ {
			lately[at], before = before, lately[at]
		}
		lately[at], lately[0] = before, c
		codes = append(codes, uint16(at)+1)
	}
	e.codes = append(appendZeroRun(codes, zeros), uint16(n)+1) // the end of the block
	return n + 2
}

func appendZeroRun(codes []uint16, zeros int) []uint16 {
	for ; zeros > 0; zeros = (zeros - 1) / 2 {
		if zeros&1 == 1 {
			codes = append(codes, runA)
		} else {
			codes = append(codes, runB)
		}
	}
	return codes
}

// bitWriter writes bits, the first one highest.
type bitWriter struct {
	out  []byte
	bits uint64 // the lowest held ones are not in out yet
	held int    // fewer than 32
}

// put writes the n lowest bits of v, at most 32. The others must be zero.
func (w *bitWriter) put(v uint32, n int) {
	w.bits = w.bits<<n | uint64(v)
	if w.held += n; w.held >= 32 {
		w.held -= 32
		v := uint32(w.bits >> w.held)
		w.out = append(w.out, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
	}
}

func (w *bitWriter) put48(v uint64) {
	w.put(uint32(v>>24), 24)
	w.put(uint32(v&(1<<24-1)), 24)
}

// flush fills the last byte with zeros.
func (w *bitWriter) flush() []byte {
	for ; w.held > 0; w.held -= 8 {
		w.out = append(w.out, byte(w.bits<<8>>w.held))
	}
	return w.out
}
