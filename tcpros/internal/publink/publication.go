// Package publink is the sending side of a topic: a publication, its sources, and for each
// subscriber a link with a queue and a writer. It drains links, and gives up subscribers whose
// machine is gone. Publication.mu is taken before Link.mu, and no lock is held while a goroutine
// waits for a socket. Package tcpros calls it; nothing else does.
package publink

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
	"github.com/gorosbag/gorosbag/tcpros/internal/names"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// Options describe a publication; AdvertiseOptions explains each field.
type Options struct {
	Type              string
	MD5Sum            string
	MessageDefinition string
	Latching          bool
	QueueFrames       int
	Overflow          Overflow
	Freed             func()
	Unfit             func(asked wire.Header) (a *Adapted, why string)
	Links             *endpoint.Links // of the whole process
}

// Publication is one advertised topic with its subscribers.
type Publication struct {
	opts     Options
	topic    string
	callerID string // of the node
	room     room

	endedDropped        atomic.Uint64 // frames dropped on links that have ended
	publishedAfterClose atomic.Uint64 // frames published after Close or Drain

	mu         sync.Mutex
	links      []*Link
	replaced   []*Link    // that Add has removed, and that may still be writing
	adapted    []*variant // what links get instead of the published frames
	sources    []*Source  // latching sources only
	latchCount uint64     // number of frames published by latching sources
	closed     bool
	udpOnly    nodes // that asked for UDPROS only
	refused    nodes // that no descriptor was left for
}

// nodes are names of nodes, at most maxNodes.
type nodes map[string]bool

const maxNodes = 256

// add adds a node. It reports whether that is news.
func (n *nodes) add(node string) (news bool) {
	if (*n)[node] || len(*n) == maxNodes {
		return false
	}
	if *n == nil {
		*n = nodes{}
	}
	(*n)[node] = true
	return true
}

// NoteUDPOnly notes that a node asked for UDPROS only. It reports whether that is news.
func (p *Publication) NoteUDPOnly(node string) (news bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.udpOnly.add(node)
}

// UDPOnly returns the nodes that asked for UDPROS only, sorted.
func (p *Publication) UDPOnly() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.udpOnly))
}

// Refused returns the nodes that were refused because no descriptor was left for them, sorted.
func (p *Publication) Refused() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.refused))
}

// Source is one original publisher of a topic.
type Source struct {
	p          *Publication
	latch      bool
	last       []byte // guarded by p.mu; nil until the first Publish
	latchOrder uint64 // p.latchCount when last was published
}

// New returns the publication of a topic by the node callerID. topic is the resolved name.
func New(o Options, topic, callerID string) *Publication {
	return &Publication{
		opts: o, topic: topic, callerID: callerID,
		room: room{block: o.Overflow == OverflowBlock, freed: o.Freed},
	}
}

// Type returns the type and the md5sum that the topic was advertised with.
func (p *Publication) Type() (typ, md5sum string) { return p.opts.Type, p.opts.MD5Sum }

// Source adds a source. The last frame of a latching source is sent to each new
// subscriber.
func (p *Publication) Source(latching bool) *Source {
	s := &Source{p: p, latch: latching}
	if latching {
		p.mu.Lock()
		p.sources = append(p.sources, s)
		p.mu.Unlock()
	}
	return s
}

// Publish sends a frame, <u32 length><payload>, to every subscriber. The frame is shared and
// must not be modified afterwards. Publish never blocks: AdvertiseOptions.Overflow says what
// happens when a queue is full.
func (s *Source) Publish(frame []byte) { s.publish(frame, false) }

// PublishNow is Publish for a single frame that is due now: it writes directly to the sockets
// whose queue is empty. That saves the wake-up of the links' writer goroutines. For many
// frames at once Publish is cheaper, since PublishNow makes a system call for each.
func (s *Source) PublishNow(frame []byte) { s.publish(frame, true) }

func (s *Source) publish(frame []byte, now bool) {
	p := s.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		p.publishedAfterClose.Add(1)
		return
	}
	if s.latch {
		p.latchCount++
		s.last, s.latchOrder = frame, p.latchCount
	}
	for _, v := range p.adapted {
		v.frame = v.Frame(frame)
	}
	for _, l := range p.links {
		if l.variant == nil {
			l.push(frame, now)
		} else if l.variant.frame != nil {
			l.push(l.variant.frame, now)
		}
	}
}

