package player

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/stage"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// keepingGraph is a graph whose subscribers read nothing until they have room for no more messages: each
// topic keeps a number of the latest frames, and checks each of them when it lets it go.
type keepingGraph struct {
	*fakeGraph
	t    *testing.T
	room map[string]int // messages that a topic keeps

	kept map[string][]keptFrame // oldest first
	let  int                    // frames that were let go
}

// keptFrame is a frame, and what it was when it was published.
type keptFrame struct{ frame, was []byte }

func (g *keepingGraph) Advertise(o tcpros.AdvertiseOptions, _ []plan.PublisherID) (stage.Publication, error) {
	return keepingPublication{&fakePublication{g.fakeGraph, o.Topic, 0}, g}, nil
}

type keepingPublication struct {
	*fakePublication
	graph *keepingGraph
}

func (p keepingPublication) Held() int { return len(p.graph.kept[p.name]) }
func (p keepingPublication) Source(k plan.PublisherID) stage.Sender {
	return &keepingSender{graph: p.graph, topic: p.name, latching: k.Latching}
}

type keepingSender struct {
	graph    *keepingGraph
	topic    string
	latching bool
	last     []byte // the latched frame, for late subscribers
}

func (s *keepingSender) PublishNow(frame []byte) { s.Publish(frame) }
func (s *keepingSender) Unlatch()                { s.last = nil }

func (s *keepingSender) Publish(frame []byte) {
	g := s.graph
	if text := string(frame); !strings.HasSuffix(text, "end") {
		g.t.Errorf("%s: %.20q is published", s.topic, text)
	}
	if s.latching {
		if s.last != nil && !strings.HasSuffix(string(s.last), "end") {
			g.t.Errorf("%s: the latched message became %q", s.topic, s.last)
		}
		s.last = frame
	}
	g.kept[s.topic] = append(g.kept[s.topic], keptFrame{frame, bytes.Clone(frame)})
	if all := g.kept[s.topic]; len(all) > g.room[s.topic] {
		if f := all[0]; !bytes.Equal(f.frame, f.was) {
			g.t.Errorf("%s: %.20q became %.20q before it was sent", s.topic, f.was, f.frame)
		}
		g.kept[s.topic] = all[1:]
		g.let++
	}
}

// What a subscriber has not read yet stays as it was, and so does what is latched, while the memory of chunks
// is used again and again.
func TestQueuedMessagesStay(t *testing.T) {
	t.Parallel()
	const count = 400
	var messages []testplay.Message
	for i := range count {
		c := []testplay.Conn{testplay.ConnA, testplay.ConnB}[i%2]
		if i%200 == 3 {
			c = testplay.Conn{Topic: "/latched", CallerID: "/n2", Latching: true}
		}
		text := fmt.Sprint(i, strings.Repeat("x", 30_000), "end")
		messages = append(messages, testplay.Message{Conn: c, At: time.Duration(i) * ms, Text: text})
	}
	for _, compression := range []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4} {
		synctest.Test(t, func(t *testing.T) {
			how := bagfmt.WriterOptions{ChunkBytes: 70_000, Compression: compression}
			data := testplay.MakeBag(t, how, messages...)
			room := map[string]int{"/a": 7, "/b": 40}
			g := &keepingGraph{fakeGraph: newFakeGraph(), t: t, room: room, kept: map[string][]keptFrame{}}
			s, err := playFake(t.Context(), g, Options{Bags: testplay.OpenBags(t, data), Immediate: true})
			if err != nil || s.Messages != count || g.let != count-7-40 {
				t.Errorf("%d messages, %d let go, %v", s.Messages, g.let, err)
			}
		})
	}
}

// Subscribers get what was recorded, and what they have not read stays, wherever play is steered: over bags that
// overlap, whose chunks overlap and are unpacked again.
func TestMessagesStayWhereverPlayGoes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var bags [2][]testplay.Message
		for i := range 600 {
			c := testplay.Conn{Topic: "/" + string("abc"[rnd.IntN(3)]), CallerID: "/n"}
			c.Latching = c.Topic == "/c" && rnd.IntN(2) == 0
			at := time.Duration(max(0, i+rnd.IntN(100)-50)) * ms
			text := fmt.Sprint(i, c.Topic, strings.Repeat("x", rnd.IntN(3000)), "end")
			bags[i%2] = append(bags[i%2], testplay.Message{Conn: c, At: at, Text: text})
		}
		how := bagfmt.WriterOptions{ChunkBytes: 20_000, Compression: rosbag.CompressionLZ4}
		o := Options{Rate: 1, Loop: true, LoopShift: rnd.IntN(2) == 0}
		for i, messages := range bags {
			file := bytes.NewReader(testplay.MakeBag(t, how, messages...))
			o.Bags = append(o.Bags, testplay.Open(t, fmt.Sprint(i), file, file.Size(), bagfmt.ReaderOptions{CacheBytes: 70_000}))
		}
		orders := ordersAt{}
		for i := range 40 {
			orders[time.Duration(i+1)*50*ms+1] = []func(control.Control){
				seek(time.Duration(rnd.IntN(600)) * ms), toggle, step, back,
				func(c control.Control) { _ = c.SetTopic("/c", rnd.IntN(2) == 0) },
			}[rnd.IntN(5)]
		}
		orders[3*time.Second] = stop
		synctest.Test(t, func(t *testing.T) {
			room := map[string]int{"/a": rnd.IntN(5), "/b": 1 + rnd.IntN(50), "/c": rnd.IntN(10)}
			g := &keepingGraph{fakeGraph: newFakeGraph(), t: t, room: room, kept: map[string][]keptFrame{}}
			steerOn(t, g, g.fakeGraph, o, orders)
			if g.let == 0 {
				t.Error("nothing was played")
			}
		})
	}
}
