package recorder

import (
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/bagname"
)

// summary reads the accounts after the pipeline has been closed.
func (r *session) summary(d time.Duration) control.Summary {
	s := control.Summary{Duration: d, Triggers: r.o.triggers()}
	if r.o.Adaptive {
		s.Chunks = r.sink.Encoder.Stored()
	}
	files := r.sink.Bags.Finished.Account()
	s.File, s.Bytes, s.Earlier = files.Last, files.Bytes, files.Earlier
	s.Files = files.Files
	if out := r.sink.Current(); r.sink.Abandoned.Load() && out != nil {
		bytes := r.in.Accounts().FileBytes()
		s.File = out.Target() + bagname.ActiveSuffix
		s.Bytes += bytes
		s.Files = append(s.Files, control.FileSummary{File: s.File, Bytes: bytes})
	}
	topics, unread := r.in.Accounts().SummaryFigures(time.Now())
	s.Topics, s.Unread, s.NoMaster = topicSummaries(topics), unread, r.noMaster.Load()
	for _, t := range s.Topics {
		if len(t.Publishers)+t.Former.Count+t.Refused == 0 && slices.Contains(r.o.Select.literal, t.Topic) {
			s.Missing = append(s.Missing, t.Topic)
		}
	}
	s.Missing = append(s.Missing, r.o.Select.unmatched()...)
	return s
}

// lossesNow returns the account of what was lost until now.
func (r *session) lossesNow() control.Summary {
	topics, unread := r.in.Accounts().SummaryFigures(time.Now())
	return control.Summary{Topics: topicSummaries(topics), Unread: unread, NoMaster: r.noMaster.Load()}
}

// topicSummaries returns the accounts of topics by name.
func topicSummaries(topics []account.Figures) []control.TopicSummary {
	all := make([]control.TopicSummary, 0, len(topics))
	for _, f := range topics {
		ts := control.TopicSummary{Topic: f.Topic, Type: f.Typ, Former: f.Former, Refused: f.Refused, Messages: f.Recorded.Messages, Repeated: f.Repeated, Skipped: f.Skipped, Passed: f.Passed, Pickup: f.Pickup, Waiting: f.WaitsFor, Bytes: f.Recorded.Bytes, HeldUp: f.HeldUp, Dropped: map[string]uint64{}}
		for _, a := range f.Publishers {
			ts.Publishers = append(ts.Publishers, control.PublisherSummary{CallerID: a.Id, Missed: a.Missed, LinksLost: a.LinksLost, Reconnected: a.Reconnected, Away: a.Away, Without: a.Without})
		}
		for cause, n := range f.Dropped {
			if n > 0 {
				ts.Dropped[account.DropCause(cause).String()] = n
			}
		}
		all = append(all, ts)
	}
	slices.SortFunc(all, func(a, b control.TopicSummary) int { return strings.Compare(a.Topic, b.Topic) })
	return all
}
