package harness

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/tcpros"
)

// Ear is a subscriber in this process that records all messages.
type Ear struct {
	G    *Graph
	Node *tcpros.Node

	subscriptions []*tcpros.Subscription

	mu  sync.Mutex
	got []Caught
}

// Caught is a message that an Ear has received.
type Caught struct {
	Topic    string
	Caller   string
	Latching bool
	Data     string
	At       time.Time
}

// Listen subscribes to topics.
func (g *Graph) Listen(name string, topics ...string) *Ear {
	g.T.Helper()
	e := &Ear{G: g, Node: g.Node(name)}
	for _, topic := range topics {
		e.subscribe(topic)
	}
	return e
}

func (e *Ear) subscribe(topic string) {
	e.G.T.Helper()
	s, err := e.Node.Subscribe(tcpros.SubscribeOptions{
		Topic: topic, TCPNoDelay: true,
		Open: func(info tcpros.LinkInfo) (tcpros.LinkSink, error) {
			caller, _ := info.Header.Get("callerid")
			latching, _ := info.Header.Get("latching")
			return &earLink{e, Caught{Topic: topic, Caller: caller, Latching: latching == "1"}}, nil
		},
	})
	if err != nil {
		e.G.T.Fatal(err)
	}
	e.subscriptions = append(e.subscriptions, s)
}

// Linked waits until each topic has a linked publisher, whose later messages are received.
func (e *Ear) Linked() {
	e.G.T.Helper()
	for _, s := range e.subscriptions {
		e.G.Eventually("a link to a publisher of "+s.Topic(), func() bool { return s.Publishers() > 0 })
	}
}

// earLink is the link to one publisher. It implements tcpros.LinkSink.
type earLink struct {
	ear  *Ear
	from Caught
}

// Frames keeps copies.
func (l *earLink) Frames(run []byte, count int, received time.Time) {
	l.ear.mu.Lock()
	defer l.ear.mu.Unlock()
	for range count {
		size := 4 + int(binary.LittleEndian.Uint32(run))
		c := l.from
		c.Data, c.At = string(run[4:size]), received
		l.ear.got = append(l.ear.got, c)
		run = run[size:]
	}
}

// Large is not supported: messages of tests with an Ear are small.
func (l *earLink) Large(int) tcpros.LargeFrame { return nil }

// Closed does nothing.
func (l *earLink) Closed(error) {}

// Caught returns the messages received so far.
func (e *Ear) Caught() []Caught {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.got)
}

// Texts returns the texts of the std_msgs/String messages of a topic, in order.
func (e *Ear) Texts(topic string) []string {
	var all []string
	for _, c := range e.Caught() {
		if c.Topic == topic {
			all = append(all, c.Text())
		}
	}
	return all
}

// Text returns the text of a std_msgs/String.
func (c Caught) Text() string {
	if len(c.Data) < 4 {
		return fmt.Sprintf("%x", c.Data)
	}
	return c.Data[4:]
}

// Hears waits for a number of messages of a topic.
func (e *Ear) Hears(topic string, count int) {
	e.G.T.Helper()
	e.G.Eventually(fmt.Sprintf("%d messages of %s", count, topic), func() bool { return len(e.Texts(topic)) >= count },
		func() string { return fmt.Sprintf("%d were heard", len(e.Texts(topic))) })
}
