package player

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/rosbag"
)

// DamageError says that a part of a bag could not be read. The rest was played.
type DamageError struct {
	Bag      string
	Messages uint64 // upper bound of the messages lost with it; 0 if unknown
	Err      error  // with the offset, see bagfmt.CorruptError and bagfmt.LimitError
}

// Error implements error.
func (e *DamageError) Error() string { return fmt.Sprintf("bag %s: %v", e.Bag, e.Err) }

// Unwrap returns the cause.
func (e *DamageError) Unwrap() error { return e.Err }

// lossless reports whether all messages were played in spite of the damage.
func (e *DamageError) lossless() bool {
	var corrupt *bagfmt.CorruptError
	return errors.As(e.Err, &corrupt) && corrupt.Recovered
}

// IsReadError reports whether reading failed, on a disk or in a store: the bag itself may be
// intact.
func (e *DamageError) IsReadError() bool {
	var read *rosbag.ReadError
	return errors.As(e.Err, &read)
}

// DamageCount sums up what is lost with damaged places of the bags, and with places that could
// not be read.
type DamageCount struct {
	Places   int
	Messages uint64 // upper bound of the messages lost with the places of a known number
	Unknown  int    // places that an unknown number of messages is lost with
}

// CountDamage sums up damage.
func CountDamage(all []*DamageError) (c DamageCount) {
	for _, e := range all {
		c.Places++
		c.Messages += e.Messages
		if e.Messages == 0 {
			c.Unknown++
		}
	}
	return c
}

// Lost returns the number of lost messages as text, for example "at most 5 and an unknown
// number". It is "none" without damage.
func (c DamageCount) Lost() string {
	switch known := fmt.Sprintf("at most %d", c.Messages); {
	case c.Places == 0:
		return "none"
	case c.Unknown == 0:
		return known
	case c.Messages == 0:
		return unknownNumber
	default:
		return known + " and " + unknownNumber
	}
}

const unknownNumber = "an unknown number"

// addOpenDamage adds the damage that was found while opening the bag.
func (p *plan) addOpenDamage(b *bagPlan) {
	for _, err := range b.source.Info().Damage {
		if errors.Is(err, bagfmt.ErrUnindexed) {
			p.log.Info("bag was not closed, or is still being recorded: played as far as it goes", zap.String("bag", b.name))
			continue
		}
		p.damage = append(p.damage, &DamageError{Bag: b.name, Err: err})
	}
}

// damage makes a DamageError of a read error, with the number of lost messages from the
// counts of the span.
func (b *bagPlan) damage(err error) *DamageError {
	e := &DamageError{Bag: b.name, Err: err}
	offset, ok := offsetOf(err)
	if !ok || e.lossless() {
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
func (r *reader) report(e *DamageError) {
	if errors.Is(e, context.Canceled) {
		return
	}
	if e.lossless() {
		if len(r.reportedIndexes) < maxDamage && !r.reportedIndexes[e.Error()] {
			r.reportedIndexes[e.Error()] = true
			r.reportRebuiltIndex(e)
		}
		return
	}
	r.mu.Lock()
	known := len(r.damage) >= maxDamage ||
		slices.ContainsFunc(r.damage, func(d *DamageError) bool { return d.Error() == e.Error() && d.Messages >= e.Messages })
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
func (r *reader) reportAll(list []*DamageError) {
	for _, e := range list {
		if e.lossless() {
			r.reportRebuiltIndex(e)
			continue
		}
		r.report(e)
	}
}

// reportRebuiltIndex counts and logs a damaged chunk index that was rebuilt.
func (r *reader) reportRebuiltIndex(e *DamageError) {
	r.mu.Lock()
	r.rebuilt++
	r.mu.Unlock()
	r.plan.log.Warn("an index of the bag is damaged, its messages are played", damageFields(e)...)
}

func (r *reader) damageFound() []*DamageError {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.damage)
}

func (r *reader) damageCount() DamageCount {
	r.mu.Lock()
	defer r.mu.Unlock()
	return CountDamage(r.damage)
}

func (r *reader) rebuiltIndexes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rebuilt
}

func damageFields(e *DamageError) []zap.Field {
	f := []zap.Field{loglimit.Each(), zap.String("bag", e.Bag), zap.Error(e.Err)}
	if !e.lossless() {
		f = append(f, zap.String("lost messages", CountDamage([]*DamageError{e}).Lost()))
	}
	if offset, ok := offsetOf(e.Err); ok {
		f = append(f, zap.Int64("offset", offset))
	}
	return f
}
