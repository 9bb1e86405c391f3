// Package plan decides what is played: which connections, under which name, in which window, and what
// is latched before the window. A Plan is made once, by reading indexes and a few messages; it holds no
// lock, and nothing in it changes while messages are played, but for the counts of what is skipped.
package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/source"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// ErrNoMessages says that the bags hold no message that the options select. If no topic that
// was asked for is in the bags, the error is a *NotInBagsError.
var ErrNoMessages = errors.New("no messages to play on specified topics")

// Plan lists what will be played: the connections, the window, the names and types. It is made once,
// before anything is advertised. Then it changes only by Refuse, which is called before play begins,
// and by the counts of skipped messages.
type Plan struct {
	Log        *zap.Logger
	selection  *selection
	own        ownTopics // left out, unless topics or types are asked for
	Bags       []*Bag
	Topics     []*Topic // in the order of their first connection
	Publishers []*Publisher
	byName     map[topicname.InGraph]*Topic
	Start      rosbag.Time
	End        rosbag.Time // inclusive; zero means to the end of the bags
	Last       rosbag.Time // stamp of the last message to be played; zero if unknown

	Pauses  bool // there is a topic to pause for
	Latched []Latched
	Damage  []*control.DamageError // found while planning
}

// Options says what to play, see the Options of the same names.
type Options struct {
	Log                    *zap.Logger
	Topics, Types, Exclude []string
	Regex                  bool
	Rename                 []string
	Prefix                 string
	Deny, WaitFor          []string
	Start, Duration        time.Duration
	PauseTopics            []string
	ClockTopics            []string
	// topics that play itself publishes, before resolution; selected only if Topics or Types are given
	Own []string
	// find where the stamps are in the messages of each topic
	FindStamps bool
	// the stamps of messages will be set when they are published
	CopyStamped bool
}

// Bag is the part of the plan for one bag.
type Bag struct {
	Name   string
	Source rosbag.Indexed
	Routes map[*rosbag.Connection]*Route // of the selected connections
}

// Topic is a topic as published.
type Topic struct {
	// under which the topic is published
	Name topicname.InGraph
	// before resolution
	UnresolvedName string
	// of the first connection
	RecordedName topicname.InBag
	Type         string
	MD5Sum       string
	Definition   string
	// where stamps are in a message; nil if messages have none or no option sets stamps
	Stamps   *rosmsg.HeaderStamps
	Latching bool
	// the messages begin with a std_msgs/Header
	StartsWithHeader bool
	// one of its routes has pauses set
	Pauses bool
	// its index in Plan.Topics
	Number     int
	publishers map[PublisherID]*Publisher
}

// PublisherID identifies an original publisher of a topic. A node that reconnects, or
// continues in the next bag, is the same publisher.
type PublisherID struct {
	CallerID string
	Latching bool
}

// Publisher is one original publisher of a topic.
type Publisher struct {
	PublisherID
	Topic  *Topic
	Number int // its index in Plan.Publishers
}

// Route maps one connection of a bag to a topic.
type Route struct {
	Bag  *Bag
	Conn *rosbag.Connection
	// of the topic, as published
	name string
	// nil if reason is set
	Topic *Topic
	// nil if reason is set
	Publisher *Publisher
	// why the connection cannot be played, empty if it can
	Reason string
	// the option that makes it playable, and the option that it has to precede; empty if there is none
	remedy string

	Pauses  bool // Options.PauseTopics
	Clocked bool // Options.ClockTopics
	Private bool // the reader copies each frame, because its stamps are set when it is published

	Skipped atomic.Uint64 // messages not played because of reason
}

