// Package load publishes without loss, to measure recorders: raw TCPROS frames with
// blocking writes, so that a subscriber that reads slowly slows the publisher down
// instead of losing messages. Nothing of tcpros but its header format is used, so
// that a fault there cannot hide itself.
package load

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/aler9/goroslib/pkg/apimaster"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Header is that of a bag's connection with such messages.
func Header(topic string) rosbag.Header {
	return rosbag.Header{
		{Key: "callerid", Value: "/load"},
		{Key: "md5sum", Value: md5sum},
		{Key: "message_definition", Value: definition},
		{Key: "topic", Value: topic},
		{Key: "type", Value: TypeName},
	}
}

// TypeName is what all messages are: bytes under a type that any tool takes.
const TypeName = "std_msgs/String"

// rowBytes is a row of what the messages hold, which resembles an image: half of each
// row is as in the one above, the rest is noise of four bits.
const rowBytes = 640

const (
	md5sum     = "992ce8a1687cec8c8bd883ec73ca41d1"
	definition = "string data\n"
)

// Kind is a type of messages. The zero Kind is TypeName.
type Kind struct {
	Type, MD5Sum, Definition string
	Payload                  []byte // of each message; its first four bytes are replaced by the number of the message
}

// Number returns which message of a topic with that type a payload is.
func Number(typ string, payload []byte) int {
	at := 0
	if typ == TypeName {
		at = 4 // after the length of the string
	}
	return int(binary.LittleEndian.Uint32(payload[at:]))
}

// Publisher offers one topic on the loopback interface.
type Publisher struct {
	topic, node string
	kind        Kind
	api         *xmlrpc.Server
	master      *apimaster.Client
	apiURI      string
	data        net.Listener
	links       chan net.Conn // handshake done
	done        chan struct{}
	wg          sync.WaitGroup
}

// Advertise registers the topic at the master at address (host:port).
func Advertise(ctx context.Context, address, node, topic string) (*Publisher, error) {
	return AdvertiseKind(ctx, address, node, topic, Kind{})
}

// AdvertiseKind is Advertise for messages of a kind.
func AdvertiseKind(ctx context.Context, address, node, topic string, kind Kind) (*Publisher, error) {
	if kind.Type == "" {
		kind.Type, kind.MD5Sum, kind.Definition = TypeName, md5sum, definition
	}
	p := &Publisher{topic: topic, node: node, kind: kind, links: make(chan net.Conn), done: make(chan struct{})}
	var lc net.ListenConfig
	var err error
	if p.data, err = lc.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	api, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, p.data.Close())
	}
	p.api = xmlrpc.NewServer(p.call, xmlrpc.ServerOptions{})
	p.wg.Go(func() { p.api.Serve(api) }) //nolint:errcheck // ends with Close
	p.wg.Go(p.accept)
	p.apiURI = fmt.Sprintf("http://%s/", api.Addr())
	p.master = apimaster.NewClient(address, node, xmlrpc.NewHTTPClient(5*time.Second))
	if _, err := p.master.RegisterPublisher(topic, kind.Type, p.apiURI); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// call is as much of the slave API as a subscriber needs. Like a node of ROS it refuses other
// topics: this port may have been that of another publisher, which a subscriber tries again.
func (p *Publisher) call(_ context.Context, _, method string, args []any) (any, error) {
	switch method {
	case "requestTopic":
		if len(args) < 2 || args[1] != p.topic {
			return []any{-1, "not published here", 0}, nil
		}
		addr, ok := p.data.Addr().(*net.TCPAddr)
		if !ok {
			return nil, errors.New("load: not a TCP listener")
		}
		return []any{1, "ready", []any{"TCPROS", "127.0.0.1", addr.Port}}, nil
	case "getPid":
		return []any{1, "", 1}, nil
	}
	return []any{1, "", 0}, nil
}

func (p *Publisher) accept() {
	for {
		conn, err := p.data.Accept()
		if err != nil {
			return
		}
		if err := p.greet(conn); err != nil {
			conn.Close() //nolint:errcheck // it is of no use
			continue
		}
		select {
		case p.links <- conn:
		case <-p.done:
			conn.Close() //nolint:errcheck // it is of no use
			return
		}
	}
}

func (p *Publisher) greet(conn net.Conn) error {
	if err := conn.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return err
	}
	if _, err := tcpros.ReadHeader(conn); err != nil {
		return err
	}
	_, err := conn.Write(tcpros.AppendHeader(nil, tcpros.Header{
		{Key: "callerid", Value: p.node},
		{Key: "latching", Value: "0"},
		{Key: "md5sum", Value: p.kind.MD5Sum},
		{Key: "message_definition", Value: p.kind.Definition},
		{Key: "topic", Value: p.topic},
		{Key: "type", Value: p.kind.Type},
	}))
	return errors.Join(err, conn.SetReadDeadline(time.Time{}))
}

// Address is where subscribers connect to.
func (p *Publisher) Address() string { return p.data.Addr().String() }

