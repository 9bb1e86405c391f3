package recorder

import (
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/bagnote"
	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
)

// Mark implements control.Recording.
func (c *Control) Mark(text string) (control.Mark, error) { return c.MarkAt(text, time.Now()) }

// MarkAt implements control.Recording.
func (c *Control) MarkAt(text string, at time.Time) (control.Mark, error) {
	r, err := c.reach()
	if err != nil {
		return control.Mark{}, err
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
func (m *marks) write(in intake.Links, text string, at time.Time) (control.Mark, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if text == "" {
		text = fmt.Sprintf("mark %d", m.count+1)
	}
	text, err := bagnote.CheckMark(text)
	if err != nil {
		return control.Mark{}, err
	}
	if m.link == nil {
		if m.link, err = in.OpenMarks(bagnote.MarksTopic, stringOwn); err != nil {
			return control.Mark{}, err
		}
	}
	stamp, err := in.AppendOwn(m.link, stringFrame([]byte(text)), at)
	if err != nil {
		return control.Mark{}, err
	}
	m.count++
	return control.Mark{Time: stamp, Text: text}, nil
}

// writeNotes records the notes of Options, if there are any, before any message.
func (r *session) writeNotes() {
	if len(r.Notes) > 0 {
		deliver(r.in.Links().OpenNotes(bagnote.NotesTopic, stringOwn), stringFrame([]byte(bagnote.Text(r.Notes))), time.Now())
	}
}
