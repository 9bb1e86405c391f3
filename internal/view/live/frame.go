package live

import "github.com/gorosbag/gorosbag/rosbag"

// ChannelID identifies a channel of a Store. Channels are numbered from 1, and a number is never
// used again.
type ChannelID uint32

// Channel is a topic with one type. A topic whose type or definition changes gets a new channel.
type Channel struct {
	ID         ChannelID // given by Store.Open
	Topic      string
	Type       string
	MD5Sum     string
	Definition string // the text of the connection header, with the definitions of nested types
}

// Kind says what a Frame is.
type Kind uint8

// The kinds of frames.
const (
	Message Kind = iota // a message of a channel
	Clock               // the time, for sources with Info.Clock
	Jump                // play continues at another time; frames from before the jump were removed
	closing             // the channel ends; only in the inbox
)

// Frame is what a viewer receives next.
type Frame struct {
	Kind    Kind
	Channel ChannelID   // of a message
	Time    rosbag.Time // of a message: when it was received or, of playback, its time in the bag
	Payload []byte      // of a message, without the length of TCPROS; must not change
	// Retained is the number of bytes in memory that Payload keeps from being freed, such as those
	// of a whole chunk. Zero means the length of Payload.
	Retained int
	Jumps    uint64 // of a jump: its number, from 1
}

// frameOverhead is the number of bytes that each frame counts besides its payload, so that a flood of
// tiny messages is bounded, too.
const frameOverhead = 128

// charge is the number of bytes that a frame counts.
func (f *Frame) charge() int64 {
	return frameOverhead + int64(max(f.Retained, len(f.Payload)))
}
