package rosbag

import "fmt"

// Op is the kind of a record, the value of its op field.
type Op byte

// The records of format V2.0, and one of format V1 that some bags of V2.0 still hold.
const (
	OpMessage    Op = 2 // one message of a connection
	OpBagHeader  Op = 3 // first record of the file: where the index section is
	OpIndexData  Op = 4 // index of one connection's messages in the chunk before it
	OpChunk      Op = 5 // connection and message records, possibly compressed
	OpChunkInfo  Op = 6 // index section: place, times and counts of one chunk
	OpConnection Op = 7 // topic and connection header of a publisher

	OpMessageDefinition Op = 1 // of format V1
)

// String returns the name of the record as error texts use it.
func (o Op) String() string {
	switch o {
	case OpMessage:
		return "message"
	case OpBagHeader:
		return "bag header"
	case OpIndexData:
		return "index data"
	case OpChunk:
		return "chunk"
	case OpChunkInfo:
		return "chunk info"
	case OpConnection:
		return "connection"
	case OpMessageDefinition:
		return "message definition"
	}
	return fmt.Sprintf("op %d", byte(o))
}
