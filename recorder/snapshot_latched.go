package recorder

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// snapshotState is what is latched where a snapshot begins. Whoever writes the snapshot owns it.
type snapshotState struct {
	atTrigger  []pinned                  // the latest message of each latching connection
	unrecorded map[*connection]time.Time // when those came that were not recorded
	atStart    []pinned                  // the latest messages before the ring, in the order in which they came
	before     []pinned                  // those in what is cut off the beginning of the ring, in that order
}

// latchedAtTrigger returns what is latched now. mu is held.
func (in *intake) latchedAtTrigger() snapshotState {
	s := snapshotState{unrecorded: map[*connection]time.Time{}}
	for _, c := range in.connections.all {
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
	known := map[*connection]bool{}
	for _, l := range recorded {
		known[l.connection] = true
	}
	for _, l := range s.atTrigger {
		if !known[l.connection] && !seen[l.conn.ID] { // it came in a pause, at the latest, or there was no memory before
			offer(l)
		}
	}
	for _, l := range recorded {
		offer(l)
	}
	for _, l := range s.atTrigger {
		if at, ok := s.unrecorded[l.connection]; ok && at.Before(begin) {
			offer(l)
		}
	}
	return slices.SortedFunc(maps.Values(newest), func(a, b pinned) int { return cmp.Compare(b.conn.ID, a.conn.ID) })
}

// unpinState lets go of it.
func (in *intake) unpinState(s *snapshotState) {
	in.unpin(s.atTrigger)
	in.unpin(s.atStart)
	in.unpin(s.before)
	*s = snapshotState{}
}

var errNoLatchedMemory = errors.New("no memory for what is latched before it")

// addBefore adds copies of messages that come before the snapshot in the ring.
func (in *intake) addBefore(s *snapshotState, all []pinned) error {
	var counted int64
	for _, l := range all {
		l.counted = in.latchedWeight(len(l.frame))
		counted += l.counted
	}
	if counted > 0 && !in.claimLatched(counted) {
		return errNoLatchedMemory
	}
	for _, l := range all {
		l.frame, l.pins, l.gone = bytes.Clone(l.frame), 1, true
	}
	s.before = append(s.before, all...)
	return nil
}

// claimLatched counts n bytes for latched messages on their way to a file, if there are so many.
func (in *intake) claimLatched(n int64) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.pool.MakeRoom(n, memory.ForMessages) {
		return false
	}
	in.pool.UseLatched(n)
	return true
}

// unclaimLatched gives them back.
func (in *intake) unclaimLatched(n int64) {
	in.mu.Lock()
	in.pool.UnuseLatched(n)
	in.mu.Unlock()
}

// keepMissed is keep for latched messages that came while nothing was recorded: they count from
// then on as if they had come now.
func (w *snapshotWriter) keepMissed(next *fileStart) {
	if w == nil {
		return
	}
	for _, l := range next.missed {
		c := w.in.freshChunk(len(l.frame) + l.bytes + recordOverhead)
		if c == nil {
			w.log.Warn("no memory to keep a latched message for a snapshot", zap.String("topic", l.topic.name))
			continue
		}
		c.Builder.Reset(nil)
		c.Builder.AppendRun(l.conn, next.stamp, l.frame, 1)
		c.FirstAt, c.LastAt = next.at, next.at
		w.in.count(c)
		w.keep(c)
	}
}

// goBy lets a chunk pass the ring.
func (in *intake) goBy(c *ringChunk) {
	in.mu.Lock()
	in.pass(c)
	in.mu.Unlock()
}

// frameOf returns the frame of a latched message, and what that takes beside the bytes that are
// counted for the message, until unclaimLatched.
func (in *intake) frameOf(l pinned) (frame []byte, claimed int64, err error) {
	if l.chunk == nil {
		return l.frame, 0, nil
	}
	claimed = in.latchedWeight(int(l.chunk.UncompressedBytes))
	if !in.claimLatched(claimed) {
		return nil, 0, errNoLatchedMemory
	}
	for m, err := range l.chunk.Messages() {
		if err != nil {
			in.unclaimLatched(claimed)
			return nil, 0, err
		}
		if m.Conn.ID == l.conn.ID {
			frame = m.Frame
		}
	}
	return frame, claimed, nil
}
