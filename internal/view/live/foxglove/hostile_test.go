package foxglove

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/gorosbag/gorosbag/internal/view/live"
)

// rawViewer is a viewer that may send any bytes.
type rawViewer struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
}

func connectRaw(t testing.TB, url string) *rawViewer {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "ws://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(deadline)); err != nil {
		t.Fatal(err)
	}
	v := &rawViewer{t, conn, bufio.NewReader(conn)}
	v.write([]byte("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: foxglove.sdk.v1\r\n\r\n"))
	resp, err := http.ReadResponse(v.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("status %d", resp.StatusCode)
	}
	return v
}

func (v *rawViewer) write(b []byte) {
	v.t.Helper()
	if _, err := v.conn.Write(b); err != nil {
		v.t.Logf("writing: %v", err)
	}
}

// frame returns a masked frame. A mask of zeros leaves the payload as it is.
func frame(first byte, length uint64, payload []byte) []byte {
	b := []byte{first}
	switch {
	case length < 126:
		b = append(b, 0x80|byte(length))
	case length <= 0xffff:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(length))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), length)
	}
	return append(append(b, 0, 0, 0, 0), payload...)
}

// closed waits until the server has closed the connection.
func (v *rawViewer) closed() {
	v.t.Helper()
	if _, err := io.Copy(io.Discard, v.in); err != nil && strings.Contains(err.Error(), "timeout") {
		v.t.Errorf("the connection is not closed: %v", err)
	}
}

// TestHostileFrames checks that frames that are against the rules, or too large, end their connection
// only.
func TestHostileFrames(t *testing.T) {
	t.Parallel()
	source := newSource(nil, live.Limits{})
	s, url := serve(t, source)
	f := open(source.Store, "/a")
	witness := connect(t, url)
	witness.subscribe(f)
	for name, b := range map[string][]byte{
		"not masked":           {0x81, 2, '{', '}'},
		"reserved bits":        frame(0xf1, 2, []byte("{}")),
		"unknown opcode":       frame(0x83, 0, nil),
		"continues nothing":    frame(0x80, 0, nil),
		"huge":                 frame(0x81, 1<<40, make([]byte, maxRequestBytes+1)),
		"length is negative":   frame(0x81, 1<<63, nil),
		"too large":            frame(0x82, maxRequestBytes+1, make([]byte, maxRequestBytes+1)),
		"too many parts":       append(frame(0x01, 0, nil), bytes.Repeat(frame(0x00, 1000, make([]byte, 1000)), maxRequestBytes/1000+2)...),
		"another in a message": append(frame(0x01, 1, []byte("{")), frame(0x81, 1, []byte("}"))...),
		"ping in parts":        frame(0x09, 0, nil),
		"large ping":           frame(0x89, 200, make([]byte, 200)),
		"no frame":             []byte("GET / HTTP/1.1\r\n\r\n"),
		"close":                frame(0x88, 2, []byte{3, 232}),
		"close with half":      frame(0x88, 1, []byte{3}),
		"close with no code":   frame(0x88, 2, []byte{0, 1}),
	} {
		t.Run(name, func(t *testing.T) {
			v := connectRaw(t, url)
			v.write(b)
			v.closed()
		})
	}
	f.Put(at(1), []byte("x"), 0)
	witness.expectBinary(opMessageData)
	wait(t, func() bool { return len(s.Viewers()) == 1 })
}

// TestPings checks that pings are answered, also within a message.
func TestPings(t *testing.T) {
	t.Parallel()
	source := newSource(nil, live.Limits{})
	_, url := serve(t, source)
	v := connectRaw(t, url)
	v.write(frame(0x89, 4, []byte("one.")))
	v.write(append(append(frame(0x01, 6, []byte(`{"op":`)), frame(0x89, 4, []byte("two."))...), frame(0x80, 6, []byte(`"fly"}`))...))
	var got []byte
	for !bytes.Contains(got, []byte(unknownOp)) {
		b := make([]byte, 1000)
		n, err := v.in.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, b[:n]...)
	}
	if !bytes.Contains(got, []byte("\x8a\x04one.")) || !bytes.Contains(got, []byte("\x8a\x04two.")) {
		t.Errorf("the pings are not answered: %q", got)
	}
}