// Serve waits for one subscriber, has send write messages of size bytes to it, and
// returns when the subscriber has read to the end. Message n holds n in bytes 4 to 7
// and is a valid std_msgs/String; of a Kind with a Payload, size is that of the Payload.
func (p *Publisher) Serve(ctx context.Context, size int, send func(*Link) error) error {
	var conn net.Conn
	select {
	case conn = <-p.links:
	case <-ctx.Done():
		return fmt.Errorf("load: no subscriber: %w", ctx.Err())
	}
	defer conn.Close() //nolint:errcheck // all has been written
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return errors.New("load: not a TCP link")
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) }) //nolint:errcheck // a closed link is as good
	defer stop()
	if err := send(&Link{tcp, size, p.kind.Payload}); err != nil {
		return err
	}
	return readToEnd(tcp)
}

// Pace serves one subscriber with Link.Pace. sent is told how many are out.
func (p *Publisher) Pace(ctx context.Context, size, count int, period time.Duration, sent func(n int)) error {
	return p.Serve(ctx, size, func(l *Link) error {
		return l.Pace(ctx, count, period, func(n int, _ time.Time) error {
			sent(n)
			return nil
		})
	})
}

// Link is the connection of one subscriber.
type Link struct {
	conn    *net.TCPConn
	size    int
	payload []byte // of each message; nil for a std_msgs/String
}

// Flood sends count messages as fast as the subscriber takes them, and fewer once
// stop is closed. It returns how many.
func (l *Link) Flood(count int, stop <-chan struct{}) (sent int, err error) {
	batch := newFrames(max(1, 64<<10/(4+l.size)), l.size, l.payload) // small messages go out many at a time
	for sent < count {
		select {
		case <-stop:
			return sent, nil
		default:
		}
		n, err := batch.send(l.conn, sent, count-sent)
		if err != nil {
			return sent, err
		}
		sent += n
	}
	return sent, nil
}

// Pace sends count messages, one each period by a schedule that a slow subscriber does
// not move. sent is told of each: how many are out by now, and when it was due, or
// when its sending began if this side woke up late. An error of sent ends it.
func (l *Link) Pace(ctx context.Context, count int, period time.Duration, sent func(n int, due time.Time) error) error {
	one := newFrames(1, l.size, l.payload)
	timer := time.NewTimer(0)
	defer timer.Stop()
	next := time.Now()
	for n := range count {
		due := next
		if wait := time.Until(next); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				return ctx.Err()
			}
			due = time.Now()
		}
		if _, err := one.send(l.conn, n, 1); err != nil {
			return err
		}
		if err := sent(n+1, due); err != nil {
			return err
		}
		next = next.Add(period)
	}
	return nil
}

// readToEnd half-closes the link and waits until the other side, which sees the end
// only after all data, closes it too.
func readToEnd(conn *net.TCPConn) error {
	if err := conn.CloseWrite(); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, conn)
	if errors.Is(err, syscall.ECONNRESET) {
		return nil
	}
	return err
}

// frames is a run of equal frames but for their numbers.
type frames struct {
	buf         []byte
	count, size int
	number      int // offset of the number in a frame
}

// Fill makes b what all messages hold.
func Fill(b []byte) { FillFrom(b, 1) }

// FillFrom is Fill with the noise of another seed.
func FillFrom(b []byte, seed uint64) {
	noise := rand.New(rand.NewPCG(seed, 2))
	for i := range b {
		switch at := i % rowBytes; {
		case i >= rowBytes && at < rowBytes/2:
			b[i] = b[i-rowBytes]
		default:
			b[i] = byte(noise.IntN(16))
		}
	}
}

func newFrames(count, size int, payload []byte) *frames {
	f := &frames{make([]byte, count*(4+size)), count, size, 8}
	if payload != nil {
		f.number = 4
		for i := range count {
			frame := f.buf[i*(4+size):]
			binary.LittleEndian.PutUint32(frame, uint32(size))
			copy(frame[4:4+size], payload)
		}
		return f
	}
	Fill(f.buf)
	for i := range count {
		frame := f.buf[i*(4+size):]
		binary.LittleEndian.PutUint32(frame, uint32(size))
		binary.LittleEndian.PutUint32(frame[4:], uint32(size-4))
	}
	return f
}

// send writes up to most frames, numbered from n, and returns how many.
func (f *frames) send(conn net.Conn, n, most int) (int, error) {
	k := min(f.count, most)
	for i := range k {
		binary.LittleEndian.PutUint32(f.buf[i*(4+f.size)+f.number:], uint32(n+i))
	}
	if _, err := conn.Write(f.buf[:k*(4+f.size)]); err != nil {
		return 0, fmt.Errorf("load: message %d: %w", n, err)
	}
	return k, nil
}

// Close takes the topic back.
func (p *Publisher) Close() error {
	close(p.done)
	err := p.master.UnregisterPublisher(p.topic, p.apiURI)
	err = errors.Join(err, p.data.Close(), p.api.Close())
	p.wg.Wait()
	return err
}
