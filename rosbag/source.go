package rosbag

import (
	"errors"
	"iter"
)

// Source is an opened recording: a bag of any version, a recording of another format, or one
// Source in front of another that translates its connections and messages.
//
// What is found by opening does not change. Many goroutines may use a Source, if its file allows
// parallel reads; a Cursor belongs to one goroutine. What only some formats know is in other
// interfaces, which are found by type assertion: Latest, Indexed, and methods of the reader of a
// format. A Source in front of another implements those that it can answer.
type Source interface {
	// Info returns what is known without reading messages. The caller must not modify Damage.
	Info() Info
	// Connections returns all connections by ascending id. The caller must not modify the slice.
	Connections() []*Connection
	// NumSpans returns how many spans the recording consists of. Each message is in one of them.
	// A recording without messages may have none.
	NumSpans() int
	// Span returns span i, from 0 to NumSpans()-1. The caller must not modify it.
	Span(i int) *Span
	// Cursor returns a Cursor at the start of what q selects. It reads nothing yet.
	Cursor(q Query) Cursor
}

// Info is what is known of an opened recording.
type Info struct {
	Format  string // "bag" of a ROS 1 bag, otherwise the usual ending of file names, for example "mcap"
	Version string // of the format, for example "2.0"
	Size    int64  // of all files in bytes
	// Start and End are the times of the earliest and the latest message, zero Times without messages.
	Start, End Time
	Messages   uint64 // as the index says, or a scan has found
	// Elapsed: times count from the start of the recording, not from 1970.
	Elapsed bool
	// Indexed: there is a good index. Without one, the recording was read from front to back.
	Indexed bool
	// Remote: each read costs a request, as of an object in a store.
	Remote bool
	// Repeated says how a cut of a longer recording begins, see there.
	Repeated Repeated
	// Damage is what opening met: why the index was not used, if there should be one, and what could
	// not be read, in that order. Nothing is lost by ErrUnindexed and by a CorruptError with Recovered
	// set.
	Damage []error
	// Notes are what is worth knowing of the recording and is no damage: no message is missing. A
	// definition was replaced, for example, or a topic without messages has a type that is not known.
	Notes []error
}

// Span is a stretch of a recording, for example a chunk of a bag, and what is in it. Spans may
// overlap in time.
type Span struct {
	// Pos is where the span begins in the file, 0 if the format has no such place. Spans are in the
	// order of Pos.
	Pos        int64
	Start, End Time // of its earliest and latest message
	Counts     []ConnCount
}

// Cursor gives out messages in time order, messages of the same time in the order of the recording.
type Cursor interface {
	// Next returns the next message, io.EOF at the end. The Message is valid until the next call; its
	// Frame must not be modified and, without Query.Reuse and Query.Memory, stays valid for as long as it is
	// referenced.
	//
	// Another error says what could not be read; the next call goes on with what is left, except
	// after ErrCanceled. Each fault is reported once, so that the end is always reached. A
	// *CorruptError with Recovered set lost nothing: all messages follow.
	Next() (*Message, error)
	// Close ends what Query.Workers began: when it returns no goroutine of the Cursor is left. Next
	// then returns an error. Close is harmless without Workers, and twice.
	Close()
}

// Starter is a Cursor that can begin to load what the first Next needs, on other goroutines,
// before that is called.
type Starter interface{ Begin() }

// Indexed is a Source that knows where messages are without reading them.
type Indexed interface {
	Source
	// Index returns an entry for each message of span i whose connection keep wants, nil for all,
	// by time, of the same time in the order of the recording. The slice is the caller's.
	Index(i int, keep func(*Connection) bool) ([]Entry, error)
}

// Entry says when a message was received, and where it is.
type Entry struct {
	Conn *Connection
	Time Time
	// Offset is the place of its record in the unpacked bytes of its span, 0 if the format has no
	// such place.
	Offset uint32
}

// Latest is a Source that finds the latest messages before a time without reading all messages.
type Latest interface {
	// Latest gives out, of each connection that keep wants, nil for all, the latest message with a
	// time of at most t, of the same time the last one in the recording. Connections without such a
	// message are left out, unless there is an error.
	Latest(t Time, keep func(*Connection) bool) iter.Seq2[*Connection, Found]
}

// Found is what Latest finds for one connection.
type Found struct {
	Message *Message // nil if there is none
	// Err says that a part which may hold a later message could not be read, the first one if there
	// are several. Message is then the latest one of the others. A damaged index of which nothing
	// was lost is no error.
	Err error
}

// Sink takes messages in the order of the output, for example to write a bag.
type Sink interface {
	// Write adds a message. Connections are distinguished by their pointers. data may be used again by
	// the caller when Write has returned.
	Write(c *Connection, t Time, data []byte) error
	// Close completes the output.
	Close() error
	// Abort ends the work on an output that will not be used. It is called instead of Close, or
	// after that has failed.
	Abort()
}

// Messages gives out what q selects of a Source, in the order of a Cursor: by time, messages of the same
// time in the order of the recording. A step with an error has no message; the loop may go on, as after
// an error of Cursor.Next. Each Message is valid for its step only.
func Messages(s Source, q Query) iter.Seq2[*Message, error] {
	return func(yield func(*Message, error) bool) {
		c := s.Cursor(q)
		defer c.Close()
		for {
			m, err := c.Next()
			if isEnd(err) {
				return
			}
			if !yield(m, err) || errors.Is(err, ErrCanceled) {
				return
			}
		}
	}
}

// Counts returns the number of messages of each connection, as the spans say. Connections without
// messages may be missing.
func Counts(s Source) map[*Connection]uint64 {
	counts := make(map[*Connection]uint64)
	for i := range s.NumSpans() {
		for _, n := range s.Span(i).Counts {
			counts[n.Conn] += uint64(n.Count)
		}
	}
	return counts
}

// Latched returns, of each latching connection that keep wants, the latest message with a time of at most
// t. A nil keep wants all. A subscriber that comes at t gets these messages, unless a node publishes on
// another connection or in another recording in the meantime. A Source that is no Latest has none.
func Latched(s Source, t Time, keep func(*Connection) bool) iter.Seq2[*Connection, Found] {
	l, ok := s.(Latest)
	if !ok {
		return func(func(*Connection, Found) bool) {}
	}
	return l.Latest(t, func(c *Connection) bool { return c.Header.Latching() && (keep == nil || keep(c)) })
}
