package recorder

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// stats returns the live account of the recording.
func (r *session) stats() control.Stats {
	p, now := r.sink, time.Now()
	s := r.in.Accounts().Stats(now)
	s.Taken, s.Elapsed, s.Bytes = now, now.Sub(r.started), p.Bags.Stored()
	s.Handover, s.Triggers = r.o.handover().Handed(), r.o.triggers()
	if out := p.Current(); out != nil {
		s.File = out.Target()
	}
	s.DiskFree, s.TimeLeft = p.Bags.Disk.Forecast()
	s.Disk, s.Finished = p.Bags.Outputs.Watchdog.Account(), p.Bags.Finished.Number()
	s.Deleted, _ = p.Bags.Finished.Retain.Deletions()
	s.Snapshots.Failed = p.Snapshotter.Failures()
	return s
}

// triggers returns the accounts of the triggers, nil without any.
func (o *Options) triggers() []control.TriggerStats {
	if o.Watch == nil {
		return nil
	}
	return o.Watch.Triggers()
}
