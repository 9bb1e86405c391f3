package disk

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/control"
)

const (
	slowAfter = time.Second     // operations slower than this are logged
	hangAfter = 7 * time.Second // operations slower than this are not waited for at the end
)

// ErrDiskHangs means that the recording was to end, and the disk did not answer for several seconds. The last
// file has no index. Goroutines that wait for the disk are left behind, so the process should end.
var ErrDiskHangs = errors.New("the disk does not answer")

// Watchdog measures I/O operations and reports those that take long. It is for concurrent
// use.
type Watchdog struct {
	log   *zap.Logger
	Limit time.Duration // an operation that takes longer is not waited for at the end; 7 s except in tests

	mu      sync.Mutex        // guards the following fields
	pending []*operation      // operations in progress, the oldest first
	spare   []*operation      // finished operations, whose memory is used again
	looked  time.Time         // when pending was looked at last, to report or at an end; zero before the first Report
	times   control.DiskTimes // how long finished operations took
}

// operation is one operation on a file.
type operation struct {
	what, file string
	began      time.Time
	reported   bool
	end        func()
}

// NewWatchdog returns a watchdog that writes to log.
func NewWatchdog(log *zap.Logger) *Watchdog { return &Watchdog{log: log, Limit: hangAfter} }

// Begin notes that an operation begins. The caller calls end when the operation is finished.
func (s *Watchdog) Begin(what, file string) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.spare) == 0 {
		a := new(operation)
		a.end = func() { s.end(a) }
		s.spare = append(s.spare, a)
	}
	last := len(s.spare) - 1
	a := s.spare[last]
	s.spare = s.spare[:last]
	a.what, a.file, a.began, a.reported = what, file, time.Now(), false
	s.pending = append(s.pending, a)
	return a.end
}

func (s *Watchdog) end(a *operation) {
	s.mu.Lock()
	if now := time.Now(); !s.looked.IsZero() {
		excuse(s.pending, now.Sub(s.looked))
		s.looked = now
	}
	took, over := time.Since(a.began), *a
	note(&s.times, a.what, took)
	i := slices.Index(s.pending, a)
	s.pending = slices.Delete(s.pending, i, i+1)
	s.spare = append(s.spare, a)
	s.mu.Unlock()
	if took >= slowAfter {
		s.log.Warn("slow disk", zap.String("operation", over.what), zap.String("file", over.file), zap.Duration("took", took.Round(time.Millisecond)))
	}
}

// excuse takes a long time in which nobody looked at the operations off their durations: the process was
// stopped, by Ctrl-Z or docker pause, and the disk was not slow.
func excuse(pending []*operation, still time.Duration) {
	if still < slowAfter {
		return
	}
	for _, a := range pending {
		a.began = a.began.Add(still)
	}
}

// Report logs, once for each, operations that take long. It has to be called much more often than every
// slowAfter.
func (s *Watchdog) Report(now time.Time) {
	s.mu.Lock()
	if !s.looked.IsZero() {
		excuse(s.pending, now.Sub(s.looked))
	}
	s.looked = now
	var late []operation
	for _, a := range s.pending {
		if !a.reported && now.Sub(a.began) >= slowAfter {
			a.reported = true
			late = append(late, *a)
		}
	}
	s.mu.Unlock()
	for _, a := range late {
		s.log.Warn("the disk has not answered yet: what arrives waits in the buffer", zap.String("operation", a.what), zap.String("file", a.file),
			zap.Duration("after", now.Sub(a.began).Round(time.Millisecond)))
	}
}

// Hanging returns ErrDiskHangs, with the operation, if one takes longer than Limit.
func (s *Watchdog) Hanging(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) == 0 || now.Sub(s.pending[0].began) < s.Limit {
		return nil
	}
	a := s.pending[0]
	return fmt.Errorf("%w: the %s of %s takes longer than %v; the file stays without an index: recover it with gobag reindex when the disk is back",
		ErrDiskHangs, a.what, a.file, now.Sub(a.began).Round(time.Second))
}
