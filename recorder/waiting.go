package recorder

// Waiting says what a topic without any publisher so far was waiting for when the recording
// ended.
type Waiting int

// The zero value says that nothing was in the way: there was a link, or no publisher.
const (
	WaitingNone      Waiting = iota
	WaitingMaster            // to be registered with the master, which had others before it or did not answer
	WaitingPublisher         // for a publisher that the master lists and that was not reached
)

// noteWaiting notes what topics wait for, before their subscriptions are closed.
func (r *session) noteWaiting() {
	waiting := map[*topic]Waiting{}
	for _, s := range r.subs {
		if s.sub == nil || s.topic == nil {
			continue
		}
		if publishers, ok := s.sub.Registered(); !ok {
			waiting[s.topic] = WaitingMaster
		} else if publishers > 0 {
			waiting[s.topic] = WaitingPublisher
		}
	}
	r.pipe.noteWaiting(waiting)
}

// noteWaiting notes it of topics that were never linked.
func (in *intake) noteWaiting(waiting map[*topic]Waiting) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for t, w := range waiting {
		if !t.met {
			t.waitsFor = w
		}
	}
}

// unread is what could not be read of the master's replies, so that topics may be missing: of the
// last replies, and at the last time that there was something.
type unread struct{ now, ever string }

func (r *session) noteUnread() {
	now, ever := r.Node.Unread()
	r.pipe.noteUnread(unread{now, ever})
}

func (in *intake) noteUnread(u unread) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.unread = u
}

// Waiting returns how many topics waited for w when the recording ended.
func (s *Summary) Waiting(w Waiting) (n int) {
	for i := range s.Topics {
		if s.Topics[i].Waiting == w {
			n++
		}
	}
	return n
}
