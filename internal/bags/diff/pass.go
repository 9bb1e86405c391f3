package diff

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/gorosbag/gorosbag/internal/bags/diff/align"
	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/rosbag"
)

// maxKept is the most messages of both bags that are kept at a time.
const maxKept = 1 << 20

// pass reads both bags once, side by side, for some of the streams.
type pass struct {
	*comparison
	streams []*stream                      // without those that were put off
	of      map[*rosbag.Connection]*stream // the stream of each connection
	kept    [2]int                         // the number of messages in lists, for each bag

	// ahead is the part of kept in streams in which the bags agree so far: messages that the other bag
	// has yet to come to.
	ahead [2]int

	reached [2]rosbag.Time     // the time of the latest message of each bag
	repeats [2]*rosbag.Repeats // what each bag repeats at its start
}

// run compares streams in one pass, and returns those that need another pass.
func (c *comparison) run(streams []*stream) (again []*stream, err error) {
	c.passes++
	p := &pass{comparison: c, streams: slices.Clone(streams), of: make(map[*rosbag.Connection]*stream)}
	for _, st := range streams {
		st.tally = newTally(c.o, st.byHeader, c.byTime)
		for _, conn := range slices.Concat(st.conns[:]...) {
			p.of[conn] = st
		}
	}
	var cursors [2]rosbag.Cursor
	for s := range cursors {
		p.repeats[s] = rosbag.FindRepeats(c.bags[s])
		cursors[s] = c.bags[s].Cursor(rosbag.Query{
			Workers: c.o.Workers, Reuse: true,
			Keep: func(conn *rosbag.Connection) bool { return p.of[conn] != nil },
		})
		defer cursors[s].Close()
	}
	if err := p.read(cursors); err != nil {
		return nil, err
	}
	for _, st := range p.streams {
		st.tally.settle()
	}
	return slices.DeleteFunc(slices.Clone(streams), func(st *stream) bool { return st.tally != nil }), nil
}

// read reads both bags to their ends. The next message is one of the bag that is less ahead or, if that
// is equal, of which less is kept: so few messages have to wait for the other bag. By time, it is one of
// the bag that has come less far.
func (p *pass) read(cursors [2]rosbag.Cursor) error {
	var ended [2]bool
	for n := 0; !ended[A] || !ended[B]; n++ {
		if n%1024 == 0 && p.ctx.Err() != nil {
			return p.ctx.Err()
		}
		s := A
		if ended[A] || !ended[B] && p.behind() == B {
			s = B
		}
		m, err := cursors[s].Next()
		switch {
		case errors.Is(err, io.EOF) && !errors.Is(err, rosbag.ErrCorrupt):
			ended[s] = true
		case err != nil:
			if err := p.damaged(s, err); err != nil {
				return err
			}
		default:
			p.reached[s] = m.Time
			isRepeated := p.repeats[s].Is(m)
			if st := p.of[m.Conn]; st.tally != nil {
				if isRepeated {
					st.tally.repeats(s)
				}
				p.take(st, s, m)
			}
		}
	}
	return nil
}

// behind returns the bag that is to be read next, if neither has ended.
func (p *pass) behind() Side {
	order := cmp.Or(cmp.Compare(p.ahead[B], p.ahead[A]), cmp.Compare(p.kept[B], p.kept[A]))
	if p.byTime {
		order = cmp.Or(p.reached[B].Compare(p.reached[A]), order)
	}
	if order < 0 {
		return B
	}
	return A
}

// take adds a message to its stream, and makes room if too many are kept.
func (p *pass) take(st *stream, s Side, m *rosbag.Message) {
	var stamp int64
	if st.byHeader {
		sec, nsec, _ := stdmsg.HeaderStamp(m.Data()) // 0 if the message is too short
		stamp = int64(sec)*1e9 + int64(nsec)
	}
	p.count(st, -1)
	st.tally.add(s, align.Item{Sum: align.DigestOf(p.seed, m.Data()), Time: m.Time}, stamp)
	p.count(st, 1)
	for p.kept[A]+p.kept[B] > p.limit {
		p.shrink()
	}
}

// count adds the number of messages that a stream keeps to the totals, or subtracts it if sign is -1.
func (p *pass) count(st *stream, sign int) {
	for s := range p.kept {
		n := sign * st.tally.kept(Side(s))
		if p.kept[s] += n; !st.tally.apart {
			p.ahead[s] += n
		}
	}
}

// shrink makes room at the stream that keeps most. If messages are paired by time, if the stream keeps
// about as many of each bag, or if it is the only one, some of them are compared. Otherwise the stream is
// put off to another pass.
func (p *pass) shrink() {
	kept := func(st *stream) int { return st.tally.kept(A) + st.tally.kept(B) }
	most := slices.MaxFunc(p.streams, func(a, b *stream) int { return cmp.Compare(kept(a), kept(b)) })
	p.count(most, -1)
	if p.byTime || 3*min(most.tally.kept(A), most.tally.kept(B)) >= kept(most) || len(p.streams) == 1 {
		most.tally.settleSome()
		p.count(most, 1)
		return
	}
	most.tally = nil
	p.streams = slices.DeleteFunc(p.streams, func(st *stream) bool { return st == most })
}
