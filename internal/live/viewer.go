package live

import (
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// Viewer receives frames of the channels that it is subscribed to.
type Viewer struct {
	store *Store
	ready chan struct{} // holds a token while frames may be there

	// Guarded by store.mu.
	backlog backlog
	closed  bool
}

// ViewerStats has the figures of a viewer.
type ViewerStats struct {
	Counts

	Channels    int   // subscribed to
	QueuedBytes int64 // bytes of frames not received yet
	LimitBytes  int64 // the maximum of QueuedBytes
}

// Report describes a viewer of a server.
type Report struct {
	ViewerStats

	Peer  string // the address of the viewer
	Since time.Time
}

// Subscribe adds a channel: first its latched messages, then each message that is put. It has no
// effect if the viewer is subscribed already.
func (v *Viewer) Subscribe(id ChannelID) error {
	s := v.store
	s.lock()
	f := s.feeds[id]
	if f == nil || v.closed {
		s.unlock()
		return ErrUnknownChannel
	}
	if v.backlog.lanes[id] != nil {
		s.unlock()
		return nil
	}
	l := v.backlog.join(id)
	f.viewers = append(f.viewers, v)
	f.wanted.Add(1)
	jumps := s.jumps
	s.unlock()
	for {
		latched := s.latched(id)
		s.lock()
		if jumps == s.jumps {
			if v.backlog.lanes[id] == l { // the channel is still open, and the viewer still wants it
				v.backlog.settle(l, latched)
				v.wake()
			}
			s.unlock()
			return nil
		}
		jumps = s.jumps // after a jump other messages are latched
		s.unlock()
	}
}

// Unsubscribe removes a channel, with its frames that were not received.
func (v *Viewer) Unsubscribe(id ChannelID) {
	s := v.store
	s.lock()
	defer s.unlock()
	v.leave(id)
}

// leave removes a channel. Called with the lock.
func (v *Viewer) leave(id ChannelID) {
	v.backlog.leave(id)
	if f := v.store.feeds[id]; f != nil {
		f.remove(v)
	}
}

// FollowClock says whether the viewer follows the clock of the source.
func (v *Viewer) FollowClock(on bool) {
	v.store.lock()
	defer v.store.unlock()
	v.backlog.clock.on = on
}

// SetTime sends the time to this viewer, as Store.SetTime does to all viewers.
func (v *Viewer) SetTime(t rosbag.Time) {
	v.store.lock()
	defer v.store.unlock()
	v.backlog.clock.set(t, v.backlog.next)
	v.wake()
}

// Take returns the next frame. It does not wait: ok is false if there is none.
func (v *Viewer) Take() (f Frame, ok bool) {
	v.store.lock()
	defer v.store.unlock()
	return v.backlog.take()
}

// Ready returns a channel that receives a value when there may be frames. One goroutine may wait
// for it, and must then Take until there are no more.
func (v *Viewer) Ready() <-chan struct{} { return v.ready }

// wake makes Ready receive.
func (v *Viewer) wake() {
	select {
	case v.ready <- struct{}{}:
	default:
	}
}

// Stats returns the account of the viewer.
func (v *Viewer) Stats() ViewerStats {
	v.store.lock()
	defer v.store.unlock()
	b := &v.backlog
	return ViewerStats{Counts: b.counts, Channels: len(b.lanes), QueuedBytes: b.used, LimitBytes: b.limit}
}

// Close detaches the viewer from the store. Closing again has no effect.
func (v *Viewer) Close() {
	s := v.store
	s.lock()
	defer s.unlock()
	if v.closed {
		return
	}
	v.closed = true
	for id := range v.backlog.lanes {
		v.leave(id)
	}
	s.departed.add(&v.backlog.counts)
	s.viewers = slices.DeleteFunc(s.viewers, func(other *Viewer) bool { return other == v })
	s.share()
}