// readFrame reads a frame of the server.
func (v *rawViewer) readFrame() (first byte, payload []byte) {
	v.t.Helper()
	read := func(n int) []byte {
		b := make([]byte, n)
		if _, err := io.ReadFull(v.in, b); err != nil {
			v.t.Fatal(err)
		}
		return b
	}
	head := read(2)
	length := int(head[1])
	switch length {
	case 126:
		length = int(binary.BigEndian.Uint16(read(2)))
	case 127:
		length = int(binary.BigEndian.Uint64(read(8)))
	}
	return head[0], read(length)
}

// TestPingsWithinMessage checks that pings are answered while a large message is sent.
func TestPingsWithinMessage(t *testing.T) {
	t.Parallel()
	source := newSource(nil, live.Limits{})
	_, url := serve(t, source)
	f := open(source.Store, "/a")
	v := connectRaw(t, url)
	subscribe := fmt.Appendf(nil, `{"op":"subscribe","subscriptions":[{"id":1,"channelId":%d}]}`, f.Channel().ID)
	v.write(frame(0x81, uint64(len(subscribe)), subscribe))
	wait(t, f.Wanted)
	const size = 30 << 20
	f.Put(at(1), make([]byte, size), 0)
	for received := 0; ; {
		switch first, payload := v.readFrame(); first {
		case 0x8a: // a pong
			if received < size {
				return
			}
			t.Fatal("no ping is answered before the end of the message")
		case 0x02: // the header of the message
			v.write(frame(0x89, 4, []byte("ping")))
		case 0x00: // a part of the payload
			received += len(payload)
			v.write(frame(0x89, 4, []byte("ping")))
		case 0x80:
			t.Fatal("no ping is answered within the message")
		}
	}
}

