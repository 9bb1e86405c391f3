package recorder

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"go.uber.org/zap"
)

// diskEvery is how often the free space is looked at, and old files with it.
const diskEvery = time.Second

// wary is how many times MinSpace is worth a warning, as in stock.
const wary = 5

// ErrMinSpace means that the recording ended because the disk is nearly full.
var ErrMinSpace = errors.New("the disk is nearly full")

// disk watches the disk that is recorded to. Its fields belong to one goroutine.
type disk struct {
	min    int64
	text   string // of min, as the user wrote it
	free   func() (int64, error)
	log    *zap.Logger
	warned bool
	failed bool

	bytes int64 // written in all at the last look
	at    time.Time
	rate  float64 // bytes a second, smoothed over some ten seconds
}

// check looks once and reports whether the recording has to end. written is what was
// written so far in all files, file the name of the present one.
func (d *disk) check(now time.Time, written int64, file string) (full bool) {
	free, err := d.free()
	if err != nil {
		if !d.failed {
			d.log.Warn("Failed to check filesystem stats", zap.Error(err))
		}
		d.failed = true
		return false
	}
	d.failed = false
	d.measure(now, written)
	switch {
	case d.min == 0:
	case free < d.min:
		d.log.Error("Less than " + d.text + " of space free on disk with " + file + activeSuffix + ". Disabling recording.")
		return true
	case free/wary < d.min && !d.warned:
		d.warned = true
		d.log.Warn("Less than 5 x "+d.text+" of space free on disk with '"+file+"'.", zap.String("time left", d.left(free)))
	case free/wary >= d.min:
		d.warned = false
	}
	return false
}

// measure keeps the rate at which the disk is filled.
func (d *disk) measure(now time.Time, written int64) {
	if passed := now.Sub(d.at).Seconds(); !d.at.IsZero() && passed > 0 {
		rate := float64(written-d.bytes) / passed
		if d.rate == 0 {
			d.rate = rate
		}
		const weight = 0.1
		d.rate += weight * (rate - d.rate)
	}
	d.bytes, d.at = written, now
}

// left says how long it will take until recording ends for want of space.
func (d *disk) left(free int64) string {
	if d.rate < 1 {
		return "unknown"
	}
	const most = 100 * 365 * 24 * 3600
	return (time.Duration(min(float64(free-d.min)/d.rate, most)) * time.Second).String()
}

// watchDisk looks every second until ctx is done, deletes old files, and closes full
// when the recording has to end.
func (r *recording) watchDisk(ctx context.Context, full chan<- struct{}) {
	d := disk{min: r.MinSpace, text: r.MinSpaceText, log: r.Log, free: r.pipe.retain.free}
	tick := time.NewTicker(diskEvery)
	defer tick.Stop()
	for {
		now := time.Now()
		r.pipe.retain.enforce(now)
		file, written := r.pipe.progress()
		if d.check(now, written, file) {
			close(full)
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// progress returns the file that is written and the bytes written in all.
func (p *pipeline) progress() (file string, written int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out != nil {
		file = filepath.Clean(p.out.target)
	}
	return file, p.stored
}
