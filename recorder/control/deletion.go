package control

import "time"

// Deletion says when limits on old bags begin to delete as much as is written. The zero value says never.
type Deletion struct {
	Limited bool
	// with Limited: after so much was written; math.MaxInt64 if no limit depends on that
	Bytes int64
	// with Limited: or after this time; math.MaxInt64 if no limit depends on that
	Time time.Duration
	// with fewer bytes free, bags are deleted that were not uploaded; zero for none
	Floor int64
}

// Lasts returns how long a disk with so many bytes free will last at a rate in bytes per second, if the
// recording ends when fewer than least are free. Negative means that nothing is written, or that old bags
// are deleted before.
func (d *Deletion) Lasts(free, least int64, rate float64) time.Duration {
	const most = 100 * 365 * 24 * 3600
	if rate < 1 {
		return -1
	}
	left := time.Duration(min(max(float64(free-max(least, d.Floor)), 0)/rate, most)) * time.Second
	if d.Limited && (d.Time <= left || float64(d.Bytes)/rate <= left.Seconds()) {
		return -1
	}
	return left
}
