package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/loss"
)

// requestVerification makes verifyLosses ask at once. mu is held.
func (in *Intake) requestVerification() {
	select {
	case in.Verifications <- struct{}{}:
	default: // it is requested already
	}
}

// doubts returns the publishers about which there is one. mu is held.
func (in *Intake) doubts(about func(*Topic, *loss.Publisher) bool) (all []loss.Doubt) {
	for _, t := range in.Topics {
		for _, u := range t.Publishers {
			if about(t, u) {
				all = append(all, u.Doubt())
			}
		}
	}
	return all
}

// Overdue returns the publishers that have been without a link for long, of topics that are
// recorded now.
func (d Accounts) Overdue(now time.Time) []loss.Doubt {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	return in.doubts(func(t *Topic, u *loss.Publisher) bool { return u.Overdue(now) && in.accepts(t) })
}

// Unverified returns the publishers with holes in their numbers, if it is not known whose numbers
// they are.
func (d Accounts) Unverified() []loss.Doubt {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	return in.doubts(func(_ *Topic, u *loss.Publisher) bool { return u.Unverified() })
}

// Explain notes of publishers that are still without a link whether they are listed.
func (d Accounts) Explain(listed map[loss.Doubt]bool, now time.Time) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	for _, t := range in.Topics {
		for _, u := range t.Publishers {
			if is, asked := listed[u.Doubt()]; asked && u.Overdue(now) {
				u.Explain(is)
			}
		}
	}
}

// Judge notes whose the numbers of a publisher are, if it is still the same process.
func (d Accounts) Judge(about loss.Doubt, foreign bool) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	for _, t := range in.Topics {
		for _, u := range t.Publishers {
			if u.Doubt() == about {
				u.Judge(foreign)
			}
		}
	}
}
