package player

import (
	"context"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/tcpros"
)

// publisher takes the frames of one original publisher. *tcpros.Source is one.
type publisher interface {
	Publish(frame []byte)
	PublishNow(frame []byte) // the same for a frame that is due now and alone: it gets there sooner
	Unlatch()                // a new subscriber gets nothing of this publisher, until it publishes again
}

// publication is a topic as the node offers it.
type publication interface {
	Topic() string
	Source(sourceKey) publisher
	Subscribers() int
	Dropped() uint64
	Stats() []tcpros.SubscriberStats
	Room() bool // false while a subscriber is full, with Options.Overflow
	Close()
}

// graph is the part of a node that play needs.
type graph interface {
	// Registered waits until the master knows the topics, or ctx ends.
	Registered(ctx context.Context, topics []string)
	Resolve(name string) (string, error)
	// State asks the master who is in the graph, Names returns which of them play is.
	State(ctx context.Context) (tcpros.SystemState, error)
	Names() []string
	// Publishers prepares for original publishers with these caller IDs.
	Publishers(ctx context.Context, callers []string) error
	// Advertise offers a topic, for the original publishers that it has.
	Advertise(tcpros.AdvertiseOptions, []sourceKey) (publication, error)
	Drain(context.Context) error
}

// nodeGraph is a real node.
type nodeGraph struct{ *tcpros.Node }

// Publishers implements graph: one node stands for all.
func (g nodeGraph) Publishers(context.Context, []string) error { return nil }

// Advertise implements graph.
func (g nodeGraph) Advertise(o tcpros.AdvertiseOptions, _ []sourceKey) (publication, error) {
	p, err := g.Node.Advertise(o)
	if err != nil {
		return nil, err
	}
	return nodePublication{p}, nil
}

type nodePublication struct{ *tcpros.Publication }

func (p nodePublication) Source(k sourceKey) publisher { return p.Publication.Source(k.latching) }

// State implements graph.
func (g nodeGraph) State(ctx context.Context) (tcpros.SystemState, error) {
	return g.Master().SystemState(ctx)
}

// Names implements graph.
func (g nodeGraph) Names() []string { return []string{g.Name()} }

// registerPoll is how often Registered asks. A topic that the master does not take
// within registerPatience after the node itself is not waited for.
const (
	registerPoll     = 20 * time.Millisecond
	registerPatience = 2 * time.Second
)

// Registered implements graph. Without a master it waits, as stock does: what is
// published meanwhile would reach nobody.
func (g nodeGraph) Registered(ctx context.Context, topics []string) {
	var known time.Time // when the master first knew the node
	for ; ctx.Err() == nil; wait(ctx, registerPoll) {
		if !g.MasterUp() {
			continue // the node asks for it, less often
		}
		uri, err := g.Master().LookupNode(ctx, g.Name())
		if err != nil || uri != g.URI() {
			known = time.Time{}
			continue
		}
		if known.IsZero() {
			known = time.Now()
		}
		if time.Since(known) > registerPatience || g.published(ctx, topics) {
			return
		}
	}
}

// published reports whether the master lists all topics. It does not say of which
// node, but registrations follow each other closely.
func (g nodeGraph) published(ctx context.Context, topics []string) bool {
	list, err := g.Master().PublishedTopics(ctx)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(topics, func(topic string) bool {
		return !slices.ContainsFunc(list, func(i tcpros.TopicInfo) bool { return i.Name == topic })
	})
}
