package account

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/loss"
)

// Overdue returns the publishers that have been without a link for long, of topics that are
// recorded now.
func (a *Accounts) Overdue(recorded func(*Topic) bool, now time.Time) (all []loss.Doubt) {
	for t, u := range a.publishers {
		if u.Overdue(now) && recorded(t) {
			all = append(all, u.Doubt())
		}
	}
	return all
}

// Unverified returns the publishers with gaps in the numbers of their messages, if it is not known which node
// has set the numbers.
func (a *Accounts) Unverified() (all []loss.Doubt) {
	for _, u := range a.publishers {
		if u.Unverified() {
			all = append(all, u.Doubt())
		}
	}
	return all
}

// Explain notes of publishers that are still without a link whether the master lists them.
func (a *Accounts) Explain(listed map[loss.Doubt]bool, now time.Time) {
	for _, u := range a.publishers {
		if is, asked := listed[u.Doubt()]; asked && u.Overdue(now) {
			u.Explain(is)
		}
	}
}

// Judge notes whether other nodes have set the numbers of a publisher's messages, if the publisher is still the
// same process.
func (a *Accounts) Judge(about loss.Doubt, foreign bool) {
	for _, u := range a.publishers {
		if u.Doubt() == about {
			u.Judge(foreign)
		}
	}
}
