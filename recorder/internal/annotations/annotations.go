// Package annotations makes the messages that the recorder itself adds to a bag: notes, marks, the
// parameters and the graph of nodes, and the account of losses. Each kind has a topic of its own, and the
// intake records its messages like those of a publisher.
//
// A Writer belongs to one recording. Any goroutine may call Mark and FindingMark, and one goroutine at a
// time each of the other methods.
package annotations

import (
	"encoding/binary"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
)

// Intake records the messages.
type Intake interface {
	OpenMarks(topic string, typ intake.OwnType) (*intake.Link, error)
	OpenLatched(topic string, typ intake.OwnType, everyFile bool) *intake.Link
	AppendOwn(l *intake.Link, frame []byte, at time.Time, asked bool) (time.Time, error)
}

// Writer adds messages of the recorder itself to a recording.
type Writer struct {
	in  Intake
	log *zap.Logger

	asking sync.Mutex // guards marks; held while a mark of a user waits for room
	marks  int        // number of marks that users have asked for

	mu       sync.Mutex   // guards markLink
	markLink *intake.Link // nil before the first mark, so that a bag without marks does not have their topic
}

// New returns the writer of a recording.
func New(in Intake, log *zap.Logger) *Writer { return &Writer{in: in, log: log} }

// text is std_msgs/String, the type of all messages but the account of losses.
var text = intake.OwnType{Name: note.Type, MD5Sum: note.MD5Sum, Definition: note.Definition}

// TextFrame returns a frame of a std_msgs/String.
func TextFrame(s []byte) []byte {
	frame := binary.LittleEndian.AppendUint32(make([]byte, 0, 8+len(s)), uint32(4+len(s)))
	frame = binary.LittleEndian.AppendUint32(frame, uint32(len(s)))
	return append(frame, s...)
}
