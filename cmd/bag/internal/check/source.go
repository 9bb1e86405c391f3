package check

import (
	"context"
	"errors"

	"github.com/gorosbag/gorosbag/rosbag"
)

// adviceSource is the advice for recordings that are no bags: there is no tool that mends them.
const adviceSource = "gobag convert makes a bag of the other messages"

// Source reads all messages of a recording that Check does not take, such as one of ROS 2, and reports what
// cannot be read. With Options.Deep they are decoded, too.
//
// Unlike Check it does not warn of messages out of the order of time, because a rosbag.Cursor sorts them. Nor
// does it look for times with the nanoseconds of a second or more: recordings of ROS 2 have one number of
// nanoseconds, which holds no such time.
func Source(ctx context.Context, s rosbag.Source, o Options) (*Report, error) {
	info := s.Info()
	c := newChecker(ctx, o, &Report{Version: info.Version, Size: info.Size, Indexed: info.Indexed, Connections: len(s.Connections())})
	for _, err := range info.Damage {
		c.unread(err)
	}
	deep := newDeep(c)
	defer deep.stop()
	for m, err := range rosbag.Messages(s, rosbag.Query{Workers: c.o.Workers, Cancel: ctx.Done()}) {
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			c.unread(err)
			continue
		}
		st := c.count(m)
		deep.add(m, st, UnknownOffset)
	}
	deep.finish()
	for _, conn := range s.Connections() {
		if c.counts[conn] == nil {
			c.warn(conn.Topic, "connection %d has no messages", conn.ID)
		}
	}
	c.definitions(s.Connections())
	c.finish()
	return c.report, nil
}

// unread reports what could not be read.
func (c *checker) unread(err error) {
	if !errors.Is(err, rosbag.ErrUnindexed) {
		_, leftOut := rosbag.AboutTopic(err)
		c.add(Damage{Offset: UnknownOffset, What: text(err), Advice: adviceSource, Lost: true, LeftOut: leftOut})
	}
}
