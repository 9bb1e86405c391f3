package bagfile

import (
	"fmt"
	"sync"
	"time"
)

// syncs knows how much of a file is on the disk. The writer adds the bytes that it writes, while one sync
// at a time may run. It is for concurrent use.
type syncs struct {
	mu      sync.Mutex
	written int64     // bytes that are written
	synced  int64     // how many of the written bytes are known to be on the disk
	began   time.Time // when the last sync began
	busy    bool      // a sync is in progress
	// ADR 0007: after a failed sync the kernel may call lost pages clean.
	err    error     // final: a failed sync is never repeated
	idle   sync.Cond // signaled when busy becomes false
	closed bool      // the file is closed, or about to be: a late interval sync has nothing to do
}

// init is called once, before any other method. now is when the file was created.
func (s *syncs) init(now time.Time) {
	s.idle.L = &s.mu
	s.began = now
}

// wrote adds bytes that are not on the disk.
func (s *syncs) wrote(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written += int64(n)
}

// due reports whether an interval sync should start.
func (s *syncs) due(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	dirty := s.written - s.synced
	return !s.busy && s.err == nil && dirty > 0 && (dirty >= syncBytes || now.Sub(s.began) >= syncEvery)
}

// begin waits for the sync in progress and begins another one, of the bytes between two offsets. ok is
// false if no other sync may begin.
func (s *syncs) begin() (from, end int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.busy {
		s.idle.Wait()
	}
	if s.err != nil || s.closed {
		return 0, 0, false
	}
	s.busy, s.began = true, time.Now()
	return s.synced, s.written, true
}

// finish ends a sync of the bytes before the offset end. err is the error of the operating system.
func (s *syncs) finish(end int64, err error, file string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = false
	s.idle.Broadcast()
	if err != nil {
		s.err = fmt.Errorf("sync of %s failed: what was written after byte %d may be lost: %w", file,
			s.synced, err)
		return s.err
	}
	s.synced = end
	return nil
}

// close waits for the sync in progress, and lets no other one begin, so that the file may be closed.
func (s *syncs) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.busy {
		s.idle.Wait()
	}
	s.closed = true
}

// failed returns the error of the sync that has failed; nil if none has.
func (s *syncs) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
