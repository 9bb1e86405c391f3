package recorder

import (
	"errors"
	"io"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/tcpros"
)

// A publisher that ends in good order unregisters at the same time: the master does
// not list it any more, and its link is not lost. One that is killed stays listed until
// another node takes its name. One that closes the link and takes it up again by itself,
// as when it advertises the topic anew, knows what it does: that is no loss either.
const (
	farewell = 2 * time.Second       // a link that is gone and listed for longer is lost
	goodbye  = 50 * time.Millisecond // who is off the list within this has unregistered
	takeover = time.Second           // who is back so soon after that, else, took the name over
)

// publisher is what is known of one publisher of a topic besides its messages. It is
// guarded by pipeline.mu.
type publisher struct {
	id    string    // its name, or its address if it says none
	uri   string    // of its last link
	seq   *seqWatch // of its last link; nil if its messages have no numbers
	links int       // that are up

	missed uint64 // holes in its numbers

	down   time.Time     // since when there is no link; zero if there is one, or none is wanted
	left   time.Time     // when it was off the master's list then
	closed bool          // it closed the link itself, between two messages
	gone   bool          // that link counts as lost
	lost   int           // links
	away   time.Duration // without a link, over all that were lost and came back
	said   int           // links lost that were reported by tick
	warned uint64        // holes that were
}

// publisherOf finds or makes the account of a publisher by its name.
func (t *topic) publisherOf(info tcpros.LinkInfo) *publisher {
	id := bagfmt.ConnectionHeader(info.Header).CallerID()
	if id == "" {
		id = info.PublisherURI
	}
	for _, pub := range t.publishers {
		if pub.id == id {
			return pub
		}
	}
	pub := &publisher{id: id}
	t.publishers = append(t.publishers, pub)
	return pub
}

// openLink finds or makes the connection of a publisher. A publisher that comes
// back with the same header gets the same connection, as in stock.
func (p *pipeline) openLink(t *topic, info tcpros.LinkInfo) (*link, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return nil, errEnded
	}
	if len(t.conns) == 0 && !t.since.IsZero() {
		t.pickup = time.Since(t.since)
	}
	return p.connect(t, info), nil
}

// connect is openLink for whoever it may be. mu is held.
func (p *pipeline) connect(t *topic, info tcpros.LinkInfo) *link {
	header := bagfmt.ConnectionHeader(info.Header)
	t.linked++
	for _, c := range t.conns {
		if slices.Equal(c.conn.Header, header) {
			return p.newLink(c, info)
		}
	}
	c := &connection{
		conn:     &bagfmt.Connection{ID: bagfmt.ConnID(len(p.conns)), Topic: t.name, Header: header},
		topic:    t,
		latching: header.Latching() && !p.latched.off,
	}
	for _, f := range header {
		c.bytes += 5 + len(f.Key) + len(f.Value)
	}
	p.conns = append(p.conns, c)
	t.conns = append(t.conns, c)
	return p.newLink(c, info)
}

// newLink makes the sink of a link that opens. mu is held.
func (p *pipeline) newLink(c *connection, info tcpros.LinkInfo) *link {
	pub := c.topic.publisherOf(info)
	again := pub.uri == info.PublisherURI
	pub.open(again, time.Now())
	l := &link{pipe: p, connection: c, publisher: pub}
	// rospy sends a copy under a number of its own to each new subscriber of a latched
	// topic, which nobody else gets. UDPROS counts what it loses itself.
	if !c.conn.Header.Latching() && info.Transport != "UDPROS" && beginsWithHeader(c.conn.Header.MessageDefinition()) {
		if again && pub.seq != nil && pub.links == 1 {
			pub.seq.again()
		} else {
			pub.seq = new(seqWatch)
		}
		l.seq = pub.seq
	}
	pub.uri = info.PublisherURI
	return l
}

// open counts a link that is up; again says that the same process has the other end.
func (u *publisher) open(again bool, now time.Time) {
	u.links++
	if u.down.IsZero() {
		return
	}
	onPurpose := again && u.closed
	if !u.gone && !onPurpose && (u.left.IsZero() || u.left.Sub(u.down) > goodbye && now.Sub(u.left) < takeover) {
		u.gone = true
		u.lost++
	}
	if u.gone {
		u.away += now.Sub(u.down)
	}
	u.down, u.left, u.gone = time.Time{}, time.Time{}, false
}

// end counts a link that ended; err is nil if we closed it.
func (u *publisher) end(err error, now time.Time) {
	if u.links--; u.links == 0 && err != nil {
		u.down, u.closed = now, errors.Is(err, io.EOF)
	}
}

// leave notes that the publisher is off the master's list.
func (u *publisher) leave(now time.Time) {
	if !u.down.IsZero() && u.left.IsZero() {
		u.left = now
	}
}

// look decides about a link that is gone for a while.
func (u *publisher) look(now time.Time) {
	if !u.down.IsZero() && u.left.IsZero() && !u.gone && now.Sub(u.down) > farewell {
		u.gone = true
		u.lost++
	}
}

// without returns the time without a link that was lost, until now.
func (u *publisher) without(now time.Time) time.Duration {
	if u.gone {
		return u.away + now.Sub(u.down)
	}
	return u.away
}

// left notes that the publishers of t at uri are off the master's list.
func (p *pipeline) left(t *topic, uri string) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range t.publishers {
		if u.uri == uri {
			u.leave(now)
		}
	}
}

// missed counts messages that never arrived; negative takes some back that were none.
// Those that would not have been recorded do not count.
func (l *link) missed(n int) {
	if n == 0 {
		return
	}
	p, u := l.pipe, l.publisher
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case n < 0:
		u.missed -= min(u.missed, uint64(-n))
		u.warned = min(u.warned, u.missed)
	case p.wants(l.connection.topic):
		u.missed += uint64(n)
	}
}

// publisherLoss is one line of the report of tick.
type publisherLoss struct {
	topic, publisher string
	missed           uint64 // since the last report
	lost             int    // links, since the last report
	without          time.Duration
}

// newPublisherLosses returns what went wrong with publishers since the last call. mu is
// held.
func (p *pipeline) newPublisherLosses(now time.Time) []publisherLoss {
	var all []publisherLoss
	for _, t := range p.topics {
		for _, u := range t.publishers {
			u.look(now)
			if u.missed == u.warned && u.lost == u.said {
				continue
			}
			all = append(all, publisherLoss{t.name, u.id, u.missed - u.warned, u.lost - u.said, u.without(now)})
			u.warned, u.said = u.missed, u.lost
		}
	}
	return all
}

// sayPublisherLosses logs them.
func (p *pipeline) sayPublisherLosses(all []publisherLoss) {
	for _, l := range all {
		log := p.log.With(zap.String("topic", l.topic), zap.String("publisher", l.publisher))
		if l.missed > 0 {
			log.Warn("messages that were published have not reached us: the publisher's queue is too small, or the way to here too slow", zap.Uint64("messages", l.missed))
		}
		if l.lost > 0 {
			log.Warn("link to a publisher lost", zap.Int("times", l.lost), zap.Duration("without", l.without.Round(time.Millisecond)))
		}
	}
}
