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
	feeds   map[ChannelID]*Feed // of the lanes of the backlog
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
	f := s.feed(id)
	if f == nil {
		return ErrUnknownChannel
	}
	s.catchUp() // otherwise a message that was put before could follow a later one among the latched ones
	s.mu.Lock()
	if f.closed || v.closed {
		s.unlock()
		return ErrUnknownChannel
	}
	if v.feeds[id] != nil {
		s.unlock()
		return nil
	}
	l := v.backlog.join(id)
	v.feeds[id] = f
	f.add(reader{v, l})
	jumps := s.jumps
	s.unlock()
	for {
		latched := s.latched(id)
		s.catchUp()
		s.mu.Lock()
		if jumps == s.issued.Load() {
			if v.backlog.lanes[id] == l { // the channel is still open, and the viewer still wants it
				v.backlog.settle(l, latched)
				v.wake()
			}
			s.unlock()
			return nil
		}
		// after a jump, which also removes what was settled before, other messages are latched
		jumps = s.jumps
		s.unlock()
	}
}

// Unsubscribe removes a channel, with its frames that were not received.
func (v *Viewer) Unsubscribe(id ChannelID) {
	v.store.mu.Lock()
	defer v.store.unlock()
	if f := v.feeds[id]; f != nil {
		f.remove(v)
		v.leave(id)
	}
}

// leave removes a channel, which does not know the viewer any more. Called with the lock.
func (v *Viewer) leave(id ChannelID) {
	v.backlog.leave(id)
	delete(v.feeds, id)
}

// FollowClock says whether the viewer follows the clock of the source.
func (v *Viewer) FollowClock(on bool) {
	v.store.mu.Lock()
	defer v.store.unlock()
	v.backlog.clock.on = on
}

// SetTime sends the time to this viewer, as Store.SetTime does to all viewers.
func (v *Viewer) SetTime(t rosbag.Time) {
	v.store.catchUp()
	v.store.mu.Lock()
	defer v.store.unlock()
	v.backlog.clock.set(t, v.backlog.next)
	v.wake()
}

// Take returns the next frame. It does not wait: ok is false if there is none.
func (v *Viewer) Take() (f Frame, ok bool) {
	s := v.store
	s.mu.Lock()
	s.deliver()
	f, ok = v.backlog.take()
	s.unlock()
	if !ok && s.inbox.count.Load() > 0 {
		v.wake()
	}
	return f, ok
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
	b := &v.backlog
	return ViewerStats{
		Counts: b.tally.sum(), Channels: int(b.channels.Load()), QueuedBytes: b.used.Load(),
		LimitBytes: b.limit.Load(),
	}
}

// Close detaches the viewer from the store. Closing again has no effect.
func (v *Viewer) Close() {
	s := v.store
	s.mu.Lock()
	defer s.unlock()
	if v.closed {
		return
	}
	v.closed = true
	for id, f := range v.feeds {
		f.remove(v)
		v.leave(id)
	}
	s.setViewers(slices.DeleteFunc(slices.Clone(s.viewers), func(other *Viewer) bool { return other == v }),
		v.backlog.tally.sum())
}
