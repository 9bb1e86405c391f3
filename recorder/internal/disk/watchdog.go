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

// ErrDiskHangs means that the recording should end, and the disk did not answer for several seconds. The
// last file has no index. Goroutines that wait for the disk are left behind, so the process should end.
var ErrDiskHangs = errors.New("the disk does not answer")

// Watchdog measures I/O operations and reports those that take long. It is for concurrent
// use.
type Watchdog struct {
	log   *zap.Logger
	Limit time.Duration // an operation that takes longer is not waited for at the end; 7 s except in tests

	// guards the following fields
	mu sync.Mutex
	// operations in progress, the oldest first
	pending []*operation
	// finished operations, whose memory is reused
	spare []*operation
	// when durations were checked last, by Report or at the end of an operation; zero before the first
	// Report
	looked time.Time
	// how long finished operations took
	times control.DiskTimes
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
		op := new(operation)
		op.end = func() { s.end(op) }
		s.spare = append(s.spare, op)
	}
	last := len(s.spare) - 1
	op := s.spare[last]
	s.spare = s.spare[:last]
	op.what, op.file, op.began, op.reported = what, file, time.Now(), false
	s.pending = append(s.pending, op)
	return op.end
}

func (s *Watchdog) end(op *operation) {
	s.mu.Lock()
	if !s.looked.IsZero() {
		s.lookLocked(time.Now())
	}
	took, what, file := time.Since(op.began), op.what, op.file // op may be reused once mu is released
	note(&s.times, what, took)
	i := slices.Index(s.pending, op)
	s.pending = slices.Delete(s.pending, i, i+1)
	s.spare = append(s.spare, op)
	s.mu.Unlock()
	if took >= slowAfter {
		s.log.Warn("slow disk", zap.String("operation", what), zap.String("file", file),
			zap.Duration("took", took.Round(time.Millisecond)))
	}
}

// lookLocked is called before the durations of operations are used. A long time without a call is
// subtracted from them: the process was stopped then, by Ctrl-Z or docker pause, and the disk was not
// slow.
func (s *Watchdog) lookLocked(now time.Time) {
	if unwatched := now.Sub(s.looked); !s.looked.IsZero() && unwatched >= slowAfter {
		for _, op := range s.pending {
			op.began = op.began.Add(unwatched)
		}
	}
	s.looked = now
}

// Report logs operations that take long, each once. It has to be called much more often than every slowAfter.
func (s *Watchdog) Report(now time.Time) {
	s.mu.Lock()
	s.lookLocked(now)
	var late []operation
	for _, op := range s.pending {
		if !op.reported && now.Sub(op.began) >= slowAfter {
			op.reported = true
			late = append(late, *op)
		}
	}
	s.mu.Unlock()
	for _, op := range late {
		s.log.Warn("the disk has not answered yet: messages wait in the buffer",
			zap.String("operation", op.what), zap.String("file", op.file),
			zap.Duration("after", now.Sub(op.began).Round(time.Millisecond)))
	}
}

// Hanging returns ErrDiskHangs, with the operation, if one takes longer than Limit.
func (s *Watchdog) Hanging(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) == 0 || now.Sub(s.pending[0].began) < s.Limit {
		return nil
	}
	op := s.pending[0]
	return fmt.Errorf("%w: the %s of %s takes longer than %v; the file stays without an index: recover it with gobag reindex when the disk is back",
		ErrDiskHangs, op.what, op.file, now.Sub(op.began).Round(time.Second))
}

// note adds the duration of a finished operation to times.
func note(times *control.DiskTimes, what string, took time.Duration) {
	switch what {
	case "write":
		times.Writes.Add(took)
	case "sync":
		times.Syncs.Add(took)
	}
}

// CountSplit counts a change of the file that began at start.
func (s *Watchdog) CountSplit(start time.Time) {
	s.mu.Lock()
	s.times.Splits.Add(time.Since(start))
	s.mu.Unlock()
}

// Account returns how long finished operations took.
func (s *Watchdog) Account() control.DiskTimes {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.times
}
