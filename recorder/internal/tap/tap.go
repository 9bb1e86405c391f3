// Package tap shows the messages of a recording to live viewers.
//
// A Tap wraps the sink of each link. Without a viewer of the topic that costs two atomic loads for
// each run of frames, and one copy of the latest message of a latching publisher. With viewers, the
// tap copies the frames of topics that they want, once for all viewers, and puts the copies into a
// live.Store. The goroutine of the link never waits for a viewer, and the next sink knows
// nothing of viewers: it gets each run first.
package tap

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorosbag/gorosbag/internal/live"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Options says what viewers are told, and how much memory they may take.
type Options struct {
	Name string // of the source, as viewers show it
	// Memory bounds all copies of messages: those that viewers have not received, and those of
	// latching publishers. Zero means DefaultMemory.
	Memory int64
	Graph  func(context.Context) (tcpros.SystemState, error) // asks the master; nil for no graph
}

// DefaultMemory is that of Options.
const DefaultMemory = 96 << 20

// Options.Memory is divided into twelfths. The rest of them is for messages that viewers have not
// received, of which one viewer has viewerTwelfths at most.
const (
	latchedTwelfths = 2 // the latest messages of latching publishers
	partialTwelfths = 2 // large messages that have not arrived completely
	inboxTwelfths   = 3 // messages that links have put and the store has not given to viewers yet
	viewerTwelfths  = 4
)

// Tap has the channels of a recording and what viewers get of them. Its methods may be called from
// any goroutine, and on a nil Tap, which shows nothing.
type Tap struct {
	options Options
	session string
	store   *live.Store
	largest int64  // bytes of the largest message that viewers get
	latched budget // of copies of the latest messages of latching publishers
	partial budget // of large messages that have not arrived completely

	clock  atomic.Pointer[Clock] // nil means the wall clock
	ticked atomic.Int64          // when viewers were last told the time, in ns on the wall

	// The goroutine of a link takes mu when the link opens and closes, and when a notice changes.
	mu     sync.Mutex
	topics map[string]*topic
}

// Clock is the time that messages are stamped with.
type Clock interface {
	// At returns the time of what was received at received.
	At(received time.Time) time.Time
	// Step is the distance between the stamps of messages that were received together.
	Step() time.Duration
	// Tell makes f told of each time of the clock, with the time before it.
	Tell(f func(now, before time.Time))
}

// New returns a tap without topics.
func New(o Options) *Tap {
	if o.Memory == 0 {
		o.Memory = DefaultMemory
	}
	twelfth := o.Memory / 12
	t := &Tap{options: o, session: strconv.FormatInt(time.Now().UnixNano(), 10), largest: inboxTwelfths*twelfth - largeCopy, topics: map[string]*topic{}}
	t.latched = budget{limit: latchedTwelfths * twelfth, forSmall: latchedTwelfths * twelfth / 4}
	t.partial = budget{limit: partialTwelfths * twelfth}
	t.store = live.NewStore(live.Limits{
		Viewer: viewerTwelfths * twelfth, Inbox: inboxTwelfths * twelfth,
		All: (12 - latchedTwelfths - partialTwelfths - inboxTwelfths) * twelfth,
	}, t.latchedOf)
	return t
}

// Source returns what viewers can see; nil if the Tap is nil.
func (t *Tap) Source() *live.Source {
	if t == nil {
		return nil
	}
	s := &live.Source{Store: t.store, Info: t.info}
	if ask := t.options.Graph; ask != nil {
		s.Graph = func(ctx context.Context) (live.Graph, error) {
			state, err := ask(ctx)
			return live.Graph(state), err
		}
	}
	return s
}

func (t *Tap) info() live.Info {
	return live.Info{Name: t.options.Name, Session: t.session, Clock: t.clock.Load() != nil}
}

// Follow says that messages are stamped by a clock of the graph, which viewers follow, too.
func (t *Tap) Follow(c Clock) {
	if t == nil {
		return
	}
	t.clock.Store(&c)
	t.store.Change()
	c.Tell(t.tick)
}

// tickInterval is the least wall time between two times that viewers are told.
const tickInterval = time.Second / 60

// tick tells viewers what the clock of the graph says now. It said before until now: when that is
// later than now, time has gone back. tick waits for the lock of the store, at most once each
// tickInterval and when time goes back.
func (t *Tap) tick(now, before time.Time) {
	wall := time.Now().UnixNano()
	switch {
	case now.Before(before):
		t.store.Jump(rosbag.TimeOf(now))
		t.repeatLatched(rosbag.TimeOf(now))
	case wall-t.ticked.Load() < int64(tickInterval):
		return
	default:
		t.store.SetTime(rosbag.TimeOf(now))
	}
	t.ticked.Store(wall)
}

// Link returns a sink that passes all messages of a publisher on to another sink and shows them to
// viewers. header is that of the publisher, and must not change.
func (t *Tap) Link(topic string, header rosbag.Header, sink tcpros.LinkSink) tcpros.LinkSink {
	if t == nil {
		return sink
	}
	l := &link{LinkSink: sink, tap: t, topic: topic, latching: header.Latching()}
	t.add(l, kind{header.Type(), header.MD5Sum()}, header.MessageDefinition())
	return l
}

