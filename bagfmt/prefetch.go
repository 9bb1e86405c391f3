package bagfmt

import (
	"io"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
)

// Prefetcher is an io.ReaderAt on which each read costs a request, such as an object in a store.
// A Reader tells it what comes next, so that requests are large and overlap.
type Prefetcher interface {
	io.ReaderAt
	// Prefetch begins to read n bytes at off, or as many of them as it has room for, and does
	// not wait for them.
	Prefetch(off, n int64)
}

const (
	maxPrefetchBytes = 4 << 20 // ahead of a Cursor, or of an index section
	prefetchShare    = 128     // a Cursor prefetches at most one part of so many of the bag
)

// prefetch tells a Prefetcher about a range.
func (bag *Table) prefetch(off, n int64) {
	if p, ok := bag.r.(Prefetcher); ok && n > 0 {
		p.Prefetch(off, min(n, bag.size-off))
	}
}

// prefetches reports whether the bag is read from a Prefetcher.
func (bag *Table) prefetches() bool {
	_, ok := bag.r.(Prefetcher)
	return ok
}

// prefetchIndex tells the Prefetcher from which the bag is read, if it is one, that the header
// and the index of chunk i are going to be read.
func (bag *Table) prefetchIndex(i int) {
	bag.prefetch(bag.chunks[i].Pos, wire.FirstHeadBytes)
	var n int64 // of index data, as known writers write it
	for _, c := range bag.chunks[i].Counts {
		n += indexHeaderBytes + int64(c.Count)*wire.IndexEntryBytes
	}
	end := bag.extentEnd(i)
	bag.prefetch(max(end-n, bag.chunks[i].Pos), min(n, end-bag.chunks[i].Pos))
}

// extentEnd returns the end of what belongs to segment i: its data and index.
func (bag *Table) extentEnd(i int) int64 {
	if bag.chunks[i].kind.raw() {
		return bag.chunks[i].Pos + bag.chunks[i].bytes
	}
	if i+1 < len(bag.chunks) {
		return bag.chunks[i+1].Pos
	}
	return bag.dataEnd
}

// prefetcher tells a Prefetcher which chunks a Cursor is going to load: one at first, since
// after a seek few may be wanted, and one more with each that was opened.
type prefetcher struct {
	on     bool
	limit  int64 // bytes ahead; one chunk is always prefetched
	opened int   // chunks
	told   int   // chunks that the Prefetcher knows of, opened ones included
	ahead  int64 // bytes of those that are not opened
}

func newPrefetcher(bag *Table) prefetcher {
	return prefetcher{on: bag.prefetches(), limit: min(maxPrefetchBytes, bag.size/prefetchShare)}
}

// next announces the first ones of pending.
func (p *prefetcher) next(bag *Table, pending []int) {
	for p.on && p.told-p.opened < len(pending) && p.told-p.opened < max(p.opened, 1) {
		i := pending[p.told-p.opened]
		n := bag.extentEnd(i) - bag.chunks[i].Pos
		if p.told > p.opened && p.ahead+n > p.limit {
			return
		}
		bag.prefetch(bag.chunks[i].Pos, n)
		p.told++
		p.ahead += n
	}
}

// open counts chunk i as opened.
func (p *prefetcher) open(bag *Table, i int) {
	if p.on {
		p.opened++
		p.told = max(p.told, p.opened)
		p.ahead = max(p.ahead-(bag.extentEnd(i)-bag.chunks[i].Pos), 0)
	}
}