// Unlatch drops the latched frame: a new subscriber gets no frame from this source until the
// next Publish.
func (s *Source) Unlatch() {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.last = nil
}

// Topic returns the resolved name.
func (p *Publication) Topic() string { return p.topic }

// Subscribers returns the number of links that are up.
func (p *Publication) Subscribers() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Dropped returns the number of frames dropped from full queues, over all present and past
// subscribers, plus the number of frames published after Close or Drain.
func (p *Publication) Dropped() uint64 {
	n := p.endedDropped.Load() + p.publishedAfterClose.Load()
	for _, s := range p.Stats() {
		n += s.Dropped
	}
	return n
}

// Held returns how many of the latest frames of the publication may still be needed: those in queues, and
// those that are being written. All frames before them were written to the sockets, or dropped, so that their
// memory can be used again, except frames of latching sources: a new link may be sending them. Held is
// math.MaxInt while a link that gets no more frames is ending.
func (p *Publication) Held() (most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.links {
		most = max(most, l.held())
	}
	p.replaced = slices.DeleteFunc(p.replaced, (*Link).hasEnded)
	if len(p.replaced) > 0 || p.closed && most > 0 {
		return math.MaxInt
	}
	return most
}

// Stats returns the state of each link.
func (p *Publication) Stats() []SubscriberStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]SubscriberStats, len(p.links))
	for i, l := range p.links {
		out[i] = l.snapshot()
	}
	return out
}

// SubscriberStats is the state of the link to one subscriber.
type SubscriberStats struct {
	CallerID string
	Peer     string // host:port
	Queued   int    // frames waiting
	Frames   uint64 // frames written to the socket
	Bytes    uint64
	Dropped  uint64 // frames dropped from the full queue
	Full     bool   // with OverflowBlock: the queue is full, so that Room is false
}

// Close closes every link at once, without flushing.
func (p *Publication) Close() {
	for _, l := range p.stopPublishing() {
		l.close()
		<-l.done
		p.Remove(l)
	}
}

// Abort ends publishing and closes every link, without waiting for them.
func (p *Publication) Abort() {
	for _, l := range p.stopPublishing() {
		l.close()
	}
}

// stopPublishing makes Publish count frames instead of sending them, and returns the links.
func (p *Publication) stopPublishing() []*Link {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return slices.Clone(p.links)
}

// Row is the state of a link for the slave API.
type Row struct {
	ID       int
	CallerID string // of the subscriber
	Title    string // in the form that rosnode parses
	Frames   uint64 // written to the socket
	Bytes    uint64
}

// Rows returns the state of each link for the slave API.
func (p *Publication) Rows() []Row {
	p.mu.Lock()
	defer p.mu.Unlock()
	rows := make([]Row, len(p.links))
	for i, l := range p.links {
		s := l.snapshot()
		rows[i] = Row{l.id, l.callerID, l.name, s.Frames, s.Bytes}
	}
	return rows
}

// NewLink returns a link to the subscriber that has sent the header asked over conn, and gets what Accept
// has said. Link.Serve sends the reply.
func (p *Publication) NewLink(conn net.Conn, asked wire.Header, a *Adapted, id int) *Link {
	l := newOutLink(conn, asked.Value("callerid"), id, p.opts.QueueFrames, &p.room)
	l.adapted = a
	l.reply = wire.AppendHeader(nil, p.header(asked, a))
	return l
}

// header returns the reply to an accepted subscriber. A wildcard is replaced by the value that
// the subscriber requested, which rospy and roscpp expect in the reply. Bags of early
// recorders, which stored their own wildcards, have such topics.
func (p *Publication) header(asked wire.Header, a *Adapted) wire.Header {
	latching := "0"
	p.mu.Lock()
	if p.opts.Latching || len(p.sources) > 0 {
		latching = "1"
	}
	p.mu.Unlock()
	md5, typ, definition := p.opts.MD5Sum, p.opts.Type, p.opts.MessageDefinition
	if a != nil {
		md5, typ, definition = a.MD5Sum, a.Type, a.MessageDefinition
	}
	if md5 == wire.AnyMD5 {
		md5 = asked.Value("md5sum")
	}
	if t := asked.Value("type"); typ == names.AnyType && t != "" {
		typ = t
	}
	return wire.Header{
		{Key: "callerid", Value: p.callerID},
		{Key: "latching", Value: latching},
		{Key: "md5sum", Value: md5},
		{Key: "message_definition", Value: definition},
		{Key: "topic", Value: p.topic},
		{Key: "type", Value: typ},
	}
}