// New selects connections and assigns them to topics. resolve resolves a topic name to
// the name to publish under. New reads from the bags; when ctx ends between two reads, it
// returns the error of ctx. A plan that comes with ErrNoMessages has the damage that was
// found while opening the bags.
func New(ctx context.Context, o Options, bags []*source.Recording,
	resolve func(string) (string, error),
) (*Plan, error) {
	selection, err := newSelection(&o)
	if err != nil {
		return nil, err
	}
	own, err := newOwnTopics(o.Own, resolve)
	if err != nil {
		return nil, err
	}
	p := &Plan{Log: o.Log, selection: selection, own: own, byName: map[topicname.InGraph]*Topic{}}
	for _, bag := range bags {
		b := &Bag{Name: bag.Name(), Source: bag.Source(), Routes: map[*rosbag.Connection]*Route{}}
		p.Bags = append(p.Bags, b)
		p.addOpenDamage(b)
	}
	earliest, latest, ok := source.Span(bags)
	if !ok {
		return p, ErrNoMessages
	}
	// As stock: the offset counts from the earliest message of all topics.
	p.Start = earliest.Add(o.Start)
	if o.Duration > 0 {
		p.End = p.Start.Add(o.Duration)
	}
	found := false
	state := State{}
	for _, b := range p.Bags {
		some, err := p.addRoutes(ctx, b, o.Start > 0, resolve, &state)
		if err != nil {
			return nil, err
		}
		found = found || some
	}
	selection.report(o.Log, p.recorded())
	p.own.report(o.Log)
	if latest.Before(p.Start) {
		o.Log.Warn("the bags end before the time at which play begins: choose an earlier --start",
			zap.Duration("start", o.Start),
			zap.Duration("length", latest.Sub(earliest).Truncate(time.Millisecond)))
	}
	if !found {
		return p, cmp.Or[error](selection.nothing(p.recorded()), ErrNoMessages)
	}
	p.applyRouteOptions(&o)
	if o.FindStamps {
		p.findStamps()
	}
	if o.CopyStamped {
		p.copyStamped()
	}
	p.Latched = state.Sorted()
	p.Last = p.lastStamp(ctx)
	return p, ctx.Err()
}

