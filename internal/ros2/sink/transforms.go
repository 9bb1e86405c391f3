package sink

import (
	"encoding/binary"
	"errors"

	"github.com/gorosbag/gorosbag/rosbag"
)

// transforms merges the latched messages of several publishers of transforms: each message becomes
// all transforms so far, of each child frame the latest. A late subscriber of ROS 1 gets the last
// message of each publisher; ros2 bag play has one publisher only.
type transforms struct {
	frames  []string          // child frames in the order of their first message
	latest  map[string][]byte // a geometry_msgs/TransformStamped of ROS 1 for each
	bytes   int               // of latest
	payload []byte
	full    bool // more than maxMergedBytes came: messages are no longer merged
}

// maxMergedBytes bounds a merged message, which is written again and again: about 2,000 transforms.
const maxMergedBytes = 256 << 10

func newTransforms() *transforms { return &transforms{latest: map[string][]byte{}} }

// transformsMD5 is the sum of tf2_msgs/TFMessage and tf/tfMessage.
const transformsMD5 = "94810edda583a504dfda3829e70d7eec"

// isTransforms reports whether messages are lists of transforms of ROS 1.
func isTransforms(h rosbag.Header) bool {
	return h.MD5Sum() == transformsMD5 && (h.Type() == "tf2_msgs/TFMessage" || h.Type() == "tf/tfMessage")
}

// errTransforms means that a message is no list of transforms.
var errTransforms = errors.New("message is shorter or longer than its transforms")

// add returns the message with all transforms so far, until the next call. Once these are too many,
// messages stay as they are.
func (t *transforms) add(payload []byte) ([]byte, error) {
	if t.full {
		return payload, nil
	}
	if len(payload) < 4 {
		return nil, errTransforms
	}
	n := binary.LittleEndian.Uint32(payload)
	type one struct {
		child string
		bytes []byte
	}
	var all []one
	rest := payload[4:]
	for range n {
		child, size := transform(rest)
		if size < 0 {
			return nil, errTransforms
		}
		all = append(all, one{child, rest[:size]})
		rest = rest[size:]
	}
	if len(rest) > 0 {
		return nil, errTransforms
	}
	for _, o := range all { // now that all are good
		if t.latest[o.child] == nil {
			t.frames = append(t.frames, o.child)
		}
		t.bytes += len(o.bytes) - len(t.latest[o.child])
		t.latest[o.child] = append(t.latest[o.child][:0], o.bytes...)
	}
	if t.bytes > maxMergedBytes {
		*t = transforms{full: true}
		return payload, nil
	}
	t.payload = binary.LittleEndian.AppendUint32(t.payload[:0], uint32(len(t.frames)))
	for _, child := range t.frames {
		t.payload = append(t.payload, t.latest[child]...)
	}
	return t.payload, nil
}

// transform returns the child frame and the size of the transform at the start of b, a negative
// size if b is too short.
func transform(b []byte) (child string, size int) {
	const numbers = 7 * 8 // of translation and rotation
	_, at := text(b, 3*4) // after seq and stamp: the frame
	if child, at = text(b, at); at < 0 || len(b)-at < numbers {
		return "", -1
	}
	return child, at + numbers
}

// text returns the string at an offset and the offset after it, negative if b is too short.
func text(b []byte, at int) (string, int) {
	if at < 0 || len(b)-at < 4 {
		return "", -1
	}
	n := int64(binary.LittleEndian.Uint32(b[at:]))
	at += 4
	if n > int64(len(b)-at) {
		return "", -1
	}
	return string(b[at : at+int(n)]), at + int(n)
}
