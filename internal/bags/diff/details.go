package diff

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gorosbag/gorosbag/internal/bags/diff/align"
	"github.com/gorosbag/gorosbag/internal/bags/diff/report"
	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/rosbag"
)

// detail is one difference of a message, as far as it is known before the message is read again.
type detail struct {
	report.Difference
	stream *stream
	round  int             // how many details of the stream come before
	sums   [2]align.Digest // of the message in each bag
}

// detail adds the differences that the report shows: the first of each stream, then the second of each,
// and so on, until there are enough.
func (c *comparison) detail(r *report.Report, all []*stream) error {
	var list []detail
	for _, st := range all {
		for round, d := range slices.Concat(st.tally.details, st.tally.timed) {
			d.stream, d.round, d.Topic, d.Publisher = st, round, st.topic.Name, st.publisher
			list = append(list, d)
		}
	}
	slices.SortStableFunc(list, func(a, b detail) int { return cmp.Compare(a.round, b.round) })
	list = list[:min(len(list), c.o.Details)]
	slices.SortStableFunc(list, func(a, b detail) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Publisher, b.Publisher),
			cmp.Compare(a.At().Number, b.At().Number))
	})
	var types msgdef.Cache
	for _, d := range list {
		if c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		if d.Kind == report.KindChanged {
			c.explain(&d, &types)
		}
		r.Differences = append(r.Differences, d.Difference)
	}
	return nil
}

// explain adds the fields in which a message changed. It reads the message of each bag again.
func (c *comparison) explain(d *detail, types *msgdef.Cache) {
	var messages [2]*rosbag.Message
	for s, at := range [2]*report.Place{d.A, d.B} {
		var err error
		if messages[s], err = c.read(Side(s), d, rosbag.Time(at.Time)); err != nil {
			d.Note = fmt.Sprintf("cannot be read again from %s: %v", Side(s), err)
			return
		}
	}
	compareFields(&d.Difference, messages, types)
}

var errGone = errors.New("it is not there any more")

// read reads a message of a difference again. It finds the message by its stream, its time and its payload.
func (c *comparison) read(s Side, d *detail, at rosbag.Time) (*rosbag.Message, error) {
	q := rosbag.Query{
		Start: at, End: at,
		Keep: func(conn *rosbag.Connection) bool { return slices.Contains(d.stream.conns[s], conn) },
	}
	cursor := c.bags[s].Cursor(q)
	defer cursor.Close()
	for {
		m, err := cursor.Next()
		switch {
		case c.ctx.Err() != nil:
			return nil, c.ctx.Err()
		case errors.Is(err, io.EOF) && !errors.Is(err, rosbag.ErrCorrupt), err == nil && m.Time != at:
			return nil, errGone
		case err != nil: // damage, which is known; the message may be after it
		case align.DigestOf(c.seed, m.Data()) == d.sums[s]:
			return m, nil
		}
	}
}
