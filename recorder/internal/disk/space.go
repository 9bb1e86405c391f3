package disk

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/bagname"
)

// warnFactor is how many times the least space is little enough for a warning, as in stock.
const warnFactor = 5

// LeastRoom is how many bytes have to be free on the disk when a bag begins, and are reserved ahead of
// writing at least.
const LeastRoom = 1 << 20

// ErrMinSpace means that the recording ended because the disk is nearly full.
var ErrMinSpace = errors.New("the disk is nearly full")

// lowTime is the time left below which a warning is logged. The warning is repeated only after more than
// twice this time was left in between.
const lowTime = 10 * time.Minute

// rateKnownAfter is how long the growth of files is measured before a warning about the time left.
const rateKnownAfter = 5 * time.Second

// The times over which rates are smoothed. A snapshot writes in seconds what was received in minutes, so its
// rate is smoothed over minutes.
const (
	recordingSpan = 10 * time.Second
	snapshotSpan  = 10 * time.Minute
)

// Space watches the disk that is recorded to. It is for concurrent use.
type Space struct {
	min     int64  // the recording ends when fewer bytes are free; zero means never
	text    string // min as the user wrote it
	Free    func() (int64, error)
	log     *zap.Logger
	Full    chan struct{} // closed when the recording has to end
	deletes func(now time.Time) control.Deletion

	mu           sync.Mutex // guards the following fields
	over         bool       // Full is closed
	warned       bool       // a warning about the space left was logged
	warnedOfTime bool       // a warning about the time left was logged
	failed       bool       // the last check failed

	freeBytes int64            // at the last check; negative before the first
	deletion  control.Deletion // at the last check
	at        time.Time        // time of the last check
	measured  time.Duration    // how long the rates have been measured
	files     flow             // growth of the recording's own files
	snapshots flow             // growth of the files of snapshots
}

// flow is how fast some files grow.
type flow struct {
	bytes int64   // written to all of the files at the last check
	rate  float64 // bytes per second, smoothed
}

// measure updates the rate. written is what was written to all of the files so far, passed the time since the
// last check, and span the time over which the rate is smoothed.
func (f *flow) measure(written int64, passed, span time.Duration) {
	if passed > 0 {
		f.rate += min(passed.Seconds()/span.Seconds(),
			1) * (float64(written-f.bytes)/passed.Seconds() - f.rate)
	}
	f.bytes = written
}

// NewSpace returns a Space that ends the recording when fewer than least bytes are free; zero means
// never. text is least as the user wrote it. deletes says when old bags are deleted; nil for never.
func NewSpace(least int64, text string, deletes func(now time.Time) control.Deletion,
	free func() (int64, error), log *zap.Logger,
) *Space {
	return &Space{
		min: least, text: text, Free: free, log: log, Full: make(chan struct{}), deletes: deletes,
		freeBytes: -1,
	}
}

// Check checks the free space, and reports whether the recording has to end. written and snapshots are
// the bytes that were written so far into the files of the recording and of snapshots. file is the name
// of the present file, empty if there is none.
func (d *Space) Check(now time.Time, written, snapshots int64, file string) (full bool) {
	free, err := d.Free()
	var deletion control.Deletion
	if d.deletes != nil {
		deletion = d.deletes(now)
	}
	news, full := d.evaluate(now, free, err, written, snapshots, file, deletion)
	for _, log := range news {
		log()
	}
	return full
}

