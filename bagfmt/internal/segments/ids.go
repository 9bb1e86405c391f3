package segments

import "github.com/gorosbag/gorosbag/rosbag"

// IDs is a set of the connections that index data of a chunk is there for. The zero value is empty.
type IDs struct{ seen map[rosbag.ConnID]struct{} }

// Add adds a connection, and reports whether it was there already.
func (s *IDs) Add(id rosbag.ConnID) (twice bool) {
	if _, twice = s.seen[id]; twice {
		return true
	}
	if s.seen == nil {
		s.seen = make(map[rosbag.ConnID]struct{})
	}
	s.seen[id] = struct{}{}
	return false
}

// Len returns the number of connections.
func (s *IDs) Len() int { return len(s.seen) }

// Reset empties the set for the next chunk.
func (s *IDs) Reset() {
	if len(s.seen) > maxCleared {
		s.seen = nil
	}
	clear(s.seen)
}
