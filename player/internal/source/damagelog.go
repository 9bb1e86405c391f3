package source

import (
	"context"
	"errors"
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/rosbag"
)

// OffsetOf returns the file offset of an error of bagfmt.
func OffsetOf(err error) (offset int64, ok bool) {
	var (
		corrupt *rosbag.CorruptError
		limit   *rosbag.LimitError
		read    *rosbag.ReadError
	)
	switch {
	case errors.As(err, &corrupt):
		return corrupt.Offset, true
	case errors.As(err, &limit):
		return limit.Offset, true
	case errors.As(err, &read):
		return read.Offset, true
	}
	return 0, false
}

// maxDamage bounds how many damaged places are remembered and logged.
const maxDamage = 1000

// DamageLog remembers the damaged places of the bags that are played, and logs each of them once:
// planning and each pass may find the same place again. It is for concurrent use.
type DamageLog struct {
	log *zap.Logger

	mu      sync.Mutex
	lossy   []*control.DamageError
	indexes map[string]bool // texts of the damaged indexes that were reported already
	rebuilt int             // damaged indexes that were rebuilt
}

// NewDamageLog returns a DamageLog that writes to log.
func NewDamageLog(log *zap.Logger) *DamageLog {
	return &DamageLog{log: log, indexes: map[string]bool{}}
}

// ReportAll records and logs what was found before play. Opening finds each place once, so that two
// damaged indexes may have the same text.
func (d *DamageLog) ReportAll(list []*control.DamageError) {
	for _, e := range list {
		if e.Lossless() {
			d.mu.Lock()
			d.rebuilt++
			d.mu.Unlock()
			d.write(e)
			continue
		}
		d.Report(e)
	}
}

// Report records and logs one damaged place. A read that was canceled because play ends is no damage.
func (d *DamageLog) Report(e *control.DamageError) {
	if !errors.Is(e, context.Canceled) && d.add(e) {
		d.write(e)
	}
}

// write logs one damaged place.
func (d *DamageLog) write(e *control.DamageError) {
	switch {
	case e.Lossless():
		d.log.Warn("an index of the bag is damaged, its messages are played", damageFields(e)...)
	case e.IsReadError():
		d.log.Error("a part of the bag could not be read, playing on after it", damageFields(e)...)
	case errors.Is(e, rosbag.ErrLimit):
		d.log.Error("a chunk is larger than --max-chunk allows, playing on after it", damageFields(e)...)
	case errors.Is(e, rosbag.ErrLeftOut):
		d.log.Error("a topic is left out, playing the others", damageFields(e)...)
	default:
		d.log.Error("bag is damaged, playing on after it", damageFields(e)...)
	}
}

// add records a damaged place, and reports whether it is to be logged.
func (d *DamageLog) add(e *control.DamageError) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e.Lossless() {
		if len(d.indexes) >= maxDamage || d.indexes[e.Error()] {
			return false
		}
		d.indexes[e.Error()] = true
		d.rebuilt++
		return true
	}
	if len(d.lossy) >= maxDamage || slices.ContainsFunc(d.lossy, func(known *control.DamageError) bool {
		return known.Error() == e.Error() && known.Messages >= e.Messages
	}) {
		return false
	}
	d.lossy = append(d.lossy, e)
	return true
}

// Found returns the damaged places that messages were lost with.
func (d *DamageLog) Found() []*control.DamageError {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lossy)
}

// Count sums up what Found returns.
func (d *DamageLog) Count() control.DamageCount {
	d.mu.Lock()
	defer d.mu.Unlock()
	return control.CountDamage(d.lossy)
}

// RebuiltIndexes returns the number of damaged indexes that were rebuilt without loss.
func (d *DamageLog) RebuiltIndexes() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rebuilt
}

func damageFields(e *control.DamageError) []zap.Field {
	f := []zap.Field{loglimit.Each(), zap.String("bag", e.Bag), zap.Error(e.Err)}
	if !e.Lossless() {
		f = append(f, zap.String("lost messages", control.CountDamage([]*control.DamageError{e}).Lost()))
	}
	if offset, ok := OffsetOf(e.Err); ok {
		f = append(f, zap.Int64("offset", offset))
	}
	return f
}
