package recorder

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/loss"
)

// requestVerification makes verifyLosses ask at once. mu is held.
func (in *intake) requestVerification() {
	select {
	case in.verifications <- struct{}{}:
	default: // it is requested already
	}
}

// doubts returns the publishers about which there is one. mu is held.
func (in *intake) doubts(about func(*topic, *loss.Publisher) bool) (all []loss.Doubt) {
	for _, t := range in.topics {
		for _, u := range t.publishers {
			if about(t, u) {
				all = append(all, u.Doubt())
			}
		}
	}
	return all
}

// overdue returns the publishers that have been without a link for long, of topics that are
// recorded now.
func (in *intake) overdue(now time.Time) []loss.Doubt {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.doubts(func(t *topic, u *loss.Publisher) bool { return u.Overdue(now) && in.accepts(t) })
}

// unverified returns the publishers with holes in their numbers, if it is not known whose numbers
// they are.
func (in *intake) unverified() []loss.Doubt {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.doubts(func(_ *topic, u *loss.Publisher) bool { return u.Unverified() })
}

// explain notes of publishers that are still without a link whether they are listed.
func (in *intake) explain(listed map[loss.Doubt]bool, now time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, t := range in.topics {
		for _, u := range t.publishers {
			if is, asked := listed[u.Doubt()]; asked && u.Overdue(now) {
				u.Explain(is)
			}
		}
	}
}

// judge notes whose the numbers of a publisher are, if it is still the same process.
func (in *intake) judge(d loss.Doubt, foreign bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, t := range in.topics {
		for _, u := range t.publishers {
			if u.Doubt() == d {
				u.Judge(foreign)
			}
		}
	}
}
