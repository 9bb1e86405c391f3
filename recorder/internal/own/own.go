// Package own writes what the recorder itself has to say into a bag: notes, marks, the parameters
// and the graph of nodes, and the account of losses. Each is a message on a topic of its own; the
// intake records it like a message of a publisher.
//
// A Writer belongs to one recording. Mark may be called by any goroutine, the other methods by one
// each.
package own

import (
	"encoding/binary"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/bagnote"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Writer puts messages of the recorder itself into a recording.
type Writer struct {
	links intake.Links
	log   *zap.Logger

	mu       sync.Mutex   // guards the fields below
	markLink *intake.Link // nil before the first mark: a bag without marks does not have their topic
	marks    int          // marks that were recorded
}

// New returns the writer of a recording.
func New(links intake.Links, log *zap.Logger) *Writer { return &Writer{links: links, log: log} }

// text is the type of the texts that the recorder publishes.
var text = intake.OwnType{Name: bagnote.Type, MD5Sum: bagnote.MD5Sum, Definition: bagnote.Definition}

// TextFrame returns a std_msgs/String as links carry it.
func TextFrame(s []byte) []byte {
	frame := binary.LittleEndian.AppendUint32(make([]byte, 0, 8+len(s)), uint32(4+len(s)))
	frame = binary.LittleEndian.AppendUint32(frame, uint32(len(s)))
	return append(frame, s...)
}

// largeMessage is the size in bytes beyond which a message does not go through the open chunk.
const largeMessage = 128 << 10

// deliver hands a frame to a sink in the form that suits the size of the frame.
func deliver(sink tcpros.LinkSink, frame []byte, received time.Time) {
	if len(frame) <= largeMessage {
		sink.Frames(frame, 1, received)
		return
	}
	large := sink.Large(len(frame))
	if large == nil {
		return // counted by the sink
	}
	for len(frame) > 0 {
		room := large.Room(len(frame))
		if room == nil {
			return
		}
		frame = frame[copy(room, frame):]
	}
	large.Commit(received)
}
