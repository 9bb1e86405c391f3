package bagdiff

import (
	"errors"
	"io"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// maxKept bounds how many messages of each bag are kept in a pass.
const maxKept = 4 << 20

// pass reads both bags once, side by side, for some of the streams.
type pass struct {
	*comparison
	streams map[*stream]struct{}
	of      [2]map[*rosbag.Connection]*stream
	kept    [2]int // messages in lists
	ahead   [2]int // those of them that wait for the other bag
}

// run compares streams in one pass, and returns those that need another one.
func (c *comparison) run(streams []*stream) (again []*stream, err error) {
	c.passes++
	p := &pass{comparison: c, streams: make(map[*stream]struct{})}
	var cursors [2]*bagfmt.Cursor
	for s := range cursors {
		p.of[s] = make(map[*rosbag.Connection]*stream)
		for _, st := range streams {
			p.streams[st] = struct{}{}
			for _, conn := range st.conns[s] {
				p.of[s][conn] = st
			}
		}
		cursors[s] = c.bags[s].Cursor(rosbag.Query{Workers: c.o.Workers, Reuse: true, Keep: func(conn *rosbag.Connection) bool { return p.of[s][conn] != nil }})
		defer cursors[s].Close()
	}
	for _, st := range streams {
		st.begin(c.o)
	}
	if err := p.read(cursors); err != nil {
		return nil, err
	}
	for _, st := range streams {
		if _, done := p.streams[st]; !done {
			again = append(again, st)
		}
	}
	return again, nil
}

// read reads both bags to their ends. The bag goes on that is less ahead, so that little
// waits for the other one.
func (p *pass) read(cursors [2]*bagfmt.Cursor) error {
	var ended [2]bool
	for n := 0; !ended[A] || !ended[B]; n++ {
		if n%1024 == 0 && p.ctx.Err() != nil {
			return p.ctx.Err()
		}
		s := A
		if ended[A] || !ended[B] && p.ahead[B] < p.ahead[A] {
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
			p.take(s, m)
		}
	}
	for st := range p.streams {
		st.settle()
	}
	return nil
}

// take gives a message to its stream.
func (p *pass) take(s Side, m *rosbag.Message) {
	st := p.of[s][m.Conn]
	if _, ok := p.streams[st]; !ok {
		return
	}
	p.count(st, -1)
	var stamp int64
	if st.byHeader {
		stamp = stampOf(m.Data())
	}
	st.add(s, item{digestOf(p.seed, m.Data()), m.Time}, stamp)
	p.count(st, 1)
	for max(p.kept[A], p.kept[B]) > p.limit && len(p.streams) > 1 {
		p.putOff()
	}
}

// count adds what a stream keeps to what all keep, or takes it away.
func (p *pass) count(st *stream, sign int) {
	for s := range st.d.lists {
		n := sign * len(st.d.lists[s].items)
		if p.kept[s] += n; !st.differs {
			p.ahead[s] += n
		}
	}
}

// putOff leaves the stream that keeps most to another pass.
func (p *pass) putOff() {
	var most *stream
	for st := range p.streams {
		if most == nil || st.kept() > most.kept() || st.kept() == most.kept() && st.before(most) {
			most = st
		}
	}
	p.count(most, -1)
	delete(p.streams, most)
	most.begin(p.o) // gives the memory back
}
