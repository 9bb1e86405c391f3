package account

import (
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
)

// Arrivals appends what came of each topic to all. held says that no messages can come now. Topics on which the recorder
// itself publishes, and the sum of topics that have ended, are left out.
func (a *Accounts) Arrivals(all []finding.Arrivals, held bool) []finding.Arrivals {
	for _, t := range a.Topics {
		if t == a.ended || slices.Contains(a.own, t) {
			continue
		}
		all = append(all, finding.Arrivals{
			Topic: t.Name, Messages: t.Came.Messages, Last: t.Last, Stamp: t.Came.stamp(), Stamped: t.Came.stamped, Links: t.Linked, Opened: t.Came.opened,
			Broken:  t.Linked == 0 && slices.ContainsFunc(t.Publishers.All, (*loss.Publisher).Broken),
			Latched: t.Came.latching,
			Held:    held || t.AtLimit() || len(t.heldUp.waits) > 0,
		})
	}
	return all
}

// stamp returns the stamp in nanoseconds since 1970; 0 for none.
func (c *Came) stamp() int64 {
	return int64(c.Stamp&(1<<32-1))*int64(time.Second) + int64(c.Stamp>>32)
}

// time returns the stamp; zero for none.
func (c *Came) time() time.Time {
	if c.Stamp == 0 {
		return time.Time{}
	}
	return time.Unix(0, c.stamp())
}

// Linked returns the names of the publishers that have a link to a topic.
func (a *Accounts) Linked(topic string) (publishers []string) {
	if t := named(a.Topics, topic); t != nil {
		for _, u := range t.Publishers.All {
			if u.Links > 0 {
				publishers = append(publishers, u.ID)
			}
		}
	}
	return publishers
}
