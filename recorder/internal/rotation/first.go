package rotation

import (
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// first is the chunk that a file begins with. rosbag takes the time at which a bag begins from that
// chunk, so no later chunk may have an earlier message.
type first struct {
	there bool        // the chunk was submitted
	start rosbag.Time // of its earliest message
	at    time.Time   // when the chunk was submitted
	anew  bool        // a snapshot has begun, and no chunk was submitted since
}

// note notes that a chunk whose earliest message has the time start was submitted at a time.
func (f *first) note(start rosbag.Time, at time.Time) {
	if f.anew = false; !f.there {
		*f = first{there: true, start: start, at: at}
	}
}

// LatchedQueued notes that latched messages with the time stamp were queued for the beginning of the
// present file.
func (s *Rotation) LatchedQueued(stamp rosbag.Time, at time.Time) { s.first.note(stamp, at) }

// SnapshotBegan notes that another bag begins beside the file: that of a snapshot.
func (s *Rotation) SnapshotBegan() { s.first.anew = true }

// BeginsBag reports whether a bag begins with the next chunk that is queued: the file, or a snapshot.
func (s *Rotation) BeginsBag() bool { return !s.first.there || s.first.anew }

// Stamp returns the time in the bag of a message that came at received: stamp or, if the file begins with
// a later one, the time at which the file begins. Callers read the clock before they have the lock, so a
// message may be too early by the time that a link waits for the lock. A clock that was set back is
// followed, and so is a simulated one.
func (s *Rotation) Stamp(stamp rosbag.Time, received time.Time, simulated bool) rosbag.Time {
	if f := &s.first; f.there && !simulated && stamp.Before(f.start) && !received.After(f.at) {
		return s.first.start
	}
	return stamp
}

// backdateLimit is how far back a message can be dated: older messages are in files and snapshots
// that may be closed.
const backdateLimit = time.Minute

// Backdate returns the time in the bag of a message that comes now and is dated back to a time: by no
// more than backdateLimit, and not to before since, the beginning of the file or its first chunk: bags of
// a recording do not overlap.
func (s *Rotation) Backdate(now, to, since time.Time) time.Time {
	if s.begun.After(since) {
		since = s.begun
	}
	at := now.Add(-min(max(now.Sub(to), 0), backdateLimit, max(now.Sub(since), 0)))
	if f := &s.first; f.there && rosbag.TimeOf(at).Before(f.start) {
		return time.Unix(int64(f.start.Sec), int64(f.start.Nsec))
	}
	return at
}
