package player

import (
	"slices"
	"sort"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// chunksByTime finds the chunks of a bag that may hold messages of a time.
type chunksByTime struct {
	bag    *bagPlan
	chunks []int         // that hold messages to be played, by start time
	latest []bagfmt.Time // the latest end of chunks[:i+1]
}

func newChunksByTime(b *bagPlan) *chunksByTime {
	all := b.reader.Chunks()
	c := &chunksByTime{bag: b}
	for i := range all {
		if b.plays(&all[i]) {
			c.chunks = append(c.chunks, i)
		}
	}
	slices.SortStableFunc(c.chunks, func(x, y int) int { return all[x].Start.Compare(all[y].Start) })
	c.latest = make([]bagfmt.Time, len(c.chunks))
	for n, i := range c.chunks {
		c.latest[n] = all[i].End
		if n > 0 && c.latest[n].Before(c.latest[n-1]) {
			c.latest[n] = c.latest[n-1]
		}
	}
	return c
}

// from returns how many chunks begin before t.
func (c *chunksByTime) from(t bagfmt.Time) int {
	return sort.Search(len(c.chunks), func(n int) bool { return !c.bag.reader.Chunks()[c.chunks[n]].Start.Before(t) })
}

// before returns the time of the latest message before t.
func (c *chunksByTime) before(t bagfmt.Time) (best bagfmt.Time, ok bool) {
	for n := c.from(t) - 1; n >= 0 && (!ok || best.Before(c.latest[n])); n-- {
		entries, _ := c.bag.reader.ChunkIndex(c.chunks[n], c.bag.playable) // play reports what is wrong with it
		last := sort.Search(len(entries), func(i int) bool { return !entries[i].Time.Before(t) }) - 1
		if last >= 0 && (!ok || best.Before(entries[last].Time)) {
			best, ok = entries[last].Time, true
		}
	}
	return best, ok
}

// count returns how many messages have the time t.
func (c *chunksByTime) count(t bagfmt.Time) (count int) {
	for n := c.from(t.Add(1)) - 1; n >= 0 && !c.latest[n].Before(t); n-- {
		entries, _ := c.bag.reader.ChunkIndex(c.chunks[n], c.bag.playable)
		for _, e := range entries {
			if e.Time == t {
				count++
			}
		}
	}
	return count
}

// back returns the place n messages before another, or the first one. It reports false
// if there is nothing before.
func (r *reader) back(from place, n int) (to place, ok bool) {
	if r.plan.order.reach > 0 {
		return r.backByHeader(from, n)
	}
	if r.byTime == nil {
		for _, b := range r.plan.bags {
			r.byTime = append(r.byTime, newChunksByTime(b))
		}
	}
	for {
		if from.rank >= n {
			return place{from.stamp, from.rank - n}, true
		}
		n -= from.rank
		ok = ok || from.rank > 0
		var before bagfmt.Time
		found := false
		for _, c := range r.byTime {
			if t, there := c.before(from.stamp); there && (!found || before.Before(t)) {
				before, found = t, true
			}
		}
		if !found || before.Before(r.zero) {
			return place{stamp: r.zero}, ok
		}
		from = place{stamp: before}
		for _, c := range r.byTime {
			from.rank += c.count(before)
		}
		if from.rank == 0 {
			return place{stamp: before}, true // the index does not agree with itself
		}
	}
}
