package player

import (
	"context"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// reader reads ahead of play into a queue, so that a chunk is decompressed on
// another core before its messages are due. It begins anywhere, at each order anew.
type reader struct {
	plan   *plan
	queue  *queue
	orders chan order  // holds the latest one
	zero   bagfmt.Time // first selected message

	known bool // zero

	byTime []*chunksByTime // of the bags, once it was needed

	met map[string]bool // damaged indexes that reading came across

	newest   chan struct{}  // order.outdated of the latest order
	leaving  sync.WaitGroup // sequences that are being closed
	departed chan struct{}  // has room for as many as may be

	mu     sync.Mutex
	damage []*DamageError
	mended int // damaged indexes that were rebuilt
}

// order says where to read.
type order struct {
	epoch  uint64
	from   place // the first message, or what comes next if there is none
	back   int   // begin so many messages before it
	arrive bool  // play goes on elsewhere: say so first, with the state that is valid there
	loop   loop
	shift  time.Duration // see jump

	outdated chan struct{} // closed when there is another order
}

// isOutdated reports whether nobody wants any more what is read for the order.
func (o *order) isOutdated() bool {
	select {
	case <-o.outdated:
		return true
	default:
		return false
	}
}

// loop is what to do at the end of the pass.
type loop struct {
	on        bool
	from, to  time.Duration // played over and over; forever is the last message
	shift     bool          // Options.LoopShift
	immediate bool          // Options.Immediate
}

// maxLeaving is how many sequences are closed at a time behind the reader's back: each
// holds chunks that are being unpacked, and cores.
const maxLeaving = 2

func newReader(p *plan, q *queue) *reader {
	return &reader{plan: p, queue: q, orders: make(chan order, 1), met: map[string]bool{}, departed: make(chan struct{}, maxLeaving)}
}

// give replaces the order. Only one goroutine at a time may call it.
func (r *reader) give(o order) {
	if r.newest != nil {
		close(r.newest)
	}
	r.newest = make(chan struct{})
	o.outdated = r.newest
	select {
	case <-r.orders: // it is outdated
	default:
	}
	r.orders <- o
}

// leave closes a sequence without waiting for what is being unpacked for it.
func (r *reader) leave(s sequence) {
	r.departed <- struct{}{}
	// owner: run; ends when the workers of the cursors have.
	r.leaving.Go(func() {
		s.close()
		<-r.departed
	})
}

// run follows orders until ctx ends.
func (r *reader) run(ctx context.Context) {
	defer r.leaving.Wait()
	for {
		select {
		case o := <-r.orders:
			r.read(ctx, o)
		case <-ctx.Done():
			return
		}
	}
}

// read fills the queue until the bags, ctx, or the epoch of the order end; with a loop
// it goes on with the next pass, so that there is no gap between passes. It closes the
// epoch.
func (r *reader) read(ctx context.Context, o order) {
	defer r.queue.close(o.epoch)
	step := false
	if o.back > 0 {
		o.from, step = r.back(o.from, o.back)
	}
	var arrival *jump
	if o.arrive {
		arrival = &jump{step: step}
	}
	for first := true; ; first = false {
		p := pass{reader: r, order: &o, arrival: arrival, limit: forever}
		if o.loop.on && (!r.known || o.from.stamp.Sub(r.zero) <= o.loop.to) {
			p.limit = o.loop.to
		}
		if r.known {
			p.end = o.from.stamp.Sub(r.zero)
		}
		ok := p.read(ctx)
		if !ok || !o.loop.on || !r.known {
			return
		}
		if !first && p.count == 0 && (p.end <= o.loop.from || o.loop.immediate) {
			return // there is nothing in the loop, not even time
		}
		if o.loop.shift {
			o.shift += p.end - o.loop.from
		}
		o.from = place{stamp: r.zero.Add(o.loop.from)}
		arrival = &jump{turn: true, end: p.end}
	}
}

// pass is one way through the bags.
type pass struct {
	*reader
	order   *order
	arrival *jump         // what the pacer is to be told yet of where it begins
	limit   time.Duration // the last position
	state   stateBefore   // for arrival

	count int           // messages queued
	end   time.Duration // where it ended
}

// read queues what comes from a place on. It reports whether there was room for all.
func (p *pass) read(ctx context.Context) bool {
	from := p.order.from.stamp
	t := p.plan.sequence(from, p.order.outdated, p.report, func(route *route, m *bagfmt.Message) {
		if p.arrival != nil {
			p.state.add(route, m)
		}
	})
	defer p.leave(t)
	if p.arrival != nil {
		t.begin()
		p.state = p.stateAt(p.order, from.Add(-p.plan.order.reach))
	}
	at := place{rank: -1}
	for m, route := t.next(); m != nil; m, route = t.next() {
		if route.reason != "" {
			route.skipped.Add(1)
			if ctx.Err() != nil || len(p.orders) > 0 {
				return false
			}
			continue
		}
		if at.stamp != m.Time {
			at = place{stamp: m.Time, rank: -1}
		}
		at.rank++
		if !p.known {
			p.zero, p.known = m.Time, true
		}
		pos := m.Time.Sub(p.zero)
		if pos > p.limit {
			p.end = p.limit
			return p.arrive(ctx)
		}
		p.end = pos
		if at.stamp == p.order.from.stamp && at.rank < p.order.from.rank {
			if p.arrival != nil && route.conn.Header.Latching() {
				p.state.add(route, m)
			}
			continue
		}
		frame := m.Frame
		if p.order.shift != 0 {
			frame = route.topic.stamps.shiftStamps(frame, p.order.shift)
		}
		it := item{route: route, frame: frame, share: m.Share, stamp: m.Time, pos: pos, rank: at.rank, epoch: p.order.epoch}
		if !p.arrive(ctx) || !p.queue.push(ctx, it) {
			return false
		}
		p.count++
	}
	if p.limit != forever {
		p.end = p.limit
	}
	return !p.order.isOutdated() && p.arrive(ctx) && ctx.Err() == nil
}

// arrive tells the pacer, if it was not told yet, where it is now.
func (p *pass) arrive(ctx context.Context) bool {
	if p.arrival == nil {
		return true
	}
	j, from := p.arrival, p.order.from
	p.arrival = nil
	j.to, j.shift = from.stamp.Sub(p.zero), p.order.shift
	j.state = shifted(p.state.sorted(), j.shift)
	it := item{pos: j.to, stamp: from.stamp, rank: from.rank, epoch: p.order.epoch, jump: j}
	if j.turn {
		it.pos, it.stamp = j.end, p.zero.Add(j.end)
	}
	return p.queue.push(ctx, it)
}