// isLeftOut reports whether no descriptor is left for a subscriber, and notes its name. One that is
// connected already may reconnect.
func (p *Publication) isLeftOut(callerID string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if all := p.opts.Links.Add(0); !p.opts.Links.Exceeds(all+1, len(p.links)+1) ||
		slices.ContainsFunc(p.links, func(l *Link) bool { return l.callerID == callerID }) {
		return false
	}
	p.refused.add(names.Clip(callerID))
	return true
}

// Refusal is why a subscriber is refused.
type Refusal struct {
	Text string // for the subscriber, in stock's words; empty if it is accepted
	Why  string // for the log; empty for Text
}

// Accept returns what a subscriber with header h gets instead of the published frames, nil for these, or
// why it is refused. Without Options.Unfit only the md5sum is compared, as in roscpp: types may have been
// renamed.
func (p *Publication) Accept(h wire.Header) (*Adapted, Refusal) {
	a, r := p.fit(h)
	if r.Text == "" && p.isLeftOut(h.Value("callerid")) {
		return nil, Refusal{
			Text: fmt.Sprintf("topic %s takes no more subscribers: no file descriptor is left", p.topic),
			Why:  "no file descriptor is left for it: allow more open files (ulimit -n, or LimitNOFILE= of systemd)",
		}
	}
	return a, r
}

// fit is Accept, whatever number of subscribers there is.
func (p *Publication) fit(h wire.Header) (*Adapted, Refusal) {
	md5 := h.Value("md5sum")
	var why string
	unknown := p.opts.MD5Sum == wire.AnyMD5
	fits := md5 == wire.AnyMD5 || unknown || strings.EqualFold(md5, p.opts.MD5Sum)
	text := h.Value("message_definition") // which rospy sends
	if p.opts.Unfit != nil &&
		(unknown || md5 != wire.AnyMD5 && (!fits || text != "" && text != p.opts.MessageDefinition)) {
		var a *Adapted
		if a, why = p.opts.Unfit(h); a != nil {
			return a, Refusal{}
		}
	}
	if fits {
		return nil, Refusal{}
	}
	return nil, Refusal{
		Why: why,
		Text: fmt.Sprintf("Client [%s] wants topic %s to have datatype/md5sum [%s/%s], but our version has [%s/%s]. Dropping connection.",
			h.Value("callerid"), p.topic, h.Value("type"), md5, p.opts.Type, p.opts.MD5Sum),
	}
}

// Add adds a link. The link first sends the latched frames in the order in which they were
// published, so that a subscriber receives the newest last, and then all frames published from now
// on. Add replaces a previous link of the same node: that link is half open, or the node has
// restarted.
func (p *Publication) Add(l *Link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	for i, old := range p.links {
		if old.callerID == l.callerID {
			old.abandon(ackStateOf(old.conn))
			p.removeAt(i)
			p.replaced = append(p.replaced, old)
			break
		}
	}
	slices.SortFunc(p.sources, func(a, b *Source) int { return cmp.Compare(a.latchOrder, b.latchOrder) })
	l.variant = p.variantOf(l.adapted)
	for _, s := range p.sources {
		frame := s.last
		if frame != nil && l.adapted != nil {
			frame = l.adapted.Frame(frame)
		}
		if frame != nil {
			l.latched = append(l.latched, frame)
		}
	}
	p.links = append(p.links, l)
	p.opts.Links.Add(1)
	return true
}

// Remove removes a link.
func (p *Publication) Remove(l *Link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.links, l); i >= 0 {
		p.removeAt(i)
	}
}

func (p *Publication) removeAt(i int) {
	p.endedDropped.Add(p.links[i].snapshot().Dropped)
	gone := p.links[i].variant
	p.links = slices.Delete(p.links, i, i+1)
	p.opts.Links.Add(-1)
	if gone != nil && !slices.ContainsFunc(p.links, func(l *Link) bool { return l.variant == gone }) {
		p.adapted = slices.DeleteFunc(p.adapted, func(v *variant) bool { return v == gone })
	}
}
