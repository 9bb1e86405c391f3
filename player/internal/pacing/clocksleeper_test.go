package pacing_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorosbag/gorosbag/player/internal/pacing"
)

// Time passes as the clock says; a jump takes none, in either direction.
func TestClockSleeperTime(t *testing.T) {
	t.Parallel()
	s := pacing.NewClockSleeper()
	for _, step := range []struct {
		set, jump, now time.Duration
	}{
		{0, 0, 0},
		{-time.Second, 0, 0},
		{5 * time.Second, 0, 0},
		{5 * time.Second, 0, 0},
		{5*time.Second + 1, 0, 1},
		{15*time.Second + 1, 0, 10*time.Second + 1},
		{25*time.Second + 2, 10*time.Second + 1, 10*time.Second + 1},
		{26*time.Second + 2, 0, 11*time.Second + 1},
		{0, 0, 11*time.Second + 1},
		{time.Second, -25*time.Second - 2, 11*time.Second + 1},
		{2 * time.Second, 0, 12*time.Second + 1},
	} {
		if jump := s.Set(step.set); jump != step.jump || s.Now() != step.now {
			t.Fatalf("set to %v: jump %v, now %v; want %v, %v", step.set, jump, s.Now(), step.jump, step.now)
		}
		if step.set > 0 && (s.At(s.Now()) != step.set || s.At(s.Now()+3) != step.set+3 || s.At(0) != step.set-s.Now()) {
			t.Fatalf("set to %v: the clock says %v at %v", step.set, s.At(s.Now()), s.Now())
		}
	}
	<-s.Started()
}

// A sleeper sleeps until its clock has reached the deadline, or until somebody wakes it.
func TestClockSleeperSleeps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := pacing.NewClockSleeper()
		select {
		case <-s.Started():
			t.Error("started without a time")
		default:
		}
		if s.Stopped() != 0 {
			t.Error("a clock that nobody has told has stopped")
		}
		woken := make(chan time.Duration)
		sleep := func(until time.Duration) {
			go func() {
				for s.Now() < until {
					s.SleepUntil(until)
				}
				woken <- s.Now()
			}()
			synctest.Wait()
		}
		asleep := func(what string) {
			t.Helper()
			synctest.Wait()
			select {
			case <-woken:
				t.Fatal("woken by " + what)
			default:
			}
		}
		sleep(30 * time.Millisecond)
		s.Set(100 * time.Second)
		asleep("the first time")
		s.Set(100*time.Second + 29*time.Millisecond)
		asleep("a time before the deadline")
		<-time.After(time.Hour)
		asleep("real time")
		if got := s.Stopped(); got != time.Hour {
			t.Errorf("the clock has stopped for %v", got)
		}
		s.Set(time.Second)
		asleep("a jump")
		s.Wake()
		asleep("a wake-up before the deadline")
		s.Set(time.Second + 5*time.Millisecond)
		if now := <-woken; now != 34*time.Millisecond {
			t.Errorf("woken at %v", now)
		}
		s.SleepUntil(time.Millisecond) // is over
		s.SleepUntil(s.Now())
		if got := s.Stopped(); got != 0 {
			t.Errorf("the clock has stopped for %v", got)
		}
		<-time.After(time.Minute)
		s.Set(time.Second + 5*time.Millisecond)
		if got := s.Stopped(); got != time.Minute {
			t.Errorf("a clock that says the same time again has stopped for %v, want a minute", got)
		}
	})
}
