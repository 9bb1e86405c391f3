package account

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/loss"
)

// doubts returns the publishers about which there is a doubt.
func (a *Accounts) doubts(about func(*Topic, *loss.Publisher) bool) (all []loss.Doubt) {
	for _, t := range a.Topics {
		for _, u := range t.Publishers.All {
			if about(t, u) {
				all = append(all, u.Doubt())
			}
		}
	}
	return all
}

// Overdue returns the publishers that have been without a link for long, of topics that are
// recorded now.
func (a *Accounts) Overdue(recorded func(*Topic) bool, now time.Time) []loss.Doubt {
	return a.doubts(func(t *Topic, u *loss.Publisher) bool { return u.Overdue(now) && recorded(t) })
}

// Unverified returns the publishers with gaps in the numbers of their messages, if it is not known which node
// has set the numbers.
func (a *Accounts) Unverified() []loss.Doubt {
	return a.doubts(func(_ *Topic, u *loss.Publisher) bool { return u.Unverified() })
}

// Explain notes of publishers that are still without a link whether the master lists them.
func (a *Accounts) Explain(listed map[loss.Doubt]bool, now time.Time) {
	for _, t := range a.Topics {
		for _, u := range t.Publishers.All {
			if is, asked := listed[u.Doubt()]; asked && u.Overdue(now) {
				u.Explain(is)
			}
		}
	}
}

// Judge notes whether other nodes have set the numbers of a publisher's messages, if the publisher is still the
// same process.
func (a *Accounts) Judge(about loss.Doubt, foreign bool) {
	for _, t := range a.Topics {
		for _, u := range t.Publishers.All {
			if u.Doubt() == about {
				u.Judge(foreign)
			}
		}
	}
}
