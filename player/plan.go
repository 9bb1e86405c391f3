package player

import (
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
}

// bagPlan is the part of one bag.
type bagPlan struct {
	*Bag
	routes map[*bagfmt.Connection]*route // those selected
	share  int                           // bytes of chunk memory for each selected message, an estimate
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
// name into the one to publish under.
func newPlan(o *Options, resolve func(string) (string, error)) (*plan, error) {
	p := &plan{log: o.Log}
	earliest, ok := earliestStart(o.Bags)
	if !ok {
		return nil, ErrNoMessages
	}
	// As stock: the offset counts from the earliest message of all topics.
	p.start = earliest.Add(o.Start)
	if o.Duration > 0 {
		p.end = p.start.Add(o.Duration)
	}
	found := false
	for _, bag := range o.Bags {
		b := &bagPlan{Bag: bag, routes: map[*bagfmt.Connection]*route{}}
		p.bags = append(p.bags, b)
		present := p.connectionsInWindow(bag.reader)
		for _, c := range bag.reader.Connections() {
			if !selected(o.Topics, c.Topic) || !present[c] && (o.Start == 0 || !c.Header.Latching()) {
				continue
			}
			found = found || present[c]
			b.routes[c] = p.route(b, c, o.Prefix, resolve)
		}
		b.share = b.chunkShare()
	}
	if !found {
		return nil, ErrNoMessages
	}
	return p, nil
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
	case md5 == "" || md5 == "*":
		r.unplayable(p.log, fmt.Sprintf("the bag has md5sum %q for it", md5))
		return r
	case typ == "" || typ == "*":
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

// maxProbed bounds how many chunks are read only to learn which connections have
// messages in a window that cuts them. In an ordinary bag the window cuts two.
const maxProbed = 4

// connectionsInWindow returns the connections that have messages in the window.
// Chunk infos tell for all chunks but those that the window cuts: these are read.
// When they are many, or damaged, their connections count as present.
func (p *plan) connectionsInWindow(r *bagfmt.Reader) map[*bagfmt.Connection]bool {
	present := map[*bagfmt.Connection]bool{}
	var cut []bagfmt.ChunkInfo
	for _, chunk := range r.Chunks() {
		switch {
		case chunk.End.Before(p.start) || !p.end.IsZero() && p.end.Before(chunk.Start):
		case chunk.Start.Before(p.start) || !p.end.IsZero() && p.end.Before(chunk.End):
			cut = append(cut, chunk)
		default:
			for _, n := range chunk.Counts {
				if n.Count > 0 {
					present[n.Conn] = true
				}
			}
		}
	}
	for _, chunk := range cut {
		missing := map[*bagfmt.Connection]bool{}
		for _, n := range chunk.Counts {
			if n.Count > 0 && !present[n.Conn] {
				missing[n.Conn] = true
			}
		}
		if len(missing) > 0 && (len(cut) > maxProbed || !probe(r, p.within(chunk, missing), len(missing), present)) {
			for c := range missing {
				present[c] = true
			}
		}
	}
	return present
}

// within selects messages of the wanted connections from the part of a chunk's
// time that lies in the window.
func (p *plan) within(chunk bagfmt.ChunkInfo, wanted map[*bagfmt.Connection]bool) bagfmt.Query {
	q := bagfmt.Query{Keep: func(c *bagfmt.Connection) bool { return wanted[c] }, Start: chunk.Start, End: chunk.End}
	if q.Start.Before(p.start) {
		q.Start = p.start
	}
	if !p.end.IsZero() && p.end.Before(q.End) {
		q.End = p.end
	}
	return q
}

// probe adds the connections of the messages of q to present, and stops when it
// has seen all. It reports false when it cannot tell.
func probe(r *bagfmt.Reader, q bagfmt.Query, wanted int, present map[*bagfmt.Connection]bool) bool {
	for m, err := range r.All(q) {
		if err != nil {
			return false
		}
		if !present[m.Conn] {
			present[m.Conn] = true
			if wanted--; wanted == 0 {
				break
			}
		}
	}
	return true
}

// chunkShare estimates how much chunk memory one selected message keeps alive,
// from the chunk that holds the most messages.
func (b *bagPlan) chunkShare() int {
	most, bytes, kept := uint64(0), int64(0), uint64(1)
	for i, chunk := range b.reader.Chunks() {
		var all, selected uint64
		for _, n := range chunk.Counts {
			all += uint64(n.Count)
			if b.routes[n.Conn] != nil {
				selected += uint64(n.Count)
			}
		}
		if all <= most || selected == 0 {
			continue
		}
		if h, err := b.reader.ChunkHeader(i); err == nil {
			most, bytes, kept = all, h.UncompressedBytes, selected
		}
	}
	return int(bytes / int64(kept))
}

// last returns the stamp of the last message that will be played. It reads the
// chunks that end latest, until no other can hold a later message.
func (p *plan) last() bagfmt.Time {
	var best bagfmt.Time
	for _, b := range p.bags {
		chunks := slices.Clone(b.reader.Chunks())
		slices.SortFunc(chunks, func(x, y bagfmt.ChunkInfo) int { return y.End.Compare(x.End) })
		for _, chunk := range chunks {
			if chunk.End.Before(p.start) || !best.Before(chunk.End) {
				break
			}
			if !p.end.IsZero() && (p.end.Before(chunk.Start) || !best.Before(p.end)) {
				continue
			}
			wanted := map[*bagfmt.Connection]bool{}
			for _, n := range chunk.Counts {
				if r := b.routes[n.Conn]; n.Count > 0 && r != nil && r.reason == "" {
					wanted[n.Conn] = true
				}
			}
			if len(wanted) == 0 {
				continue
			}
			for m, err := range b.reader.All(p.within(chunk, wanted)) {
				if err != nil {
					break // the length is for display only; play will report the damage
				}
				if best.Before(m.Time) {
					best = m.Time
				}
			}
		}
	}
	return best
}
