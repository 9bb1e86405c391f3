package own

import (
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Notes records notes, if there are any, as one latched message with which each file begins. Notes is called before
// links to publishers open.
func (w *Writer) Notes(notes []note.Note) {
	if len(notes) > 0 {
		tcpros.Deliver(w.links.OpenLatched(note.NotesTopic, text, true), TextFrame([]byte(note.Text(notes))), time.Now())
	}
}

// Mark implements Mark of control.Recording. An error says why the mark is not in the bag.
func (w *Writer) Mark(line string, at time.Time) (control.Mark, error) {
	m, err := w.mark(line, at, true)
	if err == nil {
		w.log.Info("Mark", loglimit.OnRequest(), zap.String("text", m.Text))
	}
	return m, err
}

// FindingMark records a mark about a topic, if there is a bag that takes one. Nobody has asked for the mark, so it counts
// for no number of marks, and the caller has logged what the mark says.
func (w *Writer) FindingMark(line string, at time.Time) {
	if _, err := w.mark(line, at, false); err != nil {
		w.log.Debug("no mark", zap.String("text", line), zap.Error(err))
	}
}

// mark records a mark. asked says that a user has asked for the mark; then one without a text gets a number.
func (w *Writer) mark(line string, at time.Time, asked bool) (control.Mark, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if line == "" {
		line = fmt.Sprintf("mark %d", w.marks+1)
	}
	line, err := note.CheckMark(line)
	if err != nil {
		return control.Mark{}, err
	}
	if w.markLink == nil {
		if w.markLink, err = w.links.OpenMarks(note.MarksTopic, text); err != nil {
			return control.Mark{}, err
		}
	}
	stamp, err := w.links.AppendOwn(w.markLink, TextFrame([]byte(line)), at)
	if err != nil {
		return control.Mark{}, err
	}
	if asked {
		w.marks++
	}
	return control.Mark{Time: stamp, Text: line}, nil
}
