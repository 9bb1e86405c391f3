package table

import (
	"io"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
)

// Prefetcher is an io.ReaderAt on which each read costs a request, such as an object in a store.
// A Reader announces to it what comes next, so that requests are large and overlap.
type Prefetcher interface {
	io.ReaderAt
	// Prefetch begins to read n bytes at off, or as many of them as it has room for, and does
	// not wait for them.
	Prefetch(off, n int64)
}

// Interruptible returns r with reads that call interrupted first, and end with its error. interrupted is
// nil if nobody interrupts.
func Interruptible(r io.ReaderAt, interrupted func() error) io.ReaderAt {
	if interrupted == nil {
		return r
	}
	asking := interruptible{r, interrupted}
	if p, ok := r.(Prefetcher); ok {
		return interruptiblePrefetcher{asking, p}
	}
	return asking
}

type interruptible struct {
	io.ReaderAt
	interrupted func() error
}

// ReadAt implements io.ReaderAt.
func (r interruptible) ReadAt(p []byte, off int64) (int, error) {
	if err := r.interrupted(); err != nil {
		return 0, err
	}
	return r.ReaderAt.ReadAt(p, off)
}

type interruptiblePrefetcher struct {
	interruptible
	to Prefetcher
}

// Prefetch implements Prefetcher.
func (r interruptiblePrefetcher) Prefetch(off, n int64) { r.to.Prefetch(off, n) }

// MaxPrefetchBytes is how much is prefetched ahead of a cursor, or of an index section.
const MaxPrefetchBytes = 4 << 20

// Prefetch announces a range to the Prefetcher from which the bag is read, if it is one.
func (bag *Table) Prefetch(off, n int64) {
	if p, ok := bag.File.(Prefetcher); ok && n > 0 {
		p.Prefetch(off, min(n, bag.Size-off))
	}
}

// Prefetches reports whether the bag is read from a Prefetcher.
func (bag *Table) Prefetches() bool {
	_, ok := bag.File.(Prefetcher)
	return ok
}

// PrefetchIndex announces the header and the index of chunk i to the Prefetcher from which the bag
// is read, if it is one.
func (bag *Table) PrefetchIndex(i int) {
	bag.Prefetch(bag.Chunks[i].Pos, wire.FirstHeadBytes)
	n := bag.Chunks[i].IndexBytes
	if bag.MCAP == nil { // as known writers write index data
		for _, c := range bag.Chunks[i].Counts {
			n += wire.IndexHeaderBytes + int64(c.Count)*wire.IndexEntryBytes
		}
	}
	end := bag.ExtentEnd(i)
	bag.Prefetch(max(end-n, bag.Chunks[i].Pos), min(n, end-bag.Chunks[i].Pos))
}

// ExtentEnd returns the end of what belongs to segment i: its data and index.
func (bag *Table) ExtentEnd(i int) int64 {
	if bag.Chunks[i].Kind.Raw() {
		return bag.Chunks[i].Pos + bag.Chunks[i].Bytes
	}
	if bag.MCAP != nil {
		return bag.Chunks[i].Pos + bag.Chunks[i].Bytes + bag.Chunks[i].IndexBytes
	}
	if i+1 < len(bag.Chunks) {
		return bag.Chunks[i+1].Pos
	}
	return bag.DataEnd
}
