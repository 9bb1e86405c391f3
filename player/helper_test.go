package player

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/follow"
	"github.com/gorosbag/gorosbag/player/internal/pacing"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/source"
	"github.com/gorosbag/gorosbag/player/internal/stage"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/player/internal/timeline"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

const ms = time.Millisecond

// fakeGraph is a node without a network, for bubbles of synctest.
type fakeGraph struct {
	asked       map[string][]string // by AskSubscribers
	wants       map[string][]tcpros.Header
	start       time.Time
	drains      func(context.Context) error
	registers   time.Duration
	udpOnly     map[string][]string // by topic
	refused     map[string][]string // by topic
	registered  []string
	refuse      string // a topic that cannot be advertised
	subscribers func() int
	linked      func(topic, node string) bool
	room        func(topic string) bool // nil: there is always room
	stats       func() []tcpros.SubscriberStats
	frames      func(topic string, frame []byte) // gets what is published, instead of events
	clockZero   rosbag.Time                      // if it is set, clock messages are written relative to it
	state       func(context.Context) (tcpros.SystemState, error)

	mu      sync.Mutex
	callers []string
	offers  []tcpros.AdvertiseOptions
	closed  []string
	events  []string
	held    map[string]string // what latching sources hold
}

func newFakeGraph() *fakeGraph {
	return &fakeGraph{
		start:       time.Now(),
		held:        map[string]string{},
		drains:      func(context.Context) error { return nil },
		subscribers: func() int { return 1 },
		state:       func(context.Context) (tcpros.SystemState, error) { return tcpros.SystemState{}, nil },
	}
}

func (g *fakeGraph) note(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.events = append(g.events, time.Since(g.start).String()+" "+fmt.Sprintf(format, args...))
}

// Resolve knows one remapping, /from to /to.
func (g *fakeGraph) Resolve(name string) (string, error) { return testplay.Resolve(name) }

func (g *fakeGraph) Publishers(_ context.Context, callers []string) error {
	g.callers = callers
	return nil
}

func (g *fakeGraph) Advertise(o tcpros.AdvertiseOptions, _ []plan.PublisherID) (stage.Publication, error) {
	if o.Topic == g.refuse {
		return nil, tcpros.ErrClosed
	}
	name, err := g.Resolve(o.Topic)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	g.offers = append(g.offers, o)
	g.mu.Unlock()
	return &fakePublication{g, name, 0}, nil
}

// Registered takes as long as the test says.
func (g *fakeGraph) Registered(ctx context.Context, topics []string) (answered bool) {
	g.registered = topics
	pacing.Wait(ctx, g.registers)
	return ctx.Err() == nil
}

func (g *fakeGraph) State(ctx context.Context) (tcpros.SystemState, error) { return g.state(ctx) }

func (g *fakeGraph) AskSubscribers(_ context.Context, topics map[string][]string) (map[string][]tcpros.Header, error) {
	g.asked = topics
	return g.wants, nil
}

func (g *fakeGraph) Gone(context.Context, string) bool { return false }

func (g *fakeGraph) Names() []string { return []string{"/play"} }

func (g *fakeGraph) Drain(ctx context.Context) error {
	g.note("drain")
	return g.drains(ctx)
}

type fakePublication struct {
	graph   *fakeGraph
	name    string
	sources int
}

func (p *fakePublication) Source(k plan.PublisherID) stage.Sender {
	p.sources++
	return &fakeSource{p, p.sources, k.Latching}
}
func (p *fakePublication) Topic() string     { return p.name }
func (p *fakePublication) Subscribers() int  { return p.graph.subscribers() }
func (p *fakePublication) Dropped() uint64   { return 0 }
func (p *fakePublication) UDPOnly() []string { return p.graph.udpOnly[p.name] }
func (p *fakePublication) Refused() []string { return p.graph.refused[p.name] }
func (p *fakePublication) Close()            { p.graph.closed = append(p.graph.closed, p.name) }

func (p *fakePublication) Linked(node string) bool {
	return p.graph.linked == nil || p.graph.linked(p.name, node)
}

func (p *fakePublication) Held() int  { return 0 }
func (p *fakePublication) Room() bool { return p.graph.room == nil || p.graph.room(p.name) }

func (p *fakePublication) Stats() []tcpros.SubscriberStats {
	if p.graph.stats == nil {
		return nil
	}
	return p.graph.stats()
}

type fakeSource struct {
	pub      *fakePublication
	number   int
	latching bool
}

func (s *fakeSource) Publish(frame []byte) {
	kind := ""
	if s.latching {
		kind = " latched"
		s.pub.graph.mu.Lock()
		s.pub.graph.held[s.name()] = string(frame[min(8, len(frame)):])
		s.pub.graph.mu.Unlock()
	}
	if zero := s.pub.graph.clockZero; s.pub.name == "/clock" && !zero.IsZero() {
		t := rosbag.Time{Sec: binary.LittleEndian.Uint32(frame[4:]), Nsec: binary.LittleEndian.Uint32(frame[8:])}
		s.pub.graph.note("clock %v", t.Sub(zero))
		return
	}
	if s.pub.graph.frames != nil {
		s.pub.graph.mu.Lock()
		defer s.pub.graph.mu.Unlock()
		s.pub.graph.frames(s.pub.name, frame)
		return
	}
	text := fmt.Sprintf("%x", frame[4:])
	if s.pub.name != "/clock" && len(frame) > 8 {
		text = string(frame[min(8, len(frame)):])
	}
	s.pub.graph.note("%s#%d%s %s", s.pub.name, s.number, kind, text)
}

func (s *fakeSource) name() string { return fmt.Sprintf("%s#%d", s.pub.name, s.number) }

// PublishNow implements stage.Sender.
func (s *fakeSource) PublishNow(frame []byte) { s.Publish(frame) }

// Unlatch implements stage.Sender.
func (s *fakeSource) Unlatch() {
	s.pub.graph.mu.Lock()
	delete(s.pub.graph.held, s.name())
	s.pub.graph.mu.Unlock()
	s.pub.graph.note("%s#%d unlatched", s.pub.name, s.number)
}

// holding returns the text that each latching source holds.
func (g *fakeGraph) holding() map[string]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.held)
}

// offered returns what was advertised.
func (g *fakeGraph) offered() []tcpros.AdvertiseOptions {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.offers)
}

// testPlan plans what options select.
func testPlan(ctx context.Context, o *Options) (*plan.Plan, error) {
	return plan.New(ctx, planOf(o, true), o.Bags, newFakeGraph().Resolve)
}

// testOrder is the order of receipt, with damage in the log of the plan only.
func testOrder(p *plan.Plan) *timeline.Order {
	return timeline.New(timeline.Options{Workers: 1, Damaged: source.NewDamageLog(p.Log).Report}, p)
}

// playFake plays with a fake graph, in a bubble.
func playFake(ctx context.Context, g stage.Graph, o Options) (control.Summary, error) {
	if o.Rate == 0 {
		o.Rate = 1
	}
	if o.Hz == 0 {
		o.Hz = 100
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	base := follow.Machine(pacing.NewTimerSleeper(), o.Stamps == StampsNow)
	defer base.End()
	return play(ctx, &o, g, base)
}
