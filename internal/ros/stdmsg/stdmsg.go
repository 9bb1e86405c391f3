// Package stdmsg has the messages and services of fixed type that our programs send and receive:
// goroslib's Go types, with their md5sums and encodings. It encodes by reflection, so it is for
// messages that are sent a few times a second, not for recorded or played messages. It is pure.
package stdmsg

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/aler9/goroslib/pkg/msgproc"
	"github.com/aler9/goroslib/pkg/protocommon"
)

// MD5Sum returns the md5sum of a message, such as std_msgs.Float64{}.
func MD5Sum(msg any) string { return must(msgproc.MD5(msg)) }

// must returns v, and panics on an error: the caller has passed a Go type that is no message.
func must(v string, err error) string {
	if err != nil {
		panic("stdmsg: " + err.Error())
	}
	return v
}

// AppendFrame appends a message as a frame, <u32 length><payload>, to dst. msg is a pointer.
func AppendFrame(dst []byte, msg any) []byte {
	b := bytes.NewBuffer(dst)
	if err := protocommon.MessageEncode(b, msg); err != nil {
		panic("stdmsg: " + err.Error()) // msg is no pointer to a message
	}
	return b.Bytes()
}

// Encode returns the payload of a message. msg is a pointer.
func Encode(msg any) []byte { return AppendFrame(nil, msg)[4:] }

// Decode decodes a complete payload into msg, a pointer. It retains nothing of payload.
func Decode(payload []byte, msg any) error {
	frame := make([]byte, 0, 4+len(payload))
	frame = append(binary.LittleEndian.AppendUint32(frame, uint32(len(payload))), payload...)
	r := bytes.NewReader(frame)
	if err := protocommon.MessageDecode(r, msg); err != nil {
		return fmt.Errorf("%d bytes: %w", len(payload), err)
	}
	if r.Len() > 0 {
		return fmt.Errorf("%d bytes, %d too many", len(payload), r.Len())
	}
	return nil
}
