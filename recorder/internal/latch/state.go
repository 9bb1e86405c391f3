package latch

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// State is what is latched where a snapshot begins. Whoever writes the snapshot owns it.
type State struct {
	// the latest message of each latching connection
	atTrigger []*Message
	// those of atTrigger that were not recorded, and when they came
	unrecorded map[*Source]time.Time
	// the latest messages before the ring, then those that are cut off its beginning, in the order in
	// which they came
	recorded []*Message
}

// AtTrigger returns the state at the time of a trigger, which is now.
func AtTrigger(sources []*Source) State {
	s := State{unrecorded: map[*Source]time.Time{}}
	for _, c := range sources {
		if !c.latching || c.last == nil {
			continue
		}
		s.atTrigger = append(s.atTrigger, c.last.retain())
		if c.missed {
			s.unrecorded[c] = c.latest
		}
	}
	return s
}

// AddBeforeRing adds the state before the ring to s.
func (m *Store) AddBeforeRing(s *State) {
	inOrder := slices.SortedFunc(maps.Values(m.beforeRing),
		func(a, b *Message) int { return cmp.Compare(a.passed, b.passed) })
	for _, l := range inOrder {
		s.recorded = append(s.recorded, l.retain())
	}
}

// Borrow returns a message of c whose frame belongs to a chunk. It counts nothing before Count.
func Borrow(c *Source, frame []byte) *Message { return &Message{source: c, frame: frame, holders: 1} }

// Count makes messages count copies of their frames, and returns how many bytes these are. Count needs no
// lock.
func (m *Store) Count(all []*Message) (bytes int64) {
	for _, l := range all {
		l.counted = m.Weight(len(l.frame))
		bytes += l.counted
	}
	return bytes
}

// AddCut adds copies of messages that are cut off the beginning of the ring, each the latest of its
// connection, in the order in which they came. The bytes of Count are claimed. AddCut needs no lock.
func (s *State) AddCut(all []*Message) {
	for _, l := range all {
		l.frame = bytes.Clone(l.frame)
	}
	s.recorded = append(s.recorded, all...)
}

// Latest returns the latest message of each latching publisher from before begin, the newest
// connection first. seen has the connections with messages in the snapshot.
func (s *State) Latest(begin time.Time, seen map[rosbag.ConnID]bool) []*Message {
	newest := map[publisher]*Message{}
	offer := func(l *Message) { newest[l.source.publisher()] = l }
	for _, l := range s.atTrigger {
		// nothing of the publisher is recorded: the message came in a pause, or there was no memory
		if !seen[l.Conn().ID] {
			offer(l)
		}
	}
	for _, l := range s.recorded {
		offer(l)
	}
	for _, l := range s.atTrigger {
		if at, ok := s.unrecorded[l.source]; ok && at.Before(begin) {
			offer(l)
		}
	}
	return slices.SortedFunc(maps.Values(newest),
		func(a, b *Message) int { return cmp.Compare(b.Conn().ID, a.Conn().ID) })
}

// End releases the messages of a state.
func (m *Store) End(s *State) {
	m.Release(s.atTrigger)
	m.Release(s.recorded)
	*s = State{}
}
