package load

import (
	"io"

	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
)

const (
	windowBytes     = 64 << 10
	smallChunkBytes = 4 << 10 // chunks up to this size, index included, are read through a window
)

// window reads more than it is asked for, and keeps it: the whole of a small chunk, and the chunks behind
// it where chunks are read in the order of the file. It is empty at first.
type window struct {
	of   *table.Table // which has the file
	r    io.ReaderAt
	buf  []byte
	off  int64
	want int // bytes that are wanted with the next read, at least
}

// ReadAt implements io.ReaderAt.
func (w *window) ReadAt(b []byte, off int64) (int, error) {
	if len(b) > smallChunkBytes { // its header claims more than there is room for
		return w.r.ReadAt(b, off)
	}
	end := w.off + int64(len(w.buf))
	if off < w.off || off+int64(len(b)) > end {
		from, n := off, max(len(b), w.want)
		if off >= w.off && off <= end+smallChunkBytes { // nearly where the last read ended
			from = max(off-smallChunkBytes, w.off) // chunks that overlap in time are read to and fro
			n = max(n+int(off-from), min(2*len(w.buf), windowBytes))
		}
		if cap(w.buf) < n {
			w.buf = make([]byte, n)
		}
		n, _ = w.r.ReadAt(w.buf[:n], from)
		w.buf, w.off = w.buf[:n], from
		if off+int64(len(b)) > from+int64(n) { // what was asked for fails, and not only what is behind it
			return w.r.ReadAt(b, off)
		}
	}
	return copy(b, w.buf[off-w.off:]), nil
}

// Small reports whether segment i is so small that several are read at once.
func Small(bag *table.Table, i int) bool {
	return bag.ExtentEnd(i)-bag.Chunks[i].Pos <= smallChunkBytes && !bag.Prefetches()
}
