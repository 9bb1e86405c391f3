package timeline

import (
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/rosbag"
)

// With Options.ByHeader, messages are sorted by the stamps of their headers. A message
// without a header, with a stamp of zero, or with a stamp further than Options.HeaderReach
// from its time of receipt is sorted by its time of receipt. So messages are read ahead by
// HeaderReach, and after a seek also from HeaderReach before the position. The order is
// exact, wherever play begins, as long as the messages within HeaderReach take no more than
// maxReorderBytes.
const maxReorderBytes = 128 << 20

// headerOrder puts the messages of a timeline in the order of their headers.
// See ADR 0041.
type headerOrder struct {
	order    *Order
	received *byReceipt
	from     rosbag.Time
	before   func(*plan.Route, *rosbag.Message)

	heap      []queued
	bytes     int         // that the heap retains
	count     uint64      // messages read
	readUntil rosbag.Time // everything up to this time of receipt has been read
	ended     bool
	returned  queued // the message that Next returned last
}

// queued is a message in the heap.
type queued struct {
	msg   rosbag.Message // with the time that it is sorted by
	route *plan.Route
	seq   uint64 // sorts messages with the same time in the order of receipt
}

func (s *queued) less(o *queued) bool {
	if c := s.msg.Time.Compare(o.msg.Time); c != 0 {
		return c < 0
	}
	return s.seq < o.seq
}

// Next implements Sequence. It returns unplayable messages at once, unsorted.
func (h *headerOrder) Next() (*rosbag.Message, *plan.Route) {
	for !h.ended && !h.ready() {
		m, r := h.received.Next()
		if m == nil {
			h.ended = true
			break
		}
		h.readUntil = m.Time
		if r.Reason != "" {
			return m, r
		}
		h.count++
		x := queued{*m, r, h.count}
		x.msg.Time = h.order.sortTime(m, r)
		if !x.msg.Time.Before(h.from) {
			h.push(x)
		} else if h.before != nil && r.Conn.Header.Latching() {
			h.before(r, &x.msg)
		}
	}
	if len(h.heap) == 0 {
		return nil, nil
	}
	last := h.returned.msg.Time
	h.returned = h.pop()
	if h.returned.msg.Time.Before(last) { // the message was read too late: see maxReorderBytes
		h.returned.msg.Time = last
	}
	return &h.returned.msg, h.returned.route
}

// ready reports whether no unread message can come before the first one of the heap.
func (h *headerOrder) ready() bool {
	if len(h.heap) == 0 {
		return false
	}
	if !h.readUntil.Before(h.heap[0].msg.Time.Add(h.order.Reach)) {
		return true
	}
	if h.bytes < maxReorderBytes {
		return false
	}
	if !h.order.crowded {
		h.order.crowded = true
		h.order.plan.Log.Warn("too many bytes lie within the reach of the order by header: some messages may come too late",
			zap.Int("bytes", maxReorderBytes), zap.Duration("reach", h.order.Reach))
	}
	return true
}

// sortTime returns the time that a message is sorted by in the order of headers.
func (o *Order) sortTime(m *rosbag.Message, r *plan.Route) rosbag.Time {
	if !r.Topic.StartsWithHeader {
		return m.Time
	}
	sec, nsec, ok := stdmsg.HeaderStamp(m.Data())
	t := rosbag.Time{Sec: sec, Nsec: nsec}
	if !ok || t.IsZero() {
		return m.Time
	}
	off := m.Time.Sub(t)
	if nsec < uint32(time.Second) && off.Abs() <= o.Reach {
		return t
	}
	if !o.farStamps[r.Topic] {
		o.farStamps[r.Topic] = true
		o.plan.Log.Warn("stamps are too far from the time of receipt: such messages keep that time",
			loglimit.Each(),
			zap.String("topic", string(r.Topic.Name)), zap.Duration("by", off),
			zap.Duration("reach", o.Reach))
	}
	return m.Time
}

// Begin implements Sequence.
func (h *headerOrder) Begin() { h.received.Begin() }

// Close implements Sequence.
func (h *headerOrder) Close() { h.received.Close() }

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
	h.heap[0], h.heap[last] = h.heap[last], queued{} // releases the frame
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
