package rosbag

// Message is one recorded message.
type Message struct {
	Conn *Connection
	Time Time
	// Frame is the u32 length and the payload: the tail of the bag record and, byte
	// for byte, what TCPROS sends.
	Frame []byte
	// Share is what the message costs in memory while it is kept: the bytes of its
	// unpacked chunk, which any Frame of the chunk keeps alive, divided by the number
	// of messages that were selected from it, rounded up. 0 where that number is not
	// known beforehand.
	Share int
	// Order is the place of the message among those of the recording with the same time: the
	// message with the lower Order comes first. Numbers may be missing.
	Order uint64
	// Chunk is set with Query.Chunks on the first message of a chunk that can be copied: all other
	// messages of the chunk come next, in its order and with no others in between.
	Chunk Chunk
}

// Chunk is a chunk that a cursor has read, as it is stored, for a writer of the same format. It is valid
// until the next call of Next.
type Chunk interface {
	// Counts has the number of messages of each connection, and Payload their bytes together.
	Counts() (list []ConnCount, payload uint64)
	// Start and End are the times of the first and the last message.
	Start() Time
	End() Time
	// Pass makes Next go on after the chunk.
	Pass()
}

// Data returns the serialized message without its length.
func (m *Message) Data() []byte { return m.Frame[4:] }

// Query selects messages. The zero Query selects all.
type Query struct {
	Keep       func(*Connection) bool // nil keeps all
	Start, End Time                   // inclusive; a zero Time leaves that side open
	// Workers chunks are read and unpacked before their time comes, on as many
	// goroutines; zero does everything within Next. The messages and errors are the
	// same. Closing the cursor waits for the goroutines. The underlying io.ReaderAt has to
	// allow parallel calls.
	Workers int
	// When Cancel is closed, Next waits for none of them any more, but returns ErrCanceled.
	Cancel <-chan struct{}
	Reuse  bool // a Frame is valid until the next call only, so that memory of chunks is used again
	// Memory, if not nil, has memory for chunks. Reuse has no effect then. Recordings that have no chunks may
	// not use it.
	Memory Memory
	// Chunks makes a cursor that can do so set Message.Chunk, but not for chunks of a few kilobytes.
	Chunks bool
}

// Memory has memory that chunks are unpacked into, and gets it back.
type Memory interface {
	// Take returns memory of at least n bytes, which nobody else uses, or nil. Goroutines of Query.Workers
	// call it.
	Take(n int) []byte
	// Left says that the cursor does not use memory any more: of the messages that Next has returned before,
	// some have their Frame in it. Next calls it. Who makes Take return the memory again has to know that
	// nobody uses these messages any more; otherwise the memory is left to the garbage collector.
	Left(memory []byte)
}
