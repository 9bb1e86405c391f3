package player

import (
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/msgheader"
)

// The time of a message in the order of Options.ByHeader is the stamp of its header. It
// is the time at which it was received if it has no header, if the stamp is zero, and if
// the stamp is further than Options.HeaderReach from that time: so far, and no further,
// messages have to be read before their turn, and after a seek as many again that lie
// before. The order of all others is exact, from wherever play begins, as long as those
// messages take no more than maxReorderBytes.
const (
	defaultReach    = time.Second
	maxReorderBytes = 128 << 20
)

// byHeader is how a plan orders messages; the zero value is by time of receipt.
type byHeader struct {
	reach   time.Duration // zero: not at all
	crowded atomic.Bool   // said that maxReorderBytes are too few
}

// sequence gives out messages in the order of play, as timeline does.
type sequence interface {
	begin()
	next() (*bagfmt.Message, *route)
	close()
}

// sequence begins at from. In the order of headers it gives what comes before that of
// latched connections to before, which may be nil. When cancel is closed it ends early.
func (p *plan) sequence(from bagfmt.Time, cancel <-chan struct{}, damaged func(*DamageError), before func(*route, *bagfmt.Message)) sequence {
	if p.order.reach == 0 {
		return newTimeline(p, from, cancel, damaged)
	}
	return &headerOrder{
		plan: p, from: from, before: before,
		received: newTimeline(p, from.Add(-p.order.reach), cancel, damaged),
	}
}

// headerOrder puts the messages of a timeline in the order of their headers.
type headerOrder struct {
	plan     *plan
	received *timeline
	from     bagfmt.Time
	before   func(*route, *bagfmt.Message)

	heap  []queued
	bytes int         // that heap keeps in memory
	count uint64      // messages read
	read  bagfmt.Time // up to there, by time of receipt
	ended bool
	given queued // what next has returned
}

// queued is a message that waits for its turn.
type queued struct {
	msg   bagfmt.Message // with the time of its turn
	route *route
	count uint64 // messages with the same time come as they were received
}

func (s *queued) less(o *queued) bool {
	if c := s.msg.Time.Compare(o.msg.Time); c != 0 {
		return c < 0
	}
	return s.count < o.count
}

// next implements sequence. What cannot be played is given out as it comes.
func (h *headerOrder) next() (*bagfmt.Message, *route) {
	for !h.ended && !h.ready() {
		m, r := h.received.next()
		if m == nil {
			h.ended = true
			break
		}
		h.read = m.Time
		if r.reason != "" {
			return m, r
		}
		h.count++
		x := queued{*m, r, h.count}
		x.msg.Time = h.plan.turn(m, r)
		if !x.msg.Time.Before(h.from) {
			h.push(x)
		} else if h.before != nil && r.conn.Header.Latching() {
			h.before(r, &x.msg)
		}
	}
	if len(h.heap) == 0 {
		return nil, nil
	}
	last := h.given.msg.Time
	h.given = h.pop()
	if h.given.msg.Time.Before(last) { // read too late to have its turn
		h.given.msg.Time = last
	}
	return &h.given.msg, h.given.route
}

// ready reports whether nothing that is not read yet can come before the first of the heap.
func (h *headerOrder) ready() bool {
	if len(h.heap) == 0 {
		return false
	}
	if !h.read.Before(h.heap[0].msg.Time.Add(h.plan.order.reach)) {
		return true
	}
	if h.bytes < maxReorderBytes {
		return false
	}
	if !h.plan.order.crowded.Swap(true) {
		h.plan.log.Warn("too many bytes lie within the reach of the order by header: some messages may come too late",
			zap.Int("bytes", maxReorderBytes), zap.Duration("reach", h.plan.order.reach))
	}
	return true
}

// turn returns the time of a message in the order of headers.
func (p *plan) turn(m *bagfmt.Message, r *route) bagfmt.Time {
	if !r.topic.headed {
		return m.Time
	}
	sec, nsec, ok := msgheader.Stamp(m.Data())
	t := bagfmt.Time{Sec: sec, Nsec: nsec}
	if !ok || t.IsZero() {
		return m.Time
	}
	off := m.Time.Sub(t)
	if nsec < uint32(time.Second) && off.Abs() <= p.order.reach {
		return t
	}
	if !r.topic.strayed.Swap(true) {
		p.log.Warn("stamps are too far from the time of receipt: such messages keep that time",
			zap.String("topic", r.topic.name), zap.Duration("by", off), zap.Duration("reach", p.order.reach))
	}
	return m.Time
}

func (h *headerOrder) begin() { h.received.begin() }

func (h *headerOrder) close() { h.received.close() }

func (h *headerOrder) push(x queued) {
	h.bytes += x.msg.Share
	h.heap = append(h.heap, x)
	for i := len(h.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.heap[i].less(&h.heap[up]) {
			break
		}
		h.heap[i], h.heap[up] = h.heap[up], h.heap[i]
		i = up
	}
}

func (h *headerOrder) pop() queued {
	first, last := h.heap[0], len(h.heap)-1
	h.bytes -= first.msg.Share
	h.heap[0], h.heap[last] = h.heap[last], queued{} // let go of the frame
	h.heap = h.heap[:last]
	for i := 0; ; {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < last && h.heap[child].less(&h.heap[least]) {
				least = child
			}
		}
		if least == i {
			return first
		}
		h.heap[i], h.heap[least] = h.heap[least], h.heap[i]
		i = least
	}
}

// backByHeader is back in the order of headers, which no index tells: it reads what lies
// before, further and further.
func (r *reader) backByHeader(from place, n int) (to place, ok bool) {
	for far := time.Second; ; far *= 4 {
		start := from.stamp.Add(-far)
		first := !r.zero.Before(start)
		if first {
			start = r.zero
		}
		var places []place
		s := r.plan.sequence(start, nil, r.report, nil)
		at := place{rank: -1}
		for m, route := s.next(); m != nil; m, route = s.next() {
			if route.reason != "" {
				continue
			}
			if at.stamp != m.Time {
				at = place{stamp: m.Time, rank: -1}
			}
			at.rank++
			if c := at.stamp.Compare(from.stamp); c > 0 || c == 0 && at.rank >= from.rank {
				break
			}
			places = append(places, at)
		}
		s.close()
		if len(places) >= n {
			return places[len(places)-n], true
		}
		if first {
			return place{stamp: r.zero}, len(places) > 0
		}
	}
}
