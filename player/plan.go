package player

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// ErrNoMessages says that the bags hold no message that the options select.
var ErrNoMessages = errors.New("player: no messages to play on specified topics")

// plan is what will be played: which connections, in which window, under which
// name and type. It is made once, before anything is advertised.
type plan struct {
	log    *zap.Logger
	bags   []*bagPlan
	topics []*topic // in the order of their first connection
	start  bagfmt.Time
	end    bagfmt.Time // inclusive; zero = open
	last   bagfmt.Time // of what will be played; zero if it cannot be told

	latched []latchedMessage
	damage  []*DamageError // that planning came across
}

// bagPlan is the part of one bag.
type bagPlan struct {
	*Bag
	routes map[*bagfmt.Connection]*route // those selected
}

// topic is a topic as published.
type topic struct {
	name        string // resolved
	asked       string // prefix and recorded name, before resolution
	typ         string
	md5         string
	definition  string
	latching    bool
	publication publication
	sources     map[sourceKey]*source

	messages uint64 // guarded by playhead.mu, as is bytes
	bytes    uint64
}

// sourceKey tells original publishers of a topic apart. A node that comes back,
// or goes on in the next bag, is the same publisher.
type sourceKey struct {
	callerID string
	latching bool
}

// source is one original publisher of a topic, for a subscriber of ours.
type source struct {
	publisher
	sent bool // since the latched messages were last published; guarded by playhead.mu
}

// route takes the messages of one connection of a bag to a topic.
type route struct {
	bag    *bagPlan
	conn   *bagfmt.Connection
	name   string // of the topic, as published
	topic  *topic // nil if reason is set
	source *source
	reason string // why the connection cannot be played, empty if it can

	skipped atomic.Uint64 // messages not played because of reason
}

// publish hands a frame to the topic.
func (r *route) publish(frame []byte) {
	r.source.Publish(frame)
	r.source.sent = true
	r.topic.messages++
	r.topic.bytes += uint64(len(frame) - 4)
}

// newPlan selects connections and sorts them into topics. resolve turns a topic
// name into the one to publish under. It reads from the bags and returns early,
// with the error of ctx, when that ends between two reads. With ErrNoMessages the plan
// knows the damage that opening met.
func newPlan(ctx context.Context, o *Options, resolve func(string) (string, error)) (*plan, error) {
	p := &plan{log: o.Log}
	for _, bag := range o.Bags {
		b := &bagPlan{Bag: bag, routes: map[*bagfmt.Connection]*route{}}
		p.bags = append(p.bags, b)
		p.damageOfOpening(b)
	}
	earliest, ok := earliestStart(o.Bags)
	if !ok {
		return p, ErrNoMessages
	}
	// As stock: the offset counts from the earliest message of all topics.
	p.start = earliest.Add(o.Start)
	if o.Duration > 0 {
		p.end = p.start.Add(o.Duration)
	}
	found := false
	state := stateBefore{}
	for _, b := range p.bags {
		present := p.connectionsInWindow(ctx, b.reader)
		for _, c := range b.reader.Connections() {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if !selected(o.Topics, c.Topic) {
				continue
			}
			var before *bagfmt.Message
			if o.Start > 0 && c.Header.Latching() {
				before = p.lastBefore(b, c)
			}
			if !present[c] && before == nil {
				continue // nothing to say: nobody should wait for it
			}
			found = found || present[c]
			b.routes[c] = p.route(b, c, o.Prefix, resolve)
			if before != nil {
				state.add(b.routes[c], before)
			}
		}
	}
	if !found {
		return p, ErrNoMessages
	}
	p.latched = state.messages
	p.last = p.lastStamp(ctx)
	return p, ctx.Err()
}

func earliestStart(bags []*Bag) (t bagfmt.Time, ok bool) {
	for _, b := range bags {
		if b.reader.Messages() > 0 && (!ok || b.reader.Start().Before(t)) {
			t, ok = b.reader.Start(), true
		}
	}
	return t, ok
}

// selected compares with the recorded name, as stock, but a leading slash may be
// left out on either side.
func selected(topics []string, recorded string) bool {
	return len(topics) == 0 || slices.ContainsFunc(topics, func(t string) bool {
		return strings.TrimPrefix(t, "/") == strings.TrimPrefix(recorded, "/")
	})
}

// route finds the topic of a connection, or the reason why it has none.
func (p *plan) route(b *bagPlan, c *bagfmt.Connection, prefix string, resolve func(string) (string, error)) *route {
	r := &route{bag: b, conn: c, name: prefix + c.Topic}
	name, err := resolve(r.name)
	if err != nil {
		r.unplayable(p.log, err.Error())
		return r
	}
	r.name = name
	typ, md5 := c.Header.Type(), strings.ToLower(c.Header.MD5Sum())
	switch {
	case md5 == "":
		r.unplayable(p.log, fmt.Sprintf("the bag has md5sum %q for it", md5))
		return r
	case typ == "":
		r.unplayable(p.log, fmt.Sprintf("the bag has type %q for it", typ))
		return r
	}
	t := p.topic(name)
	if t == nil {
		t = &topic{name: name, asked: prefix + c.Topic, typ: typ, md5: md5, sources: map[sourceKey]*source{}}
		p.topics = append(p.topics, t)
	}
	if t.md5 != md5 {
		r.unplayable(p.log, fmt.Sprintf("the topic is played as %s [%s], this connection is %s [%s]", t.typ, t.md5, typ, md5))
		return r
	}
	// A client that sends no definition may share the topic with one that does.
	if t.definition == "" {
		t.definition = c.Header.MessageDefinition()
	}
	t.latching = t.latching || c.Header.Latching()
	r.topic = t
	return r
}

func (p *plan) topic(name string) *topic {
	for _, t := range p.topics {
		if t.name == name {
			return t
		}
	}
	return nil
}

// unplayable marks the connection and says so once.
func (r *route) unplayable(log *zap.Logger, reason string) {
	r.topic, r.reason = nil, reason
	log.Warn("connection cannot be played", zap.String("topic", r.name), zap.String("type", r.conn.Header.Type()),
		zap.String("bag", r.bag.name), zap.String("callerid", r.conn.Header.CallerID()), zap.String("reason", reason))
}
