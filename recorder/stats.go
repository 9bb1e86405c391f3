package recorder

import (
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/bagname"
)

// stats returns the live account of the recording.
func (r *session) stats() control.Stats {
	p, now := r.sink, time.Now()
	s := r.in.Stats(now)
	s.Taken, s.Elapsed, s.Bytes = now, now.Sub(r.started), p.Bags.Stored()
	s.Handover, s.Triggers = r.o.handover().Handed(), r.o.triggers()
	if out := p.Current(); out != nil {
		s.File = out.Target()
	}
	s.DiskFree, s.TimeLeft = p.Bags.Disk.Forecast()
	s.Disk, s.Finished = p.Bags.Outputs.Watchdog.Account(), p.Bags.Finished.Number()
	s.Deleted, _ = p.Bags.Finished.Retain.Deletions()
	s.Snapshots.Failed = p.Snapshotter.Failures()
	s.Findings, s.Episodes = r.health.Findings(), r.health.Sums()
	return s
}

// summary returns the account of the recording, after its end.
func (r *session) summary(d time.Duration) control.Summary {
	s, files := r.lossesNow(), r.sink.Bags.Finished.Account()
	s.Duration, s.Triggers = d, r.o.triggers()
	s.File, s.Bytes, s.Files, s.Earlier = files.File, files.Bytes, files.Files, files.Earlier
	s.Unrecovered = r.sink.Bags.Retain.Unrecovered()
	if r.o.Adaptive {
		s.Chunks = r.sink.Chunks()
	}
	if out := r.sink.Current(); r.sink.Abandoned.Load() && out != nil {
		bytes := r.in.Stats(time.Now()).FileBytes
		s.File = out.Target() + bagname.ActiveSuffix
		s.Bytes += bytes
		s.Files = append(s.Files, control.FileSummary{File: s.File, Bytes: bytes})
	}
	for _, t := range s.Topics {
		if len(t.Publishers)+t.Former.Count+t.Refused+t.Unlinked.Count == 0 &&
			slices.Contains(r.o.Select.literal, topicname.InBag(t.Topic)) {
			s.Missing = append(s.Missing, t.Topic)
		}
	}
	s.Missing = append(s.Missing, r.o.Select.unmatched()...)
	return s
}

// triggers returns the accounts of the triggers, nil without any.
func (o *Options) triggers() []control.TriggerStats {
	if o.Watch == nil {
		return nil
	}
	return o.Watch.Triggers()
}
