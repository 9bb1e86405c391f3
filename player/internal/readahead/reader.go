package readahead

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/timeline"
	"github.com/gorosbag/gorosbag/player/internal/transport"
	"github.com/gorosbag/gorosbag/rosbag"
)

// reader reads ahead of play into a queue, so that a chunk is decompressed on another
// core before its messages are due. Each read request starts it at any place.
type reader struct {
	order    *timeline.Order
	queue    *Queue
	memory   *Memory          // of order; may be nil
	requests chan readRequest // holds the latest request
	zero     rosbag.Time      // first selected message

	zeroKnown bool // zero is set

	shifter   stampShifter
	distances distances // in the present pass

	superseded chan struct{}  // closed when the latest request is superseded
	closing    sync.WaitGroup // sequences that are being closed in the background
	closeSlots chan struct{}  // bounds these sequences to maxClosing
}

// readRequest asks the reader to read from a place. It holds until the next request.
type readRequest struct {
	transport.ReadRequest
	epoch      uint64
	superseded chan struct{} // closed by the next request
}

// isSuperseded reports whether a newer request has replaced this one.
func (o *readRequest) isSuperseded() bool {
	select {
	case <-o.superseded:
		return true
	default:
		return false
	}
}

// maxClosing bounds the sequences that are closed in the background at the same time: each
// holds chunks that are being decompressed, and uses cores.
const maxClosing = 2

func newReader(o *timeline.Order, q *Queue) *reader {
	return &reader{
		order: o, queue: q, requests: make(chan readRequest, 1), closeSlots: make(chan struct{}, maxClosing),
		distances: newDistances(),
	}
}

// submit replaces the read request. Only one goroutine at a time may call it.
func (r *reader) submit(o readRequest) {
	if r.superseded != nil {
		close(r.superseded)
	}
	r.superseded = make(chan struct{})
	o.superseded = r.superseded
	select {
	case <-r.requests: // it is superseded
	default:
	}
	r.requests <- o
}

// closeInBackground closes a sequence without waiting for its decompression workers.
func (r *reader) closeInBackground(s timeline.Sequence) {
	r.closeSlots <- struct{}{}
	// owner: run; ends when the workers of the cursors have.
	r.closing.Go(func() {
		s.Close()
		<-r.closeSlots
	})
}

// run serves read requests until ctx ends.
func (r *reader) run(ctx context.Context) {
	defer r.closing.Wait()
	for {
		select {
		case o := <-r.requests:
			r.readPasses(ctx, o)
		case <-ctx.Done():
			return
		}
	}
}

// readPasses fills the queue until the bags, ctx or the epoch of the request end, and then closes the
// epoch in the queue. With a loop it continues with the next pass, so that play does not wait for the
// reader between passes.
func (r *reader) readPasses(ctx context.Context, o readRequest) {
	defer r.queue.Close(o.epoch)
	if r.memory != nil {
		r.memory.open()
		defer r.memory.close()
	}
	step := false
	if o.Back > 0 {
		o.From, step = r.order.Back(r.zero, o.From, o.Back)
	}
	var arrival *Jump
	if o.Arrive {
		arrival = &Jump{Step: step}
	}
	var before passEnd
	for first := true; ; first = false {
		p := pass{reader: r, request: &o, arrival: arrival, before: before, limit: transport.Forever}
		if o.Loop.On && (!r.zeroKnown || o.From.Stamp.Sub(r.zero) <= o.Loop.To) {
			p.limit = o.Loop.To
		}
		if r.zeroKnown {
			p.last = o.From.Stamp.Sub(r.zero)
		}
		r.distances.reset()
		ok := p.queueMessages(ctx)
		if !ok || !o.Loop.On || !r.zeroKnown {
			return
		}
		before = p.end()
		if !first && p.count == 0 && (before.pos <= o.Loop.From || o.Loop.Immediate) {
			return // an empty loop without duration would spin
		}
		o.From = transport.Place{Stamp: r.zero.Add(o.Loop.From)}
		arrival = &Jump{EndOfPass: true}
	}
}

// pass is one run through the bags.
type pass struct {
	*reader
	request *readRequest
	arrival *Jump         // the jump to queue before the first message; nil once it is queued
	before  passEnd       // of the pass before, if there is one
	limit   time.Duration // the last position
	latched plan.State    // for arrival

	// messages queued
	count int
	// bytes of memory that queued messages cost, and that was not queued itself
	paid int
	// a message was read
	found bool
	// position of the latest message that was read; before the first one, of the beginning of the pass
	last time.Duration
}

// passEnd is where a pass ends.
type passEnd struct {
	pos  time.Duration // of the end of the loop or, without one, of the last message
	next time.Duration // the earliest position for one more message
}

