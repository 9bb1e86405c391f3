package tcpros

import (
	"sync"
	"time"
)

const (
	sayAgain  = time.Minute // between two log lines about the same trouble
	mostKinds = 256         // kinds of trouble kept apart; peers choose some of their names
)

// said keeps repeated trouble from filling the log. The zero value is ready.
type said struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// due reports whether trouble of this kind is to be logged now, and notes that it is.
func (s *said) due(kind string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if at, ok := s.last[kind]; ok && now.Sub(at) < sayAgain {
		return false
	}
	if s.last == nil {
		s.last = map[string]time.Time{}
	}
	if len(s.last) >= mostKinds {
		for k, at := range s.last {
			if now.Sub(at) >= sayAgain {
				delete(s.last, k)
			}
		}
		if len(s.last) >= mostKinds {
			return false // somebody makes up names
		}
	}
	s.last[kind] = now
	return true
}
