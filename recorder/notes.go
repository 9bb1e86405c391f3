package recorder

import (
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/bagnote"
	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
)

// Mark is a line of text about a moment of the recording. In the bag it is a
// std_msgs/String on /gorecord/marks.
type Mark struct {
	Time time.Time // by the clock of the recording
	Text string
}

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
	m, err := r.marks.write(r.in.Links(), text, at)
	if err == nil {
		r.Log.Info("Mark", loglimit.OnRequest(), zap.String("text", m.Text))
	}
	return m, err
}

// marks writes marks into a recording. It may be used by anybody.
type marks struct {
	mu    sync.Mutex
	link  *intake.Link // nil before the first mark: a bag without marks does not have their topic
	count int
}

// write records a mark. Its error says why it is not in the bag.
func (m *marks) write(in intake.Links, text string, at time.Time) (Mark, error) {
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
		if m.link, err = in.OpenMarks(bagnote.MarksTopic, stringOwn); err != nil {
			return Mark{}, err
		}
	}
	stamp, err := in.AppendOwn(m.link, stringFrame([]byte(text)), at)
	if err != nil {
		return Mark{}, err
	}
	m.count++
	return Mark{stamp, text}, nil
}

// writeNotes records the notes of Options, if there are any, before any message.
func (r *session) writeNotes() {
	if len(r.Notes) > 0 {
		deliver(r.in.Links().OpenNotes(bagnote.NotesTopic, stringOwn), stringFrame([]byte(bagnote.Text(r.Notes))), time.Now())
	}
}
