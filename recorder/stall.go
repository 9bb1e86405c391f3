package recorder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
)

const (
	slowAfter = time.Second     // what takes the disk longer is said
	hangAfter = 7 * time.Second // what takes it longer is not waited for at the end
)

// ErrDiskHangs means that the recording was to end, but the disk did not answer for
// several seconds. Its last file has no index. What waits for the disk is left behind:
// the process should end.
var ErrDiskHangs = errors.New("the disk does not answer")

// stall knows what the disk is asked for and has not answered. It is for concurrent use.
type stall struct {
	log   *zap.Logger
	limit time.Duration // hangAfter, but in tests

	mu     sync.Mutex // guards the following
	asks   []*ask     // under way, oldest first
	spare  []*ask     // that are over, to be used again
	looked time.Time  // when somebody looked at them last; zero while nobody does
	times  DiskTimes  // of those that are over
}

// ask is one operation on a file.
type ask struct {
	what, file string
	began      time.Time
	said       bool
	end        func()
}

func newStall() *stall { return &stall{log: zap.NewNop(), limit: hangAfter} }

// begin notes an operation; the caller calls what it returns when that is over.
func (s *stall) begin(what, file string) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.spare) == 0 {
		a := new(ask)
		a.end = func() { s.end(a) }
		s.spare = append(s.spare, a)
	}
	last := len(s.spare) - 1
	a := s.spare[last]
	s.spare = s.spare[:last]
	a.what, a.file, a.began, a.said = what, file, time.Now(), false
	s.asks = append(s.asks, a)
	return a.end
}

func (s *stall) end(a *ask) {
	s.mu.Lock()
	if !s.looked.IsZero() {
		s.look(time.Now())
	}
	took, over := time.Since(a.began), *a
	s.note(a.what, took)
	i := slices.Index(s.asks, a)
	s.asks = slices.Delete(s.asks, i, i+1)
	s.spare = append(s.spare, a)
	s.mu.Unlock()
	if took >= slowAfter {
		s.log.Warn("slow disk", zap.String("operation", over.what), zap.String("file", over.file), zap.Duration("took", took.Round(time.Millisecond)))
	}
}

// look does not count the time in which nobody looked: the process stood still, because
// of Ctrl-Z or docker pause, and that is not the disk's doing. mu is held.
func (s *stall) look(now time.Time) {
	if still := now.Sub(s.looked); !s.looked.IsZero() && still >= slowAfter {
		for _, a := range s.asks {
			a.began = a.began.Add(still)
		}
	}
	s.looked = now
}

// report tells once of each operation that takes long. It has to be called much more
// often than every slowAfter.
func (s *stall) report(now time.Time) {
	s.mu.Lock()
	s.look(now)
	var late []ask
	for _, a := range s.asks {
		if !a.said && now.Sub(a.began) >= slowAfter {
			a.said = true
			late = append(late, *a)
		}
	}
	s.mu.Unlock()
	for _, a := range late {
		s.log.Warn("the disk has not answered yet: what arrives waits in the buffer", zap.String("operation", a.what), zap.String("file", a.file),
			zap.Duration("after", now.Sub(a.began).Round(time.Millisecond)))
	}
}

// hanging returns an error if an operation is unanswered for longer than the limit.
func (s *stall) hanging(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asks) == 0 || now.Sub(s.asks[0].began) < s.limit {
		return nil
	}
	a := s.asks[0]
	return fmt.Errorf("%w: the %s of %s takes longer than %v; the file stays without an index: recover it with gobag reindex when the disk is back",
		ErrDiskHangs, a.what, a.file, now.Sub(a.began).Round(time.Second))
}

// record runs the recording, closes its files, and says when the disk takes long. Once
// ctx is done it does not wait for a disk that hangs.
func (r *recording) record(ctx context.Context) error {
	var err error
	ended := make(chan struct{})
	// owner: record, which waits for it unless the disk hangs.
	go func() {
		defer close(ended)
		err = r.run(ctx)
		err = errors.Join(err, r.pipe.close())
	}()
	stall := r.pipe.outputs.stall
	asked, end := time.Time{}, ctx.Done()
	tick := time.NewTicker(stall.limit / 20)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return err
		case <-end:
			asked, end = time.Now(), nil
		case <-tick.C:
			now := time.Now() // the tick may be from before a stop of the process
			stall.report(now)
			if asked.IsZero() || now.Sub(asked) < stall.limit {
				continue
			}
			if hangs := stall.hanging(now); hangs != nil {
				r.pipe.abandon()
				return hangs
			}
		}
	}
}

// abandon ends the intake and counts as lost what is not in a file.
func (p *pipeline) abandon() {
	p.mu.Lock()
	p.ended, p.abandoned = true, true
	for _, t := range p.topics {
		if !p.snaps.only() { // else nobody knows what was to be written
			t.dropped[dropDisk] += t.messages - t.written
			t.messages = t.written
		}
	}
	p.mu.Unlock()
	p.room.Broadcast()
}
