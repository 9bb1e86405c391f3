package check

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gorosbag/gorosbag/internal/ros2"
	"github.com/gorosbag/gorosbag/internal/ros2/rosbag2"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Advice for recordings that are no bags: there is no tool that mends them.
const (
	adviceSource   = "gobag convert makes a bag of the other messages"
	adviceMissing  = "a file is missing or was cut; where the recording is from may have all"
	adviceUnlisted = "its messages are not read; without metadata.yaml, all files of the directory are"
)

// Source reads all messages of a recording that Check does not take, such as one of ROS 2, and reports what
// cannot be read. With Options.Deep they are decoded, too.
//
// Unlike Check it does not warn of messages out of the order of time, because a rosbag.Cursor sorts them. Nor
// does it look for times with the nanoseconds of a second or more: recordings of ROS 2 have one number of
// nanoseconds, which holds no such time.
func Source(ctx context.Context, s rosbag.Source, o Options) (*Report, error) {
	info := s.Info()
	c := newChecker(ctx, o,
		&Report{
			Version: info.Version, Size: info.Size, Indexed: info.Indexed,
			Connections: len(s.Connections()),
		})
	for _, err := range info.Damage {
		c.unread(err)
	}
	for _, note := range info.Notes {
		about, what := "", note.Error()
		var topic *rosbag.TopicError
		if errors.As(note, &topic) {
			about, what = topic.Conn.Topic, topic.Err.Error()
		}
		c.warn(about, "%s", what)
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
	c.counted(s)
	if r, ok := s.(*ros2.Source); ok && o.Recording != nil {
		c.stated(r, o.Recording)
	}
	c.definitions(s.Connections())
	c.finish()
	return c.report, nil
}

// counted warns where a recording counts other messages of a topic than it has. goplay, which goes by that,
// leaves out a topic that is said to have none.
func (c *checker) counted(s rosbag.Source) {
	if slices.ContainsFunc(c.report.Damage, func(d Damage) bool { return !d.LeftOut }) {
		return // then there are fewer messages
	}
	counts := rosbag.Counts(s)
	for _, conn := range s.Connections() {
		var found uint64
		if st := c.counts[conn]; st != nil {
			found = st.messages
		}
		if counts[conn] != found {
			c.warn(conn.Topic, "the recording counts %s, there are %d", wording.Plural(counts[conn], "message"), found)
		}
	}
}

// stated compares, topic by topic, what metadata.yaml says of a recording with what is there. Files that
// it does not list are damage, because nobody reads them. Where there are more messages than it counts,
// nothing is lost.
func (c *checker) stated(r *ros2.Source, rec *rosbag2.Recording) {
	// then there are fewer messages anyway
	lost := slices.ContainsFunc(c.report.Damage, func(d Damage) bool { return !d.LeftOut })
	for _, name := range rec.Unlisted {
		c.add(Damage{
			Offset: UnknownOffset, Advice: adviceUnlisted, Lost: true,
			What: fmt.Sprintf("%s is not listed in %s", name, rosbag2.MetadataName),
		})
	}
	if rec.Metadata == nil || len(rec.Metadata.Topics) == 0 {
		return
	}
	written := map[*rosbag.Connection]uint64{}
	for conn, st := range c.counts {
		written[conn] = st.messages
	}
	found, stated := map[string]uint64{}, map[string]uint64{}
	for _, t := range r.Report(written, nil, nil).Topics {
		found[t.Topic] += t.In
	}
	for _, t := range rec.Metadata.Topics {
		stated[t.Name] += t.Messages
		found[t.Name] += 0
	}
	for _, topic := range slices.Sorted(maps.Keys(found)) {
		text := fmt.Sprintf("%s counts %s, there are %d", rosbag2.MetadataName,
			wording.Plural(stated[topic], "message"), found[topic])
		switch {
		case found[topic] > stated[topic]:
			c.warn(topic, "%s", text)
		case found[topic] < stated[topic] && !lost:
			c.add(Damage{
				Offset: UnknownOffset, Advice: adviceMissing, Lost: true,
				What: fmt.Sprintf("topic %s: %s", topic, text),
			})
		}
	}
}

// unread reports what could not be read.
func (c *checker) unread(err error) {
	if errors.Is(err, rosbag.ErrUnindexed) {
		c.warn("", "%s: it is read from front to back", text(err))
		return
	}
	c.add(Damage{
		Offset: UnknownOffset, What: text(err), Advice: adviceSource, Lost: true,
		LeftOut: errors.Is(err, rosbag.ErrLeftOut),
	})
}
