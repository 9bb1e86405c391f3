package foxglove

import (
	"sync"
	"time"
)

// maxAnswers bounds the answers that wait for one viewer. A viewer with more of them loses the
// oldest: it has newer states.
const maxAnswers = 64

// mailbox holds the IDs of requests, of any viewer, whose answers were not yet sent to one viewer.
type mailbox struct {
	wake chan struct{} // holds a token while there may be IDs

	mu  sync.Mutex
	ids []string
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

func (m *mailbox) put(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.ids) == maxAnswers {
		m.ids = m.ids[1:]
	}
	m.ids = append(m.ids, id)
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *mailbox) takeAll() (ids []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ids, m.ids = m.ids, nil
	return ids
}

// seekRequest is the request that caused the next jump. The answer reports the jump, so it is sent
// when the jump happens, at its place among the messages.
type seekRequest struct {
	mu      sync.Mutex
	id      string // of the latest request
	after   uint64 // the jump that the latest request asks for has a higher number
	waiting bool   // this jump has not happened
	timer   *time.Timer
	jump    uint64 // the number of the latest jump that a request asked for; zero before the first
	jumpID  string // the ID of the request that caused this jump
}

// expect notes that the next jump after a number answers a request. When there is no jump within d,
// late is called with the ID. A request that is still waiting is answered at once.
func (r *seekRequest) expect(id string, after uint64, d time.Duration, late func(id string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.withdraw() {
		late(r.id)
	}
	r.id, r.after, r.waiting = id, after, true
	timer := (*time.Timer)(nil)
	timer = time.AfterFunc(d, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.timer == timer && r.withdraw() {
			late(id)
		}
	})
	r.timer = timer
}

// withdraw ends waiting, and reports whether a request was waiting. Called with the lock.
func (r *seekRequest) withdraw() (waited bool) {
	waited = r.waiting
	if waited {
		r.timer.Stop()
		r.waiting = false
	}
	return waited
}

// answered returns the ID of the request that asked for a jump; empty if none did.
func (r *seekRequest) answered(jump uint64) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if jump > r.after && r.withdraw() {
		r.jump, r.jumpID = jump, r.id
	}
	if r.jump != 0 && r.jump == jump {
		return r.jumpID
	}
	return ""
}

// end ends waiting, and reports whether a request was waiting.
func (r *seekRequest) end() (waited bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.withdraw()
}

// control carries out a request of a viewer, and answers it to all viewers.
func (s *Server) control(c *playbackControl) {
	p := s.source.Playback
	first, last := p.Range()
	if c.seek { // before Do: the jump may happen at once
		s.seek.expect(c.id, s.source.Store.Jumps(), s.timing.seek, s.answer)
	}
	request := c.limited(first, last)
	if now := p.State().Speed; c.speed == float32(now) { // also a speed that viewers cannot set
		request.Speed = now
	}
	jumps := p.Do(request)
	if !c.seek || !jumps && s.seek.end() {
		s.answer(c.id)
	}
}

// answer sends the state as the answer to a request to all viewers.
func (s *Server) answer(id string) {
	for _, one := range s.all() {
		one.answers.put(id)
	}
}
