package player

import "time"

// sleeper waits for deadlines on behalf of one goroutine, the pacer.
type sleeper interface {
	// Attach is called once, by the pacer before it sleeps. The pacer must end
	// afterwards without unlocking its thread.
	Attach()
	// Now returns the time since the sleeper was made, by the monotonic clock.
	Now() time.Duration
	// SleepUntil returns when Now is at least deadline, or earlier: after Wake, or
	// for no reason. The caller looks at the clock and at its orders again.
	SleepUntil(deadline time.Duration)
	// Wake ends the current SleepUntil, or the next one. Safe from any goroutine,
	// also after Close.
	Wake()
	// Close frees the sleeper after the last SleepUntil.
	Close()
}

// timerSleeper sleeps with Go's timers. They are portable and work with fake time,
// but wake up about 1 ms late on an idle machine.
type timerSleeper struct {
	epoch time.Time
	timer *time.Timer
	wake  chan struct{}
}

func newTimerSleeper() *timerSleeper {
	t := time.NewTimer(0)
	t.Stop()
	return &timerSleeper{epoch: time.Now(), timer: t, wake: make(chan struct{}, 1)}
}

func (s *timerSleeper) Attach() {}

func (s *timerSleeper) Now() time.Duration { return time.Since(s.epoch) }

func (s *timerSleeper) SleepUntil(deadline time.Duration) {
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

func (s *timerSleeper) Wake() {
	select {
	case s.wake <- struct{}{}:
	default: // a wake-up is pending already
	}
}

func (s *timerSleeper) Close() { s.timer.Stop() }
