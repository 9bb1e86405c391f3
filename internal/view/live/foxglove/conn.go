package foxglove

import (
	"context"
	"slices"
	"time"

	"github.com/coder/websocket"
)

const (
	// copiedBytes is the largest payload that is copied after its header and sent in one frame of
	// WebSocket. Larger payloads are sent in frames of their own.
	copiedBytes = 64 << 10

	// fragmentBytes is the largest WebSocket frame of a larger payload. A pong waits for the end of a
	// frame, and the library closes a connection whose pong waits for 5 s.
	fragmentBytes = 256 << 10
)

// conn sends and receives WebSocket messages. One goroutine sends, and one receives. Sent messages may
// wait for wire.flush. After an error nothing else can be sent, because a message may be incomplete.
type conn struct {
	ws      *websocket.Conn
	wire    *wire
	forever context.Context //nolint:containedctx // for the library: the wire has deadlines, and closing it ends reading
	buffer  []byte          // of the binary message that is sent
	sentAt  time.Time       // when the last message began
}

func newConn(ws *websocket.Conn, wire *wire) *conn {
	ws.SetReadLimit(maxRequestBytes)
	return &conn{ws: ws, wire: wire, forever: context.Background()}
}

// receive returns the next message.
func (c *conn) receive() (websocket.MessageType, []byte, error) { return c.ws.Read(c.forever) }

// text sends a JSON message.
func (c *conn) text(b []byte) error { return c.write(websocket.MessageText, b) }

// binary sends a message that was appended to space, and owns its memory from now on.
func (c *conn) binary(b []byte) error {
	c.buffer = b
	return c.write(websocket.MessageBinary, b)
}

// space returns memory to append a binary message to.
func (c *conn) space() []byte { return c.buffer[:0] }

func (c *conn) write(kind websocket.MessageType, b []byte) error {
	c.sentAt = time.Now()
	return c.ws.Write(c.forever, kind, b)
}

// message sends a header that was appended to space, and a payload after it.
func (c *conn) message(header, payload []byte) error {
	if len(payload) <= copiedBytes {
		return c.binary(append(header, payload...))
	}
	c.buffer = header
	c.sentAt = time.Now()
	to, err := c.ws.Writer(c.forever, websocket.MessageBinary)
	if err != nil {
		return err
	}
	if _, err := to.Write(header); err != nil {
		return err
	}
	for piece := range slices.Chunk(payload, fragmentBytes) {
		if _, err := to.Write(piece); err != nil {
			return err
		}
	}
	return to.Close()
}

// farewell sends the reason for closing, and closes the connection, within d.
func (c *conn) farewell(l level, why string, code websocket.StatusCode, d time.Duration) {
	c.wire.finish(d)
	closing := time.AfterFunc(d, func() { c.wire.Close() }) //nolint:errcheck,gosec // nobody is left to inform
	defer closing.Stop()
	if c.text(encodeStatus(l, why, "")) == nil {
		c.ws.Close(code, why) //nolint:errcheck,gosec // nobody is left to inform
	}
}

// close closes the connection at once. Closing again has no effect.
func (c *conn) close() { c.ws.CloseNow() } //nolint:errcheck,gosec // the viewer is gone
