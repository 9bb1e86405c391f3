package live

import (
	"hash/maphash"
	"slices"

	"github.com/gorosbag/gorosbag/rosbag"
)

// frameOverhead is the number of bytes that each frame counts besides its payload, so that a flood of
// tiny messages is bounded, too.
const frameOverhead = 128

// backlog holds the frames that one viewer has not received yet, at most limit bytes of them. It is
// pure: the store has the lock.
//
// Frames leave in the order in which they came. When the limit is reached, the backlog skips the
// oldest frames of channels with more bytes than an equal share. So the newest message of each topic
// wins, and a topic with large messages never displaces a topic with small messages.
type backlog struct {
	limit   int64
	used    int64 // bytes of all frames
	latched int64 // bytes of latched frames, which are never skipped for others
	lanes   map[ChannelID]*lane
	queued  []*lane // the lanes with frames
	next    uint64  // number of the next frame
	clock   clock
	jump    Frame // Kind is Jump while a jump has not been received
	counts  Counts
}

// Counts has the numbers of frames that one viewer received and skipped.
type Counts struct {
	Messages uint64 // received by the viewer
	Bytes    uint64 // of their payload
	Skipped  uint64 // not received because the viewer was too slow, or because they were too large
	TooLarge uint64 // the part of Skipped that was larger than the memory for this viewer
}

func (c *Counts) add(other *Counts) {
	c.Messages += other.Messages
	c.Bytes += other.Bytes
	c.Skipped += other.Skipped
	c.TooLarge += other.TooLarge
}

// lane is the frames of one channel.
type lane struct {
	id      ChannelID
	latched fifo // from before the subscription; sent before live
	live    fifo
	turn    uint64 // number of the oldest frame, skipped ones included, since this channel was last served
	owed    bool   // turn is valid: a frame came since then
	joining bool   // its latched frames are not known yet: no frame may leave
	marks   []mark // of latched frames, which may come once more as live frames
}

// mark recognizes a frame that comes twice.
type mark struct {
	time rosbag.Time
	sum  uint64
}

var markSeed = maphash.MakeSeed()

func markOf(f *Frame) mark { return mark{f.Time, maphash.Bytes(markSeed, f.Payload)} }

// numbered is a frame with its place in the order of all frames.
type numbered struct {
	Frame
	number uint64
}

// charge is the number of bytes that a frame counts.
func (f *Frame) charge() int64 {
	return frameOverhead + int64(max(f.Retained, len(f.Payload)))
}

func newBacklog() backlog { return backlog{lanes: map[ChannelID]*lane{}} }

// join adds a channel. Its frames leave after settle has said which messages are latched.
func (b *backlog) join(id ChannelID) *lane {
	l := &lane{id: id, joining: true}
	b.lanes[id] = l
	return l
}

// leave removes a channel with its frames.
func (b *backlog) leave(id ChannelID) {
	if l := b.lanes[id]; l != nil {
		b.empty(l)
		delete(b.lanes, id)
	}
}

// settle puts the latched messages of a channel before its live frames. A message that has come as
// a live frame in the meantime is left out.
func (b *backlog) settle(l *lane, latched []Frame) {
	l.joining = false
	arrived := make(map[mark]bool, l.live.len())
	for i := range l.live.frames() {
		f := &l.live.frames()[i].Frame
		arrived[markOf(f)] = len(latched) > 0
	}
	for i := range latched {
		f := latched[i]
		f.Channel = l.id
		m := markOf(&f)
		charge := f.charge()
		switch {
		case arrived[m]:
			continue
		case b.latched+charge > b.limit:
			b.counts.Skipped++
			b.counts.TooLarge++
			continue
		}
		l.marks = append(l.marks, m)
		b.latched += charge
		b.append(l, &l.latched, &f)
	}
	b.trim()
}

// push adds a live frame of a channel, and skips others if that is too much.
func (b *backlog) push(l *lane, f *Frame) {
	if len(l.marks) > 0 && l.comesAgain(f) {
		return
	}
	if f.charge() > b.limit {
		b.counts.Skipped++
		b.counts.TooLarge++
		return
	}
	b.append(l, &l.live, f)
	b.trim()
}

// comesAgain reports whether f was received as a latched message.
func (l *lane) comesAgain(f *Frame) bool {
	i := slices.IndexFunc(l.marks, func(m mark) bool { return m.time == f.Time && m == markOf(f) })
	if i >= 0 {
		l.marks = slices.Delete(l.marks, i, i+1)
	}
	return i >= 0
}

