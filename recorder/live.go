package recorder

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
)

// Stats is a live account of a recording. What it holds belongs to the caller. Rates are
// for the caller to make of two accounts.
type Stats struct {
	Taken      time.Time // when the account was made
	State      State
	Ending     bool // nothing is taken in any more: what is in memory is written, then the index
	Elapsed    time.Duration
	File       string        // the bag that is written, by its final name; empty while stopped
	Part       int           // the number of the last bag, from 0
	FileBytes  int64         // written to it, compressed
	Bytes      int64         // written in all files
	Buffered   int64         // bytes of all buffers in use
	BufferMost int64         // their bound; negative means none
	DiskFree   int64         // on the disk that is recorded to; negative if not known
	TimeLeft   time.Duration // until the recording ends for want of space, as fast as of late, with snapshots as of the last ten minutes; negative if not known, or if old files are deleted
	Disk       DiskTimes
	Finished   int // bags until now: Control.Bags has them
	Deleted    int // of those and of earlier runs, by the recorder, to keep within what Options.Retain sets
	Snapshots  SnapshotStats
	Handover   *HandoverStats // nil without Options.Handover
	Triggers   []TriggerStats // nil without Options.Watch
	Unread     string         // what cannot be read of the master's replies; empty if nothing
	Topics     []TopicStats
}

// TopicStats is the live account of one topic.
type TopicStats struct {
	Topic      string
	Type       string            // of the first publisher; empty if there was none
	Publishers int               // linked now
	Messages   uint64            // taken in
	Bytes      uint64            // of their payload
	Dropped    uint64            // for all causes
	Causes     map[string]uint64 // the same by cause; nil if there were none
	Missed     uint64            // published and never arrived, as far as publishers number theirs
	LinksLost  int               // as in PublisherSummary
	Passed     uint64            // while paused or stopped
	HeldUp     time.Duration     // as in TopicSummary
	Refused    int               // as in TopicSummary
	Last       time.Time         // when the last message came; zero if none did
}

// stats reads the accounts of a recording under way.
func (r *session) stats() Stats {
	p, now := r.sink, time.Now()
	s := Stats{Taken: now, Elapsed: now.Sub(r.started), Bytes: p.Stored.Load(), Handover: r.handover().Handed(), Triggers: r.triggers()}
	if out := p.Current(); out != nil {
		s.File = out.Target()
	}
	s.DiskFree, s.TimeLeft = p.Disk.Forecast()
	s.Disk, s.Finished, s.Deleted = p.Outputs.Watchdog.Account(), p.Finished.Number(), p.Finished.Retain.Deletions()
	live := r.in.Accounts().LiveFigures(now)
	s.State, s.Ending, s.Part, s.FileBytes = live.State, live.Ending, live.Part, live.FileBytes
	s.Buffered, s.BufferMost, s.Unread = live.Buffered, live.BufferMost, live.Unread
	s.Snapshots, s.Topics = snapshotStats(live.Snapshots), topicStats(live.Topics)
	s.Snapshots.Failed = p.Snapshotter.Failures()
	return s
}

// snapshotStats returns the account of the ring.
func snapshotStats(f intake.SnapshotFigures) SnapshotStats {
	s := SnapshotStats{Held: f.Held, Bytes: f.Bytes, Most: f.Most, Taken: f.Taken, File: f.File}
	switch {
	case f.Only:
		s.Mode = SnapshotOnly
	case f.On:
		s.Mode = SnapshotBeside
	}
	return s
}

// topicStats returns the live accounts of topics.
func topicStats(topics []account.Figures) []TopicStats {
	all := make([]TopicStats, 0, len(topics))
	for _, f := range topics {
		ts := TopicStats{Topic: f.Topic, Type: f.Typ, Passed: f.Passed, Publishers: f.Linked, Messages: f.Taken.Messages, Bytes: f.Taken.Bytes, HeldUp: f.HeldUp, Last: f.Last}
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
