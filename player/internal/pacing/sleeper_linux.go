package pacing

import (
	"encoding/binary"
	"errors"
	"runtime"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// Limits of the two ways to sleep. clock_nanosleep with an absolute deadline is exact, but
// Wake cannot interrupt it; poll can be interrupted, but the kernel lets it oversleep by
// 0.1 % of the timeout. So poll covers most of a long wait, clock_nanosleep the rest.
const (
	// ADR 0014: timers of Go wake up 0.5 to 1 ms late.
	maxNanosleep = 2 * time.Millisecond // longest clock_nanosleep: bounds the latency of Wake
	pollDivisor  = 64                   // poll ends before 1/64 of the wait is left, far above 0.1 %
	maxPoll      = time.Hour            // a timeout that fits a timespec on every platform
)

// The kernel wakes the thread some microseconds after the deadline that it was given. So the sleeper
// gives it a deadline that is earlier by the lead, the median latency of a wake-up, and spins when it
// wakes up early.
const (
	// ADR 0130: half of the wake-ups are later than their median.
	maxLead  = 50 * time.Microsecond // bounds the time that the sleeper spins before a deadline
	leadStep = 100 * time.Nanosecond // by which one wait changes the lead
)

// How the kernel schedules the pacer's thread.
const (
	pacerNice  = -10
	pacerSlice = 100 * time.Microsecond // the least that Linux takes
)

// threadSleeper sleeps in the kernel on a thread of its own.
type threadSleeper struct {
	epoch  time.Time
	offset time.Duration // CLOCK_MONOTONIC at epoch
	lead   time.Duration // about the median latency of a wake-up

	mu    sync.Mutex // guards event against Wake after Close
	event int        // eventfd, -1 when closed
	fds   [1]unix.PollFd
	log   *zap.Logger
}

// NewSleeper returns the most precise sleeper that works here.
func NewSleeper(log *zap.Logger) Sleeper {
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		log.Warn("precise sleep is not available", zap.Error(err))
		return NewTimerSleeper()
	}
	s := &threadSleeper{event: event, fds: [1]unix.PollFd{{Fd: int32(event), Events: unix.POLLIN}}, log: log}
	if s.epoch, s.offset, err = monotonicEpoch(); err != nil {
		log.Warn("precise sleep is not available", zap.Error(err))
		unix.Close(event) //nolint:errcheck,gosec // nothing was written to it
		return NewTimerSleeper()
	}
	return s
}

// Attach locks the calling goroutine to its thread forever: the thread, with its timer
// slack, ends with the goroutine.
func (s *threadSleeper) Attach() {
	runtime.LockOSThread()
	// The default slack of 50 us lets the kernel collect wake-ups; 1 ns is the least.
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		s.log.Debug("timer slack stays at its default", zap.Error(err))
	}
	s.prioritize()
}

// prioritize lets the kernel interrupt others for this thread, which runs for microseconds at a
// time: on a busy machine it would wait until their slices of milliseconds are over. Since Linux
// 6.12 a thread that asks for a short slice goes before those with longer ones; earlier versions
// ignore it. A process that was started with nice or another policy keeps these.
func (s *threadSleeper) prioritize() {
	thread := unix.Gettid()
	attr, err := unix.SchedGetAttr(thread, 0)
	if err != nil || attr.Policy != unix.SCHED_NORMAL {
		return
	}
	if attr.Nice == 0 {
		if err := unix.Setpriority(unix.PRIO_PROCESS, thread, pacerNice); err != nil {
			s.log.Debug("the pacer keeps its priority", zap.Error(err)) // we lack the right
		} else {
			attr.Nice = pacerNice
		}
	}
	attr.Runtime = uint64(pacerSlice)
	if err := unix.SchedSetAttr(thread, attr, 0); err != nil {
		s.log.Debug("the pacer keeps its slice", zap.Error(err))
	}
}

// monotonicEpoch returns a moment both as Go's time and as CLOCK_MONOTONIC. Go
// reads the same clock but shows only differences.
func monotonicEpoch() (time.Time, time.Duration, error) {
	var best struct {
		epoch  time.Time
		offset time.Duration
	}
	shortest := forever
	for range 5 { // a try that was interrupted between its readings shows a longer gap
		var ts unix.Timespec
		before := time.Now()
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
			return time.Time{}, 0, err
		}
		if gap := time.Since(before); gap < shortest {
			shortest = gap
			best.epoch, best.offset = before, time.Duration(ts.Nano())-gap/2
		}
	}
	return best.epoch, best.offset, nil
}

// Now implements Sleeper.
func (s *threadSleeper) Now() time.Duration { return time.Since(s.epoch) }

// SleepUntil implements Sleeper.
func (s *threadSleeper) SleepUntil(deadline time.Duration) {
	for {
		left := deadline - s.Now()
		if left <= 0 {
			return
		}
		if left <= maxNanosleep {
			switch {
			case left <= s.lead:
				// no sleep corrects the lead; if all waits are this short, the thread must not only spin
				s.lead = max(s.lead-leadStep, 0)
			case !s.nanosleep(deadline - s.lead):
				continue // the Go scheduler signals its threads
			}
			for s.Now() < deadline {
				continue // spin, for at most maxLead
			}
			return
		}
		if s.poll(min(left-left/pollDivisor-maxNanosleep/2, maxPoll)) {
			return
		}
	}
}

// nanosleep sleeps until a time. It returns false if a signal interrupted it.
func (s *threadSleeper) nanosleep(until time.Duration) bool {
	ts := unix.NsecToTimespec(int64(s.offset + until))
	if err := unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil); errors.Is(err,
		unix.EINTR) {
		return false
	}
	s.learn(s.Now() - until)
	return true
}

// learn moves the lead toward the median latency: up or down by one step, however long this latency is.
func (s *threadSleeper) learn(latency time.Duration) {
	if latency > s.lead {
		s.lead = min(s.lead+leadStep, maxLead)
	} else {
		s.lead = max(s.lead-leadStep, 0)
	}
}

// poll waits for Wake and reports whether it came.
func (s *threadSleeper) poll(timeout time.Duration) bool {
	ts := unix.NsecToTimespec(int64(timeout))
	if n, err := unix.Ppoll(s.fds[:], &ts, nil); err != nil || n == 0 {
		return false
	}
	var count [8]byte
	unix.Read(s.event, count[:]) //nolint:errcheck,gosec // only resets the counter; EAGAIN if it was 0
	return true
}

// Wake implements Sleeper.
func (s *threadSleeper) Wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.event < 0 {
		return
	}
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	unix.Write(s.event, one[:]) //nolint:errcheck,gosec // EAGAIN: 2^64-2 wake-ups are pending
}

// Close implements Sleeper.
func (s *threadSleeper) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	unix.Close(s.event) //nolint:errcheck,gosec // an eventfd holds no data
	s.event = -1
}
