package pacing

import (
	"runtime"
	"testing"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// The pacer's thread has the least timer slack, the shortest slice where the kernel knows of slices,
// and a high priority unless the process was started with another than the usual one.
func TestAttach(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ nice, want int }{{5, 5}, {0, -10}} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread() // the thread ends with the goroutine
			thread := unix.Gettid()
			if err := unix.Setpriority(unix.PRIO_PROCESS, thread, tc.nice); err != nil {
				t.Logf("priority %d is not tested: %v", tc.nice, err) // a user cannot take nice back
				return
			}
			want := tc.want
			if err := unix.Setpriority(unix.PRIO_PROCESS, thread, pacerNice); err != nil {
				want = tc.nice // the right to raise it is missing
			} else if err := unix.Setpriority(unix.PRIO_PROCESS, thread, tc.nice); err != nil {
				t.Error(err)
			}
			const longer = 2 * pacerSlice
			if err := unix.SchedSetAttr(thread, &unix.SchedAttr{Nice: int32(tc.nice), Runtime: uint64(longer)}, 0); err != nil {
				t.Error(err)
			}
			before, err := unix.SchedGetAttr(thread, 0)
			if err != nil {
				t.Error(err)
				return
			}
			s := NewSleeper(zap.NewNop())
			defer s.Close()
			s.Attach()
			if slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0); err != nil || slack != 1 {
				t.Errorf("timer slack %d ns, %v", slack, err)
			}
			after, err := unix.SchedGetAttr(thread, 0)
			if err != nil || after.Policy != before.Policy || int(after.Nice) != want {
				t.Errorf("a thread with priority %d gets %+v, %v; want %d", tc.nice, after, err, want)
			}
			if slices := before.Runtime == uint64(longer); slices && after.Runtime != 100_000 {
				t.Errorf("a thread with priority %d has a slice of %d ns", tc.nice, after.Runtime)
			}
		}()
		<-done
	}
}

// A thread with a policy of its own keeps it, with its priority.
func TestAttachKeepsPolicy(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // the thread ends with the goroutine
		thread := unix.Gettid()
		if err := unix.SchedSetAttr(thread, &unix.SchedAttr{Policy: unix.SCHED_BATCH}, 0); err != nil {
			t.Error(err)
			return
		}
		before, err := unix.SchedGetAttr(thread, 0)
		if err != nil {
			t.Error(err)
			return
		}
		s := NewSleeper(zap.NewNop())
		defer s.Close()
		s.Attach()
		if after, err := unix.SchedGetAttr(thread, 0); err != nil || *after != *before {
			t.Errorf("%+v, %v, want %+v", after, err, before)
		}
	}()
	<-done
}

// The lead is the median latency, however long the others are, and bounded.
func TestLead(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		latency []time.Duration // in turn
		want    time.Duration
	}{
		{"all alike", []time.Duration{8 * us}, 8 * us},
		{"one of three is very late", []time.Duration{8 * us, time.Second, 8 * us}, 8 * us},
		{"all very late", []time.Duration{time.Second}, maxLead},
		{"at once", []time.Duration{0}, 0},
	} {
		s := threadSleeper{lead: 20 * us}
		for i := range 3000 {
			s.learn(tc.latency[i%len(tc.latency)])
		}
		if diff := s.lead - tc.want; diff < -2*leadStep || diff > 2*leadStep || s.lead < 0 || s.lead > maxLead {
			t.Errorf("%s: a lead of %v, want %v", tc.name, s.lead, tc.want)
		}
	}
}

// A sleeper with a lead is not early either, and keeps the lead only if wake-ups take that long.
func TestSleeperWithLeadIsNeverEarly(t *testing.T) {
	t.Parallel()
	<-onItsThread(func() Sleeper { return NewSleeper(zap.NewNop()) }, func(of Sleeper) {
		s := of.(*threadSleeper)
		for _, left := range []time.Duration{20 * us, 40 * us, maxLead, 200 * us, 3 * time.Millisecond} {
			fell := 0
			for range 20 {
				s.lead = maxLead
				deadline := s.Now() + left
				s.SleepUntil(deadline)
				if now := s.Now(); now < deadline {
					t.Errorf("a sleep of %v ends %v early", left, deadline-now)
				}
				if s.lead < maxLead {
					fell++
				}
			}
			if left < maxLead && fell == 0 {
				t.Errorf("waits of %v, without a sleep, leave the lead as it is", left)
			}
		}
		s.lead = 0
		for range 20 {
			s.SleepUntil(s.Now() + 200*us)
		}
		if s.lead == 0 {
			t.Error("the sleeper learns nothing from wake-ups")
		}
	})
}

// The kernel's clock is used where there is one. A sleeper that is closed has nothing that a
// late Wake could write to.
func TestThreadSleeper(t *testing.T) {
	t.Parallel()
	s, ok := NewSleeper(zap.NewNop()).(*threadSleeper)
	if !ok {
		t.Fatal("not the precise sleeper")
	}
	if s.Close(); s.event != -1 {
		t.Errorf("closed, but Wake writes to descriptor %d", s.event)
	}
}
