package foxglove

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/gorosbag/gorosbag/internal/view/live"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Opcodes of binary messages from the server.
const (
	opMessageData   = 1
	opTime          = 2
	opPlaybackState = 5
)

// Opcodes of binary messages from a viewer.
const (
	opClientMessage   = 1
	opServiceRequest  = 2
	opPlaybackControl = 3
)

func nanoseconds(t rosbag.Time) uint64 { return uint64(t.Sec)*1e9 + uint64(t.Nsec) }

// timeOf converts nanoseconds since 1970 to the nearest time that a bag can store.
func timeOf(ns uint64) rosbag.Time {
	if sec := ns / 1e9; sec <= math.MaxUint32 {
		return rosbag.Time{Sec: uint32(sec), Nsec: uint32(ns % 1e9)}
	}
	return rosbag.Time{Sec: math.MaxUint32, Nsec: 999999999}
}

// appendMessageHeader appends the header of a message, which stands before the payload.
func appendMessageHeader(b []byte, subscription uint32, t rosbag.Time) []byte {
	b = append(b, opMessageData)
	b = binary.LittleEndian.AppendUint32(b, subscription)
	return binary.LittleEndian.AppendUint64(b, nanoseconds(t))
}

func appendTime(b []byte, t rosbag.Time) []byte {
	return binary.LittleEndian.AppendUint64(append(b, opTime), nanoseconds(t))
}

// appendState appends a playback state. request is the ID of the request that the state answers;
// empty if there is none.
func appendState(b []byte, s live.PlaybackState, didSeek bool, request string) []byte {
	b = append(b, opPlaybackState, byte(s.Status))
	b = binary.LittleEndian.AppendUint64(b, nanoseconds(s.Time))
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(s.Speed)))
	if didSeek {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(request)))
	return append(b, request...)
}

// playbackControl is a request of a viewer as it was sent.
type playbackControl struct {
	pause  bool
	speed  float32
	seek   bool
	seekTo uint64 // nanoseconds since 1970; without meaning if seek is false
	id     string
}

// maxRequestID bounds the ID of a request, which is sent to all viewers.
const maxRequestID = 256

var errControl = errors.New("playback control: wrong length or value")

// parsePlaybackControl reads a request, without its opcode.
func parsePlaybackControl(b []byte) (c playbackControl, err error) {
	const fixed = 1 + 4 + 1 + 8 + 4
	if len(b) < fixed {
		return c, errControl
	}
	n := int64(binary.LittleEndian.Uint32(b[14:]))
	if b[0] > 1 || b[5] > 1 || n > maxRequestID || n != int64(len(b)-fixed) {
		return c, errControl
	}
	return playbackControl{
		pause: b[0] == 1, speed: math.Float32frombits(binary.LittleEndian.Uint32(b[1:])),
		seek: b[5] == 1, seekTo: binary.LittleEndian.Uint64(b[6:]), id: string(b[fixed:]),
	}, nil
}

// Limits of the speed that a viewer can set.
const (
	minSpeed = 0.01
	maxSpeed = 100
)

// limited returns the request for playback, with its time and its speed moved into their limits.
func (c *playbackControl) limited(first, last rosbag.Time) live.PlaybackRequest {
	r := live.PlaybackRequest{Play: !c.pause, Speed: minSpeed, Seek: c.seek}
	if speed := float64(c.speed); speed > minSpeed { // not NaN
		r.Speed = min(speed, maxSpeed)
	}
	if c.seek {
		r.SeekTo = timeOf(c.seekTo)
		if r.SeekTo.Before(first) {
			r.SeekTo = first
		}
		if last.Before(r.SeekTo) {
			r.SeekTo = last
		}
	}
	return r
}