func (b *backlog) append(l *lane, to *fifo, f *Frame) {
	if l.len() == 0 {
		b.queued = append(b.queued, l)
	}
	if !l.owed {
		l.owed, l.turn = true, b.next
	}
	to.push(numbered{*f, b.next})
	b.next++
	b.used += f.charge()
}

func (l *lane) len() int { return l.latched.len() + l.live.len() }

// trim skips frames until the limit is kept. Latched frames remain, unless nothing else is left,
// which a limit that has fallen can cause.
func (b *backlog) trim() {
	for b.used > b.limit {
		l := b.victim()
		q := &l.live
		if q.len() == 0 {
			q = &l.latched
		}
		b.drop(l, q)
		b.counts.Skipped++
		if l.len() == 0 {
			b.unqueue(l)
		}
	}
}

// victim returns the channel whose oldest live frame is skipped. Only channels with more bytes than
// an equal share qualify:
//   - first the channel with the most bytes, among channels with several frames;
//   - then, among channels with one frame, the channel that was served most recently.
//
// If only the channel whose turn is next qualifies, another channel that is not small loses its
// frame instead: otherwise a channel with one huge message would never be served.
func (b *backlog) victim() *lane {
	n, next := int64(0), (*lane)(nil)
	for _, l := range b.queued {
		if l.live.len() > 0 {
			n++
			if next == nil || l.turn < next.turn {
				next = l
			}
		}
	}
	if n == 0 {
		return b.largestLatched()
	}
	share := max(0, b.limit-b.latched) / n
	var many, single, other *lane
	for _, l := range b.queued {
		switch {
		case l.live.bytes > share && l.live.len() > 1:
			if many == nil || l.live.bytes > many.live.bytes {
				many = l
			}
		case l.live.bytes > share:
			single = servedLater(single, l)
		case l.live.bytes > share/smallPart:
			other = servedLater(other, l)
		}
	}
	switch {
	case many != nil:
		return many
	case single == next && other != nil:
		return other
	}
	return single
}

// smallPart: a channel with less than this part of an equal share is small.
const smallPart = 4

// servedLater returns the channel that was served later. a may be nil.
func servedLater(a, b *lane) *lane {
	if a == nil || b.turn > a.turn {
		return b
	}
	return a
}

func (b *backlog) largestLatched() *lane {
	largest := b.queued[0]
	for _, l := range b.queued {
		if l.latched.bytes > largest.latched.bytes {
			largest = l
		}
	}
	return largest
}

// drop removes the oldest frame of a queue of l.
func (b *backlog) drop(l *lane, q *fifo) Frame {
	f := q.pop()
	b.used -= f.charge()
	if q == &l.latched {
		b.latched -= f.charge()
	}
	return f
}

func (b *backlog) unqueue(l *lane) {
	if i := slices.Index(b.queued, l); i >= 0 {
		b.queued = slices.Delete(b.queued, i, i+1)
	}
}

// empty removes all frames of a channel.
func (b *backlog) empty(l *lane) {
	if l.len() == 0 {
		return
	}
	b.used -= l.live.bytes + l.latched.bytes
	b.latched -= l.latched.bytes
	l.live, l.latched, l.owed = fifo{}, fifo{}, false
	b.unqueue(l)
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
	var first *lane
	for _, l := range b.queued {
		if !l.joining && (first == nil || l.turn < first.turn) {
			first = l
		}
	}
	if first == nil {
		return b.clock.take(b.next)
	}
	if f, ok = b.clock.take(first.turn); ok {
		return f, true
	}
	if first.latched.len() > 0 { // a latched message may be old, so its time does not advance the clock
		return b.serve(first, &first.latched), true
	}
	if f, ok = b.clock.before(first.live.first()); ok {
		return f, true
	}
	return b.serve(first, &first.live), true
}

// serve hands out the oldest frame of a queue of l.
func (b *backlog) serve(l *lane, q *fifo) Frame {
	f := b.drop(l, q)
	b.counts.Messages++
	b.counts.Bytes += uint64(len(f.Payload))
	switch {
	case l.latched.len() > 0:
		l.turn = l.latched.number()
	case l.live.len() > 0:
		l.turn = l.live.number()
	default:
		l.owed = false
		b.unqueue(l)
	}
	return f
}
