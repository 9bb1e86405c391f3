package service

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

const maxErrorBytes = 64 << 10 // bytes of the text with which a service refuses a call

// frameOf returns a payload as a frame: <u32 length><payload>.
func frameOf(payload []byte) []byte {
	b := make([]byte, 0, 4+len(payload))
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(payload))), payload...)
}

// readCall reads <u32 length><request>. The deadline of conn bounds the wait for the length.
// reserve is passed to wire.ReadBlock.
func readCall(conn net.Conn, limit int64, reserve func(bytes int64) error) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(length[:]))
	if n > limit {
		return nil, &wire.TooLargeError{Bytes: n, Limit: limit}
	}
	return wire.ReadBlock(&wire.StallReader{Conn: conn}, n, reserve)
}

// appendReply serializes the result of a handler: <u8 ok><u32 length>, then the response or
// the text of the error.
func appendReply(body []byte, err error) []byte {
	if len(body) > wire.HardMaxMessage {
		body, err = nil, &wire.TooLargeError{Bytes: int64(len(body)), Limit: wire.HardMaxMessage}
	}
	ok := byte(1)
	if err != nil {
		text := err.Error()
		ok, body = 0, []byte(text[:min(len(text), maxErrorBytes)])
	}
	b := make([]byte, 0, 5+len(body))
	b = binary.LittleEndian.AppendUint32(append(b, ok), uint32(len(body))) // bounded above
	return append(b, body...)
}

// readReply reads a reply as appendReply serializes it. A refusal is a *Error. It
// reads no byte beyond the reply.
func readReply(r io.Reader, limit int64) ([]byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(head[1:]))
	switch {
	case head[0] > 1:
		return nil, fmt.Errorf("service reply starts with %d, neither 0 nor 1", head[0])
	case head[0] == 0:
		limit = min(limit, maxErrorBytes)
	}
	if n > limit {
		return nil, &wire.TooLargeError{Bytes: n, Limit: limit}
	}
	// not accounted, since this node chose the service
	body, err := wire.ReadBlock(r, n, func(int64) error { return nil })
	if err != nil {
		return nil, err
	}
	if head[0] == 0 {
		// rospy sometimes ends the text with a zero byte.
		return nil, &Error{Text: strings.TrimRight(string(body), "\x00")}
	}
	return body, nil
}