// evaluate is Check for a disk with the given free bytes; err says why they are not known. It returns
// functions that log, to be called without the lock.
func (d *Space) evaluate(now time.Time, free int64, err error, written, snapshots int64, file string,
	deletion control.Deletion,
) (news []func(), full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		if !d.failed {
			news = append(news, func() { d.log.Warn("Failed to check filesystem stats", zap.Error(err)) })
		}
		d.failed = true
		return news, d.over
	}
	d.failed, d.freeBytes, d.deletion = false, free, deletion
	if d.at.IsZero() && deletion.Limited && deletion.Bytes < math.MaxInt64 && deletion.Bytes > free-d.min {
		news = append(news, func() {
			d.log.Warn("the disk will be full before limits delete old bags: set --keep-free, or smaller limits",
				zap.Int64("free bytes", free), zap.Int64("bytes until then", deletion.Bytes))
		})
	}
	d.measure(now, written, snapshots)
	left := d.left()
	timeLeft := zap.String("time left", "unknown")
	if left >= 0 {
		timeLeft = zap.Stringer("time left", left)
	}
	switch {
	case d.over:
	case file == "": // nothing is recorded that could end
	case d.min > 0 && free < d.min:
		d.over = true
		close(d.Full)
		news = append(news, func() { d.log.Error(LowSpace(d.text, file)) })
	case d.min > 0 && free/warnFactor < d.min && !d.warned:
		d.warned = true
		news = append(news, func() {
			d.log.Warn("Less than 5 x "+d.text+" of space free on disk with '"+file+
				"'. The recording ends at less than "+d.text+" (--min-space).", timeLeft)
		})
	case free/warnFactor >= d.min:
		d.warned = false
	}
	switch {
	case left >= 0 && left < lowTime && !d.warnedOfTime && !d.over && d.measured >= rateKnownAfter:
		d.warnedOfTime = true
		news = append(news, func() {
			d.log.Warn("the disk will be full soon", timeLeft, zap.Int64("free bytes", free),
				zap.String("file", file))
		})
	case left > 2*lowTime:
		d.warnedOfTime = false
	}
	return news, d.over
}

// LowSpace returns stock's text for a bag whose disk has less than least bytes free. least is as the user
// wrote it.
func LowSpace(least, bag string) string {
	return "Less than " + least + " of space free on disk with " + bag + bagname.ActiveSuffix +
		". Disabling recording."
}

// Short returns an error if there is too little space to begin a file.
func (d *Space) Short() error { return Short(d.Free, d.min, d.text) }

// Short returns an error if there is too little space to begin a file in a recording that ends when fewer
// than least bytes are free, which the user wrote as text. What a file reserves when it begins, and
// before its first chunk, must not end the recording: its end returns what is reserved, so that every new
// start would leave a bag without messages.
func Short(free func() (int64, error), least int64, text string) error {
	is, err := free()
	need := int64(LeastRoom)
	if least > 0 {
		need = least + 2*LeastRoom
	}
	switch {
	case err != nil || is >= need:
		return nil //nolint:nilerr // if the free space is not known, a file that may not fit is better than none
	case is < least:
		return fmt.Errorf("less than %s of space free on disk: %w", text, ErrMinSpace)
	}
	return fmt.Errorf("%d bytes of space free on disk, and to begin a bag takes %d: %w", is, need,
		ErrMinSpace)
}

// measure updates the rates at which the disk is filled.
func (d *Space) measure(now time.Time, written, snapshots int64) {
	var passed time.Duration
	if !d.at.IsZero() {
		passed = max(now.Sub(d.at), 0)
	}
	span := recordingSpan
	if d.files.rate == 0 {
		span = passed // the first rate counts in full
	}
	d.files.measure(written, passed, span)
	d.snapshots.measure(snapshots, passed, snapshotSpan)
	d.measured += passed
	d.at = now
}

// left returns how long it will take until the recording ends because the disk is nearly full, or bags
// are deleted that were not uploaded; negative means unknown.
func (d *Space) left() time.Duration {
	if d.freeBytes < 0 {
		return -1
	}
	return d.deletion.Lasts(d.freeBytes, d.min, d.files.rate+d.snapshots.rate)
}

// Forecast returns how many bytes are free, and how long they will last; negative means unknown.
func (d *Space) Forecast() (free int64, left time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.freeBytes, d.left()
}
