package integration_test

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/tcpros"
)

// spoken is a message of a bag that a test makes: a std_msgs/String of one node.
type spoken struct {
	topic, node string
	latching    bool
	at          time.Duration // after the beginning of the bag
	text        string
}

// spokenSince is when bags that tests make begin.
var spokenSince = bagfmt.Time{Sec: 1_500_000_000}

// makeBag writes a bag in the directory of the graph.
func (g *graph) makeBag(name string, messages ...spoken) {
	g.t.Helper()
	w := newBag(g.t, filepath.Join(g.dir, name))
	conns := map[spoken]*bagfmt.Connection{}
	slices.SortStableFunc(messages, func(a, b spoken) int { return int(a.at - b.at) })
	for _, m := range messages {
		key := spoken{topic: m.topic, node: m.node, latching: m.latching}
		if conns[key] == nil {
			latching := "0"
			if m.latching {
				latching = "1"
			}
			var err error
			conns[key], err = w.AddConnection(m.topic, bagfmt.ConnectionHeader{
				{Key: "callerid", Value: m.node},
				{Key: "latching", Value: latching},
				{Key: "md5sum", Value: "992ce8a1687cec8c8bd883ec73ca41d1"},
				{Key: "message_definition", Value: "string data\n"},
				{Key: "topic", Value: m.topic},
				{Key: "type", Value: "std_msgs/String"},
			})
			if err != nil {
				g.t.Fatal(err)
			}
		}
		if err := w.WriteMessage(conns[key], spokenSince.Add(m.at), stringData(m.text)); err != nil {
			g.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		g.t.Fatal(err)
	}
}

// stringData is a std_msgs/String as serialized.
func stringData(text string) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
}

// ear is a subscriber in this process that writes down all that it gets.
type ear struct {
	g    *graph
	node *tcpros.Node

	mu  sync.Mutex
	got []caught
}

// caught is a message that an ear got.
type caught struct {
	topic    string
	caller   string
	latching bool
	data     string
	at       time.Time
}

// listen subscribes to topics.
func (g *graph) listen(name string, topics ...string) *ear {
	g.t.Helper()
	e := &ear{g: g, node: g.node(name)}
	for _, topic := range topics {
		e.subscribe(topic)
	}
	return e
}

func (e *ear) subscribe(topic string) {
	e.g.t.Helper()
	_, err := e.node.Subscribe(tcpros.SubscribeOptions{
		Topic: topic, TCPNoDelay: true,
		Open: func(info tcpros.LinkInfo) (tcpros.LinkSink, error) {
			caller, _ := info.Header.Get("callerid")
			latching, _ := info.Header.Get("latching")
			return &earLink{e, caught{topic: topic, caller: caller, latching: latching == "1"}}, nil
		},
	})
	if err != nil {
		e.g.t.Fatal(err)
	}
}

// earLink is the link to one publisher. It implements tcpros.LinkSink.
type earLink struct {
	ear  *ear
	from caught
}

func (l *earLink) Frames(run []byte, count int, received time.Time) {
	l.ear.mu.Lock()
	defer l.ear.mu.Unlock()
	for range count {
		size := 4 + int(binary.LittleEndian.Uint32(run))
		c := l.from
		c.data, c.at = string(run[4:size]), received
		l.ear.got = append(l.ear.got, c)
		run = run[size:]
	}
}

// Large is not for tests with an ear: their messages are small.
func (l *earLink) Large(int) tcpros.LargeFrame { return nil }
func (l *earLink) Closed(error)                {}

func (e *ear) caught() []caught {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.got)
}

// texts returns what std_msgs/Strings of a topic said, in order.
func (e *ear) texts(topic string) []string {
	var all []string
	for _, c := range e.caught() {
		if c.topic == topic {
			all = append(all, c.text())
		}
	}
	return all
}

// text is what a std_msgs/String says.
func (c caught) text() string {
	if len(c.data) < 4 {
		return fmt.Sprintf("%x", c.data)
	}
	return c.data[4:]
}

// hears waits for a number of messages of a topic.
func (e *ear) hears(topic string, count int) {
	e.g.t.Helper()
	e.g.eventually(fmt.Sprintf("%d messages of %s", count, topic), func() bool { return len(e.texts(topic)) >= count })
}

// setPaused calls ~pause_playback of a player and returns success and message.
func (g *graph) setPaused(n *tcpros.Node, player string, paused bool) tcpros.Outcome {
	g.t.Helper()
	answer, err := n.CallService(g.t.Context(), player+"/pause_playback", tcpros.SetBoolService, tcpros.EncodeBool(paused))
	if err != nil {
		g.t.Fatal(err)
	}
	o, err := tcpros.DecodeOutcome(answer)
	if err != nil {
		g.t.Fatal(err)
	}
	return o
}

// served waits until a player offers its service.
func (g *graph) served(n *tcpros.Node, player string) {
	g.t.Helper()
	g.eventually(player+" offers its service", func() bool {
		_, err := n.Master().LookupService(g.t.Context(), player+"/pause_playback")
		return err == nil
	})
}

// eachPlayer runs a test with stock's player and with ours, at the same time, each on a
// graph of its own. It returns when both have ended.
func eachPlayer(t *testing.T, test func(g *graph, player string)) {
	t.Helper()
	t.Run("players", func(t *testing.T) {
		for name, program := range map[string]string{"stock": stockPlay, "ours": "goplay"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(newGraph(t, "gomaster"), program)
			})
		}
	})
}

const stockPlay = "/usr/lib/rosbag/play"

// ours reports whether the player is goplay.
func ours(player string) bool { return player == "goplay" }

// stockLoses is how many of its last messages stock may take with it: it ends without
// waiting for subscribers.
const stockLoses = 2

// complete checks what a subscriber has got from a player.
func (g *graph) complete(player, topic string, want, got []string) {
	g.t.Helper()
	if n := len(want) - len(got); !ours(player) && n > 0 && n <= stockLoses {
		want = want[:len(got)]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		g.t.Errorf("%s (-want +got):\n%s", topic, diff)
	}
}

// allOfWalk checks that a player has published all of walk.
func (g *graph) allOfWalk(player string, e *ear) {
	g.t.Helper()
	least, all := len(walk()), len(walk())
	if !ours(player) {
		least -= stockLoses
	}
	if got := len(e.caught()); got < least || got > all {
		g.t.Errorf("%d messages of %d", got, all)
	}
}
