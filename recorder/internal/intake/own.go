package intake

import (
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// OwnType is the type of messages that the recorder itself publishes.
type OwnType struct{ Name, MD5Sum, Definition string }

// OpenMarks makes the link for marks, if a mark could be recorded now.
func (in *Intake) OpenMarks(topic string, typ OwnType) (*Link, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := in.mode.CanMark(); err != nil {
		return nil, err
	}
	return in.openOwnLocked(topic, typ, false), nil
}

// AppendOwn records a message of the recorder itself, dated back to at as far as the rotation allows. It
// returns the time of the message in the bag. One that no user has asked for waits for no room, and is no
// loss without.
func (in *Intake) AppendOwn(l *Link, frame []byte, at time.Time, asked bool) (time.Time, error) {
	c := l.connection
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := in.mode.CanMark(); err != nil {
		return time.Time{}, err
	}
	in.rotateIfDueLocked(time.Now())
	need := in.Buffers.pool.Weight(len(frame) + RecordOverhead + c.Bytes())
	if !asked && (!in.Buffers.pool.Admits(c.Topic().Memory(), need, true) || in.filling.Open == nil &&
		in.Buffers.pool.LargeFirst() || !in.openChunkLocked()) {
		return time.Time{}, control.ErrNoRoom
	}
	if in.filling.Open == nil {
		in.waitForChunkLocked(c.Topic()) // the state may change meanwhile
		if err := in.mode.CanMark(); err != nil {
			return time.Time{}, err
		}
	}
	now, before := time.Now(), c.Topic().Tally().Messages
	bagTime := in.backdatedLocked(now, at)
	in.filling.Saw(now)
	c.Published(now)
	in.addLocked(c, frame, 1, runTimes{next: rosbag.TimeOf(bagTime), received: now})
	if c.Topic().Tally().Messages == before {
		return time.Time{}, control.ErrNoRoom
	}
	return bagTime, nil
}

// OpenLatched makes a link for latched messages of the recorder itself. With everyFile, each file begins
// with them, even if files do not begin with other latched messages.
func (in *Intake) OpenLatched(topic string, typ OwnType, everyFile bool) *Link {
	in.mu.Lock()
	defer in.mu.Unlock()
	l := in.openOwnLocked(topic, typ, true)
	if everyFile {
		l.connection.Source().RepeatInEachFile()
	}
	return l
}

// DropOversize counts a message of the recorder itself that is too long to be recorded.
func (l *Link) DropOversize() {
	l.in.mu.Lock()
	defer l.in.mu.Unlock()
	l.connection.Topic().Drop(control.DropOversize, 1)
}

// openOwnLocked makes a link for messages of the recorder itself. Others may publish the topic, too.
func (in *Intake) openOwnLocked(topic string, typ OwnType, latching bool) *Link {
	h := tcpros.Header{
		{Key: "callerid", Value: in.cfg.Node},
		{Key: "latching", Value: "1"},
		{Key: "md5sum", Value: typ.MD5Sum},
		{Key: "message_definition", Value: typ.Definition},
		{Key: "topic", Value: topic},
		{Key: "type", Value: typ.Name},
	}
	if !latching {
		h = slices.Delete(h, 1, 2)
	}
	t := in.Accounts.all.OwnTopic(topicname.InGraph(topic))
	return in.connectLocked(t, t.Find(rosbag.Header(h)),
		tcpros.LinkInfo{Topic: topic, PublisherURI: in.cfg.Node, Header: h})
}
