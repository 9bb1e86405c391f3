package disk

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// watched returns a stall that is looked at as record does until the test ends, what stops
// that for a while, and what it says.
func watched(t *testing.T) (s *Watchdog, standStill func(time.Duration), logs *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zap.WarnLevel)
	s = NewWatchdog(zap.New(core))
	tick := time.NewTicker(s.Limit / 20)
	stop, done := make(chan time.Duration), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-tick.C:
				s.Report(time.Now())
			case d, ok := <-stop:
				if !ok {
					return
				}
				time.Sleep(d)
			}
		}
	}()
	t.Cleanup(func() {
		tick.Stop()
		close(stop)
		<-done
	})
	return s, func(d time.Duration) { stop <- d; time.Sleep(d - time.Millisecond) }, logs
}

// TestSlowDiskIsSaid: while it does not answer, and when it has.
func TestSlowDiskIsSaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, logs := watched(t)
		end := s.Begin("write", "x")
		time.Sleep(3 * time.Second)
		if n := logs.FilterMessageSnippet("has not answered").Len(); n != 1 || s.Hanging(time.Now()) != nil {
			t.Errorf("said %d times", n)
		}
		time.Sleep(5 * time.Second)
		if s.Hanging(time.Now()) == nil {
			t.Error("not said that it hangs")
		}
		end()
		if logs.FilterMessage("slow disk").Len() != 1 || s.Hanging(time.Now()) != nil {
			t.Errorf("logged %v", logs.All())
		}
	})
}

// TestStoppedProcessIsNoSlowDisk: after SIGCONT an operation that was under way is as
// good as new, whoever looks first.
func TestStoppedProcessIsNoSlowDisk(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]time.Duration{"ends first": 0, "looked at first": 500 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, standStill, logs := watched(t)
				time.Sleep(time.Second)
				end := s.Begin("sync", "x")
				standStill(10 * time.Second)
				if wait > 0 {
					time.Sleep(wait)
				}
				if err := s.Hanging(time.Now()); wait > 0 && err != nil {
					t.Error(err)
				}
				end()
				if logs.Len() != 0 {
					t.Errorf("logged %v", logs.All())
				}
			})
		})
	}
}

// TestWatchdogAtItsLimits: an operation is slow after exactly a second, and hangs after
// exactly the limit; who stood still for a second did so.
func TestWatchdogAtItsLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.WarnLevel)
		s := NewWatchdog(zap.New(core))
		end := s.Begin("write", "x")
		began := time.Now()
		if s.Hanging(began.Add(s.Limit-1)) != nil || s.Hanging(began.Add(s.Limit)) == nil {
			t.Error("hangs at another time than the limit")
		}
		for _, c := range []struct {
			after time.Duration
			said  int
		}{{slowAfter - 1, 0}, {slowAfter, 1}, {slowAfter + 1, 1}} {
			time.Sleep(time.Until(began.Add(c.after)))
			if s.Report(time.Now()); logs.FilterMessageSnippet("has not answered").Len() != c.said {
				t.Errorf("after %v: logged %v", c.after, logs.All())
			}
		}
		end()
		for took, slow := range map[time.Duration]int{slowAfter - 1: 0, slowAfter: 1} {
			s := NewWatchdog(zap.New(core))
			logs.TakeAll()
			end := s.Begin("write", "x")
			time.Sleep(took)
			if end(); logs.FilterMessage("slow disk").Len() != slow {
				t.Errorf("took %v: logged %v", took, logs.All())
			}
		}
		logs.TakeAll()
		s.Report(time.Now())
		end = s.Begin("write", "x")
		time.Sleep(slowAfter) // nobody looked
		s.Report(time.Now())
		if end(); logs.Len() != 0 {
			t.Errorf("stood still: logged %v", logs.All())
		}
	})
}
