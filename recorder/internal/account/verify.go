package account

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/loss"
)

// Overdue returns the publishers that have been without a link for long, of topics that are
// recorded now.
func (a *Accounts) Overdue(recorded func(*Topic) bool, now time.Time) (all []loss.PublisherKey) {
	for t, u := range a.publishers {
		if u.Overdue(now) && recorded(t) {
			all = append(all, u.Key())
		}
	}
	return all
}

// Unverified returns the publishers with gaps in the numbers of their messages of which it is not known
// whether they number their messages themselves.
func (a *Accounts) Unverified() (all []loss.PublisherKey) {
	for _, u := range a.publishers {
		if u.Unverified() {
			all = append(all, u.Key())
		}
	}
	return all
}

// SetListed sets whether the master lists publishers. Those that have a link again are left out.
func (a *Accounts) SetListed(listed map[loss.PublisherKey]bool, now time.Time) {
	for _, u := range a.publishers {
		if is, asked := listed[u.Key()]; asked && u.Overdue(now) {
			u.SetListed(is)
		}
	}
}

// SetForeign sets whether another node numbers the messages of a publisher, if the publisher is still the
// same process.
func (a *Accounts) SetForeign(k loss.PublisherKey, foreign bool) {
	for _, u := range a.publishers {
		if u.Key() == k {
			u.SetForeign(foreign)
		}
	}
}
