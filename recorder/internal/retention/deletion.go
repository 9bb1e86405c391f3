package retention

import (
	"math"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// Each is what one file of the recording takes at most; zero values if that is not known.
type Each struct {
	Bytes int64
	Time  time.Duration
}

// Deletion says when the limits begin to delete as much as is written. The recording ends when fewer than
// least bytes are free.
func (r *Retainer) Deletion(now time.Time, least int64, each Each) control.Deletion {
	if !r.Enabled() {
		return control.Deletion{}
	}
	r.mu.Lock()
	var files int
	var bytes int64
	var waits bool
	oldest := now
	for _, f := range r.files {
		switch {
		case r.deletable(f):
			bytes += f.bytes
			if !f.original {
				files++
			}
			if f.closed.Before(oldest) {
				oldest = f.closed
			}
		case f.closedUnpinned():
			waits = true
		}
	}
	r.mu.Unlock()
	switch {
	case waits && files == 0: // the store is away: what is recorded now will wait for it, too
		return control.Deletion{Floor: r.KeepFree}
	case r.KeepFree > least:
		return control.Deletion{Limited: true}
	}
	d := control.Deletion{Limited: true, Bytes: math.MaxInt64, Time: math.MaxInt64}
	if r.Bytes > 0 {
		d.Bytes = max(r.Bytes-bytes, 0)
	}
	if r.Files > 0 {
		more := max(r.Files-files, 0)
		d.Bytes = min(d.Bytes, times(more, each.Bytes))
		d.Time = min(d.Time, time.Duration(times(more, int64(each.Time))))
	}
	if r.Age > 0 {
		d.Time = min(d.Time, max(r.Age-now.Sub(oldest), 0))
	}
	return d
}

// times returns n times each. If each is zero, it is not known, and the result is the largest number.
func times(n int, each int64) int64 {
	if each == 0 || n > 0 && each > math.MaxInt64/int64(n) {
		return math.MaxInt64
	}
	return int64(n) * each
}
