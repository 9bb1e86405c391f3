package upload

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/loglimit"
)

// StoreState is the state of the store that the last contact has shown.
type StoreState int

// The zero value means that there was no contact yet.
const (
	// no answer since the start.
	Unchecked StoreState = iota
	// the store takes uploads.
	OK
	// the store does not respond, for example because a robot has left its network.
	Unreachable
	// the store refuses uploads until somebody corrects the cause.
	Failing
)

// StoreStats is the state of the store.
type StoreStats struct {
	State     StoreState
	Since     time.Time
	Err       string // why the store is Unreachable or Failing, and what to do; empty otherwise
	Unchecked string // what the permissions did not allow to check; may be empty
}

// checkStore checks the store until a check or an upload has shown that the store takes uploads. So
// problems are known before the first bag is finished.
func (u *Uploader) checkStore(ctx context.Context) {
	for wait := u.minRetryDelay; ctx.Err() == nil; wait = min(2*wait, u.maxRetryDelay) {
		before := u.Stats()
		if before.Store.State == OK {
			return
		}
		began := time.Now()
		attempt, cancel := context.WithTimeout(ctx, u.checkTimeout)
		unchecked, err := u.Bucket.Check(attempt)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if after := u.Stats(); after.Uploaded == before.Uploaded { // an upload proves more than a check
			u.checked(began, unchecked, err)
		}
		if err == nil {
			return
		}
		sleep(ctx, jittered(wait))
	}
}

// checked records and logs the outcome of a check.
func (u *Uploader) checked(began time.Time, unchecked string, err error) {
	if err == nil {
		u.update(func() { u.stats.Store.Unchecked = unchecked })
		fields := []zap.Field{
			zap.Stringer("to", u.Bucket),
			zap.Duration("took", time.Since(began).Round(time.Millisecond)),
		}
		if unchecked != "" {
			fields = append(fields, zap.String("not checked", unchecked))
		}
		u.Log.Info("The store takes uploads", fields...)
	}
	u.contacted(err)
}

// contacted records the state of the store that an attempt has shown. It logs a change for the worse,
// and later one for the better.
func (u *Uploader) contacted(err error) {
	state := stateOf(err)
	if state == Unchecked {
		return
	}
	var before StoreState
	u.update(func() {
		s := &u.stats.Store
		before = s.State
		if state != before {
			s.State, s.Since = state, time.Now()
		}
		s.Err = ""
		if err != nil {
			s.Err = store.Message(err)
		}
	})
	to := zap.Stringer("to", u.Bucket)
	switch {
	case state == before:
	case state == Failing:
		u.Log.Error("The store refuses uploads: bags stay here until that is corrected", loglimit.Each(), to,
			zap.String("reason", store.Message(err)))
	case state == Unreachable:
		u.Log.Warn("The store is not reachable: bags stay here until it is", to,
			zap.String("reason", store.Message(err)))
	case before == Failing, before == Unreachable:
		u.Log.Info("The store takes uploads again", to)
	}
}

// stateOf returns the state of the store that the outcome of an attempt shows, Unchecked if it shows none.
func stateOf(err error) StoreState {
	var refused *store.Error
	switch {
	case err == nil:
		return OK
	case errors.Is(err, context.Canceled), errors.Is(err, store.ErrChanged), !errors.As(err, &refused):
		return Unchecked
	case errors.Is(err, store.ErrUnreachable):
		return Unreachable
	}
	return Failing
}
