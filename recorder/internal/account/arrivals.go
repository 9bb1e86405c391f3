package account

import (
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
)

// Arrivals appends what came of each topic to all. held says that no messages can come now. The messages
// of the clock that the recording goes by, if there is one, are not waited for either: without them no
// time passes. Topics on which the recorder itself publishes, and the sum of topics that have ended, are
// left out.
func (a *Accounts) Arrivals(all []finding.Arrivals, held bool, clock topicname.InGraph) []finding.Arrivals {
	for _, t := range a.topics {
		if t == a.ended || slices.Contains(a.own, t) {
			continue
		}
		all = append(all, finding.Arrivals{
			Topic: string(t.name), Messages: t.came.messages, Last: t.last, Stamp: t.came.stamp(),
			Stamped: t.came.stamped, Links: t.linked, Opened: t.came.opened,
			Broken:  t.linked == 0 && slices.ContainsFunc(t.publishers.all, (*loss.Publisher).Broken),
			Latched: t.came.latching,
			Held:    held || t.resolved == clock || t.AtLimit() || len(t.heldUp.waits) > 0,
		})
	}
	return all
}

// stamp returns the stamp in nanoseconds since 1970; 0 for none.
func (c *Came) stamp() int64 {
	return int64(c.rawStamp&(1<<32-1))*int64(time.Second) + int64(c.rawStamp>>32)
}

// time returns the stamp; zero for none.
func (c *Came) time() time.Time {
	if c.rawStamp == 0 {
		return time.Time{}
	}
	return time.Unix(0, c.stamp())
}

// Linked returns the names of the publishers that have a link to a topic.
func (a *Accounts) Linked(topic topicname.InBag) (publishers []string) {
	if t := named(a.topics, topic); t != nil {
		for _, u := range t.publishers.all {
			if u.Linked() {
				publishers = append(publishers, u.ID())
			}
		}
	}
	return publishers
}
