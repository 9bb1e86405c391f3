package timeline

import (
	"slices"
	"sort"
	"time"

	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/transport"
	"github.com/gorosbag/gorosbag/rosbag"
)

// spansByTime finds the spans of a recording that may hold messages of a time.
type spansByTime struct {
	bag    *plan.Bag
	spans  []int         // that hold messages to be played, by start time
	maxEnd []rosbag.Time // maxEnd[i] is the latest end of spans[:i+1]
}

func newSpansByTime(b *plan.Bag) *spansByTime {
	c := &spansByTime{bag: b}
	for i := range b.Source.NumSpans() {
		if b.Plays(b.Source.Span(i)) {
			c.spans = append(c.spans, i)
		}
	}
	slices.SortStableFunc(c.spans,
		func(x, y int) int { return b.Source.Span(x).Start.Compare(b.Source.Span(y).Start) })
	c.maxEnd = make([]rosbag.Time, len(c.spans))
	for n, i := range c.spans {
		c.maxEnd[n] = b.Source.Span(i).End
		if n > 0 && c.maxEnd[n].Before(c.maxEnd[n-1]) {
			c.maxEnd[n] = c.maxEnd[n-1]
		}
	}
	return c
}

// countBefore returns the number of spans that begin before t.
func (c *spansByTime) countBefore(t rosbag.Time) int {
	return sort.Search(len(c.spans),
		func(n int) bool { return !c.bag.Source.Span(c.spans[n]).Start.Before(t) })
}

// lastBefore returns the time of the latest message before t.
func (c *spansByTime) lastBefore(t rosbag.Time) (best rosbag.Time, ok bool) {
	for n := c.countBefore(t) - 1; n >= 0 && (!ok || best.Before(c.maxEnd[n])); n-- {
		entries, _ := c.bag.Source.Index(c.spans[n], c.bag.Playable) // play reports a damaged index
		last := sort.Search(len(entries), func(i int) bool { return !entries[i].Time.Before(t) }) - 1
		if last >= 0 && (!ok || best.Before(entries[last].Time)) {
			best, ok = entries[last].Time, true
		}
	}
	return best, ok
}

// count returns how many messages have the time t.
func (c *spansByTime) count(t rosbag.Time) (count int) {
	for n := c.countBefore(t.Add(1)) - 1; n >= 0 && !c.maxEnd[n].Before(t); n-- {
		entries, _ := c.bag.Source.Index(c.spans[n], c.bag.Playable)
		for _, e := range entries {
			if e.Time == t {
				count++
			}
		}
	}
	return count
}

// Back returns the place n messages before from, or the place of the first message, which is at zero.
// It reports false if no message is before from.
func (o *Order) Back(zero rosbag.Time, from transport.Place, n int) (to transport.Place, ok bool) {
	if o.Reach > 0 {
		return o.backByHeader(zero, from, n)
	}
	if o.byTime == nil {
		for _, b := range o.plan.Bags {
			o.byTime = append(o.byTime, newSpansByTime(b))
		}
	}
	for {
		if from.Rank >= n {
			return transport.Place{Stamp: from.Stamp, Rank: from.Rank - n}, true
		}
		n -= from.Rank
		ok = ok || from.Rank > 0
		var before rosbag.Time
		found := false
		for _, c := range o.byTime {
			if t, there := c.lastBefore(from.Stamp); there && (!found || before.Before(t)) {
				before, found = t, true
			}
		}
		if !found || before.Before(zero) {
			return transport.Place{Stamp: zero}, ok
		}
		from = transport.Place{Stamp: before}
		for _, c := range o.byTime {
			from.Rank += c.count(before)
		}
		if from.Rank == 0 {
			return transport.Place{Stamp: before}, true // the index contradicts the counts
		}
	}
}

// backByHeader is Back in the order of headers. No index has that order, so backByHeader reads the
// messages before the place, in windows that grow.
func (o *Order) backByHeader(zero rosbag.Time, from transport.Place, n int) (to transport.Place, ok bool) {
	for far := time.Second; ; far *= 4 {
		start := from.Stamp.Add(-far)
		first := !zero.Before(start)
		if first {
			start = zero
		}
		var places []transport.Place
		s := o.From(start, nil, nil)
		at := transport.Place{Rank: -1}
		for m, route := s.Next(); m != nil; m, route = s.Next() {
			if route.Reason != "" {
				continue
			}
			if at.Stamp != m.Time {
				at = transport.Place{Stamp: m.Time, Rank: -1}
			}
			at.Rank++
			if c := at.Stamp.Compare(from.Stamp); c > 0 || c == 0 && at.Rank >= from.Rank {
				break
			}
			places = append(places, at)
		}
		s.Close()
		if len(places) >= n {
			return places[len(places)-n], true
		}
		if first {
			return transport.Place{Stamp: zero}, len(places) > 0
		}
	}
}
