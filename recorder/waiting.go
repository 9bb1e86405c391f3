package recorder

import (
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
)

// noteWaiting notes what topics wait for, before their subscriptions are closed.
func (r *session) noteWaiting() {
	waiting := map[*intake.Topic]control.Waiting{}
	for _, s := range r.subs {
		if s.sub == nil || s.topic == nil {
			continue
		}
		if publishers, ok := s.sub.Registered(); !ok {
			waiting[s.topic] = control.WaitingMaster
		} else if publishers > 0 {
			waiting[s.topic] = control.WaitingPublisher
		}
	}
	r.in.Links().NoteWaiting(waiting)
}

func (r *session) noteUnread() {
	r.in.Links().NoteUnread(r.Node.Unread())
}
