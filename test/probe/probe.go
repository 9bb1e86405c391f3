//go:build linux

// Package probe subscribes to topics, raw, and notes what arrives and when, to
// measure players. Nothing of tcpros but its header format is used, so that a fault
// there cannot hide itself.
//
// The messages are those of Payload: they say which they are and when they are due.
package probe

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/aler9/goroslib/pkg/apimaster"
	"github.com/aler9/goroslib/pkg/apislave"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros"
)

// What Payload puts where in a message, which is a valid std_msgs/String.
const (
	seqAt    = 4
	dueAt    = 8
	leastLen = 16 // bytes of a message
)

// Payload makes b message number seq, due at an offset from the first one.
func Payload(b []byte, seq int, due time.Duration) {
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	binary.LittleEndian.PutUint32(b[seqAt:], uint32(seq))
	binary.LittleEndian.PutUint64(b[dueAt:], uint64(due))
}

const (
	lookPeriod = 5 * time.Millisecond // between questions to the master
	callPeriod = 5 * time.Second      // a call may take
)

// Link is the connection to the publisher of one topic.
type Link struct {
	Topic string
	file  *os.File // the socket, blocking
}

// Connect waits until each topic has a publisher, and subscribes to it. It does not
// register at the master: publishers do not care. master is its host:port.
func Connect(ctx context.Context, master, callerID string, topics ...string) (_ []*Link, err error) {
	client := apimaster.NewClient(master, callerID, xmlrpc.NewHTTPClient(callPeriod))
	var links []*Link
	defer func() {
		if err != nil {
			Close(links)
		}
	}()
	for {
		state, err := client.GetSystemState()
		if err != nil {
			return nil, err
		}
		publishers := map[string]string{} // by topic
		for _, e := range state.PublishedTopics {
			if len(e.Nodes) > 0 && slices.Contains(topics, e.Name) {
				publishers[e.Name] = e.Nodes[0]
			}
		}
		if len(publishers) == len(topics) {
			links, err = connectAll(ctx, client, callerID, topics, publishers)
			return links, err
		}
		select {
		case <-time.After(lookPeriod):
		case <-ctx.Done():
			return nil, fmt.Errorf("probe: %d of %d topics are published: %w", len(publishers), len(topics), ctx.Err())
		}
	}
}

func connectAll(ctx context.Context, client *apimaster.Client, callerID string, topics []string, publishers map[string]string) (links []*Link, err error) {
	uris := map[string]string{} // by node
	for _, topic := range topics {
		node := publishers[topic]
		if uris[node] == "" {
			if uris[node], err = client.LookupNode(node); err != nil {
				return links, err
			}
		}
		l, err := connect(ctx, uris[node], callerID, topic)
		if err != nil {
			return links, fmt.Errorf("probe: %s: %w", topic, err)
		}
		links = append(links, l)
	}
	return links, nil
}

// connect asks the node at uri for a topic.
func connect(ctx context.Context, uri, callerID, topic string) (*Link, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return nil, err
	}
	offer, err := apislave.NewClient(u.Host, callerID, xmlrpc.NewHTTPClient(callPeriod)).RequestTopic(topic, [][]any{{"TCPROS"}})
	if err != nil {
		return nil, err
	}
	if len(offer) < 3 {
		return nil, fmt.Errorf("offers %v", offer)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(fmt.Sprint(offer[1]), fmt.Sprint(offer[2])))
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // the file is a socket of its own
	_, err = conn.Write(tcpros.AppendHeader(nil, tcpros.Header{
		{Key: "callerid", Value: callerID},
		{Key: "md5sum", Value: tcpros.AnyMD5},
		{Key: "tcp_nodelay", Value: "1"},
		{Key: "topic", Value: topic},
		{Key: "type", Value: "*"},
	}))
	if err != nil {
		return nil, err
	}
	reply, err := tcpros.ReadHeader(conn)
	if err != nil {
		return nil, err
	}
	if text, refused := reply.Get("error"); refused {
		return nil, errors.New(text)
	}
	l, err := NewLink(conn)
	if err != nil {
		return nil, err
	}
	l.Topic = topic
	return l, nil
}

// NewLink takes the messages of a connection; it uses a socket of its own.
func NewLink(conn net.Conn) (*Link, error) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil, errors.New("probe: not a TCP link")
	}
	file, err := tcp.File()
	if err != nil {
		return nil, err
	}
	return &Link{file: file}, nil
}

// Close ends links.
func Close(links []*Link) {
	for _, l := range links {
		l.file.Close() //nolint:errcheck // only read from
	}
}

// Count is what one link has brought.
type Count struct {
	Messages    int
	Bytes       int64 // of messages, without the lengths of their frames
	First, Last time.Time
	Cut         bool // the end came within a message, as stock's does
}

// Discard reads until the publisher ends.
func (l *Link) Discard() {
	buf := make([]byte, readBytes)
	for {
		if _, err := read(int(l.file.Fd()), buf); err != nil {
			return
		}
	}
}

const readBytes = 256 << 10 // stays in the caches

// Count reads until the publisher ends, as fast as it can. It is an error if a
// message overtakes another.
func (l *Link) Count() (c Count, err error) {
	buf := make([]byte, readBytes)
	fd := int(l.file.Fd()) // makes it block
	kept, skip, last := 0, 0, -1
	for {
		n, err := read(fd, buf[kept:])
		now := time.Now()
		switch {
		case errors.Is(err, io.EOF):
			if c.Cut = kept > 0 || skip > 0; skip > 0 {
				c.Messages-- // its beginning was counted
			}
			return c, nil
		case err != nil:
			return c, err
		}
		if c.Messages == 0 {
			c.First = now
		}
		c.Last = now
		b := buf[:kept+n]
		if skip >= len(b) {
			skip -= len(b)
			continue
		}
		b, skip = b[skip:], 0
		for len(b) >= 4+leastLen {
			size := int(binary.LittleEndian.Uint32(b))
			seq := int(binary.LittleEndian.Uint32(b[4+seqAt:]))
			if size < leastLen || seq <= last {
				return c, fmt.Errorf("probe: %s: message %d of %d bytes after %d", l.Topic, seq, size, last)
			}
			last = seq
			c.Messages++
			c.Bytes += int64(size)
			if skip = 4 + size - len(b); skip >= 0 {
				b = nil
				break
			}
			b, skip = b[4+size:], 0
		}
		kept = copy(buf, b)
	}
}
