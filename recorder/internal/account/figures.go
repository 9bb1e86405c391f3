package account

import (
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// Stats returns the live accounts of all topics at now, in the order of their subscription.
func (a *Accounts) Stats(now time.Time) []control.TopicStats {
	all := make([]control.TopicStats, 0, len(a.Topics))
	for _, t := range a.Topics {
		s := control.TopicStats{
			Topic: t.Name, Type: t.beginning.typ, Publishers: t.Linked, Refused: len(t.Publishers.refused) + t.Publishers.unlinked.Count,
			Messages: t.Messages, Bytes: t.Bytes, LeftOut: t.Sampler.LeftOut, Passed: t.Passed, Causes: t.causes(),
			Missed: t.Publishers.Former.Missed, LinksLost: t.Publishers.Former.LinksLost, HeldUp: t.HeldUp(now), Last: t.Last, Latching: t.Came.latching,
			Came: t.Came.Messages, CameBytes: t.Came.Bytes, Stamp: t.Came.time(), Stamped: t.Came.stamped,
		}
		for _, n := range t.Dropped {
			s.Dropped += n
		}
		for _, u := range t.Publishers.All {
			p := u.Summary(now)
			s.Missed += p.Missed
			s.LinksLost += p.LinksLost
		}
		all = append(all, s)
	}
	return all
}

// Summaries returns the accounts of all topics at now, by name. With OnlySnapshots, only messages that are in a file
// count as recorded.
func (a *Accounts) Summaries(now time.Time) []control.TopicSummary {
	all := make([]control.TopicSummary, 0, len(a.Topics))
	for _, t := range a.Topics {
		recorded, b := t.Tally, &t.beginning
		if a.OnlySnapshots {
			recorded = t.Written
		}
		s := control.TopicSummary{
			Topic: t.Name, Type: b.typ, Former: t.Publishers.Former, Refused: len(t.Publishers.refused), Unlinked: t.Publishers.unlinked,
			Messages: recorded.Messages, Bytes: recorded.Bytes, Repeated: t.Repeated,
			LeftOut: t.Sampler.LeftOut, Passed: t.Passed, Dropped: t.causes(),
			Pickup: b.pickup, Waiting: b.waitsFor, HeldUp: t.HeldUp(now),
		}
		for _, u := range t.Publishers.All {
			s.Publishers = append(s.Publishers, u.Summary(now))
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b control.TopicSummary) int { return strings.Compare(a.Topic, b.Topic) })
	return all
}

// causes returns how many messages were lost, by cause; nil for none.
func (t *Topic) causes() (by map[string]uint64) {
	for cause, n := range t.Dropped {
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
