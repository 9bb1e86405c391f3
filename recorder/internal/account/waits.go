package account

import (
	"slices"
	"time"
)

// A wait of a publisher that lasts so long is reported.
const (
	ReportedWait = 3 * time.Second
	reportAgain  = 10 * time.Second
)

// Wait is one wait of a link for room in the buffer, until the link goes on. Begin one with the Topic.
type Wait struct {
	Topic      *Topic
	Since      time.Time // zero while the link did not have to wait
	reportedAt time.Time // zero if the wait was not reported
}

// heldUp is how the links of a topic were held up by a full buffer.
type heldUp struct {
	over    time.Duration // the sum of all waits that are over and were long enough for a report
	longest time.Duration // the longest wait that was reported and is over; zero after its end was reported
	toldAt  time.Time     // when the end of a wait was last reported
}

// BeginWait notes that a link waits. A wait that goes on keeps its beginning.
func (a *Accounts) BeginWait(w *Wait, now time.Time) {
	if w.Since.IsZero() {
		w.Since = now
		a.Waits = append(a.Waits, w)
	}
}

// EndWait notes that a link goes on, whether it had to wait or not.
func (a *Accounts) EndWait(w *Wait) {
	if w.Since.IsZero() {
		return
	}
	a.Waits = slices.DeleteFunc(a.Waits, func(o *Wait) bool { return o == w })
	took, of := time.Since(w.Since), &w.Topic.heldUp
	if took >= ReportedWait {
		of.over += took
	}
	if !w.reportedAt.IsZero() {
		of.longest = max(of.longest, took)
	}
}

// HeldUp returns how long links of t were held up until now, in waits that are long enough for a report.
func (a *Accounts) HeldUp(t *Topic, now time.Time) time.Duration {
	all := t.heldUp.over
	for _, w := range a.Waits {
		if took := now.Sub(w.Since); w.Topic == t && took >= ReportedWait {
			all += took
		}
	}
	return all
}

// WaitNews is what is to be reported of the links of one topic.
type WaitNews struct {
	Topic string
	Took  time.Duration
	Over  bool // the links go on
}

// WaitNews returns what is to be reported of waits at now.
func (a *Accounts) WaitNews(now time.Time) (all []WaitNews) {
	for _, w := range a.Waits {
		if took := now.Sub(w.Since); took >= ReportedWait && now.Sub(w.reportedAt) >= reportAgain {
			w.reportedAt = now
			all = append(all, WaitNews{w.Topic.Name, took, false})
		}
	}
	for _, t := range a.Topics {
		if h := &t.heldUp; h.longest > 0 && now.Sub(h.toldAt) >= reportAgain {
			all = append(all, WaitNews{t.Name, h.longest, true})
			h.longest, h.toldAt = 0, now
		}
	}
	return all
}
