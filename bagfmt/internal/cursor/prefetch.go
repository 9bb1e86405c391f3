package cursor

import "github.com/gorosbag/gorosbag/bagfmt/internal/table"

const prefetchShare = 128 // a Cursor prefetches at most one part of so many of the bag

// prefetcher announces to a Prefetcher which chunks a Cursor is going to load: one at first, since
// after a seek few may be wanted, and one more with each that was opened.
type prefetcher struct {
	on        bool
	limit     int64 // bytes ahead; one chunk is always prefetched
	opened    int   // chunks
	announced int   // chunks that the Prefetcher knows of, opened ones included
	ahead     int64 // bytes of those that are not opened
}

func newPrefetcher(bag *table.Table) prefetcher {
	return prefetcher{on: bag.Prefetches(), limit: min(table.MaxPrefetchBytes, bag.Size/prefetchShare)}
}

// next announces the first ones of pending.
func (p *prefetcher) next(bag *table.Table, pending []int) {
	for p.on && p.announced-p.opened < len(pending) && p.announced-p.opened < max(p.opened, 1) {
		i := pending[p.announced-p.opened]
		n := bag.ExtentEnd(i) - bag.Chunks[i].Pos
		if p.announced > p.opened && p.ahead+n > p.limit {
			return
		}
		bag.Prefetch(bag.Chunks[i].Pos, n)
		p.announced++
		p.ahead += n
	}
}

// open counts chunk i as opened.
func (p *prefetcher) open(bag *table.Table, i int) {
	if p.on {
		p.opened++
		p.announced = max(p.announced, p.opened)
		p.ahead = max(p.ahead-(bag.ExtentEnd(i)-bag.Chunks[i].Pos), 0)
	}
}
