package pacing

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
)

func sleepers() map[string]func() Sleeper {
	return map[string]func() Sleeper{
		"system": func() Sleeper { return NewSleeper(zap.NewNop()) },
		"timer":  func() Sleeper { return NewTimerSleeper() },
	}
}

func TestSleeperIsNeverEarly(t *testing.T) {
	t.Parallel()
	for name, newSleeper := range sleepers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			<-onItsThread(newSleeper, func(s Sleeper) {
				for _, d := range []time.Duration{0, -time.Second, 50 * time.Microsecond, 3 * time.Millisecond, 20 * time.Millisecond} {
					deadline := s.Now() + d
					s.SleepUntil(deadline)
					if now := s.Now(); now < deadline {
						t.Errorf("woke up %v early", deadline-now)
					}
				}
			})
		})
	}
}

// onItsThread runs f on a goroutine that owns a sleeper.
func onItsThread(newSleeper func() Sleeper, f func(Sleeper)) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s := newSleeper()
		defer s.Close()
		s.Attach()
		f(s)
	}()
	return done
}

func TestWakeEndsSleep(t *testing.T) {
	t.Parallel()
	for name, newSleeper := range sleepers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, deadline := range []time.Duration{forever, time.Hour} {
				s := newSleeper()
				asleep := make(chan struct{})
				done := make(chan struct{})
				go func() {
					defer close(done)
					s.Attach()
					close(asleep)
					s.SleepUntil(deadline)
				}()
				<-asleep
				s.Wake() // before or during the sleep: both must count
				<-done
				s.Close()
				s.Wake() // must do no harm
			}
		})
	}
}

// The timers' sleeper wakes up at the deadline, whatever the time is when it begins to sleep.
func TestTimerSleeperWakesUpAtTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewTimerSleeper()
		defer s.Close()
		for _, deadline := range []time.Duration{2 * time.Second, 5 * time.Second, time.Second} {
			want := max(deadline, s.Now())
			if s.SleepUntil(deadline); s.Now() != want {
				t.Errorf("woke up at %v, want %v", s.Now(), want)
			}
		}
	})
}
