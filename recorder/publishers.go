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

// A link that ends is the normal end of many a node. It counts as lost, and makes the
// exit code 3, only where nothing else explains it:
//
//   - farewell after its end the master, asked for it, still lists that very process as
//     a publisher of the topic: it was killed, or cannot be reached; or
//   - the publisher, being the same process, takes it up again, but it was cut within a
//     message, or by an error of the network.
//
// All others that come back are counted as back: a node that ended and was started
// again, in good order or not, and one that advertises the topic anew. No link is lost
// while nothing is recorded, or when the master does not answer.
const farewell = 5 * time.Second

// publisher is what is known of one publisher of a topic besides its messages. It is
// guarded by pipeline.mu.
type publisher struct {
	id    string    // its name, or its address if it says none
	topic string    // resolved
	uri   string    // of its last link
	seq   *seqWatch // of its last link; nil if its messages have no numbers
	links int       // that are up

	missed  uint64 // holes in its numbers
	judged  bool   // whose numbers they are was asked
	foreign bool   // they are not its own: holes mean nothing

	down  time.Time     // since when there is no link; zero if there is one, or none is wanted
	cut   bool          // it did not end between two messages, by the other end
	ended bool          // the master lists it no more: it ended well
	gone  bool          // that link counts as lost
	lost  int           // links
	back  int           // links that came back and were not lost
	found int           // links that were lost and came back
	away  time.Duration // without a link, over all that came back

	saidMissed, saidLost, saidBack said
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
	pub := &publisher{id: id, topic: info.Topic}
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
	pub.open(again, p.wants(c.topic), time.Now())
	l := &link{pipe: p, connection: c, publisher: pub}
	// rospy sends a copy under a number of its own to each new subscriber of a latched
	// topic, which nobody else gets. UDPROS counts what it loses itself.
	if !c.conn.Header.Latching() && info.Transport != "UDPROS" && beginsWithHeader(c.conn.Header.MessageDefinition()) {
		if again && pub.seq != nil && pub.links == 1 {
			pub.seq.again()
		} else {
			pub.seq, pub.judged, pub.foreign = new(seqWatch), false, false
		}
		l.seq = pub.seq
	}
	pub.uri = info.PublisherURI
	return l
}

// open counts a link that is up; again says that the same process has the other end,
// wanted that its messages are recorded.
func (u *publisher) open(again, wanted bool, now time.Time) {
	u.links++
	if u.down.IsZero() {
		return
	}
	switch {
	case u.gone:
		u.found++
	case again && u.cut && wanted:
		u.lost++
	default:
		u.back++
	}
	u.away += now.Sub(u.down)
	u.down, u.ended, u.gone = time.Time{}, false, false
}

// end counts a link that ended; err is nil if we closed it.
func (u *publisher) end(err error, now time.Time) {
	if u.links--; u.links == 0 && err != nil {
		u.down, u.cut = now, !errors.Is(err, io.EOF)
	}
}

// overdue reports whether it is time to ask why there is no link.
func (u *publisher) overdue(now time.Time) bool {
	return !u.down.IsZero() && !u.ended && !u.gone && now.Sub(u.down) > farewell
}

// explain decides about a link that is overdue.
func (u *publisher) explain(listed bool) {
	if u.ended = !listed; listed {
		u.gone = true
		u.lost++
	}
}

// without returns the time without a link, until now where it is lost.
func (u *publisher) without(now time.Time) time.Duration {
	if u.gone {
		return u.away + now.Sub(u.down)
	}
	return u.away
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
	case u.foreign:
	case n < 0:
		u.missed -= min(u.missed, uint64(-n))
	case p.wants(l.connection.topic):
		u.missed += uint64(n)
		if !u.judged {
			p.wonder()
		}
	}
}

// publisherNews is what tick tells of one publisher.
type publisherNews struct {
	topic, publisher   string
	missed, lost, back uint64 // since the last time
	without            time.Duration
}

// newOfPublishers returns what is to be told of them. mu is held.
func (p *pipeline) newOfPublishers(now time.Time) []publisherNews {
	var all []publisherNews
	for _, t := range p.topics {
		for _, u := range t.publishers {
			n := publisherNews{t.name, u.id, 0, u.saidLost.news(uint64(u.lost), now), u.saidBack.news(uint64(u.back+u.found), now), u.without(now)}
			if u.judged {
				n.missed = u.saidMissed.news(u.missed, now)
			}
			if n.missed+n.lost+n.back > 0 {
				all = append(all, n)
			}
		}
	}
	return all
}

// sayOfPublishers logs it.
func (p *pipeline) sayOfPublishers(all []publisherNews) {
	for _, n := range all {
		log := p.log.With(zap.String("topic", n.topic), zap.String("publisher", n.publisher))
		without := zap.Duration("without", n.without.Round(time.Millisecond))
		if n.missed > 0 {
			log.Warn("messages that were published have not reached us: the publisher's queue is too small, or the way to here too slow", zap.Uint64("messages", n.missed))
		}
		if n.lost > 0 {
			log.Warn("link to a publisher lost", zap.Uint64("times", n.lost), without)
		}
		if n.back > 0 {
			log.Info("a publisher is back", zap.Uint64("times", n.back), without)
		}
	}
}

// said is what was told of a number that grows. A number that grows all the time is
// told at once, and then now and then: the summary has it all.
type said struct {
	total uint64
	at    time.Time
}

const sayEvery = 10 * time.Second

// news returns how much is to be told now.
func (s *said) news(total uint64, now time.Time) uint64 {
	s.total = min(s.total, total)
	if total == s.total || now.Sub(s.at) < sayEvery {
		return 0
	}
	n := total - s.total
	*s = said{total, now}
	return n
}
