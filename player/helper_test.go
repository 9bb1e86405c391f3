package player

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/tcpros"
)

// The type of test messages, unless a test says another.
const (
	stringType       = "std_msgs/String"
	stringMD5        = "992ce8a1687cec8c8bd883ec73ca41d1"
	stringDefinition = "string data\n"
)

// TestConn is a connection of a test bag.
type TestConn struct {
	Topic, CallerID string
	Latching        bool
	Type, MD5Sum    string // empty: those of std_msgs/String
	NoDefinition    bool
}

// TestMessage is a message of a test bag, at a time after second 1000.
type TestMessage struct {
	Conn TestConn
	At   time.Duration
	Text string
}

// testBase is time 0 of TestMessage.
var testBase = bagfmt.Time{Sec: 1000}

// MakeBag writes a bag in memory.
func MakeBag(tb testing.TB, o bagfmt.WriterOptions, messages ...TestMessage) []byte {
	tb.Helper()
	f := &memoryFile{}
	w, err := bagfmt.NewWriter(f, o)
	if err != nil {
		tb.Fatal(err)
	}
	conns := map[TestConn]*bagfmt.Connection{}
	for _, m := range messages {
		c, ok := conns[m.Conn]
		if !ok {
			if c, err = w.AddConnection(m.Conn.Topic, m.Conn.header()); err != nil {
				tb.Fatal(err)
			}
			conns[m.Conn] = c
		}
		if err := w.WriteMessage(c, testBase.Add(m.At), StringData(m.Text)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return f.data
}

func (c TestConn) header() bagfmt.ConnectionHeader {
	h := bagfmt.ConnectionHeader{
		{Key: "callerid", Value: c.CallerID},
		{Key: "latching", Value: "0"},
		{Key: "md5sum", Value: stringMD5},
		{Key: "message_definition", Value: stringDefinition},
		{Key: "topic", Value: c.Topic},
		{Key: "type", Value: stringType},
	}
	if c.Latching {
		h[1].Value = "1"
	}
	if c.MD5Sum != "" {
		h[2].Value = strings.TrimSpace(c.MD5Sum)
	}
	if c.NoDefinition {
		h[3].Value = ""
	}
	if c.Type != "" {
		h[5].Value = c.Type
	}
	return h
}

// StringData is a std_msgs/String as serialized.
func StringData(text string) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
}

// OpenTestBags opens bags in memory.
func OpenTestBags(tb testing.TB, bags ...[]byte) []*Bag {
	tb.Helper()
	var open []*Bag
	for i, data := range bags {
		b, err := NewBag(tb.Context(), fmt.Sprintf("bag%d", i), bytes.NewReader(data), int64(len(data)))
		if err != nil {
			tb.Fatal(err)
		}
		open = append(open, b)
	}
	return open
}

// memoryFile is a file in memory, for bagfmt.Writer.
type memoryFile struct{ data []byte }

func (f *memoryFile) Write(p []byte) (int, error) {
	f.data = append(f.data, p...)
	return len(p), nil
}

func (f *memoryFile) WriteAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > int64(len(f.data)) {
		return 0, io.ErrShortWrite
	}
	return copy(f.data[off:], p), nil
}

// fakeGraph is a node without a network, for bubbles of synctest.
type fakeGraph struct {
	start       time.Time
	drains      func(context.Context) error
	registers   time.Duration
	registered  []string
	refuse      string // a topic that cannot be advertised
	subscribers func() int

	mu     sync.Mutex
	offers []tcpros.AdvertiseOptions
	closed []string
	events []string
}

func newFakeGraph() *fakeGraph {
	return &fakeGraph{
		start:       time.Now(),
		drains:      func(context.Context) error { return nil },
		subscribers: func() int { return 1 },
	}
}

func (g *fakeGraph) note(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.events = append(g.events, time.Since(g.start).String()+" "+fmt.Sprintf(format, args...))
}

// Resolve knows one remapping, /from to /to.
func (g *fakeGraph) Resolve(name string) (string, error) {
	name = "/" + strings.TrimPrefix(name, "/")
	if err := tcpros.CheckName(name); err != nil {
		return "", err
	}
	if name == "/from" {
		return "/to", nil
	}
	return name, nil
}

func (g *fakeGraph) Advertise(o tcpros.AdvertiseOptions) (publication, error) {
	if o.Topic == g.refuse {
		return nil, tcpros.ErrClosed
	}
	name, err := g.Resolve(o.Topic)
	if err != nil {
		return nil, err
	}
	g.offers = append(g.offers, o)
	return &fakePublication{g, name, 0}, nil
}

// Registered takes as long as the test says.
func (g *fakeGraph) Registered(ctx context.Context, topics []string) {
	g.registered = topics
	wait(ctx, g.registers)
}

func (g *fakeGraph) Drain(ctx context.Context) error {
	g.note("drain")
	return g.drains(ctx)
}

type fakePublication struct {
	graph   *fakeGraph
	name    string
	sources int
}

func (p *fakePublication) Source(latching bool) publisher {
	p.sources++
	return &fakeSource{p, p.sources, latching}
}
func (p *fakePublication) Topic() string    { return p.name }
func (p *fakePublication) Subscribers() int { return p.graph.subscribers() }
func (p *fakePublication) Dropped() uint64  { return 0 }
func (p *fakePublication) Close()           { p.graph.closed = append(p.graph.closed, p.name) }

type fakeSource struct {
	pub      *fakePublication
	number   int
	latching bool
}

func (s *fakeSource) Publish(frame []byte) {
	kind := ""
	if s.latching {
		kind = " latched"
	}
	text := fmt.Sprintf("%x", frame[4:])
	if s.pub.name != "/clock" && len(frame) > 8 {
		text = string(frame[8:])
	}
	s.pub.graph.note("%s#%d%s %s", s.pub.name, s.number, kind, text)
}

// playFake plays with a fake graph, in a bubble.
func playFake(ctx context.Context, g *fakeGraph, o Options) (Summary, error) {
	if o.Rate == 0 {
		o.Rate = 1
	}
	if o.Hz == 0 {
		o.Hz = 100
	}
	o.Log = zap.NewNop()
	s := newTimerSleeper()
	defer s.Close()
	return play(ctx, &o, g, s)
}
