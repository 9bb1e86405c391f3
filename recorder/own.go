package recorder

import (
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/tcpros"
)

// ownType is the type of messages that the recorder itself publishes.
type ownType struct{ name, md5sum, definition string }

// backdateLimit is how far back MarkAt reaches. Messages of the past belong to files and
// snapshots that may be closed.
const backdateLimit = time.Minute

// openMarks makes the link that marks come on, if they could be recorded now.
func (in *intake) openMarks(topic string, typ ownType) (*link, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := in.recordsNow(); err != nil {
		return nil, err
	}
	return in.openOwn(ownHeader(in.node, topic, typ, false)), nil
}

// recordsNow says why nothing can be recorded now. mu is held.
func (in *intake) recordsNow() error {
	err := in.hasBag()
	if err == nil && in.state == StatePaused {
		return ErrPaused
	}
	return err
}

// appendOwn records a message of the recorder's own with a time that may have passed, but not
// before the open file began, and returns that by the clock of the recording.
func (in *intake) appendOwn(l *link, frame []byte, at time.Time) (time.Time, error) {
	c := l.connection
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := in.recordsNow(); err != nil {
		return time.Time{}, err
	}
	in.rotateIfDue(time.Now())
	if in.open == nil {
		in.waitForChunk(c.topic) // a file may begin meanwhile
		if err := in.recordsNow(); err != nil {
			return time.Time{}, err
		}
	}
	now := time.Now()
	ago := min(max(now.Sub(at), 0), backdateLimit)
	stamp := in.sim.At(now)
	if in.sim == nil { // a simulation may run at any rate
		begun := in.begun
		if in.rotation.Begun().After(begun) {
			begun = in.rotation.Begun() // bags of a recording do not overlap
		}
		stamp = stamp.Add(-min(ago, max(stamp.Sub(begun), 0)))
	}
	in.latest = later(in.latest, now)
	c.topic.last, c.Latest = now, now
	before := c.topic.messages
	in.add(c, frame, 1, bagfmt.TimeOf(stamp), now)
	if c.topic.messages == before {
		return time.Time{}, ErrNoRoom
	}
	return stamp, nil
}

// openNotes makes the link that notes come on. They begin each file, also where other latched
// messages do not.
func (in *intake) openNotes(topic string, typ ownType) *link {
	in.mu.Lock()
	defer in.mu.Unlock()
	l := in.openOwn(ownHeader(in.node, topic, typ, true))
	l.connection.Latching, l.connection.EveryFile = true, true
	return l
}

// openReport returns the connection that the account of losses is written to.
func (in *intake) openReport(topic string, typ ownType) *bagfmt.Connection {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.reported == nil {
		in.reported = in.openOwn(ownHeader(in.node, topic, typ, true))
	}
	return in.reported.connection.Conn
}

// ownWritten counts a message of the recorder's own that the sink has written to the file of now, and
// returns the number of that.
func (in *intake) ownWritten(c *bagfmt.Connection, bytes int) (part int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if of := in.connections.of(c); of != nil {
		in.account(of.topic, 1, uint64(bytes))
	}
	return in.rotation.Part()
}

// openLatched makes a link on which the recorder itself publishes, latched.
func (in *intake) openLatched(topic string, typ ownType) *link {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.openOwn(ownHeader(in.node, topic, typ, true))
}

// openOwn makes a link on which the recorder itself publishes, beside others on the topic if
// that is recorded, too. mu is held.
func (in *intake) openOwn(h tcpros.Header) *link {
	name, _ := h.Get("topic")
	t := topicNamed(in.topics, name)
	if t == nil {
		t = &topic{name: name}
		in.topics = append(in.topics, t)
	}
	if !slices.Contains(in.ownTopics, t) {
		in.ownTopics = append(in.ownTopics, t)
	}
	return in.connect(t, t.find(bagfmt.ConnectionHeader(h)), tcpros.LinkInfo{Topic: name, PublisherURI: in.node, Header: h})
}

// ownHeader is the connection header of what the recorder, a node of that name, publishes.
func ownHeader(node, name string, typ ownType, latching bool) tcpros.Header {
	h := tcpros.Header{{Key: "callerid", Value: node}}
	if latching {
		h = append(h, tcpros.Header{{Key: "latching", Value: "1"}}...)
	}
	return append(h, tcpros.Header{
		{Key: "md5sum", Value: typ.md5sum},
		{Key: "message_definition", Value: typ.definition},
		{Key: "topic", Value: name},
		{Key: "type", Value: typ.name},
	}...)
}
