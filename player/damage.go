package player

import (
	"context"
	"errors"
	"slices"
	"sort"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/rosbag"
)

// addOpenDamage adds the damage that was found while opening the bag.
func (p *plan) addOpenDamage(b *bagPlan) {
	for _, err := range b.source.Info().Damage {
		if errors.Is(err, bagfmt.ErrUnindexed) {
			p.log.Info("bag was not closed, or is still being recorded: played as far as it goes", zap.String("bag", b.name))
			continue
		}
		p.damage = append(p.damage, &control.DamageError{Bag: b.name, Err: err})
	}
}

// damage makes a DamageError of a read error, with the number of lost messages from the
// counts of the span.
func (b *bagPlan) damage(err error) *control.DamageError {
	e := &control.DamageError{Bag: b.name, Err: err}
	offset, ok := offsetOf(err)
	if !ok || e.Lossless() {
		return e
	}
	// The place may be in the index records behind a chunk: the chunk is lost, too.
	behind := sort.Search(b.source.NumSpans(), func(i int) bool { return b.source.Span(i).Pos > offset })
	if behind == 0 {
		return e
	}
	for _, n := range b.source.Span(behind - 1).Counts {
		if b.routes[n.Conn] != nil {
			e.Messages += uint64(n.Count)
		}
	}
	return e
}

// offsetOf returns the file offset of an error of bagfmt.
func offsetOf(err error) (offset int64, ok bool) {
	var (
		corrupt *bagfmt.CorruptError
		limit   *bagfmt.LimitError
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

// report records and logs one damaged place, once: planning and each pass may find it
// again. A read that was canceled because play ends is no damage.
func (r *reader) report(e *control.DamageError) {
	if errors.Is(e, context.Canceled) {
		return
	}
	if e.Lossless() {
		if len(r.reportedIndexes) < maxDamage && !r.reportedIndexes[e.Error()] {
			r.reportedIndexes[e.Error()] = true
			r.reportRebuiltIndex(e)
		}
		return
	}
	r.mu.Lock()
	known := len(r.damage) >= maxDamage ||
		slices.ContainsFunc(r.damage, func(d *control.DamageError) bool { return d.Error() == e.Error() && d.Messages >= e.Messages })
	if !known {
		r.damage = append(r.damage, e)
	}
	r.mu.Unlock()
	if known {
		return
	}
	if e.IsReadError() {
		r.plan.log.Error("a part of the bag could not be read, playing on behind it", damageFields(e)...)
		return
	}
	if errors.Is(e, bagfmt.ErrLimit) {
		r.plan.log.Error("a chunk is larger than --max-chunk allows, playing on behind it", damageFields(e)...)
		return
	}
	r.plan.log.Error("bag is damaged, playing on behind it", damageFields(e)...)
}

// reportAll reports damage that was found before the reader started.
func (r *reader) reportAll(list []*control.DamageError) {
	for _, e := range list {
		if e.Lossless() {
			r.reportRebuiltIndex(e)
			continue
		}
		r.report(e)
	}
}

// reportRebuiltIndex counts and logs a damaged chunk index that was rebuilt.
func (r *reader) reportRebuiltIndex(e *control.DamageError) {
	r.mu.Lock()
	r.rebuilt++
	r.mu.Unlock()
	r.plan.log.Warn("an index of the bag is damaged, its messages are played", damageFields(e)...)
}

func (r *reader) damageFound() []*control.DamageError {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.damage)
}

func (r *reader) damageCount() control.DamageCount {
	r.mu.Lock()
	defer r.mu.Unlock()
	return control.CountDamage(r.damage)
}

func (r *reader) rebuiltIndexes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rebuilt
}

func damageFields(e *control.DamageError) []zap.Field {
	f := []zap.Field{loglimit.Each(), zap.String("bag", e.Bag), zap.Error(e.Err)}
	if !e.Lossless() {
		f = append(f, zap.String("lost messages", control.CountDamage([]*control.DamageError{e}).Lost()))
	}
	if offset, ok := offsetOf(e.Err); ok {
		f = append(f, zap.Int64("offset", offset))
	}
	return f
}
