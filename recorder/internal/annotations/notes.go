package annotations

import (
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Notes records notes, if there are any, as one latched message with which each file begins. Notes is
// called before links to publishers open.
func (w *Writer) Notes(notes []note.Note) {
	if len(notes) > 0 {
		tcpros.Deliver(w.in.OpenLatched(note.NotesTopic, text, true), TextFrame([]byte(note.Text(notes))),
			time.Now())
	}
}

// Mark implements Mark of control.Recording. An error says why the mark is not in the bag.
func (w *Writer) Mark(line string, at time.Time) (control.Mark, error) {
	w.asking.Lock()
	defer w.asking.Unlock()
	if line == "" {
		line = fmt.Sprintf("mark %d", w.marks+1)
	}
	m, err := w.mark(line, at, true)
	if err == nil {
		w.marks++
		w.log.Info("Mark", loglimit.OnRequest(), zap.String("text", m.Text))
	}
	return m, err
}

// FindingMark records a mark about a topic, if there is a bag that takes one, and room for it. Nobody has
// asked for the mark, so it waits for nothing, is no loss, and counts for no number of marks. The caller
// has logged what the mark says.
func (w *Writer) FindingMark(line string, at time.Time) {
	if _, err := w.mark(line, at, false); err != nil {
		w.log.Debug("no mark", zap.String("text", line), zap.Error(err))
	}
}

// mark records a mark. asked says that a user has asked for the mark.
func (w *Writer) mark(line string, at time.Time, asked bool) (control.Mark, error) {
	line, err := note.CheckMark(line)
	if err != nil {
		return control.Mark{}, err
	}
	link, err := w.openMarks()
	if err != nil {
		return control.Mark{}, err
	}
	stamp, err := w.in.AppendOwn(link, TextFrame([]byte(line)), at, asked)
	if err != nil {
		return control.Mark{}, err
	}
	return control.Mark{Time: stamp, Text: line}, nil
}

// openMarks returns the link of marks, and opens it for the first one.
func (w *Writer) openMarks() (*intake.Link, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.markLink != nil {
		return w.markLink, nil
	}
	var err error
	w.markLink, err = w.in.OpenMarks(note.MarksTopic, text)
	return w.markLink, err
}