// topic is a recorded topic that has links. Tap.mu guards it.
type topic struct {
	kinds []*offer // in the order in which they came; viewers see the first
}

// kind tells the types of a topic apart.
type kind struct{ typ, md5 string }

// offer is one type of a topic, and the links of the publishers that have the type.
type offer struct {
	kind
	definition string
	links      []*link
	feed       *live.Feed // nil if viewers do not see it
}

// add adds a link to its topic.
func (t *Tap) add(l *link, k kind, definition string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.topics[l.topic]
	if of == nil {
		of = &topic{}
		t.topics[l.topic] = of
	}
	i := slices.IndexFunc(of.kinds, func(known *offer) bool { return known.kind == k })
	if i < 0 {
		i = len(of.kinds)
		of.kinds = append(of.kinds, &offer{kind: k, definition: definition})
	}
	o := of.kinds[i]
	o.links = append(o.links, l)
	l.feed.Store(o.feed)
	t.offer(l.topic, of)
}

// remove takes a link out of its topic.
func (t *Tap) remove(l *link) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.topics[l.topic]
	i := slices.IndexFunc(of.kinds, func(o *offer) bool { return slices.Contains(o.links, l) })
	o := of.kinds[i]
	o.links = slices.DeleteFunc(o.links, func(other *link) bool { return other == l })
	if len(o.links) == 0 {
		if o.feed != nil {
			o.feed.Close()
		}
		of.kinds = slices.Delete(of.kinds, i, i+1)
	}
	t.offer(l.topic, of)
	if len(of.kinds) == 0 {
		delete(t.topics, l.topic)
	}
}

// offer opens the channel for the first type of a topic, and tells viewers of the others.
func (t *Tap) offer(name string, of *topic) {
	if len(of.kinds) == 0 {
		t.store.SetNotice(name, "")
		return
	}
	first := of.kinds[0]
	if first.feed == nil {
		first.feed = t.store.Open(live.Channel{Topic: name, Type: first.typ, MD5Sum: first.md5, Definition: first.definition})
		for _, l := range first.links {
			l.feed.Store(first.feed)
		}
	}
	t.store.SetNotice(name, of.notice(name))
}

// Bounds of a notice. The publishers of a topic choose their types, and the texts of them.
const (
	noticeTypes     = 4   // types that a notice names
	noticeTypeBytes = 256 // bytes of the name of a type, and of its md5sum
)

// notice says what of a topic viewers cannot see; empty if they see all.
func (of *topic) notice(name string) string {
	var texts []string
	if hidden := of.kinds[1:]; len(hidden) > 0 {
		named := hidden[:min(len(hidden), noticeTypes)]
		names := make([]string, len(named))
		for i, o := range named {
			names[i] = clip(o.typ)
			if o.typ == of.kinds[0].typ {
				names[i] += " with md5sum " + clip(o.md5)
			}
		}
		if more := len(hidden) - len(named); more > 0 {
			names[len(names)-1] += fmt.Sprintf(" and %d more", more)
		}
		texts = append(texts, fmt.Sprintf("Topic %s also has messages of type %s: they are recorded, but not shown.", name, strings.Join(names, ", ")))
	}
	if of.any(func(l *link) bool { return l.tooLarge.Load() }) {
		texts = append(texts, fmt.Sprintf("Topic %s has messages that are too large for viewers: they are recorded, but not shown.", name))
	}
	if of.any(func(l *link) bool { return l.letGo.Load() }) {
		texts = append(texts, fmt.Sprintf("Topic %s has a latched message that is too large to be kept for viewers that come later.", name))
	}
	return strings.Join(texts, " ")
}

// clip cuts a text of a publisher to the length that a notice has room for.
func clip(text string) string { return text[:min(len(text), noticeTypeBytes)] }

// any reports whether is holds for a link whose messages viewers see.
func (of *topic) any(is func(*link) bool) bool { return slices.ContainsFunc(of.kinds[0].links, is) }

// renew tells viewers of a topic what they cannot see now.
func (t *Tap) renew(topic string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if of := t.topics[topic]; of != nil {
		t.offer(topic, of)
	}
}

// latchedOf returns the latest message of each latching publisher of a channel, the oldest first.
func (t *Tap) latchedOf(id live.ChannelID) []live.Frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, of := range t.topics {
		if first := of.kinds[0]; first.feed.Channel().ID == id {
			return first.latched()
		}
	}
	return nil
}

// repeatLatched shows the latched messages again after a jump to a time, because viewers drop at a jump
// what they have. The messages get this time: their own times may be later than that.
func (t *Tap) repeatLatched(now rosbag.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, of := range t.topics {
		first := of.kinds[0]
		if !first.feed.Wanted() {
			continue
		}
		for _, f := range first.latched() {
			first.feed.Put(now, f.Payload, 0)
		}
	}
}

// latched returns the latest message of each latching publisher, the oldest first.
func (o *offer) latched() (all []live.Frame) {
	for _, l := range o.links {
		if f, ok := l.last.take(); ok {
			all = append(all, f)
		}
	}
	sortByTime(all)
	return all
}
