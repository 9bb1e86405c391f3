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

	nextRefused *Feed // in the list of the inbox; belongs to the goroutine that has put this feed there

	// Guarded by store.mu.
	readers []reader
	closed  bool
}

// reader is a viewer that is subscribed, with the lane of the channel.
type reader struct {
	viewer *Viewer
	lane   *lane
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
	if f.store.close(f) {
		f.store.order(f, &Frame{Kind: closing})
	}
}

// end removes the channel from its viewers. Called with the lock.
func (f *Feed) end() {
	f.closed = true
	for _, r := range f.readers {
		r.viewer.leave(f.channel.ID)
	}
	f.readers = nil
	f.wanted.Store(0)
}

// add adds a viewer to the channel. Called with the lock.
func (f *Feed) add(r reader) {
	f.readers = append(f.readers, r)
	f.wanted.Add(1)
}

// remove removes a viewer from the channel. Called with the lock.
func (f *Feed) remove(v *Viewer) {
	if i := slices.IndexFunc(f.readers, func(r reader) bool { return r.viewer == v }); i >= 0 {
		f.readers = slices.Delete(f.readers, i, i+1)
		f.wanted.Add(-1)
	}
}
