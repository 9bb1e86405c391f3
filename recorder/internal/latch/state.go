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
	atTrigger  []Pinned              // the latest message of each latching connection
	unrecorded map[*Source]time.Time // when those came that were not recorded
	AtStart    []Pinned              // the latest messages before the ring, in the order in which they came
	Before     []Pinned              // those in what is cut off the beginning of the ring, in that order
}

// AtTrigger returns what is latched now.
func AtTrigger(sources []*Source) State {
	s := State{unrecorded: map[*Source]time.Time{}}
	for _, c := range sources {
		if !c.Latching || c.Last == nil {
			continue
		}
		s.atTrigger = append(s.atTrigger, c.pinLast())
		if c.Missed {
			s.unrecorded[c] = c.Latest
		}
	}
	return s
}

// Latest returns the latest message of each latching publisher from before begin, the newest
// connection first. seen has the connections with messages in the snapshot.
func (s *State) Latest(begin time.Time, seen map[rosbag.ConnID]bool) []Pinned {
	newest := map[publisher]Pinned{}
	offer := func(l Pinned) { newest[l.publisher()] = l }
	recorded := slices.Concat(s.AtStart, s.Before)
	known := map[*Source]bool{}
	for _, l := range recorded {
		known[l.Source] = true
	}
	for _, l := range s.atTrigger {
		if !known[l.Source] && !seen[l.Conn.ID] { // it came in a pause, at the latest, or there was no memory before
			offer(l)
		}
	}
	for _, l := range recorded {
		offer(l)
	}
	for _, l := range s.atTrigger {
		if at, ok := s.unrecorded[l.Source]; ok && at.Before(begin) {
			offer(l)
		}
	}
	return slices.SortedFunc(maps.Values(newest), func(a, b Pinned) int { return cmp.Compare(b.Conn.ID, a.Conn.ID) })
}

// UnpinState lets go of a state.
func (m *Store) UnpinState(s *State) {
	m.Unpin(s.atTrigger)
	m.Unpin(s.AtStart)
	m.Unpin(s.Before)
	*s = State{}
}

// AddBefore adds messages that come before the snapshot in the ring, for which counted bytes are
// claimed. They are copied without the lock.
func (s *State) AddBefore(all []Pinned) {
	for _, l := range all {
		l.Frame, l.Pins, l.Gone = bytes.Clone(l.Frame), 1, true
	}
	s.Before = append(s.Before, all...)
}
