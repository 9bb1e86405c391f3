// Package stage is where play meets the ROS graph: the nodes that publish, the topics that they
// advertise, who subscribes, and waiting for subscribers. It does not know which messages are published.
//
// A publication has a lock of its own. The functions that wait poll publications and hold no lock.
package stage

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/player/internal/pacing"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Sender publishes the frames of one original publisher. *tcpros.Source implements it.
type Sender interface {
	Publish(frame []byte)
	PublishNow(frame []byte) // sends the frame at once instead of waiting to send several together
	Unlatch()                // a new subscriber gets no message of this publisher until its next message
}

// Publication is an advertised topic.
type Publication interface {
	Topic() string
	Source(plan.PublisherID) Sender
	Subscribers() int
	Dropped() uint64
	Stats() []tcpros.SubscriberStats
	UDPOnly() []string // nodes that take UDPROS only, so that they get nothing
	Refused() []string // nodes that no file descriptor was left for
	Room() bool        // false while the queue of a subscriber is full, with player.OverflowBlock
	// Held returns how many of the latest frames that were published on the topic may still be needed, see
	// tcpros.Publication; math.MaxInt if any may.
	Held() int
	// Linked reports whether the node with this name subscribes to each of play's nodes that
	// publish the topic.
	Linked(node string) bool
	Close()
}

// Graph is the part of a node that play needs.
type Graph interface {
	// Registered waits until the master knows the topics, or ctx ends. It reports whether the master has
	// ever answered.
	Registered(ctx context.Context, topics []string) (answered bool)
	Resolve(name string) (string, error)
	// State asks the master for the state of the graph.
	State(ctx context.Context) (tcpros.SystemState, error)
	Names() []string // of play's own nodes
	// Gone reports whether a node that the master lists is known not to run any more.
	Gone(ctx context.Context, node string) bool
	// Publishers opens the nodes for original publishers with these caller IDs.
	Publishers(ctx context.Context, callers []string) error
	// Advertise advertises a topic on behalf of these original publishers.
	Advertise(tcpros.AdvertiseOptions, []plan.PublisherID) (Publication, error)
	Drain(context.Context) error
	// AskSubscribers returns what subscribers of topics want, see tcpros.Node.
	AskSubscribers(ctx context.Context, topics map[string][]string) (map[string][]tcpros.Header, error)
}

// OneNode is a graph in which one node publishes everything.
type OneNode struct{ *tcpros.Node }

// Publishers implements Graph: one node stands for all.
func (g OneNode) Publishers(context.Context, []string) error { return nil }

// Advertise implements Graph.
func (g OneNode) Advertise(o tcpros.AdvertiseOptions, _ []plan.PublisherID) (Publication, error) {
	p, err := g.Node.Advertise(o)
	if err != nil {
		return nil, err
	}
	return nodePublication{p}, nil
}

type nodePublication struct{ *tcpros.Publication }

func (p nodePublication) Source(k plan.PublisherID) Sender { return p.Publication.Source(k.Latching) }

// Linked implements Publication.
func (p nodePublication) Linked(node string) bool {
	return slices.ContainsFunc(p.Stats(), func(s tcpros.SubscriberStats) bool { return s.CallerID == node })
}

// State implements Graph.
func (g OneNode) State(ctx context.Context) (tcpros.SystemState, error) {
	return g.Master().SystemState(ctx)
}

// Gone implements Graph. A node whose machine does not answer may run, and is not gone.
func (g OneNode) Gone(ctx context.Context, node string) bool {
	uri, err := g.Master().LookupNode(ctx, node)
	if err != nil {
		return errors.Is(err, tcpros.ErrStatus)
	}
	accepts, known := g.Master().Accepts(ctx, uri)
	return known && !accepts
}

// Names implements Graph.
func (g OneNode) Names() []string { return []string{g.Name()} }

// registerPoll is how often awaitRegistered asks the master. Once the master knows the node,
// awaitRegistered waits for its topics for at most registerTimeout.
const (
	registerPoll    = 20 * time.Millisecond
	registerTimeout = 2 * time.Second
)

// Registered implements Graph. Without a master it waits, as stock does: messages that are
// published without a master reach no subscriber.
func (g OneNode) Registered(ctx context.Context, topics []string) (answered bool) {
	awaitRegistered(ctx, func() (known, registered bool) {
		if !g.MasterUp() {
			return false, false // the node itself polls for the master, less often
		}
		uri, err := g.Master().LookupNode(ctx, g.Name())
		if err != nil || uri != g.URI() {
			return false, false
		}
		return true, g.published(ctx, topics)
	})
	return g.Master().LastContact().Answers > 0 // also of a play that was ended before the next look
}

// awaitRegistered waits until ask reports that the topics are registered. It gives up registerTimeout
// after ask has reported that the master knows the node.
func awaitRegistered(ctx context.Context, ask func() (known, registered bool)) {
	var since time.Time // when the master first knew the node; zero if the master does not know it
	for ; ctx.Err() == nil; pacing.Wait(ctx, registerPoll) {
		known, registered := ask()
		if !known {
			since = time.Time{}
			continue
		}
		if since.IsZero() {
			since = time.Now()
		}
		if registered || time.Since(since) > registerTimeout {
			return
		}
	}
}

// published reports whether the master lists all topics. The list does not name the node,
// but the node's registrations follow each other closely.
func (g OneNode) published(ctx context.Context, topics []string) bool {
	list, err := g.Master().PublishedTopics(ctx)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(topics, func(topic string) bool {
		return !slices.ContainsFunc(list, func(i tcpros.TopicInfo) bool { return i.Name == topic })
	})
}
