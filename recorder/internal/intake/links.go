package intake

import (
	"errors"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// ErrEnded is the error for a link that opens after the end of the recording.
var ErrEnded = errors.New("the recording has ended")

// Limited returns a channel that gets a token when a topic reaches its limit.
func (in *Intake) Limited() <-chan struct{} { return in.limited }

// NewTopic returns an account that is listed with its first link.
func (in *Intake) NewTopic(name topicname.InGraph) *account.Topic { return in.accounts.NewTopic(name) }

// AddTopic makes an account for a topic, or finds that of a topic that was left. since is a time before the topic was registered; zero if that is not known.
func (in *Intake) AddTopic(name topicname.InBag, resolved topicname.InGraph, since time.Time) *account.Topic {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.accounts.AddTopic(name, resolved, since)
}

// OpenLink finds or makes the connection of a publisher. A publisher that comes
// back with the same header gets the same connection, as in stock.
func (in *Intake) OpenLink(t *account.Topic, info tcpros.LinkInfo) (*Link, error) {
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
func (in *Intake) Refuse(t *account.Topic, uri string, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.mode.Ended || errors.Is(err, ErrEnded) {
		return
	}
	in.accounts.EnsureListed(t)
	t.PublisherRefused(uri, err)
}

// IsLinked reports whether a link of t is open.
func (in *Intake) IsLinked(t *account.Topic) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return t.IsLinked()
}

// ReachedLimit reports whether a topic has a limit of messages and has reached it.
func (in *Intake) ReachedLimit(t *account.Topic) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return t.AtLimit()
}

// LeaveTopic notes that a topic without links is not subscribed to any more. Only AddTopic may return its account
// again.
func (in *Intake) LeaveTopic(t *account.Topic) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.accounts.Leave(t, time.Now())
}

// NoteWaiting notes what topics wait for at the end of the recording.
func (in *Intake) NoteWaiting(waiting map[*account.Topic]control.Waiting) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for t, w := range waiting {
		t.NoteWaiting(w)
	}
}

// NoteUnread notes which parts of the master's replies could not be read, so that topics may be missing: now is
// about the last replies, ever about all.
func (in *Intake) NoteUnread(now, ever string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.accounts.NoteUnread(now, ever)
}

// UnblockLinks lets the links that wait for room go on at once, and removes the limit of the buffer: the links are
// about to be closed, and the messages that they hold were received.
func (in *Intake) UnblockLinks() {
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
	pub := in.accounts.Publisher(c.Topic(), account.PublisherID(header, info.PublisherURI))
	again := pub.Open(account.Clip(info.PublisherURI), in.acceptsLocked(c.Topic()), time.Now())
	l := &Link{in: in, connection: c, publisher: pub}
	// rospy sends each new subscriber of a latched topic a copy with a number that no other subscriber sees.
	// UDPROS counts its losses itself.
	if !c.Conn().Header.Latching() && info.Transport != "UDPROS" && loss.Numbered(msgdef.DefinitionOf(c.Conn().Header)) {
		l.seq = pub.Watch(again)
	}
	return l
}