// recorded returns the names of the topics of all bags.
func (p *Plan) recorded() []string {
	names := map[string]bool{}
	for _, b := range p.Bags {
		for _, c := range b.Source.Connections() {
			names[c.Topic] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// addRoutes adds the routes of a bag, and reports whether it has messages in the window.
// With late, which means that the window begins after the start of the bags, it adds the
// latched messages before the window to state.
func (p *Plan) addRoutes(ctx context.Context, b *Bag, late bool, resolve func(string) (string, error),
	state *State,
) (found bool, err error) {
	chosen := map[*rosbag.Connection]bool{}
	for _, c := range b.Source.Connections() {
		chosen[c] = p.selection.selects(c)
		if chosen[c] && !p.selection.asksFor() {
			name, err := resolve(p.selection.name(c))
			// a name that cannot be resolved is reported as unplayable
			chosen[c] = err != nil || !p.own.has(topicname.InGraph(name))
		}
	}
	present := p.connectionsInWindow(ctx, b.Source)
	before := map[*rosbag.Connection]*rosbag.Message{}
	if late {
		wanted := func(c *rosbag.Connection) bool { return chosen[c] }
		damaged := func(e *control.DamageError) { p.Damage = append(p.Damage, e) }
		for c, m := range b.LatchedBefore(p.Start, wanted, damaged) {
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			// without its chunk
			before[c] = &rosbag.Message{Conn: c, Time: m.Time, Frame: slices.Clone(m.Frame)}
		}
	}
	for _, c := range b.Source.Connections() {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if !chosen[c] || !present[c] && before[c] == nil { // it has no messages to play: do not advertise it
			continue
		}
		found = found || present[c]
		b.Routes[c] = p.route(b, c, resolve)
		if before[c] != nil {
			state.Add(b.Routes[c], before[c])
		}
	}
	return found, nil
}

// route returns the route of a connection, with its topic or the reason why it has none.
func (p *Plan) route(b *Bag, c *rosbag.Connection, resolve func(string) (string, error)) *Route {
	unresolved := p.selection.name(c)
	r := &Route{Bag: b, Conn: c, name: unresolved}
	full, err := resolve(r.name)
	if err != nil {
		r.unplayable(p.Log, err.Error())
		return r
	}
	r.name = full
	typ, md5 := c.Header.Type(), strings.ToLower(c.Header.MD5Sum())
	switch {
	case md5 == "":
		r.unplayable(p.Log, fmt.Sprintf("the bag has md5sum %q for it", md5))
		return r
	case typ == "":
		r.unplayable(p.Log, fmt.Sprintf("the bag has type %q for it", typ))
		return r
	}
	name, recorded := topicname.InGraph(full), topicname.InBag(c.Topic)
	t := p.Topic(name)
	if t == nil {
		t = &Topic{
			Name: name, UnresolvedName: unresolved, RecordedName: recorded, Type: typ, MD5Sum: md5,
			Number: len(p.Topics), publishers: map[PublisherID]*Publisher{},
		}
		p.byName[name] = t
		p.Topics = append(p.Topics, t)
	}
	if t.MD5Sum != md5 {
		reason := fmt.Sprintf("the topic is played as %s [%s], this connection is %s [%s]", t.Type, t.MD5Sum,
			typ, md5)
		switch {
		case t.RecordedName != recorded:
			reason += fmt.Sprintf("; %s and %s were recorded as two: give them two names", t.RecordedName,
				c.Topic)
		case t.Type != typ:
			r.remedy = fmt.Sprintf("--rename %s:%s=%s_%s", c.Topic, typ, c.Topic, path.Base(typ))
			if rule, _ := p.selection.rule(c); rule != nil { // the first that matches applies
				r.remedy += " before --rename " + rule.Text
			}
			reason += "; to play it, too, add " + r.remedy
		}
		r.unplayable(p.Log, reason)
		return r
	}
	// A client that sends no definition may share the topic with one that does.
	if t.Definition == "" {
		t.Definition = c.Header.MessageDefinition()
		_, t.StartsWithHeader = stdmsg.FirstField(msgdef.DefinitionOf(c.Header))
	}
	t.Latching = t.Latching || c.Header.Latching()
	r.Topic, r.Publisher = t, p.publisher(t, c)
	return r
}

// Topic returns the topic that is published under a name, or nil.
func (p *Plan) Topic(name topicname.InGraph) *Topic { return p.byName[name] }

// publisher returns the original publisher of a connection.
func (p *Plan) publisher(t *Topic, c *rosbag.Connection) *Publisher {
	id := PublisherID{c.Header.CallerID(), c.Header.Latching()}
	if t.publishers[id] == nil {
		t.publishers[id] = &Publisher{id, t, len(p.Publishers)}
		p.Publishers = append(p.Publishers, t.publishers[id])
	}
	return t.publishers[id]
}

// Refuse takes out topics that the graph refuses, with the reasons. It is part of making the plan: play
// has not begun.
func (p *Plan) Refuse(reasons map[*Topic]string) {
	for r := range p.routes() {
		if r.Topic != nil && reasons[r.Topic] != "" {
			r.unplayable(p.Log, reasons[r.Topic])
		}
	}
	p.Latched = slices.DeleteFunc(p.Latched, func(l Latched) bool {
		if l.Route.Reason != "" {
			l.Route.Skipped.Add(1)
		}
		return l.Route.Reason != ""
	})
}

// routes returns the routes of all bags, in the order of the bags and of their connections.
func (p *Plan) routes() iter.Seq[*Route] {
	return func(yield func(*Route) bool) {
		for _, b := range p.Bags {
			for _, c := range b.Source.Connections() {
				if r := b.Routes[c]; r != nil && !yield(r) {
					return
				}
			}
		}
	}
}

// Keys returns the original publishers of each topic.
func (p *Plan) Keys() map[*Topic][]PublisherID {
	keys := map[*Topic][]PublisherID{}
	for _, s := range p.Publishers {
		keys[s.Topic] = append(keys[s.Topic], s.PublisherID)
	}
	return keys
}

// unplayable marks the connection as unplayable and logs the reason.
func (r *Route) unplayable(log *zap.Logger, reason string) {
	r.Topic, r.Publisher, r.Reason = nil, nil, reason
	log.Warn("connection cannot be played", loglimit.Each(), zap.String("topic", r.name),
		zap.String("type", r.Conn.Header.Type()),
		zap.String("bag", r.Bag.Name), zap.String("callerid", r.Conn.Header.CallerID()),
		zap.String("reason", reason))
}
