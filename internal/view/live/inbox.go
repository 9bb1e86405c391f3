package live

import "sync/atomic"

// inbox holds frames that were put and not given to the viewers yet. Putting never waits: the
// goroutine that holds the lock of the store delivers the frames that others put in the meantime.
type inbox struct {
	limit   int64
	newest  atomic.Pointer[delivery]
	bytes   atomic.Int64
	count   atomic.Int64
	refused atomic.Pointer[Feed] // a list of the feeds with frames that were refused, see Feed.nextRefused

	oldest *delivery // taken from newest, and not delivered yet; guarded by the lock of the store
}

// delivery is a frame in an inbox.
type delivery struct {
	feed  *Feed // nil if the frame is for all viewers
	frame Frame
	next  *delivery // the older one; the newer one after it was taken
}

// put adds a message. Beyond the limit the message is refused and counted, unless the inbox was empty: a
// message that is larger than the limit must reach the viewers that have room for it.
func (i *inbox) put(feed *Feed, frame *Frame) {
	charge := frame.charge()
	if held := i.bytes.Add(charge); held > i.limit && held > charge {
		i.bytes.Add(-charge)
		i.refuse(feed)
		return
	}
	i.push(feed, frame)
}

// order adds a frame that is not a message. There is room for it always.
func (i *inbox) order(feed *Feed, frame *Frame) {
	i.bytes.Add(frame.charge())
	i.push(feed, frame)
}

// refuse counts a message that has no room.
func (i *inbox) refuse(feed *Feed) {
	if feed.refused.Add(1) > 1 {
		return // the feed is in the list
	}
	for {
		feed.nextRefused = i.refused.Load()
		if i.refused.CompareAndSwap(feed.nextRefused, feed) {
			return
		}
	}
}

func (i *inbox) push(feed *Feed, frame *Frame) {
	i.count.Add(1)
	d := &delivery{feed: feed, frame: *frame}
	for {
		d.next = i.newest.Load()
		if i.newest.CompareAndSwap(d.next, d) {
			return
		}
	}
}

// take returns the oldest frame; nil if there is none. Called with the lock of the store.
func (i *inbox) take() *delivery {
	if i.oldest == nil {
		for d := i.newest.Swap(nil); d != nil; {
			d.next, i.oldest, d = i.oldest, d, d.next
		}
	}
	d := i.oldest
	if d != nil {
		i.oldest = d.next
		i.bytes.Add(-d.frame.charge())
		i.count.Add(-1)
	}
	return d
}

const (
	// framesAtOnce bounds the frames that are delivered before the lock is released.
	framesAtOnce = 32

	// mostRounds bounds how often one goroutine delivers frames that others put in the meantime. A link of a
	// recording has messages of its own to read.
	mostRounds = 8
)

// tryDeliver delivers frames in the inbox. If another goroutine holds the lock, that goroutine
// delivers them in unlock. After mostRounds the viewers are woken, and deliver the rest when they
// take their frames.
func (s *Store) tryDeliver() {
	for range mostRounds {
		if s.inbox.count.Load() == 0 || !s.mu.TryLock() {
			return
		}
		s.deliver()
		s.mu.Unlock()
	}
	// after the lock was released: what was put before that is left to this goroutine
	if s.inbox.count.Load() == 0 {
		return
	}
	s.present.Lock()
	defer s.present.Unlock()
	for _, v := range s.viewers {
		v.wake()
	}
}

// unlock releases the lock, and delivers frames that were put while the lock was held: the
// goroutines that put them found the lock taken, and did not wait.
func (s *Store) unlock() {
	s.mu.Unlock()
	s.tryDeliver()
}

// catchUp delivers the frames that were put before.
func (s *Store) catchUp() {
	for todo := s.inbox.count.Load(); todo > 0; todo -= framesAtOnce {
		s.mu.Lock()
		s.deliver()
		s.mu.Unlock()
	}
}

// deliver gives framesAtOnce frames in the inbox to the viewers. Called with the lock.
func (s *Store) deliver() {
	for range framesAtOnce {
		d := s.inbox.take()
		if d == nil {
			break
		}
		s.give(d.feed, &d.frame)
	}
	for f := s.inbox.refused.Swap(nil); f != nil; {
		next := f.nextRefused // before the count is taken: the next refusal changes it
		n := f.refused.Swap(0)
		for _, r := range f.readers {
			r.viewer.backlog.tally.skipped.Add(n)
		}
		f = next
	}
}

// give carries out a frame. Called with the lock.
func (s *Store) give(f *Feed, frame *Frame) {
	switch frame.Kind {
	case Message:
		for _, r := range f.readers {
			r.viewer.backlog.push(r.lane, frame)
			r.viewer.wake()
		}
	case Clock:
		for _, v := range s.viewers {
			v.backlog.clock.set(frame.Time, v.backlog.next)
			v.wake()
		}
	case Jump:
		s.jumps = frame.Jumps
		for _, v := range s.viewers {
			v.backlog.jumpTo(frame.Time, frame.Jumps)
			v.wake()
		}
	case closing:
		f.end()
	}
}
