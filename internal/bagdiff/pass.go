package bagdiff

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/gorosbag/gorosbag/internal/bagdiff/align"
	"github.com/gorosbag/gorosbag/internal/msgheader"
	"github.com/gorosbag/gorosbag/rosbag"
)

// maxKept bounds how many messages are kept, of both bags together.
const maxKept = 1 << 20

// pass reads both bags once, side by side, for some of the streams.
type pass struct {
	*comparison
	streams []*stream // that are not put off
	of      [2]map[*rosbag.Connection]*stream
	kept    [2]int // messages in lists
	ahead   [2]int // those of them that wait for the other bag
}

// run compares streams in one pass, and returns those that need another one.
func (c *comparison) run(streams []*stream) (again []*stream, err error) {
	c.passes++
	p := &pass{comparison: c, streams: slices.Clone(streams)}
	var cursors [2]rosbag.Cursor
	for s := range cursors {
		p.of[s] = make(map[*rosbag.Connection]*stream)
		for _, st := range streams {
			st.putOff, st.tally = false, newTally(c.o, st.byHeader)
			for _, conn := range st.conns[s] {
				p.of[s][conn] = st
			}
		}
		cursors[s] = c.bags[s].Cursor(rosbag.Query{Workers: c.o.Workers, Reuse: true, Keep: func(conn *rosbag.Connection) bool { return p.of[s][conn] != nil }})
		defer cursors[s].Close()
	}
	if err := p.read(cursors); err != nil {
		return nil, err
	}
	for _, st := range p.streams {
		st.tally.settle()
	}
	return slices.DeleteFunc(slices.Clone(streams), func(st *stream) bool { return !st.putOff }), nil
}

// read reads both bags to their ends. The bag goes on that is less ahead, or of which less is
// kept, so that little waits for the other one.
func (p *pass) read(cursors [2]rosbag.Cursor) error {
	var ended [2]bool
	for n := 0; !ended[A] || !ended[B]; n++ {
		if n%1024 == 0 && p.ctx.Err() != nil {
			return p.ctx.Err()
		}
		s := A
		if ended[A] || !ended[B] && cmp.Or(cmp.Compare(p.ahead[B], p.ahead[A]), cmp.Compare(p.kept[B], p.kept[A])) < 0 {
			s = B
		}
		m, err := cursors[s].Next()
		switch {
		case errors.Is(err, io.EOF):
			ended[s] = true
		case err != nil:
			if err := p.damaged(s, err); err != nil {
				return err
			}
		default:
			if st := p.of[s][m.Conn]; !st.putOff {
				p.take(st, s, m)
			}
		}
	}
	return nil
}

// take gives a message to its stream.
func (p *pass) take(st *stream, s Side, m *rosbag.Message) {
	var stamp int64
	if st.byHeader {
		sec, nsec, _ := msgheader.Stamp(m.Data()) // 0 if the message is too short
		stamp = int64(sec)*1e9 + int64(nsec)
	}
	p.count(st, -1)
	st.tally.add(s, align.Item{Sum: align.DigestOf(p.seed, m.Data()), Time: m.Time}, stamp)
	p.count(st, 1)
	for p.kept[A]+p.kept[B] > p.limit {
		p.shrink()
	}
}

// count adds what a stream keeps to what all keep, or takes it away.
func (p *pass) count(st *stream, sign int) {
	for s := range p.kept {
		n := sign * st.tally.kept(Side(s))
		if p.kept[s] += n; !st.tally.apart {
			p.ahead[s] += n
		}
	}
}

// shrink makes room by the stream that keeps most. If what it keeps of both bags is known to
// differ, and is about as much, some of it is compared; otherwise it is left to another pass.
func (p *pass) shrink() {
	kept := func(st *stream) int { return st.tally.kept(A) + st.tally.kept(B) }
	most := slices.MaxFunc(p.streams, func(a, b *stream) int { return cmp.Compare(kept(a), kept(b)) })
	p.count(most, -1)
	if 3*min(most.tally.kept(A), most.tally.kept(B)) >= kept(most) || len(p.streams) == 1 {
		most.tally.settleSome()
		p.count(most, 1)
		return
	}
	most.putOff, most.tally = true, nil
	p.streams = slices.DeleteFunc(p.streams, func(st *stream) bool { return st == most })
}
