package tcpros

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

const maxSubscribers = 1024 // of one topic; a link each

// AdvertiseOptions say what is offered.
type AdvertiseOptions struct {
	Topic             string
	Type              string // "*" if it is not known: each subscriber is then told the one it asks for
	MD5Sum            string // as Type
	MessageDefinition string
	Latching          bool // told to subscribers; each Source says for itself whether it latches
	QueueFrames       int  // frames held for each subscriber; zero means unlimited
	Overflow          Overflow
	Transient         bool // nobody has to read to the end: Drain leaves it out

	// Freed, if it is not nil, is called when Room has become true again, from any
	// goroutine and with locks held: it must neither block nor use the Publication.
	Freed func()
}

func (o AdvertiseOptions) check() error {
	switch {
	case o.MD5Sum == "":
		return fmt.Errorf("tcpros: advertise %q without an md5sum", o.Topic)
	case o.Type == "":
		return fmt.Errorf("tcpros: advertise %q without a type", o.Topic)
	case o.QueueFrames < 0:
		return fmt.Errorf("tcpros: advertise %q with a queue of %d frames", o.Topic, o.QueueFrames)
	case o.Overflow != OverflowDrop && o.Overflow != OverflowBlock:
		return fmt.Errorf("tcpros: advertise %q with overflow %d", o.Topic, o.Overflow)
	}
	return checkType(o.Type)
}

// checkType refuses types that cannot be one. They reach the master through an
// encoder that escapes nothing, and may come from a hostile bag.
func checkType(typ string) error {
	if typ == anyType {
		return nil
	}
	ok := len(typ) <= maxNameBytes && strings.Count(typ, "/") <= 1
	for _, c := range typ {
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_/-.", c))
	}
	if !ok {
		return &NameError{fmt.Sprintf("%.80s", typ), "not a message type"}
	}
	return nil
}

// Publication offers one topic to all its subscribers.
type Publication struct {
	node  *Node
	opts  AdvertiseOptions
	topic string
	room  room

	gone   atomic.Uint64 // frames dropped on links that have ended
	unsent atomic.Uint64 // frames published when nothing could be sent any more

	mu      sync.Mutex
	links   []*outLink
	sources []*Source // those that latch
	latched uint64    // frames published by them
	closed  bool
}

// Source is one original publisher of a topic.
type Source struct {
	p     *Publication
	latch bool
	last  []byte // with p.mu held; nil until the first Publish
	at    uint64 // p.latched when last was published
}

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

// Publish sends a frame, <u32 length><payload>, to every subscriber. The frame is
// shared and must not be modified afterwards. It never blocks: what happens at a full
// queue is AdvertiseOptions.Overflow.
func (s *Source) Publish(frame []byte) { s.publish(frame, false) }

// PublishNow is Publish for a frame that is due now, with time until the next one: it
// goes straight to the sockets that have nothing queued. For a flood of frames that
// costs more, as each is a system call, but it spares a frame that comes alone the
// wake-up of the goroutines that Publish leaves it to.
func (s *Source) PublishNow(frame []byte) { s.publish(frame, true) }

func (s *Source) publish(frame []byte, now bool) {
	p := s.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		p.unsent.Add(1)
		return
	}
	if s.latch {
		p.latched++
		s.last, s.at = frame, p.latched
	}
	for _, l := range p.links {
		l.push(frame, now)
	}
}

// Unlatch forgets the last frame, as if nothing had been published: a new subscriber
// gets none from this source until the next Publish.
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

// Dropped returns how many frames full queues have dropped, over all subscribers
// that are or were there, and how many were published after the end.
func (p *Publication) Dropped() uint64 {
	n := p.gone.Load() + p.unsent.Load()
	for _, s := range p.Stats() {
		n += s.Dropped
	}
	return n
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
	Full     bool   // with OverflowBlock: this one makes Room say no
}

// Close ends every link at once, without flushing. Unregistering is left to the node.
func (p *Publication) Close() {
	p.node.dropPublication(p)
	for _, l := range p.shut() {
		l.close()
		<-l.done
		p.remove(l)
	}
}

// shut ends publishing and returns the links.
func (p *Publication) shut() []*outLink {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return slices.Clone(p.links)
}

func (p *Publication) allLinks() []*outLink {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.links)
}

// header is the reply to a subscriber that is accepted. Wildcards are as in the
// recorders of the first bags, which subscribed to any type and stored what they said:
// rospy and roscpp want to see what they asked for.
func (p *Publication) header(asked Header) Header {
	latching := "0"
	p.mu.Lock()
	if p.opts.Latching || len(p.sources) > 0 {
		latching = "1"
	}
	p.mu.Unlock()
	md5, typ := p.opts.MD5Sum, p.opts.Type
	if md5 == AnyMD5 {
		md5 = asked.get("md5sum")
	}
	if t := asked.get("type"); typ == anyType && t != "" {
		typ = t
	}
	return Header{
		{Key: "callerid", Value: p.node.name},
		{Key: "latching", Value: latching},
		{Key: "md5sum", Value: md5},
		{Key: "message_definition", Value: p.opts.MessageDefinition},
		{Key: "topic", Value: p.topic},
		{Key: "type", Value: typ},
	}
}

// crowded reports whether there is no room for a subscriber: somebody makes up names.
// One that is there already may come again.
func (p *Publication) crowded(callerID string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links) >= maxSubscribers && !slices.ContainsFunc(p.links, func(l *outLink) bool { return l.callerID == callerID })
}

// refuse returns the text that a subscriber with header h is refused with, or the
// empty string. Only the md5sum is compared, as in roscpp: types get renamed.
func (p *Publication) refuse(h Header) string {
	if p.crowded(h.get("callerid")) {
		return fmt.Sprintf("topic %s has %d subscribers, and takes no more", p.topic, maxSubscribers)
	}
	md5 := h.get("md5sum")
	if md5 == AnyMD5 || p.opts.MD5Sum == AnyMD5 || strings.EqualFold(md5, p.opts.MD5Sum) {
		return ""
	}
	return fmt.Sprintf("Client [%s] wants topic %s to have datatype/md5sum [%s/%s], but our version has [%s/%s]. Dropping connection.",
		h.get("callerid"), p.topic, h.get("type"), md5, p.opts.Type, p.opts.MD5Sum)
}

// add puts a link into service: first the latched frames in the order in which
// they were published, so that the newest one wins, then what is published from
// this moment on. A link of the same node is replaced: its old one is half
// open, or the node restarted.
func (p *Publication) add(l *outLink) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	for i, old := range p.links {
		if old.callerID == l.callerID {
			old.giveUp()
			p.removeAt(i)
			break
		}
	}
	slices.SortFunc(p.sources, func(a, b *Source) int { return cmp.Compare(a.at, b.at) })
	for _, s := range p.sources {
		if s.last != nil {
			l.first = append(l.first, s.last)
		}
	}
	p.links = append(p.links, l)
	return true
}

// remove takes a link out of service.
func (p *Publication) remove(l *outLink) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.links, l); i >= 0 {
		p.removeAt(i)
	}
}

func (p *Publication) removeAt(i int) {
	p.gone.Add(p.links[i].snapshot().Dropped)
	p.links = slices.Delete(p.links, i, i+1)
}
