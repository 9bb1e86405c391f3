package live

import "sync/atomic"

// inbox holds frames that were put and not given to the viewers yet. Putting never waits: the
// goroutine that holds the lock of the store delivers the frames that others put in the meantime.
type inbox struct {
	limit   int64
	newest  atomic.Pointer[delivery]
	bytes   atomic.Int64
	refused atomic.Bool // a feed has frames that were refused
}

// delivery is a frame in an inbox.
type delivery struct {
	feed  *Feed
	frame Frame
	older *delivery
}

// put adds a frame. Beyond the limit the frame is refused and counted, unless the inbox was empty: a
// frame that is larger than the limit must reach the viewers that have room for it.
func (i *inbox) put(feed *Feed, frame *Frame) {
	charge := frame.charge()
	if held := i.bytes.Add(charge); held > i.limit && held > charge {
		i.bytes.Add(-charge)
		feed.refused.Add(1)
		i.refused.Store(true)
		return
	}
	d := &delivery{feed: feed, frame: *frame}
	for {
		d.older = i.newest.Load()
		if i.newest.CompareAndSwap(d.older, d) {
			return
		}
	}
}

// takeAll returns all frames, the oldest first.
func (i *inbox) takeAll() (oldest *delivery) {
	d := i.newest.Swap(nil)
	for d != nil {
		i.bytes.Add(-d.frame.charge())
		d.older, oldest, d = oldest, d, d.older
	}
	return oldest // older points to the newer one now
}

// mostRounds bounds how often one goroutine delivers frames that others put in the meantime.
const mostRounds = 8

// tryDeliver delivers the frames in the inbox. If another goroutine holds the lock, that goroutine
// delivers them in unlock. After mostRounds the viewers are woken, and deliver the rest when they
// take their frames.
func (s *Store) tryDeliver() {
	for round := 1; round <= mostRounds; round++ {
		if s.inbox.newest.Load() == nil || !s.mu.TryLock() {
			return
		}
		s.deliver()
		if round == mostRounds {
			for _, v := range s.viewers {
				v.wake()
			}
		}
		s.mu.Unlock()
	}
}

// lock takes the lock, and delivers the frames that were put before.
func (s *Store) lock() {
	s.mu.Lock()
	s.deliver()
}

// unlock releases the lock, and delivers the frames that were put while the lock was held: the
// goroutines that put them found the lock taken, and did not wait.
func (s *Store) unlock() {
	s.mu.Unlock()
	s.tryDeliver()
}

// deliver gives the frames in the inbox to the viewers. Called with the lock.
func (s *Store) deliver() {
	for d := s.inbox.takeAll(); d != nil; d = d.older {
		s.give(d.feed, &d.frame)
	}
	if s.inbox.refused.Swap(false) {
		for _, f := range s.feeds {
			n := f.refused.Swap(0)
			for _, v := range f.viewers {
				v.backlog.counts.Skipped += n
			}
		}
	}
}
