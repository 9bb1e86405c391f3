package recorder

import "time"

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
	p, now := r.pipe, time.Now()
	s := Stats{Taken: now, Elapsed: now.Sub(r.started), Bytes: p.stored.Load(), Handover: p.handover.Handed(), Triggers: r.triggers()}
	if out := p.current(); out != nil {
		s.File = out.Target()
	}
	s.DiskFree, s.TimeLeft = p.disk.Forecast()
	s.Disk, s.Finished, s.Deleted = p.outputs.Watchdog.Account(), p.finished.number(), p.finished.retain.Deletions()
	p.addStats(&s)
	s.Snapshots.Failed = p.snapshots.failures()
	return s
}

// addStats adds what the intake knows to an account.
func (in *intake) addStats(s *Stats) {
	in.mu.Lock()
	defer in.mu.Unlock()
	s.State, s.Ending = in.state, in.ended || in.atSizeLimit
	s.Part, s.FileBytes = max(in.rotation.Part(), 0), in.rotation.Stored()
	s.Buffered, s.BufferMost = in.pool.Held-in.pool.Idle, in.pool.Limit
	s.Snapshots, s.Unread = in.snapshotStats(s.Taken), in.unread.now
	s.Topics = make([]TopicStats, 0, len(in.topics))
	for _, t := range in.topics {
		ts := TopicStats{Topic: t.name, Type: t.typ, Passed: t.passed, Publishers: t.linked, Messages: t.messages, Bytes: t.bytes, HeldUp: in.heldUp(t, s.Taken), Last: t.last}
		for cause, n := range t.dropped {
			if n == 0 {
				continue
			}
			if ts.Causes == nil {
				ts.Causes = map[string]uint64{}
			}
			ts.Dropped += n
			ts.Causes[dropCause(cause).String()] = n
		}
		ts.Missed, ts.LinksLost, ts.Refused = t.former.Missed, t.former.LinksLost, len(t.refused)
		for _, u := range t.publishers {
			a := u.Account(s.Taken)
			ts.Missed += a.Missed
			ts.LinksLost += a.LinksLost
		}
		s.Topics = append(s.Topics, ts)
	}
}
