package viewer

import (
	"context"
	"encoding/json"
	"net"
	"sync/atomic"
	"time"
)

// Count views all topics of a program, once that is there, until it ends or ctx does, and adds up the
// bytes of the messages.
func Count(ctx context.Context, address string, o Options, bytes *atomic.Int64) {
	var c *Conn
	for c == nil {
		var err error
		if c, err = Dial(ctx, address, o); err == nil {
			break
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
	stop := context.AfterFunc(ctx, func() { c.Close() }) //nolint:errcheck // the reader notices
	defer stop()
	buf := make([]byte, 0, 1<<20)
	for {
		op, payload, err := c.Read(buf)
		if err != nil {
			return
		}
		switch {
		case op == OpText:
			if subscribeAll(c, payload) != nil {
				return
			}
		case len(payload) > 13 && payload[0] == 1:
			bytes.Add(int64(len(payload) - 13))
		}
	}
}

// subscribeAll subscribes to the channels that a message advertises.
func subscribeAll(c *Conn, message []byte) error {
	var m struct {
		Channels []Channel `json:"channels"`
	}
	if err := json.Unmarshal(message, &m); err != nil || len(m.Channels) == 0 {
		return err
	}
	var all []map[string]uint32
	for _, channel := range m.Channels {
		all = append(all, map[string]uint32{"id": channel.ID, "channelId": channel.ID})
	}
	return c.WriteJSON(map[string]any{"op": "subscribe", "subscriptions": all})
}

// Slowly makes a connection read only so many bytes a second, once it has read as many as two seconds
// of that: the handshake and what is offered.
func Slowly(rate int) func(net.Conn) net.Conn {
	return func(c net.Conn) net.Conn { return &slowConn{Conn: c, rate: rate} }
}

type slowConn struct {
	net.Conn
	rate, read int
}

// Read reads a tenth of what is due in a second.
func (c *slowConn) Read(b []byte) (int, error) {
	if left := 2*c.rate - c.read; left > 0 {
		n, err := c.Conn.Read(b[:min(len(b), left)])
		c.read += n
		return n, err
	}
	<-time.After(time.Second / 10)
	return c.Conn.Read(b[:min(len(b), max(1, c.rate/10))])
}
