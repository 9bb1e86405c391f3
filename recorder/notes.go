package recorder

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bagnote"
	"github.com/gorosbag/gorosbag/internal/loglimit"
)

// Errors of Control.Mark.
var (
	// ErrPaused means that the bag gets nothing before Control.Resume.
	ErrPaused = errors.New("paused: nothing is recorded, no mark either")
	// ErrNoRoom means that the buffer is full.
	ErrNoRoom = errors.New("the buffer is full: the mark is not recorded")
)

// Mark is a line of text about a moment of the recording. In the bag it is a
// std_msgs/String on /gorecord/marks.
type Mark struct {
	Time time.Time // by the clock of the recording
	Text string
}

// backdateLimit is how far back MarkAt reaches. Messages of the past belong to files and
// snapshots that may be closed.
const backdateLimit = time.Minute

// Mark records a mark with the present time. Without a text it is "mark 1", "mark 2" and so
// on. A text that is more than a line, or too long, is an error that matches
// bagnote.ErrMark; others are ErrNotRecording, ErrStopped, ErrPaused and ErrNoRoom.
func (c *Control) Mark(text string) (Mark, error) { return c.MarkAt(text, time.Now()) }

// MarkAt is Mark for a moment up to a minute ago: when somebody began to write the text.
func (c *Control) MarkAt(text string, at time.Time) (Mark, error) {
	r, err := c.reach()
	if err != nil {
		return Mark{}, err
	}
	m, err := r.pipe.marks.write(r.pipe.intake, text, at)
	if err == nil {
		r.Log.Info("Mark", loglimit.OnRequest(), zap.String("text", m.Text))
	}
	return m, err
}

// marks writes marks into a recording. It may be used by anybody.
type marks struct {
	mu    sync.Mutex
	link  *link // nil before the first mark: a bag without marks does not have their topic
	count int
}

// write records a mark. Its error says why it is not in the bag.
func (m *marks) write(in *intake, text string, at time.Time) (Mark, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if text == "" {
		text = fmt.Sprintf("mark %d", m.count+1)
	}
	text, err := bagnote.CheckMark(text)
	if err != nil {
		return Mark{}, err
	}
	if m.link == nil {
		if m.link, err = in.openMarks(); err != nil {
			return Mark{}, err
		}
	}
	stamp, err := in.appendOwn(m.link.connection, stringFrame([]byte(text)), at)
	if err != nil {
		return Mark{}, err
	}
	m.count++
	return Mark{stamp, text}, nil
}

// openMarks makes the link that marks come on, if they could be recorded now.
func (in *intake) openMarks() (*link, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := in.recordsNow(); err != nil {
		return nil, err
	}
	return in.openOwn(ownHeader(in.node, bagnote.MarksTopic, stringType, stringMD5, stringDefinition, false)), nil
}

// recordsNow says why nothing can be recorded now. mu is held.
func (in *intake) recordsNow() error {
	err := in.hasBag()
	if err == nil && in.state == StatePaused {
		return ErrPaused
	}
	return err
}

// appendOwn records a message of the recorder's own with a time that may have passed, but not
// before the open file began, and returns that by the clock of the recording.
func (in *intake) appendOwn(c *connection, frame []byte, at time.Time) (time.Time, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := in.recordsNow(); err != nil {
		return time.Time{}, err
	}
	in.rotateIfDue(time.Now())
	if in.open == nil {
		in.waitForChunk(c.topic) // a file may begin meanwhile
		if err := in.recordsNow(); err != nil {
			return time.Time{}, err
		}
	}
	now := time.Now()
	ago := min(max(now.Sub(at), 0), backdateLimit)
	stamp := in.sim.At(now)
	if in.sim == nil { // a simulation may run at any rate
		begun := in.begun
		if in.rotation.Begun().After(begun) {
			begun = in.rotation.Begun() // bags of a recording do not overlap
		}
		stamp = stamp.Add(-min(ago, max(stamp.Sub(begun), 0)))
	}
	in.latest = later(in.latest, now)
	c.topic.last, c.Latest = now, now
	before := c.topic.messages
	in.add(c, frame, 1, bagfmt.TimeOf(stamp), now)
	if c.topic.messages == before {
		return time.Time{}, ErrNoRoom
	}
	return stamp, nil
}

// openNotes makes the link that notes come on. They begin each file, also where other latched
// messages do not.
func (in *intake) openNotes() *link {
	in.mu.Lock()
	defer in.mu.Unlock()
	l := in.openOwn(ownHeader(in.node, bagnote.NotesTopic, stringType, stringMD5, stringDefinition, true))
	l.connection.Latching, l.connection.EveryFile = true, true
	return l
}

// writeNotes records the notes of Options, if there are any, before any message.
func (r *session) writeNotes() {
	if len(r.Notes) > 0 {
		deliver(r.pipe.openNotes(), stringFrame([]byte(bagnote.Text(r.Notes))), time.Now())
	}
}
