package intake

import (
	"errors"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/msgtypes"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Links is the door for subscriptions, and for messages of the recorder itself.
type Links struct{ in *Intake }

// ErrEnded is the error for a link that opens after the end of the recording.
var ErrEnded = errors.New("the recording has ended")

// Links returns the door for subscriptions.
func (in *Intake) Links() Links { return Links{in} }

// Limited returns a channel that gets a token when a topic reaches its limit.
func (d Links) Limited() <-chan struct{} { return d.in.limited }

// NewTopic returns an account that is listed with its first link.
func (d Links) NewTopic(name string) *account.Topic { return d.in.accounts.NewTopic(name) }

// AddTopic makes an account for a topic that has the given name in the bag, or finds that of a topic that was left.
// resolved is its name in the graph. since is a time before the topic was registered; zero if that is not known.
func (d Links) AddTopic(name, resolved string, since time.Time) *account.Topic {
	d.in.mu.Lock()
	defer d.in.mu.Unlock()
	return d.in.accounts.AddTopic(name, resolved, since)
}

// OpenLink finds or makes the connection of a publisher. A publisher that comes
// back with the same header gets the same connection, as in stock.
func (d Links) OpenLink(t *account.Topic, info tcpros.LinkInfo) (*Link, error) {
	in := d.in
	header := rosbag.Header(info.Header)
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.mode.Ended {
		return nil, ErrEnded
	}
	c := t.Find(header)
	if in.pool.Budget() >= 0 {
		id := account.PublisherID(header, info.PublisherURI)
		if err := in.accounts.Admit(t, c != nil, header, id, info.PublisherURI); err != nil {
			return nil, err
		}
	}
	t.NotePickup()
	in.accounts.EnsureListed(t)
	return in.connectLocked(t, c, info), nil
}

// Refuse counts a publisher that the node does not take: no file descriptor is left, or its connection header is too long.
func (d Links) Refuse(t *account.Topic, uri string, err error) {
	in := d.in
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.mode.Ended || errors.Is(err, ErrEnded) {
		return
	}
	in.accounts.EnsureListed(t)
	t.PublisherRefused(uri, err)
}

// IsLinked reports whether a link of t is open.
func (d Links) IsLinked(t *account.Topic) bool {
	d.in.mu.Lock()
	defer d.in.mu.Unlock()
	return t.IsLinked()
}

// ReachedLimit reports whether a topic has a limit of messages and has reached it.
func (d Links) ReachedLimit(t *account.Topic) bool {
	d.in.mu.Lock()
	defer d.in.mu.Unlock()
	return t.AtLimit()
}

// LeaveTopic notes that a topic without links is not subscribed to any more. Only AddTopic may return its account
// again.
func (d Links) LeaveTopic(t *account.Topic) {
	d.in.mu.Lock()
	defer d.in.mu.Unlock()
	d.in.accounts.Leave(t, time.Now())
}

// NoteWaiting notes what topics wait for at the end of the recording.
func (d Links) NoteWaiting(waiting map[*account.Topic]control.Waiting) {
	d.in.mu.Lock()
	defer d.in.mu.Unlock()
	for t, w := range waiting {
		t.NoteWaiting(w)
	}
}

// NoteUnread notes which parts of the master's replies could not be read, so that topics may be missing: now is
// about the last replies, ever about all.
func (d Links) NoteUnread(now, ever string) {
	d.in.mu.Lock()
	defer d.in.mu.Unlock()
	d.in.accounts.NoteUnread(now, ever)
}

// UnblockLinks lets the links that wait for room go on at once, and removes the limit of the buffer: the links are
// about to be closed, and the messages that they hold were received.
func (d Links) UnblockLinks() {
	in := d.in
	in.mu.Lock()
	in.sealOpenLocked()
	in.pool.SetBudget(-1)
	in.mu.Unlock()
}

// connectLocked counts a link to a publisher and returns its sink. c is the connection with the header of the link;
// with nil, connect makes one.
func (in *Intake) connectLocked(t *account.Topic, c *account.Connection, info tcpros.LinkInfo) *Link {
	header := rosbag.Header(info.Header)
	if c == nil {
		c = in.accounts.Connect(t, header)
		in.latched.Connected(c.Source(), header.Latching())
	}
	c.LinkOpened()
	pub := in.accounts.Publisher(c.Topic(), account.PublisherID(header, info.PublisherURI), info.Topic)
	again := pub.Open(account.Clip(info.PublisherURI), in.acceptsLocked(c.Topic()), time.Now())
	l := &Link{in: in, connection: c, publisher: pub}
	// rospy sends each new subscriber of a latched topic a copy with a number that no other subscriber sees.
	// UDPROS counts its losses itself.
	if !c.Conn().Header.Latching() && info.Transport != "UDPROS" && loss.Numbered(msgtypes.DefinitionOf(c.Conn().Header)) {
		l.seq = pub.Watch(again)
	}
	return l
}
