package bagdiff

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/bagdiff/headers"
	"github.com/gorosbag/gorosbag/internal/bagdiff/report"
)

// summary makes the report of what was found in the streams.
func (c *comparison) summary(all []*stream) (*report.Report, error) {
	r := &report.Report{Same: true, Complete: c.complete, Topics: []report.Topic{}, Differences: []report.Difference{}}
	for s, b := range []*report.Bag{&r.A, &r.B} {
		b.Version = c.bags[s].Info().Version
		for _, t := range c.topics {
			if len(t.conns[s]) > 0 {
				b.Topics++
				b.Messages += t.messages[s]
			}
		}
	}
	r.Times = c.measure(all)
	for _, t := range c.topics {
		sum := c.summarize(t, &r.Times)
		r.Same = r.Same && !sum.Differs
		r.Compared += sum.Equal + sum.Changed
		r.Topics = append(r.Topics, sum)
	}
	return r, c.detail(r, all)
}

// measure returns how far the times differ, and whether that makes the bags different.
func (c *comparison) measure(all []*stream) report.Times {
	var spreads []*spread
	var t report.Times
	var count uint64
	for _, st := range all {
		x := &st.tally.times
		spreads = append(spreads, x)
		count += x.count
		t.Identical += x.identical
		t.Sampled = t.Sampled || x.random != nil
	}
	list := weigh(spreads)
	shift := percentiles(list, 0.5)[0]
	for i := range list {
		list[i].by = (list[i].by - shift).Abs()
	}
	p := percentiles(list, 0.5, 0.99)
	t.Shift, t.P50, t.P99 = report.Seconds(shift), report.Seconds(p[0]), report.Seconds(p[1])
	for _, st := range all {
		if off, at := st.tally.times.furthest(shift); report.Seconds(off) > t.Max {
			t.Max, t.Furthest = report.Seconds(off), &report.Place{Topic: st.topic.name, Publisher: st.publisher, Number: at.number + 1, Time: report.Stamp(at.time)}
		}
	}
	t.Count = c.o.Times != nil || c.o.Spacing != nil || 2*t.Identical > count
	return t
}

// summarize returns the result for a topic.
func (c *comparison) summarize(t *topic, times *report.Times) report.Topic {
	sum := report.Topic{Name: t.name, MessagesA: t.messages[A], MessagesB: t.messages[B]}
	for s := range t.conns {
		if len(t.conns[s]) == 0 {
			sum.OnlyIn, sum.Differs = Side(s).other().String(), true
			return sum
		}
	}
	sum.Headers = headers.Compare(t.conns[A], t.conns[B], t.matched)
	if t.joined {
		sum.Notes = append(sum.Notes, fmt.Sprintf("compared as one stream, because its publishers are %s in A and %s in B", t.callers(A), t.callers(B)))
	}
	for _, st := range t.streams {
		x := st.tally
		sum.Equal += x.equal
		sum.Changed += x.changed
		sum.Moved += x.moved
		sum.OnlyA += x.unpaired[A]
		sum.OnlyB += x.unpaired[B]
		of := ""
		if st.publisher != "" {
			of = " of " + st.publisher
		}
		if c.o.ByHeader && !st.byHeader {
			sum.Notes = append(sum.Notes, "messages"+of+" begin with no header: paired in their order")
		}
		if x.byNumber > 0 {
			sum.Notes = append(sum.Notes, fmt.Sprintf("messages%s from %d on are paired by their number: too few of them agree", of, x.byNumber))
		}
		off, counts := c.timeOff(st, times)
		if counts {
			sum.MaxTime = max(sum.MaxTime, report.Seconds(off))
			if c.o.Spacing == nil {
				sum.OtherTimes += x.over
			}
		}
	}
	sum.Differs = len(sum.Headers) > 0 || sum.Changed+sum.Moved+sum.OnlyA+sum.OnlyB > 0 || sum.MaxTime > 0
	return sum
}

// timeOff returns how far the times of a stream differ, and whether that is a difference.
func (c *comparison) timeOff(st *stream, times *report.Times) (off time.Duration, counts bool) {
	if c.o.Spacing != nil {
		off, _ = st.tally.times.furthest(time.Duration(times.Shift))
		return off, off > *c.o.Spacing
	}
	off, _ = st.tally.times.furthest(0)
	return off, times.Count && st.tally.over > 0
}

// callers names the publishers of a topic.
func (t *topic) callers(s Side) string {
	var all []string
	for _, conn := range t.conns[s] {
		name := conn.Header.CallerID()
		if name == "" {
			name = "(unknown)"
		}
		all = append(all, name)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	const most = 5
	if more := len(all) - most; more > 0 {
		all = append(all[:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(all, ", ")
}
