package pacing

import (
	"sync"
	"time"
)

// maxTick is the longest step by which a clock advances. A longer one is a jump: the clock
// was set, or Set was not called for a while.
const maxTick = 10 * time.Second

// ClockSleeper is a Sleeper that follows a clock of somebody else, such as the clock of a simulator:
// time passes when Set is called with a later time, and stands still in between. A jump of the
// clock takes no time.
type ClockSleeper struct {
	wake    chan struct{}
	started chan struct{} // closed when the clock is first set

	mu       sync.Mutex
	clock    time.Duration // what the clock said last
	now      time.Duration // how far it has advanced, without jumps
	deadline time.Duration // of SleepUntil
	advanced time.Time     // when it last advanced, in real time
}

// NewClockSleeper returns a sleeper whose clock has not been set yet.
func NewClockSleeper() *ClockSleeper {
	return &ClockSleeper{wake: make(chan struct{}, 1), started: make(chan struct{}), deadline: forever}
}

// Set sets the time of the clock, from any goroutine. A time of zero or less is none and is
// ignored. Set returns by how much the clock has jumped; zero if it has not.
func (s *ClockSleeper) Set(clock time.Duration) (jump time.Duration) {
	if clock <= 0 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clock == 0 {
		s.clock, s.advanced = clock, time.Now()
		close(s.started)
	}
	step := clock - s.clock
	s.clock = clock
	if step < 0 || step > maxTick {
		s.advanced = time.Now()
		return step
	}
	s.now += step
	if step > 0 {
		s.advanced = time.Now()
	}
	if s.now >= s.deadline {
		s.Wake()
	}
	return 0
}

// Started returns a channel that is closed when the clock is first set.
func (s *ClockSleeper) Started() <-chan struct{} { return s.started }

// At returns what the clock says when Now returns t, if it does not jump until then.
func (s *ClockSleeper) At(t time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock + (t - s.now)
}

// Stopped returns for how long, in real time, the clock has not advanced. It is 0 before the
// clock is first set.
func (s *ClockSleeper) Stopped() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.advanced.IsZero() {
		return 0
	}
	return time.Since(s.advanced)
}

// Attach implements Sleeper.
func (s *ClockSleeper) Attach() {}

// Now implements Sleeper: the time since the clock was first set, by that clock.
func (s *ClockSleeper) Now() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// SleepUntil implements Sleeper.
func (s *ClockSleeper) SleepUntil(deadline time.Duration) {
	s.mu.Lock()
	s.deadline = deadline
	due := s.now >= deadline
	s.mu.Unlock()
	if !due {
		<-s.wake
	}
}

// Wake implements Sleeper.
func (s *ClockSleeper) Wake() {
	select {
	case s.wake <- struct{}{}:
	default: // a wake-up is pending already
	}
}

// Close implements Sleeper.
func (s *ClockSleeper) Close() {}
