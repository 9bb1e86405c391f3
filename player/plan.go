package player

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/msgheader"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/source"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// ErrNoMessages says that the bags hold no message that the options select. If no topic that
// was asked for is in the bags, the error is a *NotInBagsError.
var ErrNoMessages = errors.New("no messages to play on specified topics")

// plan lists what will be played: the connections, the window, the names and types. It is
// made once, before anything is advertised.
//
// What it holds does not change any more, but for refuse, which is called before play begins, and
// for the count of skipped messages.
type plan struct {
	log        *zap.Logger
	selection  *selection
	bags       []*bagPlan
	topics     []*topic // in the order of their first connection
	publishers []*publisher
	byName     map[string]*topic
	start      rosbag.Time
	end        rosbag.Time // inclusive; zero means to the end of the bags
	last       rosbag.Time // stamp of the last message to be played; zero if unknown

	pauses  bool // there is a topic to pause for
	latched []latchedMessage
	damage  []*control.DamageError // found while planning
}

// planOptions says what to play, see the Options of the same names.
type planOptions struct {
	log                      *zap.Logger
	topics, types, exclude   []string
	regex                    bool
	rename                   []string
	prefix                   string
	deny, waitFor            []string
	start, duration          time.Duration
	pauseTopics, clockTopics []string
	findStamps               bool // find where the stamps are in the messages of each topic
	copyStamped              bool // the stamps of messages will be set when they are published
}

// bagPlan is the part of the plan for one bag.
type bagPlan struct {
	name   string
	source rosbag.Indexed
	routes map[*rosbag.Connection]*route // of the selected connections
}

// topic is a topic as published.
type topic struct {
	name             string // resolved
	unresolvedName   string // before resolution
	recordedName     string // name of the first connection
	typ              string
	md5              string
	definition       string
	stamps           *rosmsg.HeaderStamps // nil unless an option sets stamps, or the messages have none
	latching         bool
	startsWithHeader bool // the messages begin with a std_msgs/Header
	pauses           bool // one of its routes has pauses set
	number           int  // its place in plan.topics
	publishers       map[publisherID]*publisher
}

// publisherID identifies an original publisher of a topic. A node that reconnects, or
// continues in the next bag, is the same publisher.
type publisherID struct {
	callerID string
	latching bool
}

// publisher is one original publisher of a topic.
type publisher struct {
	publisherID
	topic  *topic
	number int // its place in plan.publishers
}

// route maps one connection of a bag to a topic.
type route struct {
	bag       *bagPlan
	conn      *rosbag.Connection
	name      string     // of the topic, as published
	topic     *topic     // nil if reason is set
	publisher *publisher // nil if reason is set
	reason    string     // why the connection cannot be played, empty if it can
	remedy    string     // the option with which it could, and before which other; empty if there is none

	pauses  bool // Options.PauseTopics
	clocked bool // Options.ClockTopics
	private bool // the reader copies frames, whose stamps are set when they are published

	skipped atomic.Uint64 // messages not played because of reason
}

// newPlan selects connections and assigns them to topics. resolve resolves a topic name to
// the name to publish under. newPlan reads from the bags; when ctx ends between two reads, it
// returns the error of ctx. A plan that comes with ErrNoMessages has the damage that was
// found while opening the bags.
func newPlan(ctx context.Context, o planOptions, bags []*source.Recording, resolve func(string) (string, error)) (*plan, error) {
	selection, err := newSelection(&o)
	if err != nil {
		return nil, err
	}
	p := &plan{log: o.log, selection: selection, byName: map[string]*topic{}}
	for _, bag := range bags {
		b := &bagPlan{name: bag.Name(), source: bag.Source(), routes: map[*rosbag.Connection]*route{}}
		p.bags = append(p.bags, b)
		p.addOpenDamage(b)
	}
	earliest, latest, ok := source.Span(bags)
	if !ok {
		return p, ErrNoMessages
	}
	// As stock: the offset counts from the earliest message of all topics.
	p.start = earliest.Add(o.start)
	if o.duration > 0 {
		p.end = p.start.Add(o.duration)
	}
	found := false
	state := latchedState{}
	for _, b := range p.bags {
		some, err := p.addRoutes(ctx, b, o.start > 0, resolve, &state)
		if err != nil {
			return nil, err
		}
		found = found || some
	}
	selection.report(o.log, p.recorded())
	if latest.Before(p.start) {
		o.log.Warn("the window begins behind the last message of the bags", zap.Duration("by", p.start.Sub(latest)))
	}
	if !found {
		return p, cmp.Or[error](selection.nothing(p.recorded()), ErrNoMessages)
	}
	p.applyRouteOptions(&o)
	if o.findStamps {
		p.findStamps()
	}
	if o.copyStamped {
		p.copyStamped()
	}
	p.latched = state.sorted()
	p.last = p.lastStamp(ctx)
	return p, ctx.Err()
}

