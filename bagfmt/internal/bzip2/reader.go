package bzip2

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/bits"
)

const (
	streamMagic   = 'B'<<16 | 'Z'<<8 | 'h'
	blockMagic    = 0x314159265359
	endMagic      = 0x177245385090        // at the end of the stream
	minRun        = 4                     // equal bytes that are followed by a count of more of them
	maxRun        = 255                   // of them all
	levelBytes    = 100_000               // of a block, for each level
	roomForOneRun = minRun + maxRun + 2*8 // that undoRuns may write at a time
)

// IsStream reports whether b begins as a stream does.
func IsStream(b []byte) bool { return bytes.HasPrefix(b, []byte("BZh")) }

// Reader unpacks streams that follow each other. It keeps its memory from one Reset to the
// next: about 6 bytes for each of the largest block. It is not for concurrent use.
//
//	bits -> codes -> last column (columnReader) -> block (inverter) -> runs undone
type Reader struct {
	bits    bitReader
	begun   bool // a stream came before
	most    int  // bytes of a block; zero between streams
	total   uint32
	inBlock bool
	want    uint32 // checksum of the block
	sum     checksum
	column  columnReader
	invert  inverter
	block   []byte // what is left of it, and spareBytes after it
	few     [roomForOneRun]byte
	ready   []byte // what is left of few
	err     error
}

// Reset makes r unpack data, which has to stay as it is as long as r is read.
func (r *Reader) Reset(data []byte) {
	r.bits = bitReader{data: data}
	r.begun, r.most, r.inBlock, r.block, r.ready, r.err = false, 0, false, nil, nil, nil
}

// Read implements io.Reader. io.EOF says that all checksums were right.
func (r *Reader) Read(p []byte) (n int, err error) {
	for n == 0 && len(p) > 0 {
		switch {
		case len(r.ready) > 0:
			n = copy(p, r.ready)
			r.ready = r.ready[n:]
		case r.err != nil:
			return 0, r.err
		case len(r.block) <= spareBytes:
			r.err = r.nextBlock()
		case len(p) >= roomForOneRun:
			n = r.undoRuns(p)
		default:
			r.ready = r.few[:r.undoRuns(r.few[:])]
		}
	}
	return n, nil
}

// nextBlock ends the block and reads the next, or the end of the stream.
func (r *Reader) nextBlock() error {
	b := &r.bits
	if r.inBlock {
		if r.inBlock = false; r.sum.value() != r.want {
			return b.corrupt("wrong checksum of a block")
		}
		r.total = bits.RotateLeft32(r.total, 1) ^ r.want
	}
	if r.most == 0 {
		if r.begun && b.left() == 0 {
			return io.EOF
		}
		magic, level := b.take(24), int(b.take(8))-'0'
		if magic != streamMagic || level < 1 || level > 9 {
			return b.corrupt("no stream begins here")
		}
		r.begun, r.most, r.total = true, level*levelBytes, 0
	}
	switch b.take(48) {
	case blockMagic:
	case endMagic:
		if uint32(b.take(32)) != r.total || b.left() < 0 {
			return b.corrupt("wrong checksum of a stream")
		}
		b.take(b.held & 7) // the last byte
		r.most = 0
		return nil
	default:
		return b.corrupt("neither a block nor the end of its stream")
	}
	r.want = uint32(b.take(32))
	if b.take(1) == 1 {
		return b.corrupt("a randomized block, as bzip2 made them before 0.9.5")
	}
	origin := int(b.take(24))
	if err := r.column.read(b, r.most); err != nil {
		return err
	}
	column := r.column.column
	if origin >= len(column) || b.left() < 0 {
		return b.corrupt("a block begins outside of itself")
	}
	r.invert.invert(column, &r.column.counts, origin)
	r.block = column[:len(column)+spareBytes]
	for i := len(column); i < len(r.block); i++ {
		r.block[i] = ^r.block[i-1] // not a run
	}
	r.sum.reset()
	r.inBlock = true
	return nil
}

// undoRuns writes what is left of block to p, as far as it has room, runs at their lengths.
// It looks for four equal bytes at five places at a time.
func (r *Reader) undoRuns(p []byte) (n int) {
	const low7 = 0x7f * repeatedByte
	for len(r.block) > spareBytes && len(p)-n >= roomForOneRun {
		word := binary.LittleEndian.Uint64(r.block)
		differs := word ^ word>>8
		// the highest bit of each byte that the next one equals
		equal := ^(differs&low7 + low7 | differs | low7)
		runs := equal & (equal >> 8) & (equal >> 16) & (1<<40 - 1)
		binary.LittleEndian.PutUint64(p[n:], word)
		if runs == 0 {
			step := min(5, len(r.block)-spareBytes)
			n, r.block = n+step, r.block[step:]
			continue
		}
		at := bits.TrailingZeros64(runs)/8 + minRun
		n += at
		if at == len(r.block)-spareBytes {
			r.err, r.block = r.bits.corrupt("a run without its length"), nil
			break
		}
		length := int(r.block[at])
		for i := 0; i < length; i += 8 {
			binary.LittleEndian.PutUint64(p[n+i:], uint64(r.block[at-1])*repeatedByte)
		}
		n, r.block = n+length, r.block[at+1:]
	}
	r.sum.add(p[:n])
	return n
}
