package recorder

import (
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
)

// noteWaiting notes what topics wait for, before their subscriptions are closed.
func (r *session) noteWaiting() {
	waiting := map[*intake.Topic]Waiting{}
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
	r.in.Links().NoteWaiting(waiting)
}

func (r *session) noteUnread() {
	r.in.Links().NoteUnread(r.Node.Unread())
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
