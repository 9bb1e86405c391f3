// Package rosout publishes lines of a program's log on /rosout, as every node of roscpp and rospy
// does. The caller decides which lines to send.
//
// A line never waits: it is queued, and a goroutine publishes it. Each subscriber has a queue of
// its own, which drops its oldest lines, so a subscriber that does not read costs bounded memory
// and delays nobody.
//
// Decisions: ADR 0090.
package rosout

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/tcpros"
)

const (
	// lines that wait to be published; a further line drops the oldest.
	maxLines = 1000
	// lines that wait for one subscriber.
	queueFrames = 200
	// timeout of the call that asks the master whether to send the list of topics.
	paramTimeout = time.Second
	// time for subscribers to read the last lines.
	drainTimeout = 300 * time.Millisecond
)

// disableTopics is the parameter that makes roscpp and rospy leave the field topics empty.
const disableTopics = "/rosout_disable_topics_generation"

// repeated is the topic on which the node rosout of ROS repeats all lines.
const repeated = "/rosout_agg"

// Publisher publishes lines. A nil Publisher does nothing.
type Publisher struct {
	stop context.CancelFunc // ends calls of the master
	done chan struct{}      // closed when the goroutine has ended; nil before Attach
	wake chan struct{}

	mu     sync.Mutex
	topic  string // topic with remappings, once known
	lines  []Line
	closed bool
}

// New returns a Publisher that queues its lines until Attach.
func New() *Publisher { return &Publisher{topic: Topic, wake: make(chan struct{}, 1)} }

// Carries reports whether topic carries the lines: /rosout itself, or the topic on which the node
// rosout repeats them.
func (p *Publisher) Carries(topic string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return topic == p.topic || topic == repeated
}

// Send queues a line. It never blocks.
func (p *Publisher) Send(l Line) {
	if p == nil {
		return
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	if len(p.lines) == maxLines {
		p.lines = append(p.lines[:0], p.lines[1:]...)
	}
	p.lines = append(p.lines, l)
	p.mu.Unlock()
	p.signal()
}

func (p *Publisher) signal() {
	select {
	case p.wake <- struct{}{}:
	default: // the goroutine is awake already
	}
}

// Attach makes node publish the lines from now on. Call Attach at most once. If the node already
// publishes a topic of that name, as goplay does for a bag with /rosout, the lines are published on
// that topic, unless its type differs.
func (p *Publisher) Attach(node *tcpros.Node) {
	if p == nil {
		return
	}
	pub, own := advertise(node)
	if pub == nil {
		p.close()
		return
	}
	p.mu.Lock()
	p.topic = pub.Topic()
	p.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	p.stop, p.done = cancel, make(chan struct{})
	// owner: Close.
	go func() {
		defer close(p.done)
		p.publish(ctx, node, pub)
		if own {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
			defer cancel()
			_ = pub.Drain(ctx) // nothing can be done for a subscriber that does not read
		}
	}()
}

// advertise returns the publication for the lines, nil if there is none. own reports whether the
// publication is only for the lines.
func advertise(node *tcpros.Node) (pub *tcpros.Publication, own bool) {
	pub, err := node.Advertise(tcpros.AdvertiseOptions{
		Topic: Topic, Type: Type, MD5Sum: MD5Sum, MessageDefinition: Definition,
		QueueFrames: queueFrames, Transient: true,
	})
	conflict := (*tcpros.ConflictError)(nil)
	switch {
	case err == nil:
		return pub, true
	case errors.As(err, &conflict) && strings.HasSuffix(conflict.Have, "/"+MD5Sum):
		return node.Publication(conflict.Topic), false
	}
	return nil, false
}

// publish publishes lines until Close was called and all lines are published.
func (p *Publisher) publish(ctx context.Context, node *tcpros.Node, pub *tcpros.Publication) {
	source := pub.Source(false)
	withTopics := wantsTopics(ctx, node)
	var seq uint32
	for range p.wake {
		lines, closed := p.take()
		for i := range lines {
			if pub.Subscribers() == 0 {
				break
			}
			var topics []string
			if withTopics {
				topics = node.Publications()
			}
			source.Publish(appendFrame(nil, seq, &lines[i], node.Name(), topics))
			seq++
		}
		if closed {
			return
		}
	}
}

func (p *Publisher) take() (lines []Line, closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines, p.lines = p.lines, nil
	return lines, p.closed
}

func wantsTopics(ctx context.Context, node *tcpros.Node) bool {
	ctx, cancel := context.WithTimeout(ctx, paramTimeout)
	defer cancel()
	v, _, _ := node.Master().Param(ctx, disableTopics) // if the master is away, send the topics
	disabled, _ := v.(bool)
	return !disabled
}

func (p *Publisher) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}

// Close publishes the queued lines, and gives subscribers 0.3 s to read them. Later lines are
// dropped. Call Close before the node is closed.
func (p *Publisher) Close() {
	if p == nil {
		return
	}
	p.close()
	p.signal()
	if p.done == nil {
		return
	}
	p.stop()
	<-p.done
}
