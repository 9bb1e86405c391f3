package tcpros

import (
	"context"
	"fmt"

	"github.com/gorosbag/gorosbag/tcpros/internal/names"
	"github.com/gorosbag/gorosbag/tcpros/internal/publink"
)

// AdvertiseOptions describe a publication.
type AdvertiseOptions struct {
	Topic             string
	Type              string // "*" if unknown: each subscriber is then told the type that it requests
	MD5Sum            string // as Type
	MessageDefinition string
	Latching          bool // sent to subscribers; each Source decides whether it latches
	QueueFrames       int  // most frames queued for each subscriber; zero means unlimited
	Overflow          Overflow
	Transient         bool // subscribers need not read everything: Drain skips it

	// Freed, if it is not nil, is called when Room becomes true again, from any goroutine
	// and with locks held: it must neither block nor use the Publication.
	Freed func()

	// Unfit, if it is not nil, is asked about each subscriber with another md5sum or another definition
	// text, and about all if MD5Sum is "*". It returns what the subscriber gets instead of the published
	// frames. If it returns nil, a subscriber with another md5sum is refused, and why, if not empty, is
	// what the log says. It is called from several goroutines.
	Unfit func(asked Header) (a *Adapted, why string)
}

func (o AdvertiseOptions) check() error {
	switch {
	case o.MD5Sum == "":
		return fmt.Errorf("advertise %q without an md5sum", o.Topic)
	case o.Type == "":
		return fmt.Errorf("advertise %q without a type", o.Topic)
	case o.QueueFrames < 0:
		return fmt.Errorf("advertise %q with a queue of %d frames", o.Topic, o.QueueFrames)
	case o.Overflow != publink.OverflowDrop && o.Overflow != publink.OverflowBlock:
		return fmt.Errorf("advertise %q with overflow %d", o.Topic, o.Overflow)
	}
	return names.CheckType(o.Type)
}

// Publication is one advertised topic with its subscribers.
type Publication struct {
	node      *Node
	out       *publink.Publication
	transient bool
}

// Source adds a source. The last frame of a latching source is sent to each new subscriber.
func (p *Publication) Source(latching bool) *Source { return p.out.Source(latching) }

// Topic returns the resolved name.
func (p *Publication) Topic() string { return p.out.Topic() }

// Subscribers returns the number of links that are up.
func (p *Publication) Subscribers() int { return p.out.Subscribers() }

// Room reports whether the queue of every subscriber has room for another frame: one atomic
// load. With OverflowDrop it is always true.
func (p *Publication) Room() bool { return p.out.Room() }

// Held returns how many of the latest frames of the publication may still be needed: those in queues, and
// those that are being written. All frames before them were written to the sockets, or dropped, so that their
// memory can be used again, except frames of latching sources: a new link may be sending them. Held is
// math.MaxInt while a link that gets no more frames is ending.
func (p *Publication) Held() int { return p.out.Held() }

// Dropped returns the number of frames dropped from full queues, over all present and past
// subscribers, plus the number of frames published after Close or Drain.
func (p *Publication) Dropped() uint64 { return p.out.Dropped() }

// UDPOnly returns the names of the nodes that would have subscribed over UDPROS only, which is not
// served: at most 256.
func (p *Publication) UDPOnly() []string { return p.out.UDPOnly() }

// Refused returns the names of the nodes that were refused because no file descriptor was left for them:
// at most 256.
func (p *Publication) Refused() []string { return p.out.Refused() }

// Stats returns the state of each link.
func (p *Publication) Stats() []SubscriberStats { return p.out.Stats() }

// Drain is Node.Drain for one topic, even for a transient topic. New subscribers of the topic are
// refused from now on.
func (p *Publication) Drain(ctx context.Context) error {
	return publink.Drain(ctx, p.node.timing.drainTimeout, []*publink.Publication{p.out})
}

// Close closes every link at once, without flushing. The node unregisters the topic.
func (p *Publication) Close() {
	p.node.dropPublication(p)
	p.out.Close()
}
