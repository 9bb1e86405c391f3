package account

import (
	"slices"
	"time"
)

// A wait that lasts as long as ReportedWait is reported, and then again each reportAgain.
const (
	ReportedWait = 3 * time.Second
	reportAgain  = 10 * time.Second
)

// Wait is one wait of a link for room in the buffer. Waits are counted for each link, not for each topic:
// while the buffer is full, some link of a busy topic waits all the time, although each one goes on after
// a moment.
type Wait struct {
	since      time.Time
	reportedAt time.Time // zero if the wait was not reported
}

// heldUp is how a full buffer holds up the links of a topic.
type heldUp struct {
	// of the links that wait now
	waits []*Wait
	// sum of the waits that are over and lasted as long as ReportedWait
	over time.Duration
	// longest wait that is over and was reported, but not its end; zero if there is none
	longest time.Duration
	// when the end of a wait was last reported
	reportedAt time.Time
}

// BeginWait returns the wait of a link that begins to wait now.
func (t *Topic) BeginWait(now time.Time) *Wait {
	w := &Wait{since: now}
	t.heldUp.waits = append(t.heldUp.waits, w)
	return w
}

// EndWait notes that a link goes on.
func (t *Topic) EndWait(w *Wait, now time.Time) {
	t.heldUp.waits = slices.DeleteFunc(t.heldUp.waits, func(o *Wait) bool { return o == w })
	took := now.Sub(w.since)
	if took >= ReportedWait {
		t.heldUp.over += took
	}
	if !w.reportedAt.IsZero() {
		t.heldUp.longest = max(t.heldUp.longest, took)
	}
}

// HeldUp returns how long links of the topic have waited in all, in waits as long as ReportedWait.
func (t *Topic) HeldUp(now time.Time) time.Duration {
	all := t.heldUp.over
	for _, w := range t.heldUp.waits {
		if took := now.Sub(w.since); took >= ReportedWait {
			all += took
		}
	}
	return all
}

// WaitNews says that a link of a topic waits, or has waited.
type WaitNews struct {
	Topic string
	Took  time.Duration
	Over  bool // the links go on
}

// WaitNews returns the waits to report at now.
func (a *Accounts) WaitNews(now time.Time) (all []WaitNews) {
	for _, t := range a.topics {
		for _, w := range t.heldUp.waits {
			if took := now.Sub(w.since); took >= ReportedWait && now.Sub(w.reportedAt) >= reportAgain {
				w.reportedAt = now
				all = append(all, WaitNews{string(t.name), took, false})
			}
		}
		if h := &t.heldUp; h.longest > 0 && now.Sub(h.reportedAt) >= reportAgain {
			all = append(all, WaitNews{string(t.name), h.longest, true})
			h.longest, h.reportedAt = 0, now
		}
	}
	return all
}
