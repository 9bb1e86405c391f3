package peers

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// Listener is a subscriber in this process that records all messages.
type Listener struct {
	G    *harness.Graph
	Node *tcpros.Node

	subscriptions []*tcpros.Subscription

	mu  sync.Mutex
	got []Received
}

// Received is a message that a Listener has received.
type Received struct {
	Topic    string
	Caller   string
	Latching bool
	Data     string
	At       time.Time
}

// Listen subscribes to topics.
func Listen(g *harness.Graph, name string, topics ...string) *Listener {
	g.T.Helper()
	l := &Listener{G: g, Node: Node(g, name)}
	for _, topic := range topics {
		l.subscribe(topic)
	}
	return l
}

func (l *Listener) subscribe(topic string) {
	l.G.T.Helper()
	s, err := l.Node.Subscribe(tcpros.SubscribeOptions{
		Topic: topic, TCPNoDelay: true,
		Open: func(info tcpros.LinkInfo) (tcpros.LinkSink, error) {
			caller, _ := info.Header.Get("callerid")
			latching, _ := info.Header.Get("latching")
			return &listenerLink{l, Received{Topic: topic, Caller: caller, Latching: latching == "1"}}, nil
		},
	})
	if err != nil {
		l.G.T.Fatal(err)
	}
	l.subscriptions = append(l.subscriptions, s)
}

// WaitLinked waits until each topic has a linked publisher, whose later messages are received.
func (l *Listener) WaitLinked() {
	l.G.T.Helper()
	for _, s := range l.subscriptions {
		l.G.Eventually("a link to a publisher of "+s.Topic(), func() bool { return s.Publishers() > 0 })
	}
}

// listenerLink is the link to one publisher. It implements tcpros.LinkSink.
type listenerLink struct {
	listener *Listener
	from     Received
}

// Frames keeps copies.
func (l *listenerLink) Frames(run []byte, count int, received time.Time) {
	l.listener.mu.Lock()
	defer l.listener.mu.Unlock()
	for range count {
		size := 4 + int(binary.LittleEndian.Uint32(run))
		c := l.from
		c.Data, c.At = string(run[4:size]), received
		l.listener.got = append(l.listener.got, c)
		run = run[size:]
	}
}

// Closed does nothing.
func (l *listenerLink) Closed(error) {}

// Received returns the messages received so far.
func (l *Listener) Received() []Received {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.got)
}

// Texts returns the texts of the std_msgs/String messages of a topic, in order.
func (l *Listener) Texts(topic string) []string {
	var all []string
	for _, c := range l.Received() {
		if c.Topic == topic {
			all = append(all, c.Text())
		}
	}
	return all
}

// Text returns the text of a std_msgs/String.
func (c Received) Text() string {
	if len(c.Data) < 4 {
		return fmt.Sprintf("%x", c.Data)
	}
	return c.Data[4:]
}

// WaitFor waits for a number of messages of a topic.
func (l *Listener) WaitFor(topic string, count int) {
	l.G.T.Helper()
	l.G.Eventually(fmt.Sprintf("%d messages of %s", count, topic), func() bool { return len(l.Texts(topic)) >= count },
		func() string { return fmt.Sprintf("%d were received", len(l.Texts(topic))) })
}
