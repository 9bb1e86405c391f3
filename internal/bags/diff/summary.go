package diff

import (
	"fmt"
	"time"

	"github.com/gorosbag/gorosbag/internal/bags/diff/report"
)

// summary makes the report of what was found in the streams.
func (c *comparison) summary(all []*stream) (*report.Report, error) {
	r := &report.Report{
		Same: true, Complete: c.complete, Topics: []report.Topic{},
		Differences: []report.Difference{},
	}
	r.A.Version, r.B.Version = c.bags[A].Info().Version, c.bags[B].Info().Version
	r.Times = c.measure(all)
	var differences uint64
	for _, t := range c.topics {
		c.summarize(t, &r.Times)
		if len(t.conns[A]) > 0 {
			r.A.Topics++
		}
		if len(t.conns[B]) > 0 {
			r.B.Topics++
		}
		r.A.Messages += t.MessagesA
		r.B.Messages += t.MessagesB
		r.Same = r.Same && !t.Differs
		r.Compared += t.Equal + t.Changed
		differences += t.Differences()
		r.Topics = append(r.Topics, t.Topic)
	}
	err := c.detail(r, all)
	r.More = differences - min(differences, uint64(len(r.Differences)))
	return r, err
}

// measure returns how far the times differ, and whether that makes the bags different.
func (c *comparison) measure(all []*stream) report.Times {
	var list []weighted
	var t report.Times
	var count uint64
	for _, st := range all {
		x := &st.tally.times
		list = x.appendSample(list)
		count += x.count
		t.Identical += x.identical
		t.Sampled = t.Sampled || x.random != nil
	}
	shift := percentiles(list, 0.5)[0]
	for i := range list {
		list[i].by = (list[i].by - shift).Abs()
	}
	p := percentiles(list, 0.5, 0.99)
	t.Shift, t.P50, t.P99 = report.Seconds(shift), report.Seconds(p[0]), report.Seconds(p[1])
	for _, st := range all {
		if off, at := st.tally.times.furthest(shift); report.Seconds(off) > t.Max {
			t.Max, t.Furthest = report.Seconds(off),
				&report.Place{
					Topic: st.topic.Name, Publisher: st.publisher, Number: at.number + 1,
					Time: report.Stamp(at.time),
				}
		}
	}
	t.Count = c.o.Times != nil || c.o.Spacing != nil || 2*t.Identical > count
	return t
}

// summarize adds to a topic what has come out for its streams.
func (c *comparison) summarize(t *topic, times *report.Times) {
	for _, st := range t.streams {
		x, of := st.tally, ""
		if st.publisher != "" {
			of = " of " + st.publisher
		}
		if c.o.ByHeader && !st.byHeader {
			t.Notes = append(t.Notes, "messages"+of+" begin with no header: paired in their order")
		}
		if x.byNumber > 0 {
			t.Notes = append(t.Notes,
				fmt.Sprintf("messages%s from %d on are paired by their number: too few of them agree", of,
					x.byNumber))
		}
		off, differ := c.timeOff(x, times)
		if differ {
			t.MaxTime = max(t.MaxTime, report.Seconds(off))
		}
		if !differ || c.o.Spacing != nil {
			x.counts.OtherTimes, x.timed = 0, nil
		}
		t.Add(x.counts)
	}
	t.Differs = t.OnlyIn != "" || len(t.Headers) > 0 || t.Differences() > 0 || t.MaxTime > 0
}

// timeOff returns how far the times of a stream differ, and whether that is a difference.
func (c *comparison) timeOff(x *tally, times *report.Times) (off time.Duration, differ bool) {
	if c.o.Spacing != nil {
		off, _ = x.times.furthest(time.Duration(times.Shift))
		return off, off > *c.o.Spacing
	}
	off, _ = x.times.furthest(0)
	return off, times.Count && x.counts.OtherTimes > 0
}
