package bagdiff

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gorosbag/gorosbag/internal/bagdiff/align"
	"github.com/gorosbag/gorosbag/internal/bagdiff/fields"
	"github.com/gorosbag/gorosbag/internal/bagdiff/report"
	"github.com/gorosbag/gorosbag/rosbag"
)

// chosen is a detail that the report shows.
type chosen struct {
	detail
	stream *stream
}

// detail adds the differences that the report shows: the first of each stream, then the second of each, and so
// on, until there are enough. It reads their messages again.
func (c *comparison) detail(r *report.Report, all []*stream) error {
	var list []chosen
	most := 0
	found := make([][]detail, len(all))
	for i, st := range all {
		found[i] = st.tally.details
		if off, counts := c.timeOff(st, &r.Times); counts && off > 0 && c.o.Spacing == nil {
			found[i] = slices.Concat(found[i], st.tally.timed)
		}
		most = max(most, len(found[i]))
	}
	for round := range most {
		for i, st := range all {
			if round < len(found[i]) && len(list) < c.o.Details {
				list = append(list, chosen{found[i][round], st})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b chosen) int {
		return cmp.Or(cmp.Compare(a.stream.topic.name, b.stream.topic.name), cmp.Compare(a.stream.publisher, b.stream.publisher), cmp.Compare(a.number(), b.number()))
	})
	var types fields.Types
	for _, d := range list {
		if c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		r.Differences = append(r.Differences, c.describe(d, &types))
	}
	for _, t := range r.Topics {
		r.More += t.Changed + t.Moved + t.OnlyA + t.OnlyB + t.OtherTimes
	}
	r.More -= min(r.More, uint64(len(list)))
	return nil
}

// number returns the number by which the differences of a stream are sorted.
func (d chosen) number() uint64 {
	if d.kind == report.KindOnlyB {
		return d.numbers[B]
	}
	return d.numbers[A]
}

// describe returns a difference as the report shows it.
func (c *comparison) describe(d chosen, types *fields.Types) report.Difference {
	out := report.Difference{Topic: d.stream.topic.name, Publisher: d.stream.publisher, Kind: d.kind}
	at := func(s Side) *report.Place {
		return &report.Place{Number: d.numbers[s] + 1, Time: report.Stamp(d.items[s].Time)}
	}
	if d.kind != report.KindOnlyB {
		out.A = at(A)
	}
	if d.kind != report.KindOnlyA {
		out.B = at(B)
	}
	switch d.kind {
	case report.KindChanged:
		var messages [2]*rosbag.Message
		for s := range messages {
			var err error
			if messages[s], err = c.read(Side(s), d); err != nil {
				out.Note = fmt.Sprintf("cannot be read again from %s: %v", Side(s), err)
				return out
			}
		}
		types.Compare(&out, messages)
	case report.KindOnlyA, report.KindOnlyB:
		out.Repeats = d.repeats
	case report.KindMoved, report.KindTime:
	}
	return out
}

var errGone = errors.New("it is not there any more")

// read reads a message of a difference again. It finds the message by its stream, its time and its payload.
func (c *comparison) read(s Side, d chosen) (*rosbag.Message, error) {
	at := d.items[s].Time
	q := rosbag.Query{Start: at, End: at, Keep: func(conn *rosbag.Connection) bool { return slices.Contains(d.stream.conns[s], conn) }}
	cursor := c.bags[s].Cursor(q)
	defer cursor.Close()
	for {
		m, err := cursor.Next()
		switch {
		case c.ctx.Err() != nil:
			return nil, c.ctx.Err()
		case errors.Is(err, io.EOF), err == nil && m.Time != at:
			return nil, errGone
		case err != nil: // damage, which is known; the message may be after it
		case align.DigestOf(c.seed, m.Data()) == d.items[s].Sum:
			return m, nil
		}
	}
}
