package account

import (
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// Stats returns the live accounts of all topics at now, in the order of their subscription.
func (a *Accounts) Stats(now time.Time) []control.TopicStats {
	all := make([]control.TopicStats, 0, len(a.topics))
	for _, t := range a.topics {
		s := control.TopicStats{
			Topic: string(t.name), Type: t.beginning.typ, Own: slices.Contains(a.own, t),
			Publishers: t.linked, Refused: len(t.publishers.refused) + t.publishers.unlinked.Count,
			Messages: t.recorded.Messages, Bytes: t.recorded.Bytes, LeftOut: t.sampler.leftOut,
			Passed: t.passed, Causes: t.causes(),
			Missed: t.publishers.former.Missed, LinksLost: t.publishers.former.LinksLost,
			HeldUp: t.HeldUp(now), Last: t.last, Latching: t.came.latching,
			Came: t.came.messages, CameBytes: t.came.bytes, Stamp: t.came.time(), Stamped: t.came.stamped,
		}
		s.Dropped = t.Lost()
		for _, u := range t.publishers.all {
			p := u.Summary(now)
			s.Missed += p.Missed
			s.LinksLost += p.LinksLost
		}
		all = append(all, s)
	}
	return all
}

// Summaries returns the accounts of all topics at now, by name. With OnlySnapshots, only messages that
// are in a file count as recorded.
func (a *Accounts) Summaries(now time.Time) []control.TopicSummary {
	all := make([]control.TopicSummary, 0, len(a.topics))
	for _, t := range a.topics {
		recorded, b := t.recorded, &t.beginning
		if a.onlySnapshots {
			recorded = t.written
		}
		s := control.TopicSummary{
			Topic: string(t.name), Type: b.typ, Former: t.publishers.former,
			Refused: len(t.publishers.refused), Unlinked: t.publishers.unlinked,
			Messages: recorded.Messages, Bytes: recorded.Bytes, Repeated: t.repeated,
			LeftOut: t.sampler.leftOut, Passed: t.passed, Dropped: t.causes(),
			Pickup: b.pickup, Waiting: b.waitsFor, HeldUp: t.HeldUp(now),
		}
		for _, u := range t.publishers.all {
			s.Publishers = append(s.Publishers, u.Summary(now))
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b control.TopicSummary) int { return strings.Compare(a.Topic, b.Topic) })
	return all
}

// causes returns how many messages were lost, by cause; nil for none.
func (t *Topic) causes() (by map[string]uint64) {
	for cause, n := range t.dropped {
		if n == 0 {
			continue
		}
		if by == nil {
			by = map[string]uint64{}
		}
		by[control.DropCause(cause).String()] = n
	}
	return by
}
