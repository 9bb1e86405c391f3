package bagdiff

import (
	"bytes"
	"errors"
	"io"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// maxPending bounds how many messages are remembered, of which each takes about 100 bytes
// while it is searched for.
const maxPending = 1 << 20

// pass reads both bags once, for some of the streams.
type pass struct {
	*comparison
	streams []*stream
	trusted bool // the counts of the indexes
	halves  [2]half
	pending [2]int // messages that are remembered
}

// half is the side of a pass that reads one bag.
type half struct {
	cursor rosbag.Cursor
	conns  map[*bagfmt.Connection]*connState
	next   *bagfmt.Message // nil if it is to be read
	state  *connState      // of its connection
	done   bool
}

// connState finds messages again: by their time, and their number among those of the same time.
type connState struct {
	stream *stream
	time   bagfmt.Time
	nth    uint32
}

// place returns the place of the latest message of the connection.
func (c *connState) place(m *bagfmt.Message) place {
	return place{m.Conn, m.Time, c.nth, uint32(len(m.Data()))}
}

// run compares streams in one pass. If the counts of the index are trusted, a stream that a
// bag has no more of is not waited for.
func (c *comparison) run(streams []*stream, trusted bool) error {
	c.passes++
	p := &pass{comparison: c, streams: streams, trusted: trusted}
	for s := range p.halves {
		h := &p.halves[s]
		h.conns = make(map[*bagfmt.Connection]*connState)
		for _, st := range streams {
			st.begin(c.o)
			for _, conn := range st.conns[s] {
				h.conns[conn] = &connState{stream: st}
			}
		}
		h.cursor = c.bags[s].Cursor(bagfmt.Query{Workers: c.o.Workers, Reuse: true, Keep: func(conn *bagfmt.Connection) bool { return h.conns[conn] != nil }})
		defer h.cursor.Close()
	}
	for _, st := range streams {
		for s := range p.halves {
			p.endIfOver(st, Side(s))
		}
	}
	return p.compare()
}

// endIfOver ends the side of a stream of which the index says that there is no more.
func (p *pass) endIfOver(st *stream, s Side) {
	if p.trusted && st.align.taken(s) >= st.expected[s] {
		st.align.end(s)
	}
}

// compare reads to the ends of both bags. The bag goes on of which less is remembered, so
// that neither is far ahead of the other.
func (p *pass) compare() error {
	for n := 0; ; n++ {
		if n%1024 == 0 && p.ctx.Err() != nil {
			return p.ctx.Err()
		}
		for s := range p.halves {
			if err := p.fetch(Side(s)); err != nil {
				return err
			}
		}
		a, b := &p.halves[A], &p.halves[B]
		switch {
		case a.done && b.done:
			return nil
		case p.pairNow():
		case b.done || !a.done && p.pending[A] <= p.pending[B]:
			p.take(A)
		default:
			p.take(B)
		}
		if p.pending[A]+p.pending[B] > p.limit {
			p.shrink()
		}
	}
}

// fetch reads the next message of a bag, if there is none.
func (p *pass) fetch(s Side) error {
	h := &p.halves[s]
	for h.next == nil && !h.done {
		m, err := h.cursor.Next()
		switch {
		case errors.Is(err, io.EOF):
			h.done = true
			for _, st := range p.streams {
				p.change(st, func() { st.align.end(s) })
			}
		case err != nil:
			if err := p.damaged(s, err); err != nil {
				return err
			}
		default:
			c := h.conns[m.Conn]
			if m.Time != c.time {
				c.time, c.nth = m.Time, 0
			} else {
				c.nth++
			}
			switch {
			case c.stream.again:
				continue // it is compared later
			case c.stream.align.ended[s]: // the index has counted less
				p.later(c.stream)
				continue
			}
			h.next, h.state = m, c
		}
	}
	return nil
}

// later puts a stream off to a pass of its own.
func (p *pass) later(st *stream) {
	p.change(st, func() { st.begin(p.o) })
	st.again = true
}

// pairNow pairs the next messages of both bags if they are of the same stream and all
// before them are paired: these are compared byte by byte.
func (p *pass) pairNow() bool {
	a, b := &p.halves[A], &p.halves[B]
	if a.next == nil || b.next == nil || a.state.stream != b.state.stream {
		return false
	}
	st := a.state.stream
	if !st.align.idle() || st.again {
		return false
	}
	if st.byHeader {
		x, y := stampOf(a.next), stampOf(b.next)
		if x != y || !bytes.Equal(a.next.Data(), b.next.Data()) {
			return false
		}
	} else if !bytes.Equal(a.next.Data(), b.next.Data()) {
		return false
	}
	st.tally.same(a.state.place(a.next), b.state.place(b.next), st.align.taken(A), st.align.taken(B))
	st.align.skip()
	a.next, b.next = nil, nil
	p.change(st, func() {
		p.endIfOver(st, A)
		p.endIfOver(st, B)
	})
	return true
}

// take gives the next message of a bag to its stream.
func (p *pass) take(s Side) {
	h := &p.halves[s]
	st := h.state.stream
	m := h.next
	h.next = nil
	if st.again {
		return
	}
	p.change(st, func() {
		st.align.add(s, st.remember(m, h.state))
		p.endIfOver(st, s)
	})
}

// change does something to a stream and keeps the number of remembered messages.
func (p *pass) change(st *stream, do func()) {
	was := [2]int{st.align.q[A].len(), st.align.q[B].len()}
	do()
	for s := range p.pending {
		p.pending[s] += st.align.q[s].len() - was[s]
	}
}

// shrink makes the stream that has most messages waiting forget some. If it has no
// difference so far it is compared again, alone, when neither bag has to be ahead.
func (p *pass) shrink() {
	most, st := 0, p.streams[0]
	for _, x := range p.streams {
		if n := x.align.q[A].len() + x.align.q[B].len(); n > most {
			most, st = n, x
		}
	}
	if len(p.streams) > 1 && !st.tally.differs() && !st.align.mismatched() {
		p.later(st)
		return
	}
	p.change(st, st.align.shed)
}
