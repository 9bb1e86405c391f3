package recorder

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

func (r *session) noteUnread() {
	now, ever := r.Node.Unread()
	r.pipe.noteUnread(unread{now, ever})
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
