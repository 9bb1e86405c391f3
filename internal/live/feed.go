package live

import (
	"slices"
	"sync/atomic"

	"github.com/gorosbag/gorosbag/rosbag"
)

// Feed is a channel of a Store as the source sees it.
type Feed struct {
	store   *Store
	channel Channel
	wanted  atomic.Int32  // viewers that are subscribed
	refused atomic.Uint64 // frames that the inbox had no room for, since they were counted
	viewers []*Viewer     // guarded by store.mu
}

// Channel returns the channel with its ID.
func (f *Feed) Channel() Channel { return f.channel }

// Wanted reports whether a viewer is subscribed to the channel. It costs one atomic load.
func (f *Feed) Wanted() bool { return f.wanted.Load() > 0 }

// Put gives a message to the viewers that are subscribed to the channel. Put never waits. Messages
// that one goroutine puts keep their order. The payload must not change afterwards. For retained
// see Frame.
func (f *Feed) Put(t rosbag.Time, payload []byte, retained int) {
	if !f.Wanted() {
		return
	}
	f.store.inbox.put(f, &Frame{Channel: f.channel.ID, Time: t, Payload: payload, Retained: retained})
	f.store.tryDeliver()
}

// Close removes the channel, with the messages that viewers have not received. Closing again has no
// effect.
func (f *Feed) Close() {
	s := f.store
	s.lock()
	defer s.unlock()
	if s.feeds[f.channel.ID] != f {
		return
	}
	delete(s.feeds, f.channel.ID)
	for _, v := range f.viewers {
		v.backlog.leave(f.channel.ID)
	}
	f.viewers = nil
	f.wanted.Store(0)
	s.tellChange()
}

// remove removes a viewer from the channel. Called with the lock.
func (f *Feed) remove(v *Viewer) {
	if i := slices.Index(f.viewers, v); i >= 0 {
		f.viewers = slices.Delete(f.viewers, i, i+1)
		f.wanted.Add(-1)
	}
}
