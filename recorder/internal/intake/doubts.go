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

// Overdue returns the publishers that have been without a link for long, of topics that are
// recorded now.
func (d Accounts) Overdue(now time.Time) []loss.Doubt {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	return in.Account.Overdue(in.accepts, now)
}

// Unverified returns the publishers with gaps in their numbers, if it is not known whose numbers
// they are.
func (d Accounts) Unverified() []loss.Doubt {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	return in.Account.Unverified()
}

// Explain notes of publishers that are still without a link whether the master lists them.
func (d Accounts) Explain(listed map[loss.Doubt]bool, now time.Time) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	in.Account.Explain(listed, now)
}

// Judge notes whether the numbers of a publisher are those of others, if it is still the same process.
func (d Accounts) Judge(about loss.Doubt, foreign bool) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	in.Account.Judge(about, foreign)
}
