package live

import "github.com/gorosbag/gorosbag/rosbag"

// Playback is how viewers control a playback. Its methods may be called from any goroutine and do
// not block.
type Playback interface {
	// Range returns the times of the first and of the last message that are played; zero while
	// they are not known. Store.Change is called when they become known.
	Range() (first, last rosbag.Time)
	State() PlaybackState
	// Do seeks, sets the speed, and plays or pauses, in this order. It reports whether a jump
	// follows; Store.Jump is called when the jump happens.
	Do(PlaybackRequest) (jumps bool)
	// Changed returns a channel that is closed at the next change of State other than a change of
	// the time. Call Changed before State, so that no change is missed.
	Changed() <-chan struct{}
}

// PlaybackState is the state of a playback.
type PlaybackState struct {
	Status PlaybackStatus
	Time   rosbag.Time // in the bag
	Speed  float64     // bag time per wall time
}

// PlaybackStatus is what a playback is doing.
type PlaybackStatus uint8

// The numbers are those of the Foxglove WebSocket protocol.
const (
	Playing   PlaybackStatus = 0
	Paused    PlaybackStatus = 1
	Buffering PlaybackStatus = 2 // waiting: for subscribers, for a delay, for the disk
	Ended     PlaybackStatus = 3
)

// PlaybackRequest is a request of a viewer. The server has limited the values: Speed is the present
// speed, or positive and finite, and SeekTo is within the range.
type PlaybackRequest struct {
	Play   bool // false: pause
	Speed  float64
	Seek   bool
	SeekTo rosbag.Time // with Seek
}
