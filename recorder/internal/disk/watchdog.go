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

// ErrDiskHangs means that the recording was to end, but the disk did not answer for
// several seconds. Its last file has no index. What waits for the disk is left behind:
// the process should end.
var ErrDiskHangs = errors.New("the disk does not answer")

// Watchdog measures I/O operations and reports those that take long. It is for concurrent
// use.
type Watchdog struct {
	log   *zap.Logger
	Limit time.Duration // what takes the disk longer is not waited for at the end; 7 s but in tests

	mu      sync.Mutex        // guards the following
	pending []*operation      // under way, oldest first
	spare   []*operation      // that are over, to be used again
	looked  time.Time         // when somebody looked at them last; zero while nobody does
	times   control.DiskTimes // of those that are over
}

// operation is one operation on a file.
type operation struct {
	what, file string
	began      time.Time
	reported   bool
	end        func()
}

func NewWatchdog(log *zap.Logger) *Watchdog { return &Watchdog{log: log, Limit: hangAfter} }

// Begin notes an operation; the caller calls what it returns when that is over.
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

// excuse does not count a long time in which nobody looked at the operations: the process stood
// still, because of Ctrl-Z or docker pause, and that is not the disk's doing.
func excuse(pending []*operation, still time.Duration) {
	if still < slowAfter {
		return
	}
	for _, a := range pending {
		a.began = a.began.Add(still)
	}
}

// Report tells once of each operation that takes long. It has to be called much more
// often than every slowAfter.
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

// Hanging returns an error if an operation is unanswered for longer than the limit.
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
