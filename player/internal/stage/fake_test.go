package stage

import (
	"context"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/tcpros"
)

// fakePublication is a publication without a network. Functions that are nil return the zero value.
type fakePublication struct {
	topic       string
	subscribers func() int
	linked      func(node string) bool
	dropped     uint64
	full        bool
	held        int
	closed      bool
}

func (p *fakePublication) Topic() string                  { return p.topic }
func (p *fakePublication) Source(plan.PublisherID) Sender { return fakeSender{p} }
func (p *fakePublication) Dropped() uint64                { return p.dropped }
func (p *fakePublication) UDPOnly() []string              { return nil }
func (p *fakePublication) Refused() []string              { return nil }
func (p *fakePublication) Held() int                      { return p.held }
func (p *fakePublication) Room() bool                     { return !p.full }
func (p *fakePublication) Close()                         { p.closed = true }

func (p *fakePublication) Subscribers() int {
	if p.subscribers == nil {
		return 0
	}
	return p.subscribers()
}

func (p *fakePublication) Linked(node string) bool { return p.linked != nil && p.linked(node) }

func (p *fakePublication) Stats() []tcpros.SubscriberStats {
	return []tcpros.SubscriberStats{{CallerID: "/subscriber of " + p.topic}}
}

// fakeSender is the source of a publication.
type fakeSender struct{ from *fakePublication }

func (fakeSender) Publish([]byte)    {}
func (fakeSender) PublishNow([]byte) {}
func (fakeSender) Unlatch()          {}

// fakeGraph answers what the functions of this package ask.
type fakeGraph struct {
	Graph // nil: nothing else is called
	state func(context.Context) (tcpros.SystemState, error)
	gone  func(ctx context.Context, node string) bool
}

func (g fakeGraph) State(ctx context.Context) (tcpros.SystemState, error) { return g.state(ctx) }
func (g fakeGraph) Names() []string                                       { return []string{"/play", "/play_left"} }

func (g fakeGraph) Gone(ctx context.Context, node string) bool {
	return g.gone != nil && g.gone(ctx, node)
}

// after returns a function that returns 1 once d has passed since now, and 0 before.
func after(d time.Duration) func() int {
	start := time.Now()
	return func() int {
		if time.Since(start) < d {
			return 0
		}
		return 1
	}
}

// linkedAfter returns a publication that nodes subscribe to after these times, and never otherwise.
func linkedAfter(topic string, come map[string]time.Duration) *fakePublication {
	start := time.Now()
	return &fakePublication{topic: topic, linked: func(node string) bool {
		d, ok := come[node]
		return ok && time.Since(start) >= d
	}}
}

// linkedTo returns a publication that these nodes subscribe to.
func linkedTo(nodes ...string) *fakePublication {
	return &fakePublication{linked: func(node string) bool { return slices.Contains(nodes, node) }}
}
