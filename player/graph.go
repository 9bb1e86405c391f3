package player

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/tcpros"
)

// sender publishes the frames of one original publisher. *tcpros.Source implements it.
type sender interface {
	Publish(frame []byte)
	PublishNow(frame []byte) // sends the frame at once instead of waiting to send several together
	Unlatch()                // a new subscriber gets no message of this publisher until it publishes again
}

// publication is an advertised topic.
type publication interface {
	Topic() string
	Source(plan.PublisherID) sender
	Subscribers() int
	Dropped() uint64
	Stats() []tcpros.SubscriberStats
	Room() bool // false while a subscriber is full, with Options.Overflow
	// Linked reports whether the node with this name reads the topic, from each of play's nodes
	// that publish it.
	Linked(node string) bool
	Close()
}

// graph is the part of a node that play needs.
type graph interface {
	// Registered waits until the master knows the topics, or ctx ends.
	Registered(ctx context.Context, topics []string)
	Resolve(name string) (string, error)
	// State asks the master for the state of the graph. Names returns the names of play's
	// own nodes.
	State(ctx context.Context) (tcpros.SystemState, error)
	Names() []string
	// Gone reports whether a node that the master lists is known not to run any more.
	Gone(ctx context.Context, node string) bool
	// Publishers opens the nodes for original publishers with these caller IDs.
	Publishers(ctx context.Context, callers []string) error
	// Advertise advertises a topic on behalf of these original publishers.
	Advertise(tcpros.AdvertiseOptions, []plan.PublisherID) (publication, error)
	Drain(context.Context) error
}

// nodeGraph is a real node.
type nodeGraph struct{ *tcpros.Node }

// Publishers implements graph: one node stands for all.
func (g nodeGraph) Publishers(context.Context, []string) error { return nil }

// Advertise implements graph.
func (g nodeGraph) Advertise(o tcpros.AdvertiseOptions, _ []plan.PublisherID) (publication, error) {
	p, err := g.Node.Advertise(o)
	if err != nil {
		return nil, err
	}
	return nodePublication{p}, nil
}

type nodePublication struct{ *tcpros.Publication }

func (p nodePublication) Source(k plan.PublisherID) sender { return p.Publication.Source(k.Latching) }

// Linked implements publication.
func (p nodePublication) Linked(node string) bool {
	return slices.ContainsFunc(p.Stats(), func(s tcpros.SubscriberStats) bool { return s.CallerID == node })
}

// State implements graph.
func (g nodeGraph) State(ctx context.Context) (tcpros.SystemState, error) {
	return g.Master().SystemState(ctx)
}

// Gone implements graph. A node whose machine does not answer may be alive.
func (g nodeGraph) Gone(ctx context.Context, node string) bool {
	uri, err := g.Master().LookupNode(ctx, node)
	if err != nil {
		return errors.Is(err, tcpros.ErrStatus)
	}
	accepts, known := g.Master().Accepts(ctx, uri)
	return known && !accepts
}

// Names implements graph.
func (g nodeGraph) Names() []string { return []string{g.Name()} }

// registerPoll is how often Registered asks the master. Once the master knows the node,
// Registered waits for its topics for at most registerTimeout.
const (
	registerPoll    = 20 * time.Millisecond
	registerTimeout = 2 * time.Second
)

// Registered implements graph. Without a master it waits, as stock does: messages that are
// published without a master reach no subscriber.
func (g nodeGraph) Registered(ctx context.Context, topics []string) {
	var known time.Time // when the master first knew the node
	for ; ctx.Err() == nil; wait(ctx, registerPoll) {
		if !g.MasterUp() {
			continue // the node itself polls for the master, less often
		}
		uri, err := g.Master().LookupNode(ctx, g.Name())
		if err != nil || uri != g.URI() {
			known = time.Time{}
			continue
		}
		if known.IsZero() {
			known = time.Now()
		}
		if time.Since(known) > registerTimeout || g.published(ctx, topics) {
			return
		}
	}
}

// published reports whether the master lists all topics. The list does not name the node,
// but the node's registrations follow each other closely.
func (g nodeGraph) published(ctx context.Context, topics []string) bool {
	list, err := g.Master().PublishedTopics(ctx)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(topics, func(topic string) bool {
		return !slices.ContainsFunc(list, func(i tcpros.TopicInfo) bool { return i.Name == topic })
	})
}
