// Package pacing waits for deadlines as exactly as the machine permits, decides when
// messages are too frequent for one wake-up each and are sent in batches, and measures how
// late messages are.
package pacing

import (
	"math"
	"time"
)

// forever is a deadline that never comes.
const forever = time.Duration(math.MaxInt64)

// Sleeper waits for deadlines on behalf of one goroutine, the pacer.
type Sleeper interface {
	// Attach is called once, by the pacer before it sleeps. The pacer must end
	// afterwards without unlocking its thread.
	Attach()
	// Now returns the time since the sleeper was made, by the monotonic clock.
	Now() time.Duration
	// SleepUntil returns when Now is at least deadline, or earlier: after Wake, or
	// spuriously. The caller checks the time and its state again.
	SleepUntil(deadline time.Duration)
	// Wake ends the current SleepUntil, or the next one. Safe from any goroutine,
	// also after Close.
	Wake()
	// Close frees the sleeper after the last SleepUntil.
	Close()
}

// TimerSleeper sleeps with Go's timers. They are portable and work with fake time,
// but wake up about 1 ms late on an idle machine.
type TimerSleeper struct {
	epoch time.Time
	timer *time.Timer
	wake  chan struct{}
}

// NewTimerSleeper returns a sleeper that works everywhere.
func NewTimerSleeper() *TimerSleeper {
	t := time.NewTimer(0)
	t.Stop()
	return &TimerSleeper{epoch: time.Now(), timer: t, wake: make(chan struct{}, 1)}
}

// Attach implements Sleeper.
func (s *TimerSleeper) Attach() {}

// Now implements Sleeper.
func (s *TimerSleeper) Now() time.Duration { return time.Since(s.epoch) }

// SleepUntil implements Sleeper.
func (s *TimerSleeper) SleepUntil(deadline time.Duration) {
	if deadline == forever {
		<-s.wake
		return
	}
	s.timer.Reset(deadline - s.Now())
	select {
	case <-s.timer.C:
	case <-s.wake:
		s.timer.Stop()
	}
}

// Wake implements Sleeper.
func (s *TimerSleeper) Wake() {
	select {
	case s.wake <- struct{}{}:
	default: // a wake-up is pending already
	}
}

// Close implements Sleeper.
func (s *TimerSleeper) Close() { s.timer.Stop() }