// recorded returns the names of the topics of all bags.
func (p *plan) recorded() []string {
	names := map[string]bool{}
	for _, b := range p.bags {
		for _, c := range b.source.Connections() {
			names[c.Topic] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// addRoutes adds the routes of a bag, and reports whether it has messages in the window.
// With late, which means that the window begins after the start of the bags, it adds the
// latched messages before the window to state.
func (p *plan) addRoutes(ctx context.Context, b *bagPlan, late bool, resolve func(string) (string, error), state *latchedState) (found bool, err error) {
	chosen := map[*rosbag.Connection]bool{}
	for _, c := range b.source.Connections() {
		chosen[c] = p.selection.selects(c)
	}
	present := p.connectionsInWindow(ctx, b.source)
	before := map[*rosbag.Connection]*rosbag.Message{}
	if late {
		wanted := func(c *rosbag.Connection) bool { return chosen[c] }
		damaged := func(e *control.DamageError) { p.damage = append(p.damage, e) }
		for c, m := range b.latchedBefore(p.start, wanted, damaged) {
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			before[c] = &rosbag.Message{Conn: c, Time: m.Time, Frame: slices.Clone(m.Frame)} // without its chunk
		}
	}
	for _, c := range b.source.Connections() {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if !chosen[c] || !present[c] && before[c] == nil { // it has no messages to play: do not advertise it
			continue
		}
		found = found || present[c]
		b.routes[c] = p.route(b, c, resolve)
		if before[c] != nil {
			state.add(b.routes[c], before[c])
		}
	}
	return found, nil
}

// route returns the route of a connection, with its topic or the reason why it has none.
func (p *plan) route(b *bagPlan, c *rosbag.Connection, resolve func(string) (string, error)) *route {
	unresolved := p.selection.name(c)
	r := &route{bag: b, conn: c, name: unresolved}
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
		t = &topic{name: name, unresolvedName: unresolved, recordedName: c.Topic, typ: typ, md5: md5, number: len(p.topics), publishers: map[publisherID]*publisher{}}
		p.byName[name] = t
		p.topics = append(p.topics, t)
	}
	if t.md5 != md5 {
		reason := fmt.Sprintf("the topic is played as %s [%s], this connection is %s [%s]", t.typ, t.md5, typ, md5)
		switch {
		case t.recordedName != c.Topic:
			reason += fmt.Sprintf("; %s and %s were recorded as two: give them two names", t.recordedName, c.Topic)
		case t.typ != typ:
			r.remedy = fmt.Sprintf("--rename %s:%s=%s_%s", c.Topic, typ, c.Topic, path.Base(typ))
			if rule, _ := p.selection.rule(c); rule != nil { // the first that matches applies
				r.remedy += " before --rename " + rule.Text
			}
			reason += "; to play it, too, add " + r.remedy
		}
		r.unplayable(p.log, reason)
		return r
	}
	// A client that sends no definition may share the topic with one that does.
	if t.definition == "" {
		t.definition = c.Header.MessageDefinition()
		_, t.startsWithHeader = msgheader.First(t.definition)
	}
	t.latching = t.latching || c.Header.Latching()
	r.topic, r.publisher = t, p.publisher(t, c)
	return r
}

func (p *plan) topic(name string) *topic { return p.byName[name] }

// publisher returns the original publisher of a connection.
func (p *plan) publisher(t *topic, c *rosbag.Connection) *publisher {
	id := publisherID{c.Header.CallerID(), c.Header.Latching()}
	if t.publishers[id] == nil {
		t.publishers[id] = &publisher{id, t, len(p.publishers)}
		p.publishers = append(p.publishers, t.publishers[id])
	}
	return t.publishers[id]
}

// refuse takes out topics that the graph refuses, with the reasons. It is part of making the plan: play
// has not begun.
func (p *plan) refuse(reasons map[*topic]string) {
	for _, b := range p.bags {
		for _, c := range b.source.Connections() { // in a fixed order
			if r := b.routes[c]; r != nil && r.topic != nil && reasons[r.topic] != "" {
				r.unplayable(p.log, reasons[r.topic])
			}
		}
	}
	p.latched = slices.DeleteFunc(p.latched, func(l latchedMessage) bool {
		if l.route.reason != "" {
			l.route.skipped.Add(1)
		}
		return l.route.reason != ""
	})
}

// keys returns the original publishers of each topic.
func (p *plan) keys() map[*topic][]publisherID {
	keys := map[*topic][]publisherID{}
	for _, s := range p.publishers {
		keys[s.topic] = append(keys[s.topic], s.publisherID)
	}
	return keys
}

// unplayable marks the connection as unplayable and logs the reason.
func (r *route) unplayable(log *zap.Logger, reason string) {
	r.topic, r.publisher, r.reason = nil, nil, reason
	log.Warn("connection cannot be played", loglimit.Each(), zap.String("topic", r.name), zap.String("type", r.conn.Header.Type()),
		zap.String("bag", r.bag.name), zap.String("callerid", r.conn.Header.CallerID()), zap.String("reason", reason))
}
