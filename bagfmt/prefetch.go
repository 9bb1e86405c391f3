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
func (r *Reader) prefetch(off, n int64) {
	if p, ok := r.r.(Prefetcher); ok && n > 0 {
		p.Prefetch(off, min(n, r.size-off))
	}
}

// Prefetches reports whether r reads from a Prefetcher.
func (r *Reader) Prefetches() bool {
	_, ok := r.r.(Prefetcher)
	return ok
}

// PrefetchIndex tells the Prefetcher from which r reads, if it is one, that ChunkIndex and
// ChunkHeader are going to be called for chunk i.
func (r *Reader) PrefetchIndex(i int) {
	r.prefetch(r.chunks[i].Pos, wire.FirstHeadBytes)
	var n int64 // of index data, as known writers write it
	for _, c := range r.chunks[i].Counts {
		n += indexHeaderBytes + int64(c.Count)*wire.IndexEntryBytes
	}
	end := r.extentEnd(i)
	r.prefetch(max(end-n, r.chunks[i].Pos), min(n, end-r.chunks[i].Pos))
}

// extentEnd returns the end of what belongs to segment i: its data and index.
func (r *Reader) extentEnd(i int) int64 {
	if r.chunks[i].kind.raw() {
		return r.chunks[i].Pos + r.chunks[i].bytes
	}
	if i+1 < len(r.chunks) {
		return r.chunks[i+1].Pos
	}
	return r.dataEnd
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

func newPrefetcher(r *Reader) prefetcher {
	return prefetcher{on: r.Prefetches(), limit: min(maxPrefetchBytes, r.size/prefetchShare)}
}

// next announces the first ones of pending.
func (p *prefetcher) next(r *Reader, pending []int) {
	for p.on && p.told-p.opened < len(pending) && p.told-p.opened < max(p.opened, 1) {
		i := pending[p.told-p.opened]
		n := r.extentEnd(i) - r.chunks[i].Pos
		if p.told > p.opened && p.ahead+n > p.limit {
			return
		}
		r.prefetch(r.chunks[i].Pos, n)
		p.told++
		p.ahead += n
	}
}

// open counts chunk i as opened.
func (p *prefetcher) open(r *Reader, i int) {
	if p.on {
		p.opened++
		p.told = max(p.told, p.opened)
		p.ahead = max(p.ahead-(r.extentEnd(i)-r.chunks[i].Pos), 0)
	}
}
