package player

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// DamageError says that a part of a bag could not be read. The rest was played.
type DamageError struct {
	Bag      string
	Messages uint64 // lost with it, at most; 0 if that cannot be told
	Err      error  // with the offset, see bagfmt.CorruptError and bagfmt.LimitError
}

// Error implements error.
func (e *DamageError) Error() string { return fmt.Sprintf("player: bag %s: %v", e.Bag, e.Err) }

// Unwrap returns the cause.
func (e *DamageError) Unwrap() error { return e.Err }

// lossless reports whether all messages were played in spite of the damage.
func (e *DamageError) lossless() bool {
	var corrupt *bagfmt.CorruptError
	return errors.As(e.Err, &corrupt) && corrupt.Recovered
}

// Unread reports whether the bag may be sound: a disk or a store did not give it.
func (e *DamageError) Unread() bool {
	var read *readError
	return errors.As(e.Err, &read)
}

// damageOfOpening tells what opening the bag met.
func (p *plan) damageOfOpening(b *bagPlan) {
	for _, err := range b.reader.Damage() {
		if errors.Is(err, bagfmt.ErrUnindexed) {
			p.log.Info("bag was not closed, or is still being recorded: played as far as it goes", zap.String("bag", b.name))
			continue
		}
		p.damage = append(p.damage, &DamageError{Bag: b.name, Err: err})
	}
}

// damage adds to an error of the bag what chunk infos know about it.
func (b *bagPlan) damage(err error) *DamageError {
	e := &DamageError{Bag: b.name, Err: err}
	offset, ok := offsetOf(err)
	if !ok || e.lossless() {
		return e
	}
	// The place may be in the index records behind a chunk: the chunk is lost, too.
	chunks := b.reader.Chunks()
	behind := sort.Search(len(chunks), func(i int) bool { return chunks[i].Pos > offset })
	if behind == 0 {
		return e
	}
	for _, n := range chunks[behind-1].Counts {
		if b.routes[n.Conn] != nil {
			e.Messages += uint64(n.Count)
		}
	}
	return e
}

// offsetOf returns the place in the file that an error of bagfmt is about.
func offsetOf(err error) (offset int64, ok bool) {
	var (
		corrupt *bagfmt.CorruptError
		limit   *bagfmt.LimitError
		read    *readError
	)
	switch {
	case errors.As(err, &corrupt):
		return corrupt.Offset, true
	case errors.As(err, &limit):
		return limit.Offset, true
	case errors.As(err, &read):
		return read.offset, true
	}
	return 0, false
}

// readError is the error of a read with its place, which that of a file lacks.
type readError struct {
	offset int64
	err    error
}

func (e *readError) Error() string { return e.err.Error() }

func (e *readError) Unwrap() error { return e.err }

// placedReader adds the place to errors but the end of the file.
type placedReader struct {
	io.ReaderAt
	stopped func() error // the reason to read no more; may be nil
}

// ReadAt implements io.ReaderAt.
func (r *placedReader) ReadAt(p []byte, off int64) (int, error) {
	if r.stopped != nil {
		if err := r.stopped(); err != nil {
			return 0, err
		}
	}
	n, err := r.ReaderAt.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &readError{off, err}
	}
	return n, err
}

// maxDamage bounds how many damaged places are kept and logged. Of a bag that has
// more, the number is of no interest.
const maxDamage = 1000

// report keeps and logs one damaged place. Planning may have come across it, too, and
// play comes across it in each pass. What was not read because play ends is not damaged.
func (r *reader) report(e *DamageError) {
	if errors.Is(e, context.Canceled) {
		return
	}
	if e.lossless() {
		if len(r.met) < maxDamage && !r.met[e.Error()] {
			r.met[e.Error()] = true
			r.mend(e)
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
	if e.Unread() {
		r.plan.log.Error("a part of the bag could not be read, playing on behind it", damageFields(e)...)
		return
	}
	r.plan.log.Error("bag is damaged, playing on behind it", damageFields(e)...)
}

// reportAll reports what was met before the reading began.
func (r *reader) reportAll(list []*DamageError) {
	for _, e := range list {
		if e.lossless() {
			r.mend(e)
			continue
		}
		r.report(e)
	}
}

// mend counts and logs a damaged index that was rebuilt.
func (r *reader) mend(e *DamageError) {
	r.mu.Lock()
	r.mended++
	r.mu.Unlock()
	r.plan.log.Warn("an index of the bag is damaged, its messages are played", damageFields(e)...)
}

func (r *reader) damages() []*DamageError {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.damage)
}

func (r *reader) mendings() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mended
}

func damageFields(e *DamageError) []zap.Field {
	f := []zap.Field{zap.String("bag", e.Bag), zap.Uint64("messages", e.Messages), zap.Error(e.Err)}
	if offset, ok := offsetOf(e.Err); ok {
		f = append(f, zap.Int64("offset", offset))
	}
	return f
}
