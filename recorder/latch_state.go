package recorder

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// snapshotState is what is latched where a snapshot begins. Whoever writes the snapshot owns it.
type snapshotState struct {
	atTrigger  []pinned              // the latest message of each latching connection
	unrecorded map[*source]time.Time // when those came that were not recorded
	atStart    []pinned              // the latest messages before the ring, in the order in which they came
	before     []pinned              // those in what is cut off the beginning of the ring, in that order
}

// latchedAtTrigger returns what is latched now.
func latchedAtTrigger(sources []*source) snapshotState {
	s := snapshotState{unrecorded: map[*source]time.Time{}}
	for _, c := range sources {
		if !c.latching || c.last == nil {
			continue
		}
		s.atTrigger = append(s.atTrigger, c.pinLast())
		if c.missed {
			s.unrecorded[c] = c.latest
		}
	}
	return s
}

// latest returns the latest message of each latching publisher from before begin, the newest
// connection first. seen has the connections with messages in the snapshot.
func (s *snapshotState) latest(begin time.Time, seen map[bagfmt.ConnID]bool) []pinned {
	newest := map[publisher]pinned{}
	offer := func(l pinned) { newest[l.publisher()] = l }
	recorded := slices.Concat(s.atStart, s.before)
	known := map[*source]bool{}
	for _, l := range recorded {
		known[l.source] = true
	}
	for _, l := range s.atTrigger {
		if !known[l.source] && !seen[l.conn.ID] { // it came in a pause, at the latest, or there was no memory before
			offer(l)
		}
	}
	for _, l := range recorded {
		offer(l)
	}
	for _, l := range s.atTrigger {
		if at, ok := s.unrecorded[l.source]; ok && at.Before(begin) {
			offer(l)
		}
	}
	return slices.SortedFunc(maps.Values(newest), func(a, b pinned) int { return cmp.Compare(b.conn.ID, a.conn.ID) })
}

// unpinState lets go of a state.
func (m *latchStore) unpinState(s *snapshotState) {
	m.unpin(s.atTrigger)
	m.unpin(s.atStart)
	m.unpin(s.before)
	*s = snapshotState{}
}

// addBefore adds messages that come before the snapshot in the ring, for which counted bytes are
// claimed. They are copied without the lock.
func (s *snapshotState) addBefore(all []pinned) {
	for _, l := range all {
		l.frame, l.pins, l.gone = bytes.Clone(l.frame), 1, true
	}
	s.before = append(s.before, all...)
}