// TestFlood checks that a viewer that sends as much as it can, and reads nothing, is slowed down.
func TestFlood(t *testing.T) {
	t.Parallel()
	source := newSource(nil, live.Limits{})
	s, url := serve(t, source)
	f := open(source.Store, "/a")
	witness := connect(t, url)
	witness.subscribe(f)
	v := connectRaw(t, url)
	if err := v.conn.SetDeadline(time.Now().Add(500 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	flood, sent := bytes.Repeat(frame(0x81, 12, []byte(`{"op":"fly"}`)), 1000), 0
	for {
		n, err := v.conn.Write(flood)
		sent += n
		if err != nil {
			break
		}
	}
	t.Logf("%d bytes were taken", sent)
	f.Put(at(1), []byte("x"), 0)
	witness.expectBinary(opMessageData)
	v.conn.Close()
	wait(t, func() bool { return len(s.Viewers()) == 1 })
}

// TestStalled checks that a viewer that reads nothing is disconnected, and that a viewer that sends
// nothing gets a ping first.
func TestStalled(t *testing.T) {
	t.Parallel()
	source := newSource(nil, live.Limits{})
	f := open(source.Store, "/a")
	s, url := serve(t, source, func(c *timing) { c.stalled, c.ping = 1500*time.Millisecond, 100*time.Millisecond })
	stuck := connectRaw(t, url)
	request := []byte(`{"op":"subscribe","subscriptions":[{"id":1,"channelId":1}]}`)
	stuck.write(frame(0x81, uint64(len(request)), request))
	wait(t, f.Wanted)
	for range 30 {
		f.Put(at(1), make([]byte, 1<<20), 0)
	}
	wait(t, func() bool { return len(s.Viewers()) == 0 })

	mute := connectRaw(t, url) // it reads, and does not answer pings
	mute.closed()
	wait(t, func() bool { return len(s.Viewers()) == 0 })

	silent := connect(t, url)
	var reading sync.WaitGroup
	reading.Go(func() { // owner: the test; ends when the connection is closed
		for {
			if _, _, err := silent.ws.Read(context.WithoutCancel(t.Context())); err != nil {
				return
			}
		}
	})
	<-time.After(4 * time.Second)
	if n := len(s.Viewers()); n != 1 {
		t.Errorf("there are %d viewers: one that answers pings was disconnected", n)
	}
	silent.ws.CloseNow()
	reading.Wait()
}

// TestSlowViewer checks that a viewer that reads slowly gets small topics and the newest images, is
// warned once, and costs another viewer nothing.
func TestSlowViewer(t *testing.T) {
	t.Parallel()
	source := newSource(nil, live.Limits{Viewer: 8 << 20})
	image, small := open(source.Store, "/image"), open(source.Store, "/small")
	s, url := serve(t, source, func(c *timing) { c.skipping = 1500 * time.Millisecond })
	slow, quick := connect(t, url), connect(t, url)
	slow.subscribe(image, small)
	quick.subscribe(small)
	quick.text(`{"op":"subscribe","subscriptions":[{"id":101,"channelId":1}]}`)
	wait(t, func() bool { return s.Viewers()[1].Channels == 2 })
	const images = 100
	var reading sync.WaitGroup
	reading.Go(func() { // owner: the test; ends with the last image
		for n := 0; n < images; {
			if b := quick.expectBinary(opMessageData); len(b) > 100000 {
				n++
			}
		}
	})
	for i := range uint32(images) {
		before := s.Viewers()[1].Messages
		image.Put(at(i), make([]byte, 1<<20), 0)
		small.Put(at(i), []byte("small"), 0)
		wait(t, func() bool { return s.Viewers()[1].Messages >= before+2 })
	}
	reading.Wait()
	if got := s.Viewers()[1]; got.Skipped != 0 {
		t.Errorf("the quick viewer: %+v", got)
	}
	if got := s.Viewers()[0]; got.Skipped < images/2 || got.QueuedBytes > got.LimitBytes {
		t.Errorf("the slow viewer: %+v", got)
	}
	warnings, smalls, newest := 0, 0, []byte(nil)
	for removed := false; !removed; {
		op, message, b := slow.receive()
		switch {
		case op == "status" && message["message"] == skippingText && message["level"] == 1.0:
			warnings++
		case op == "removeStatus":
			removed = true
		case op == "" && len(b) < 100:
			smalls++
		case op == "":
			newest = b
		}
	}
	if warnings != 1 || smalls != images || !bytes.Equal(newest[:13], appendMessageHeader(nil, 101, at(images-1))) {
		t.Errorf("%d warnings, %d of %d small messages, the last image is %x", warnings, smalls, images, newest[:13])
	}
}

// TestStorm connects and disconnects many viewers at once.
func TestStorm(t *testing.T) {
	t.Parallel()
	source := newSource(nil, live.Limits{})
	f := open(source.Store, "/a")
	s, url := serve(t, source)
	var viewers sync.WaitGroup
	for i := range 40 {
		viewers.Go(func() { // owner: the test; ends by itself
			for range 5 {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), deadline)
				ws, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{Subprotocols: subprotocols})
				if err != nil {
					t.Error(err)
					cancel()
					return
				}
				if resp.Body != nil {
					resp.Body.Close()
				}
				ws.Write(ctx, websocket.MessageText, []byte(`{"op":"subscribe","subscriptions":[{"id":1,"channelId":1}]}`))
				if i%2 == 0 {
					ws.Read(ctx)
				}
				ws.CloseNow()
				cancel()
			}
		})
	}
	for i := range uint32(1000) {
		f.Put(at(i), make([]byte, 10000), 0)
	}
	viewers.Wait()
	wait(t, func() bool { return len(s.Viewers()) == 0 && !f.Wanted() })
}
