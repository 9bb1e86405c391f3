package live

import (
	"sync/atomic"

	"github.com/gorosbag/gorosbag/rosbag"
)

// backlog holds the frames that one viewer has not received yet, at most limit bytes of them. It is
// pure: the store has the lock. Only the figures may be read without it.
//
// Frames leave in the order in which they came. When the limit is reached, the backlog skips the
// oldest frames of channels with more bytes than an equal share. So the newest message of each topic
// wins, and a topic with large messages never displaces a topic with small messages. The work for a
// frame grows with the logarithm of the number of channels.
type backlog struct {
	limit    atomic.Int64
	used     atomic.Int64 // bytes of all frames
	latched  int64        // bytes of latched frames, which are never skipped for others
	lanes    map[ChannelID]*lane
	channels atomic.Int64 // number of lanes
	shelves  shelves      // the lanes with frames
	next     uint64       // number of the next frame
	clock    clock
	jump     Frame // Kind is Jump while a jump has not been received
	tally    tally
}

func (b *backlog) init() { b.lanes, b.shelves = map[ChannelID]*lane{}, newShelves() }

// join adds a channel. Its frames leave after settle has said which messages are latched.
func (b *backlog) join(id ChannelID) *lane {
	l := &lane{id: id, joining: true}
	b.lanes[id] = l
	b.channels.Store(int64(len(b.lanes)))
	return l
}

// leave removes a channel with its frames.
func (b *backlog) leave(id ChannelID) {
	if l := b.lanes[id]; l != nil {
		b.empty(l)
		delete(b.lanes, id)
		b.channels.Store(int64(len(b.lanes)))
	}
}

// settle puts the latched messages of a channel before its live frames. A message that has come as
// a live frame in the meantime is left out.
func (b *backlog) settle(l *lane, latched []Frame) {
	l.joining = false
	arrived := map[mark]bool{}
	if len(latched) > 0 {
		for i := range l.live.frames() {
			arrived[markOf(&l.live.frames()[i].Frame)] = true
		}
	}
	for i := range latched {
		f := latched[i]
		f.Channel = l.id
		m := markOf(&f)
		charge := f.charge()
		switch {
		case arrived[m]:
			continue
		case b.latched+charge > b.limit.Load():
			b.tally.refuse()
			continue
		}
		l.marks = append(l.marks, m)
		b.latched += charge
		b.append(l, &l.latched, &f)
	}
	b.shelves.turned(l)
	b.trim()
}

// push adds a live frame of a channel, and skips others if that is too much.
func (b *backlog) push(l *lane, f *Frame) {
	if len(l.marks) > 0 && l.comesAgain(f) {
		return
	}
	if f.charge() > b.limit.Load() {
		b.tally.refuse()
		return
	}
	b.append(l, &l.live, f)
	b.trim()
}

func (b *backlog) append(l *lane, to *fifo, f *Frame) {
	if !l.owed {
		l.owed, l.turn = true, b.next
	}
	to.push(numbered{*f, b.next})
	b.next++
	b.used.Add(f.charge())
	b.shelves.changed(l)
	if !l.inTurns {
		b.shelves.turned(l)
	}
}

// trim skips frames until the limit is kept. Latched frames remain, unless nothing else is left,
// which a limit that has fallen can cause.
func (b *backlog) trim() {
	limit := b.limit.Load()
	for used := b.used.Load(); used > limit; used = b.used.Load() {
		l := b.shelves.victim(limit, used, b.latched)
		q := &l.live
		if q.len() == 0 {
			q = &l.latched
		}
		b.drop(l, q)
		b.tally.skipped.Add(1)
		b.shelves.changed(l)
		if l.len() == 0 {
			b.shelves.turned(l)
		}
	}
}

// drop removes the oldest frame of a queue of l.
func (b *backlog) drop(l *lane, q *fifo) Frame {
	f := q.pop()
	b.used.Add(-f.charge())
	if q == &l.latched {
		b.latched -= f.charge()
	}
	return f
}

// empty removes all frames of a channel.
func (b *backlog) empty(l *lane) {
	if l.len() == 0 {
		return
	}
	b.used.Add(-l.live.bytes - l.latched.bytes)
	b.latched -= l.latched.bytes
	l.live, l.latched, l.owed = fifo{}, fifo{}, false
	b.shelves.changed(l)
	b.shelves.turned(l)
}

// jumpTo removes all frames, because later frames belong to another time.
func (b *backlog) jumpTo(t rosbag.Time, jumps uint64) {
	for _, l := range b.lanes {
		b.empty(l)
		l.marks = nil
	}
	b.jump = Frame{Kind: Jump, Time: t, Jumps: jumps}
	b.clock.jumpTo(t)
}

// take returns the next frame, if there is one.
func (b *backlog) take() (f Frame, ok bool) {
	if b.jump.Kind == Jump {
		f, b.jump = b.jump, Frame{}
		return f, true
	}
	l := first(&b.shelves.turns)
	if l == nil {
		return b.clock.take(b.next)
	}
	if f, ok = b.clock.take(l.turn); ok {
		return f, true
	}
	if l.latched.len() > 0 { // a latched message may be old, so its time does not advance the clock
		return b.serve(l, &l.latched), true
	}
	if f, ok = b.clock.before(l.live.first()); ok {
		return f, true
	}
	return b.serve(l, &l.live), true
}

// serve hands out the oldest frame of a queue of l.
func (b *backlog) serve(l *lane, q *fifo) Frame {
	f := b.drop(l, q)
	b.tally.messages.Add(1)
	b.tally.bytes.Add(uint64(len(f.Payload)))
	switch {
	case l.latched.len() > 0:
		l.turn = l.latched.number()
	case l.live.len() > 0:
		l.turn = l.live.number()
	default:
		l.owed = false
	}
	b.shelves.changed(l)
	b.shelves.turned(l)
	return f
}
