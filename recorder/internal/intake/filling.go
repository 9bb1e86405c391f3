// This file has the open chunk, into which messages of all topics go, and knows which connection records the
// present file has. The package is pure: the caller has the lock of the intake.

package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/rosbag"
)

// RecordOverhead is how many bytes a message record has beside its frame: the length of its header, and
// the header with op, conn and time.
const RecordOverhead = 42

// Filling is the open chunk.
type Filling struct {
	Open    *memory.Chunk  // nil until the next message
	Records *chunk.Records // the connection records of the present file
	begun   time.Time      // when Open got its first message
	sealAt  int            // seal Open once it holds more bytes than this
	latest  time.Time      // when the latest message came, into whatever chunk
}

// newFilling returns a Filling without an open chunk, for a file without records.
func newFilling() Filling { return Filling{Records: new(chunk.Records)} }

// Begin makes c the open chunk, which is to be sealed once it holds more than sealAt bytes.
func (f *Filling) Begin(c *memory.Chunk, sealAt int) {
	c.Builder().Reset(f.Records)
	f.Open, f.sealAt = c, sealAt
}

// BeginFile makes the next chunks write connection records again, for another file. An open chunk has no
// messages.
func (f *Filling) BeginFile(sealAt int) {
	f.Records = new(chunk.Records)
	if f.Open != nil {
		f.Begin(f.Open, sealAt)
	}
}

// Precedes reports whether the open chunk has an earlier message than a chunk whose earliest message has
// the time start.
func (f *Filling) Precedes(start rosbag.Time) bool {
	return f.Open != nil && !f.Empty() && !start.Before(f.Open.Builder().Start())
}

// Saw notes that a message came.
func (f *Filling) Saw(at time.Time) { f.latest = f.Later(at) }

// Later returns at, or the time of the latest message if that is later. Callers read the clock before
// they have the lock, so at may be too early: a file must not begin before a message that is in the file
// before.
func (f *Filling) Later(at time.Time) time.Time {
	if at.Before(f.latest) {
		return f.latest
	}
	return at
}

// Fit returns how many of the first count frames of a run go into the open chunk, and how many bytes
// these are: as in stock, a chunk ends with the message that makes it longer than its size. all says that
// the run has no more than count frames.
func (f *Filling) Fit(run []byte, count int, all bool) (n, size int) {
	free := f.sealAt - f.Open.Builder().Len()
	if all && len(run)+count*RecordOverhead <= free {
		return count, len(run)
	}
	for n < count && (n == 0 || free >= 0) {
		frame := rosbag.FrameLen(run[size:])
		size += frame
		free -= frame + RecordOverhead
		n++
	}
	return n, size
}

// Append copies n frames into the open chunk. first is the time of the first frame in the bag, and
// received is when the last frame was received.
func (f *Filling) Append(c *rosbag.Connection, first rosbag.Time, frames []byte, n int, received time.Time) {
	if f.Empty() {
		f.begun = received
	}
	f.Open.Builder().AppendRun(c, first, frames, n)
}

// Full reports whether the open chunk is to be sealed because of its size.
func (f *Filling) Full() bool { return f.Open.Builder().Len() > f.sealAt }

// Old reports whether the open chunk is to be sealed because of its age.
func (f *Filling) Old(now time.Time, age time.Duration) bool {
	return f.Open != nil && now.Sub(f.begun) >= age
}

// Empty reports whether the open chunk has no message; it may have connection records.
func (f *Filling) Empty() bool { return f.Open.Builder().Messages() == 0 }

// Has reports whether the open chunk has messages or the record of a connection.
func (f *Filling) Has(c rosbag.ConnID) bool { return f.Open != nil && f.Open.Builder().HasConn(c) }

// Take ends the open chunk and returns it; nil if there is none or it has no message.
func (f *Filling) Take() *memory.Chunk {
	c := f.Open
	if c == nil || f.Empty() {
		return nil
	}
	c.Came(f.begun, f.latest)
	f.Open = nil
	return c
}

// TakeEmpty ends and returns the open chunk if it has no message; nil otherwise. The next chunk writes
// its connection records again.
func (f *Filling) TakeEmpty() *memory.Chunk {
	c := f.Open
	if c == nil || !f.Empty() {
		return nil
	}
	f.Open, f.Records = nil, new(chunk.Records)
	return c
}
