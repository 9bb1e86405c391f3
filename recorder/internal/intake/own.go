package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// OwnType is the type of messages that the recorder itself publishes.
type OwnType struct{ Name, MD5Sum, Definition string }

// BackdateLimit is how far back MarkAt reaches. Messages of the past belong to files and
// snapshots that may be closed.
const BackdateLimit = time.Minute

// OpenMarks makes the link that marks come on, if they could be recorded now.
func (d Links) OpenMarks(topic string, typ OwnType) (*Link, error) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	if err := in.recordsNow(); err != nil {
		return nil, err
	}
	return in.openOwn(ownHeader(in.node, topic, typ, false)), nil
}

// recordsNow says why nothing can be recorded now. mu is held.
func (in *Intake) recordsNow() error {
	err := in.hasBag()
	if err == nil && in.State == StatePaused {
		return ErrPaused
	}
	return err
}

// AppendOwn records a message of the recorder's own with a time that may have passed, but not
// before the open file began, and returns that by the clock of the recording.
func (d Links) AppendOwn(l *Link, frame []byte, at time.Time) (time.Time, error) {
	in := d.in
	c := l.Connection
	in.Mu.Lock()
	defer in.Mu.Unlock()
	if err := in.recordsNow(); err != nil {
		return time.Time{}, err
	}
	in.rotateIfDue(time.Now())
	if in.Open == nil {
		in.WaitForChunk(c.Topic) // a file may begin meanwhile
		if err := in.recordsNow(); err != nil {
			return time.Time{}, err
		}
	}
	now := time.Now()
	ago := min(max(now.Sub(at), 0), BackdateLimit)
	stamp := in.Sim.At(now)
	if in.Sim == nil { // a simulation may run at any rate
		begun := in.Begun
		if in.Rotation.Begun().After(begun) {
			begun = in.Rotation.Begun() // bags of a recording do not overlap
		}
		stamp = stamp.Add(-min(ago, max(stamp.Sub(begun), 0)))
	}
	in.latest = later(in.latest, now)
	c.Topic.Last, c.Latest = now, now
	before := c.Topic.Messages
	in.add(c, frame, 1, rosbag.TimeOf(stamp), now)
	if c.Topic.Messages == before {
		return time.Time{}, ErrNoRoom
	}
	return stamp, nil
}

// OpenNotes makes the link that notes come on. They begin each file, also where other latched
// messages do not.
func (d Links) OpenNotes(topic string, typ OwnType) *Link {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	l := in.openOwn(ownHeader(in.node, topic, typ, true))
	l.Connection.Latching, l.Connection.EveryFile = true, true
	return l
}

// OpenReport returns the connection that the account of losses is written to.
func (d Files) OpenReport(topic string, typ OwnType) *rosbag.Connection {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	if in.reported == nil {
		in.reported = in.openOwn(ownHeader(in.node, topic, typ, true))
	}
	return in.reported.Connection.Conn
}

// OwnWritten counts a message of the recorder's own that the sink has written to the file of now, and
// returns the number of that.
func (d Files) OwnWritten(c *rosbag.Connection, bytes int) (part int) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	if of := in.Account.Connections.Of(c); of != nil {
		in.took(of.Topic, 1, uint64(bytes))
	}
	return in.Rotation.Part()
}

// OpenLatched makes a link on which the recorder itself publishes, latched.
func (d Links) OpenLatched(topic string, typ OwnType) *Link {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	return in.openOwn(ownHeader(in.node, topic, typ, true))
}

// openOwn makes a link on which the recorder itself publishes, beside others on the topic if
// that is recorded, too. mu is held.
func (in *Intake) openOwn(h tcpros.Header) *Link {
	name, _ := h.Get("topic")
	t := in.Account.OwnTopic(name)
	return in.connect(t, t.Find(rosbag.Header(h)), tcpros.LinkInfo{Topic: name, PublisherURI: in.node, Header: h})
}

// ownHeader is the connection header of what the recorder, a node of that name, publishes.
func ownHeader(node, name string, typ OwnType, latching bool) tcpros.Header {
	h := tcpros.Header{{Key: "callerid", Value: node}}
	if latching {
		h = append(h, tcpros.Header{{Key: "latching", Value: "1"}}...)
	}
	return append(h, tcpros.Header{
		{Key: "md5sum", Value: typ.MD5Sum},
		{Key: "message_definition", Value: typ.Definition},
		{Key: "topic", Value: name},
		{Key: "type", Value: typ.Name},
	}...)
}