// minPassGap is the least distance from the last message of a pass to the first one of the
// next.
const minPassGap = time.Millisecond

// end returns where the pass ends, when all of it was read.
func (p *pass) end() passEnd {
	e := passEnd{pos: p.last}
	if p.limit != transport.Forever {
		e.pos = p.limit
	}
	if p.found {
		e.next = transport.Sum(p.last, max(p.distances.median(), minPassGap))
	}
	return e
}

// followedBy returns where the pass ends. after is how long after the beginning of the next pass its
// first message comes. In a loop that shifts stamps, the last message of a pass and the first one of
// the next must not have the same stamp: tf refuses repeated stamps.
func (e passEnd) followedBy(after time.Duration) time.Duration { return max(e.pos, e.next-after) }

// queueMessages queues the messages from the requested place on. It reports whether all were queued.
func (p *pass) queueMessages(ctx context.Context) bool {
	from := p.request.From.Stamp
	t := p.order.From(from, p.request.superseded, func(route *plan.Route, m *rosbag.Message) {
		if p.arrival != nil {
			p.latched.Add(route, m)
		}
	})
	defer p.closeInBackground(t)
	if p.arrival != nil {
		t.Begin()
		p.latched = p.order.Latched(from, p.request.superseded)
	}
	at := transport.Place{Rank: -1}
	for m, route := t.Next(); m != nil; m, route = t.Next() {
		if p.memory != nil && len(p.memory.left) > 0 && !p.pushMemory(ctx) {
			return false
		}
		if route.Reason != "" {
			route.Skipped.Add(1)
			if ctx.Err() != nil || len(p.requests) > 0 {
				return false
			}
			continue
		}
		if at.Stamp != m.Time {
			at = transport.Place{Stamp: m.Time, Rank: -1}
		}
		at.Rank++
		if !p.zeroKnown {
			p.zero, p.zeroKnown = m.Time, true
		}
		pos := m.Time.Sub(p.zero)
		if pos > p.limit {
			break
		}
		if p.found {
			p.distances.add(pos - p.last)
		}
		p.found, p.last = true, pos
		if at.Stamp == p.request.From.Stamp && at.Rank < p.request.From.Rank {
			if p.arrival != nil && route.Conn.Header.Latching() {
				p.latched.Add(route, m)
			}
			continue
		}
		if !p.pushArrival(ctx, pos) {
			return false
		}
		it := Item{Route: route, Frame: m.Frame, retained: m.Share, At: at, Pos: pos, Epoch: p.request.epoch}
		switch {
		case route.Private: // not when the message is due
			it.Frame, it.retained = slices.Clone(m.Frame), len(m.Frame)
		case p.memory != nil && route.Publisher.Latching: // it may be used long after the others of its chunk
			it.Frame, it.retained = slices.Clone(m.Frame), len(m.Frame)
		default:
			p.paid = min(p.paid+m.Share, maxAheadBytes)
		}
		if !route.Private && p.request.Shift != 0 {
			it.Frame = p.shifter.shift(route.Topic.Stamps, it.Frame, p.request.Shift)
		}
		if !p.queue.Push(ctx, it) {
			return false
		}
		p.count++
	}
	return !p.request.isSuperseded() && p.pushArrival(ctx, transport.Forever) && ctx.Err() == nil
}

// pushMemory queues the memory that cursors have left, behind all messages in it. It costs nothing in the
// queue: what messages have not paid for, at least by half, it forgets. These are copies, or not played.
func (p *pass) pushMemory(ctx context.Context) bool {
	left := p.memory.left
	p.memory.left = left[:0]
	defer clear(left)
	for _, b := range left {
		if 2*p.paid < len(b) {
			continue
		}
		p.paid = max(0, p.paid-len(b))
		if !p.queue.Push(ctx, Item{Frame: b, Epoch: p.request.epoch}) {
			return false
		}
	}
	return true
}

// pushArrival queues the jump to where this pass begins, unless that was done already. first
// is the position of its first message, Forever if there is none.
func (p *pass) pushArrival(ctx context.Context, first time.Duration) bool {
	if p.arrival == nil {
		return true
	}
	j, from := p.arrival, p.request.From
	p.arrival = nil
	j.To = from.Stamp.Sub(p.zero)
	it := Item{Pos: j.To, At: from, Epoch: p.request.epoch, Jump: j}
	if j.EndOfPass {
		it.Pos = p.before.followedBy(first - j.To)
		it.At.Stamp = p.zero.Add(it.Pos)
		if p.request.Loop.Shift {
			p.request.Shift = transport.Sum(p.request.Shift, it.Pos-j.To)
		}
	}
	j.Shift = p.request.Shift
	j.Latched = p.shifter.shiftState(p.latched.Sorted(), j.Shift)
	return p.queue.Push(ctx, it)
}
