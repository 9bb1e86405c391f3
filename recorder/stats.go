package recorder

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
)

// stats reads the accounts of a recording under way.
func (r *session) stats() control.Stats {
	p, now := r.sink, time.Now()
	s := control.Stats{Taken: now, Elapsed: now.Sub(r.started), Bytes: p.Bags.Stored(), Handover: r.o.handover().Handed(), Triggers: r.o.triggers()}
	if out := p.Current(); out != nil {
		s.File = out.Target()
	}
	s.DiskFree, s.TimeLeft = p.Bags.Disk.Forecast()
	s.Disk, s.Finished, s.Deleted = p.Bags.Outputs.Watchdog.Account(), p.Bags.Finished.Number(), p.Bags.Finished.Retain.Deletions()
	live := r.in.Accounts().LiveFigures(now)
	s.State, s.Ending, s.Part, s.FileBytes = live.State, live.Ending, live.Part, live.FileBytes
	s.Buffered, s.BufferMost, s.Unread = live.Buffered, live.BufferMost, live.Unread
	s.Snapshots, s.Topics = snapshotStats(live.Snapshots), topicStats(live.Topics)
	s.Snapshots.Failed = p.Snapshotter.Failures()
	return s
}

// snapshotStats returns the account of the ring.
func snapshotStats(f ring.Figures) control.SnapshotStats {
	s := control.SnapshotStats{Held: f.Held, Bytes: f.Bytes, Most: f.Most, Taken: f.Taken, File: f.File}
	switch {
	case f.Only:
		s.Mode = control.SnapshotOnly
	case f.On:
		s.Mode = control.SnapshotBeside
	}
	return s
}

// topicStats returns the live accounts of topics.
func topicStats(topics []account.Figures) []control.TopicStats {
	all := make([]control.TopicStats, 0, len(topics))
	for _, f := range topics {
		ts := control.TopicStats{Topic: f.Topic, Type: f.Typ, Passed: f.Passed, Publishers: f.Linked, Messages: f.Taken.Messages, Bytes: f.Taken.Bytes, HeldUp: f.HeldUp, Last: f.Last}
		for cause, n := range f.Dropped {
			if n == 0 {
				continue
			}
			if ts.Causes == nil {
				ts.Causes = map[string]uint64{}
			}
			ts.Dropped += n
			ts.Causes[account.DropCause(cause).String()] = n
		}
		ts.Missed, ts.LinksLost, ts.Refused = f.Former.Missed, f.Former.LinksLost, f.Refused
		for _, a := range f.Publishers {
			ts.Missed += a.Missed
			ts.LinksLost += a.LinksLost
		}
		all = append(all, ts)
	}
	return all
}

// triggers returns the accounts of the triggers, nil without any.
func (o *Options) triggers() []control.TriggerStats {
	if o.Watch == nil {
		return nil
	}
	return o.Watch.Triggers()
}
