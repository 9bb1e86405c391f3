package intake

import (
	"errors"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// ErrEnded is the error for a link that opens after the end of the recording.
var ErrEnded = errors.New("the recording has ended")

// Limited returns a channel that gets a token when a topic reaches its limit.
func (in *Intake) Limited() <-chan struct{} { return in.limited }

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
	if in.Buffers.pool.Budget() >= 0 {
		id := account.PublisherID(header, info.PublisherURI)
		if err := in.Accounts.all.Admit(t, c != nil, header, id, info.PublisherURI); err != nil {
			return nil, err
		}
	}
	t.NotePickup()
	in.Accounts.all.EnsureListed(t)
	return in.connectLocked(t, c, info), nil
}

// Refuse counts a publisher that the node does not take: no file descriptor is left, or its connection
// header is too long.
func (in *Intake) Refuse(t *account.Topic, uri string, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.mode.Ended || errors.Is(err, ErrEnded) {
		return
	}
	in.Accounts.all.EnsureListed(t)
	t.PublisherRefused(uri, err)
}

// UnblockLinks lets the links that wait for room go on at once, and removes the limit of the buffer: the
// links are about to be closed, and the messages that they hold were received.
func (in *Intake) UnblockLinks() {
	in.mu.Lock()
	in.sealOpenLocked()
	in.Buffers.pool.SetBudget(-1)
	in.mu.Unlock()
}

// connectLocked counts a link to a publisher and returns its sink. c is the connection with the header of
// the link; with nil, connect makes one.
func (in *Intake) connectLocked(t *account.Topic, c *account.Connection, info tcpros.LinkInfo) *Link {
	header := rosbag.Header(info.Header)
	if c == nil {
		c = in.Accounts.all.Connect(t, header)
		in.Buffers.latched.Connected(c.Source(), header.Latching())
	}
	c.LinkOpened()
	pub := in.Accounts.all.Publisher(c.Topic(), account.PublisherID(header, info.PublisherURI))
	again := pub.Open(account.Clip(info.PublisherURI), in.mode.Accepts(c.Topic()), time.Now())
	l := &Link{in: in, connection: c, publisher: pub}
	// rospy sends each new subscriber of a latched topic a copy with a number that no other subscriber sees.
	// UDPROS counts its losses itself.
	if !c.Conn().Header.Latching() && info.Transport != "UDPROS" &&
		loss.Numbered(msgdef.DefinitionOf(c.Conn().Header)) {
		l.seq = pub.Watch(again)
	}
	return l
}
