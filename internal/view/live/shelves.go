package live

import "math/bits"

// shelves keeps the lanes of a backlog so that the next one to serve, and the one that loses a frame,
// are found without looking at all lanes. A backlog calls its methods after each change of a lane.
type shelves struct {
	turns   shelf          // lanes whose frames may leave; first the lane with the oldest turn
	several shelf          // lanes with several live frames; first the lane with the most bytes
	single  [classes]shelf // lanes with one live frame, by its size; first the lane that was served last
	latched shelf          // lanes with latched frames only; first the lane with the most bytes
	live    int64          // number of lanes with live frames
}

func newShelves() (s shelves) {
	s.turns = shelf{
		Before: func(x, y *lane) bool { return x.turn < y.turn },
		Moved:  func(l *lane, place int) { l.turnPlace = place },
	}
	inShelf := func(l *lane, place int) { l.place = place }
	s.several = shelf{Before: func(x, y *lane) bool { return x.live.bytes > y.live.bytes }, Moved: inShelf}
	s.latched = shelf{
		Before: func(x, y *lane) bool { return x.latched.bytes > y.latched.bytes },
		Moved:  inShelf,
	}
	servedLater := func(x, y *lane) bool { return x.turn > y.turn }
	for c := range s.single {
		s.single[c] = shelf{Before: servedLater, Moved: inShelf}
	}
	return s
}

// classesPerDoubling is the number of classes into which sizes from one power of two to the next are
// divided. Sizes in one class differ by less than a quarter.
const (
	classesPerDoubling = 4
	classes            = 64 * classesPerDoubling
)

// classOf returns the class of a size. A larger size never has a lower class.
func classOf(bytes int64) int {
	if bytes < classesPerDoubling {
		return int(max(0, bytes))
	}
	doublings := bits.Len64(uint64(bytes)) - 1
	return doublings*classesPerDoubling + int(bytes>>(doublings-2))&(classesPerDoubling-1)
}

// turned notes that a lane can be served, cannot any more, or has another turn.
func (s *shelves) turned(l *lane) {
	switch mayLeave := l.len() > 0 && !l.joining; {
	case mayLeave && !l.inTurns:
		s.turns.Add(l)
	case mayLeave:
		s.turns.Fix(l.turnPlace)
	case l.inTurns:
		s.turns.Remove(l.turnPlace)
	}
	l.inTurns = l.len() > 0 && !l.joining
}

// changed notes that a lane has other frames, or another turn.
func (s *shelves) changed(l *lane) {
	to := s.shelfOf(l)
	if to == l.shelf {
		if to != nil {
			to.Fix(l.place)
		}
		return
	}
	if l.shelf != nil {
		l.shelf.Remove(l.place)
		if l.shelf != &s.latched {
			s.live--
		}
	}
	l.shelf = to
	if to != nil {
		to.Add(l)
		if to != &s.latched {
			s.live++
		}
	}
}

// shelfOf returns the shelf for a lane besides turns; nil if it has no frames.
func (s *shelves) shelfOf(l *lane) *shelf {
	switch {
	case l.live.len() > 1:
		return &s.several
	case l.live.len() == 1:
		return &s.single[classOf(l.live.bytes)]
	case l.latched.len() > 0:
		return &s.latched
	}
	return nil
}

// first returns the first lane of a shelf, nil if it is empty.
func first(of *shelf) *lane {
	if len(of.List) == 0 {
		return nil
	}
	return of.List[0]
}

// servedLast returns the lane that was served last among lanes with one frame whose size is in a
// class from least to a lower one than end; nil if there is none.
func (s *shelves) servedLast(least, end int) (last *lane) {
	for c := least; c < end; c++ {
		if l := first(&s.single[c]); l != nil && (last == nil || l.turn > last.turn) {
			last = l
		}
	}
	return last
}

// smallPart: a lane with less than this part of an equal share is small.
const smallPart = 4

// victim returns the lane whose oldest live frame is skipped, of a backlog that holds more bytes than its
// limit: used bytes, latched ones included. A single frame may be larger than a limit that has fallen since.
// Only lanes with more bytes than an equal share qualify, by the classes of sizes:
//   - first the lane with the most bytes, among lanes with several frames;
//   - then, among lanes with one frame, the lane that was served last.
//
// If only the lane whose turn is next qualifies, another lane that is not small loses its frame
// instead: otherwise a lane with one huge message would never be served. Without live frames, the lane
// with the most latched bytes loses one of those.
func (s *shelves) victim(limit, used, latched int64) *lane {
	if s.live == 0 {
		return first(&s.latched)
	}
	share := max(0, limit-latched) / s.live
	several := first(&s.several)
	if several != nil && several.live.bytes > share {
		return several
	}
	large, small := classOf(share+1), classOf(share/smallPart+1)
	single := s.servedLast(large, classOf(used)+1)
	if single != first(&s.turns) {
		return single
	}
	if several != nil && several.live.bytes > share/smallPart {
		return several
	}
	if other := s.servedLast(small, large); other != nil {
		return other
	}
	return single
}
