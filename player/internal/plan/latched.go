package plan

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Latched is the last message of a latched connection before a place: the message
// that a new subscriber would have received at that moment.
type Latched struct {
	Route    *Route
	Frame    []byte
	Recorded rosbag.Time
}

// LatchedBefore returns the last message before t of each wanted latched connection, and
// calls damaged for each one that cannot be read. It excludes a message at t itself: at the start,
// that message is in the window, and stock sends it twice.
func (b *Bag) LatchedBefore(t rosbag.Time, wanted func(*rosbag.Connection) bool,
	damaged func(*control.DamageError),
) iter.Seq2[*rosbag.Connection, *rosbag.Message] {
	return func(yield func(*rosbag.Connection, *rosbag.Message) bool) {
		if t.IsZero() {
			return // nothing is before
		}
		for c, last := range rosbag.Latched(b.Source, t.Add(-time.Nanosecond), wanted) {
			if last.Err != nil {
				damaged(&control.DamageError{Bag: b.Name, Messages: 1, Err: last.Err})
			}
			if last.Message != nil && !yield(c, last.Message) {
				return
			}
		}
	}
}

// State collects the state before a place. Of several connections of one
// original publisher, as in split bags, the latest message counts.
type State struct {
	messages []Latched
	at       map[*Publisher]int // index in messages
}

// Add adds a latched message, unless a later one of the same original publisher is there. A message that
// cannot be played counts as skipped.
func (s *State) Add(r *Route, m *rosbag.Message) {
	if r.Reason != "" {
		r.Skipped.Add(1)
		return
	}
	// A copy: the message may be held for long, and a view would retain its chunk.
	l := Latched{r, slices.Clone(m.Frame), m.Time}
	at, known := s.at[r.Publisher]
	switch {
	case !known:
		if s.at == nil {
			s.at = map[*Publisher]int{}
		}
		s.at[r.Publisher] = len(s.messages)
		s.messages = append(s.messages, l)
	case !m.Time.Before(s.messages[at].Recorded):
		s.messages[at] = l
	}
}

// Sorted returns the state by time, oldest first, so that the newest of several publishers
// of a topic is published last.
func (s *State) Sorted() []Latched {
	sorted := slices.Clone(s.messages)
	slices.SortStableFunc(sorted, func(a, b Latched) int {
		return cmp.Or(a.Recorded.Compare(b.Recorded), cmp.Compare(a.Route.Conn.ID, b.Route.Conn.ID))
	})
	return sorted
}
