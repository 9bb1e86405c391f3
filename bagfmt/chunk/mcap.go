package chunk

import "github.com/gorosbag/gorosbag/rosbag"

// MCAP is a chunk of an MCAP file as it is stored. It has messages, and the records of their schemas and
// channels, but no others.
//
// A rosbag.Chunk of such a file has a method MCAP, which returns one that is valid as long as the Chunk. It
// is nil of a bag. The Frame of the message is not valid afterwards; its Data is.
type MCAP struct {
	Compression rosbag.Compression
	Stored      []byte // the records, packed
	Bytes       int64  // of the records before they were packed
	CRC         uint32 // crc32 of the records before they were packed
	// Entries are the messages in their order, which is that of their times. Offsets are those of records.
	Entries []rosbag.Entry
	// Last has, for each connection of Counts, the sequence number of its last message.
	Last []uint32
	// Schemas and Channels are the records of these kinds, repeated ones included.
	Schemas  []MCAPSchema
	Channels []MCAPChannel
}

// MCAPSchema is a schema record.
type MCAPSchema struct {
	ID                   uint16
	Name, Encoding, Data string
}

// MCAPChannel is a channel record. The keys of its metadata may not be unique.
type MCAPChannel struct {
	ID, Schema      uint16
	Topic, Encoding string
	Metadata        rosbag.Header
}
