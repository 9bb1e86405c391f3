package intake

import (
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// publisherID is the name of a publisher, or its address if it says none.
func publisherID(info tcpros.LinkInfo) string {
	if id := rosbag.Header(info.Header).CallerID(); id != "" {
		return clip(id)
	}
	return clip(info.PublisherURI)
}

// publisher returns the account of a publisher by its name, or nil.
func (t *Topic) publisher(id string) *loss.Publisher {
	i := slices.IndexFunc(t.Publishers, func(u *loss.Publisher) bool { return u.ID == id })
	if i < 0 {
		return nil
	}
	return t.Publishers[i]
}

// publisherOf finds or makes the account of a publisher by its name. mu is held.
func (in *Intake) publisherOf(t *Topic, info tcpros.LinkInfo) *loss.Publisher {
	id := publisherID(info)
	if pub := t.publisher(id); pub != nil {
		return pub
	}
	pub := &loss.Publisher{ID: id, Topic: strings.Clone(info.Topic)}
	t.Publishers = append(t.Publishers, pub)
	in.Connections.charge(t, publisherSize(id))
	return pub
}

// OpenLink finds or makes the connection of a publisher. A publisher that comes
// back with the same header gets the same connection, as in stock.
func (d Links) OpenLink(t *Topic, info tcpros.LinkInfo) (*Link, error) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	if in.Ended {
		return nil, ErrEnded
	}
	c := t.Find(rosbag.Header(info.Header))
	if err := in.admitHeader(t, c, info); err != nil {
		return nil, err
	}
	if !t.met && !t.since.IsZero() {
		t.pickup = time.Since(t.since)
	}
	return in.connect(t, c, info), nil
}

// connect is openLink without the check of memory. c has the header of the link; nil if it is a new
// one. mu is held.
func (in *Intake) connect(t *Topic, c *Connection, info tcpros.LinkInfo) *Link {
	header := rosbag.Header(info.Header)
	t.Linked++
	if !t.met {
		t.met, t.typ = true, strings.Clone(header.Type())
	}
	if c == nil {
		c = in.Connections.Add(t, header)
		c.Latching = header.Latching() && !in.Latched.Off
	}
	c.links++
	return in.newLink(c, info)
}

// newLink makes the sink of a link that opens. mu is held.
func (in *Intake) newLink(c *Connection, info tcpros.LinkInfo) *Link {
	pub := in.publisherOf(c.Topic, info)
	uri := clip(info.PublisherURI)
	again := pub.URI == uri
	pub.Open(again, in.accepts(c.Topic), time.Now())
	l := &Link{In: in, Connection: c, Publisher: pub}
	// rospy sends a copy under a number of its own to each new subscriber of a latched
	// topic, which nobody else gets. UDPROS counts what it loses itself.
	if !c.Conn.Header.Latching() && info.Transport != "UDPROS" && loss.Numbered(c.Conn.Header.MessageDefinition()) {
		l.seq = pub.Watch(again)
	}
	pub.URI = uri
	return l
}

// CountMissed counts messages that never arrived; negative takes some back that were none.
// Those that would not have been recorded do not count.
func (l *Link) CountMissed(n int) {
	if n == 0 {
		return
	}
	in := l.In
	in.Mu.Lock()
	defer in.Mu.Unlock()
	if l.Publisher.AddMissed(n, in.accepts(l.Connection.Topic)) {
		in.requestVerification()
	}
}

// publisherNews is what tick tells of one publisher.
type publisherNews struct {
	topic, publisher string
	loss.News
}

// publisherNews returns what is to be told of them. mu is held.
func (in *Intake) publisherNews(now time.Time) []publisherNews {
	var all []publisherNews
	for _, t := range in.Topics {
		for _, u := range t.Publishers {
			if n, some := u.News(now); some {
				all = append(all, publisherNews{t.Name, u.ID, n})
			}
		}
	}
	return all
}

// logPublishers logs it.
func (in *Intake) logPublishers(all []publisherNews) {
	for _, n := range all {
		log := in.log.With(zap.String("topic", n.topic), zap.String("publisher", n.publisher))
		without := zap.Duration("without", n.Without.Round(time.Millisecond))
		if n.Missed > 0 {
			log.Warn("messages that were published have not reached us: the publisher's queue is too small, or the way to here too slow", zap.Uint64("messages", n.Missed))
		}
		if n.Lost > 0 {
			log.Warn("link to a publisher lost", zap.Uint64("times", n.Lost), without)
		}
		if n.Back > 0 {
			log.Info("a publisher is back", zap.Uint64("times", n.Back), without)
		}
	}
}
