// Package rotation knows when the next file of a recording begins: in fixed intervals since the start, at
// multiples of a time on the local clock, or at a size. It is pure: the caller has the clock and the
// lock. Only the intake uses it.
package rotation

import (
	"math"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Options says when files end. The zero value of each field means never.
type Options struct {
	Split    bool          // go on in a next file; otherwise the recording ends
	MaxBytes int64         // end a file at this size
	Every    time.Duration // with Split: end a file after this time since the start
	At       time.Duration // with Split: end a file at multiples of this on the local clock
	Stopped  bool          // there is no file before Restart
}

// Rotation knows when the recording goes on to the next file. All times that it gets are of a clock that
// does not go back, simtime.Sim.Steady: if the clock is set, there must be neither a thousand files nor an
// endless one.
type Rotation struct {
	ends Options       // when files end; Every and At are zero without Split
	back time.Duration // how far the local clock is behind the times that the rotation gets

	number  int       // of the file that the intake fills, from 0; -1 before the first start
	begun   time.Time // when that file began
	grid    time.Time // when the present interval of Every ends; intervals count from the start, as in stock
	slot    int64     // the number of the interval of At, since 1970, that this file belongs to
	slotEnd time.Time // when that interval of At ends
	next    time.Time // when the next file begins; zero means never

	stored int64 // bytes of this file that are written
	queued int64 // bytes of chunks that are queued and not written, before compression
	first  first // the chunk that this file begins with
	plain  int64 // bytes of the chunks that were written lately, before compression
	packed int64 // bytes of the same chunks after compression
}

// New returns the rotation of a recording that begins now. back is how far the local clock is
// behind now.
func New(o Options, now time.Time, back time.Duration) Rotation {
	s := Rotation{ends: o, back: back, number: -1}
	if !o.Split {
		s.ends.Every, s.ends.At = 0, 0
	}
	if !o.Stopped {
		s.Restart(now)
	}
	return s
}

// local returns the local time as a duration since 1970, so that hours and
// days begin where people expect them.
func (s *Rotation) local(now time.Time) time.Duration {
	_, offset := now.Zone()
	return time.Duration(now.UnixNano()) - s.back + time.Duration(offset)*time.Second
}

func (s *Rotation) slotAt(now time.Time) int64 { return int64(s.local(now) / s.ends.At) }

// Schedule finds the earliest end of the file. Because of Options.At it has to be called regularly: the local
// clock may be set. If that clock goes back to the interval before, no file ends a second time; if it
// goes back further, files follow it.
func (s *Rotation) Schedule(now time.Time) {
	s.next = s.grid
	if s.ends.At == 0 {
		return
	}
	if slot := s.slotAt(now); slot < s.slot-1 {
		s.slot = slot
	}
	s.slotEnd = now.Add(time.Duration(s.slot+1)*s.ends.At - s.local(now))
	if s.next.IsZero() || s.slotEnd.Before(s.next) {
		s.next = s.slotEnd
	}
}

// Due reports whether a message that is received at now belongs into the next file. Before the first
// part, none does.
func (s *Rotation) Due(now time.Time) bool {
	return s.number >= 0 && !s.next.IsZero() && !now.Before(s.next)
}

// NextPart counts a part that begins now.
func (s *Rotation) NextPart(now time.Time) {
	s.number++
	s.begun = now
	s.stored, s.queued, s.first = 0, 0, first{}
}

// Advance begins the part that now belongs to. Intervals that have passed in between, while the process was
// stopped, get no files.
func (s *Rotation) Advance(now time.Time) {
	s.NextPart(now)
	if s.ends.Every > 0 && !now.Before(s.grid) {
		late := now.Sub(s.grid)
		s.grid = s.grid.Add(late - late%s.ends.Every + s.ends.Every)
	}
	if s.ends.At > 0 && !now.Before(s.slotEnd) {
		s.slot = max(s.slot+1, s.slotAt(now))
	}
	s.Schedule(now)
}

// Restart begins a part after a stop: the intervals of Every count from now.
func (s *Rotation) Restart(now time.Time) {
	s.NextPart(now)
	if s.ends.Every > 0 {
		s.grid = now.Add(s.ends.Every)
	}
	if s.ends.At > 0 {
		s.slot = s.slotAt(now)
	}
	s.Schedule(now)
}

// Left returns about how many bytes of chunks still fit into the file: the sizes of chunks
// that are not compressed yet are estimates.
func (s *Rotation) Left() int64 {
	if s.ends.MaxBytes == 0 {
		return math.MaxInt64
	}
	left := s.ends.MaxBytes - s.stored
	if s.packed > 0 {
		left = int64(min(float64(left)*float64(s.plain)/float64(s.packed), math.MaxInt64/2))
	}
	return left - s.queued
}

// SetBack sets how far the local clock is behind the times of the rotation.
func (s *Rotation) SetBack(back time.Duration) { s.back = back }

// Splits reports whether a file that has reached its maximum size is followed by another.
func (s *Rotation) Splits() bool { return s.ends.Split }

// Part returns the number of the present file, from 0; -1 before the first start.
func (s *Rotation) Part() int { return s.number }

// Begun returns when the present file began.
func (s *Rotation) Begun() time.Time { return s.begun }

// Stored returns how many bytes of the present file are written.
func (s *Rotation) Stored() int64 { return s.stored }

// ChunkQueued notes that a chunk was queued for the present file at a time; cost is that of ChunkCost,
// and start the time of the earliest message in the bag.
func (s *Rotation) ChunkQueued(cost int64, start rosbag.Time, at time.Time) {
	s.queued += cost
	s.first.note(start, at)
}

// Written counts a chunk of the given part: cost is that of ChunkCost, and bytes is its size in the file.
// compressed says that the chunk was compressed.
func (s *Rotation) Written(part int, cost, bytes int64, compressed bool) {
	if compressed {
		s.plain += cost - s.plain/4 // the last few chunks weigh most
		s.packed += bytes - s.packed/4
	}
	if part == s.number {
		s.queued -= cost
		s.stored += bytes
	}
}

// Repeated counts bytes of latched messages at the beginning of part, up to half of the file: the rest is for
// new messages.
func (s *Rotation) Repeated(part int, bytes int64) {
	if part == s.number {
		s.stored += min(bytes, s.ends.MaxBytes/2)
	}
}

// ChunkCost returns about how many bytes a chunk and its index take in the file without compression.
func ChunkCost(b *chunk.Builder) int64 {
	const indexEntry, headers = 12, 160
	return int64(b.Len()) + indexEntry*int64(b.Messages()) + headers
}
