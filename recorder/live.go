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
	TimeLeft   time.Duration // until the recording ends for want of space, as fast as of late; negative if not known, or if old files are deleted
	Disk       DiskTimes
	Finished   int // bags until now: Control.Bags has them
	Snapshots  SnapshotStats
	Handover   *HandoverStats // nil without Options.Handover
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
	Last       time.Time         // when the last message came; zero if none did
}

// stats reads the accounts of a recording under way.
func (r *recording) stats() Stats {
	p, now := r.pipe, time.Now()
	handed := p.handover.Handed()
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Stats{
		Taken: now, Elapsed: now.Sub(r.started), State: p.state, Ending: p.ended || p.full, Part: max(p.parts.number, 0),
		FileBytes: p.parts.stored, Bytes: p.stored, Buffered: p.pool.held - p.pool.idle, BufferMost: p.budget,
		Handover: handed, Topics: make([]TopicStats, 0, len(p.topics)),
	}
	if p.out != nil {
		s.File = p.out.target
	}
	s.Snapshots = p.snapshotStats(now)
	s.DiskFree, s.TimeLeft = p.disk.forecast()
	s.Disk, s.Finished = p.outputs.stall.account(), len(p.done)
	for _, t := range p.topics {
		ts := TopicStats{Topic: t.name, Passed: t.passed, Publishers: t.linked, Messages: t.messages, Bytes: t.bytes, Last: t.last}
		if len(t.conns) > 0 {
			ts.Type = t.conns[0].conn.Header.Type()
		}
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
		for _, u := range t.publishers {
			ts.Missed += u.missed
			ts.LinksLost += u.lost
		}
		s.Topics = append(s.Topics, ts)
	}
	return s
}
