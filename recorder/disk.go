package recorder

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"go.uber.org/zap"
)

// diskEvery is how often the free space is looked at, and old files with it.
const diskEvery = time.Second

// wary is how many times MinSpace is worth a warning, as in stock.
const wary = 5

// ErrMinSpace means that the recording ended because the disk is nearly full.
var ErrMinSpace = errors.New("the disk is nearly full")

// soon is the time left that is worth a warning; it is repeated when twice as much was
// left meanwhile.
const soon = 10 * time.Minute

// steady is how long it takes to know how fast the disk fills.
const steady = 5 * time.Second

// disk watches the disk that is recorded to. It is for concurrent use.
type disk struct {
	min  int64
	text string // of min, as the user wrote it
	free func() (int64, error)
	log  *zap.Logger
	full chan struct{} // closed when the recording has to end
	ebbs bool          // old files are deleted: what is written does not tell when the disk is full

	mu     sync.Mutex // guards the following
	over   bool       // full is closed
	warned bool       // that there is little space
	hasty  bool       // that there is little time
	failed bool

	have  int64 // free at the last look; negative before the first
	bytes int64 // written in all at the last look
	at    time.Time
	rate  float64       // bytes a second, smoothed over some ten seconds
	seen  time.Duration // how long it was measured
}

func newDisk(o Options, r *retainer) *disk {
	return &disk{min: o.MinSpace, text: o.MinSpaceText, free: r.free, log: o.Log, full: make(chan struct{}), ebbs: o.Retain.enabled(), have: -1}
}

// check looks once and reports whether the recording has to end. written is what was
// written so far in all files, file the name of the present one, empty if there is none.
func (d *disk) check(now time.Time, written int64, file string) (full bool) {
	free, err := d.free()
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		if !d.failed {
			d.log.Warn("Failed to check filesystem stats", zap.Error(err))
		}
		d.failed = true
		return d.over
	}
	d.failed, d.have = false, free
	d.measure(now, written)
	left, known := d.left()
	switch {
	case d.over:
	case file == "": // what is not recorded need not end
	case d.min > 0 && free < d.min:
		d.over = true
		d.log.Error("Less than " + d.text + " of space free on disk with " + file + activeSuffix + ". Disabling recording.")
		close(d.full)
	case d.min > 0 && free/wary < d.min && !d.warned:
		d.warned = true
		d.log.Warn("Less than 5 x "+d.text+" of space free on disk with '"+file+"'.", zap.String("time left", leftText(left, known)))
	case free/wary >= d.min:
		d.warned = false
	}
	switch {
	case known && left < soon && !d.hasty && !d.over && d.seen >= steady:
		d.hasty = true
		d.log.Warn("the disk will be full soon", zap.String("time left", leftText(left, known)), zap.Int64("free bytes", free), zap.String("file", file))
	case !known || left > 2*soon:
		d.hasty = false
	}
	return d.over
}

// short returns why no file should be begun, if there is too little space.
func (d *disk) short() error {
	if free, err := d.free(); err != nil || free >= d.min {
		return nil //nolint:nilerr // it is not known
	}
	return fmt.Errorf("recorder: less than %s of space free on disk: %w", d.text, ErrMinSpace)
}

// free returns what is free on the disk.
func (s *outputs) free() (int64, error) {
	defer s.stall.begin("free space check", s.dir.Name())()
	return freeBytes(s.dir.handle)
}

// measure keeps the rate at which the disk is filled.
func (d *disk) measure(now time.Time, written int64) {
	if passed := now.Sub(d.at); !d.at.IsZero() && passed > 0 {
		rate := float64(written-d.bytes) / passed.Seconds()
		if d.rate == 0 {
			d.rate = rate
		}
		d.rate += min(passed.Seconds()/10, 1) * (rate - d.rate)
		d.seen += passed
	}
	d.bytes, d.at = written, now
}

// left says how long it will take until recording ends for want of space.
func (d *disk) left() (left time.Duration, known bool) {
	const most = 100 * 365 * 24 * 3600
	if d.ebbs || d.rate < 1 {
		return 0, false
	}
	return time.Duration(min(max(float64(d.have-d.min), 0)/d.rate, most)) * time.Second, true
}

func leftText(left time.Duration, known bool) string {
	if !known {
		return "unknown"
	}
	return left.String()
}

// forecast returns what is free, and how long that will do; negative means unknown.
func (d *disk) forecast() (free int64, left time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	left, known := d.left()
	if !known || d.have < 0 {
		left = -1
	}
	return d.have, left
}

// watchDisk looks every second until ctx is done or the recording has to end, and
// deletes old files.
func (r *recording) watchDisk(ctx context.Context) {
	tick := time.NewTicker(diskEvery)
	defer tick.Stop()
	for {
		now := time.Now()
		r.pipe.retain.enforce(now)
		if r.pipe.lowDisk(now) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// lowDisk looks, and reports whether the recording has to end because the disk is
// nearly full.
func (p *pipeline) lowDisk(now time.Time) bool {
	file, written := p.progress()
	return p.disk.check(now, written, file)
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
