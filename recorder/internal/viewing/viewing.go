// Package viewing shows the messages of a recording to live viewers.
//
// A Tap wraps the sink of each link. Without a viewer of the topic that costs two atomic loads for
// each run of frames, and one copy of the latest message of a latching publisher. With viewers, the
// tap copies the frames of topics that they want, once for all viewers, and puts the copies into a
// live.Store. The goroutine of the link never waits for a viewer, and the next sink knows
// nothing of viewers: it gets each run first.
//
// Decisions: ADR 0114.
package viewing

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/internal/view/live"
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

// Tap has the channels of a recording and the messages that viewers get. Its methods may be called from
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
	topics map[string]variants         // recorded topics that have links
	shown  map[live.ChannelID]*variant // by the channel that viewers see
}

// Clock is the time that messages are stamped with.
type Clock interface {
	// At returns the time of what was received at received.
	At(received time.Time) time.Time
	// Step is the distance between the stamps of messages that were received together.
	Step() time.Duration
	// Tell makes the clock call f with each of its times, and with the time before.
	Tell(f func(now, before time.Time))
}

// New returns a tap without topics.
func New(o Options) *Tap {
	twelfth := cmp.Or(o.Memory, DefaultMemory) / 12
	t := &Tap{
		options: o, session: strconv.FormatInt(time.Now().UnixNano(), 10),
		largest: inboxTwelfths*twelfth - largeCopy, topics: map[string]variants{},
		shown: map[live.ChannelID]*variant{},
	}
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

// Follow makes viewers follow a clock of the graph, by which messages are stamped.
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

// tick tells viewers the time of the clock of the graph. before is its time until now: if that is later, time
// has gone back. Viewers are told once each tickInterval at most, and when time goes back.
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
func (t *Tap) Link(topic topicname.InGraph, header rosbag.Header, sink tcpros.LinkSink) tcpros.LinkSink {
	if t == nil {
		return sink
	}
	l := &link{LinkSink: sink, tap: t, topic: string(topic), latching: header.Latching()}
	t.add(l, msgType{header.Type(), header.MD5Sum()}, header.MessageDefinition())
	return l
}

// msgType is the type of messages, whose name alone does not identify it.
type msgType struct{ name, md5 string }

// variants are the types of a topic that has links, in the order in which they came; viewers see the
// first. Tap.mu guards them.
type variants []*variant

// variant is one type of a topic, and the links of the publishers that have the type.
type variant struct {
	msgType
	definition string
	links      []*link
	feed       *live.Feed // nil if viewers do not see it
}

// add adds a link to its topic.
func (t *Tap) add(l *link, typ msgType, definition string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.topics[l.topic]
	i := slices.IndexFunc(of, func(v *variant) bool { return v.msgType == typ })
	if i < 0 {
		i = len(of)
		of = append(of, &variant{msgType: typ, definition: msgdef.Complete(typ.name, typ.md5, definition)})
		t.topics[l.topic] = of
	}
	v := of[i]
	v.links = append(v.links, l)
	l.feed.Store(v.feed)
	t.updateLocked(l.topic, of)
}

// remove takes a link out of its topic.
func (t *Tap) remove(l *link) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.topics[l.topic]
	i := slices.IndexFunc(of, func(v *variant) bool { return slices.Contains(v.links, l) })
	v := of[i]
	v.links = slices.DeleteFunc(v.links, func(other *link) bool { return other == l })
	if len(v.links) == 0 {
		if v.feed != nil {
			delete(t.shown, v.feed.Channel().ID)
			v.feed.Close()
		}
		of = slices.Delete(of, i, i+1)
		t.topics[l.topic] = of
	}
	t.updateLocked(l.topic, of)
	if len(of) == 0 {
		delete(t.topics, l.topic)
	}
}

// updateLocked opens the channel for the first type of a topic, and tells viewers what they cannot see.
func (t *Tap) updateLocked(name string, of variants) {
	if len(of) == 0 {
		t.store.SetNotice(name, "")
		return
	}
	first := of[0]
	if first.feed == nil {
		first.feed = t.store.Open(live.Channel{
			Topic: name, Type: first.name, MD5Sum: first.md5,
			Definition: first.definition,
		})
		t.shown[first.feed.Channel().ID] = first
		for _, l := range first.links {
			l.feed.Store(first.feed)
		}
	}
	t.store.SetNotice(name, of.notice(name))
}

// Bounds of a notice: publishers may name any number of types, with names of any length.
const (
	noticeTypes     = 4   // types that a notice names
	noticeTypeBytes = 256 // bytes of the name of a type, and of its md5sum
)

// notice says what of a topic viewers cannot see; empty if they see all.
func (of variants) notice(name string) string {
	var texts []string
	if hidden := of[1:]; len(hidden) > 0 {
		named := hidden[:min(len(hidden), noticeTypes)]
		names := make([]string, len(named))
		for i, v := range named {
			names[i] = clip(v.name)
			if v.name == of[0].name {
				names[i] += " with md5sum " + clip(v.md5)
			}
		}
		if more := len(hidden) - len(named); more > 0 {
			names[len(names)-1] += fmt.Sprintf(" and %d more", more)
		}
		texts = append(texts,
			fmt.Sprintf("Topic %s also has messages of type %s: they are recorded, but not shown.", name,
				strings.Join(names, ", ")))
	}
	if of.any(func(l *link) bool { return l.tooLarge.Load() }) {
		texts = append(texts,
			fmt.Sprintf("Topic %s has messages that are too large for viewers: they are recorded, but not shown.", name))
	}
	if of.any(func(l *link) bool { return l.notKept.Load() }) {
		texts = append(texts,
			fmt.Sprintf("Topic %s has a latched message that is too large to be kept for viewers that come later.", name))
	}
	return strings.Join(texts, " ")
}

// clip cuts the text of a publisher to noticeTypeBytes.
func clip(text string) string { return text[:min(len(text), noticeTypeBytes)] }

// any reports whether is is true for any link whose messages viewers see.
func (of variants) any(is func(*link) bool) bool { return slices.ContainsFunc(of[0].links, is) }

// updateNotice tells viewers what they cannot see of a topic now.
func (t *Tap) updateNotice(topic string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if of := t.topics[topic]; of != nil {
		t.updateLocked(topic, of)
	}
}

// latchedOf returns the latest message of each latching publisher of a channel, the oldest first.
func (t *Tap) latchedOf(id live.ChannelID) []live.Frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v := t.shown[id]; v != nil {
		return v.latched()
	}
	return nil
}

// repeatLatched shows the latched messages again after a jump to a time, because at a jump viewers drop the
// messages that they have. The messages get the time of the jump: their own times may be later.
func (t *Tap) repeatLatched(now rosbag.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, of := range t.topics {
		first := of[0]
		if !first.feed.Wanted() {
			continue
		}
		for _, f := range first.latched() {
			first.feed.Put(now, f.Payload, 0)
		}
	}
}

// latched returns the latest message of each latching publisher, the oldest first.
func (v *variant) latched() (all []live.Frame) {
	for _, l := range v.links {
		if f, ok := l.last.take(); ok {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b live.Frame) int { return a.Time.Compare(b.Time) })
	return all
}
