package account

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestWaits: a link that waits for three seconds is reported, again each ten seconds, and when it goes on.
func TestWaits(t *testing.T) {
	t.Parallel()
	topic := &Topic{name: "/t"}
	a := Accounts{topics: []*Topic{topic}}
	start := time.Now()
	w := topic.BeginWait(start)
	for _, tc := range []struct {
		after  time.Duration // since the wait began
		end    bool          // the link goes on
		news   []WaitNews
		heldUp time.Duration
	}{
		{after: ReportedWait - 1},
		{after: ReportedWait, news: []WaitNews{{Topic: "/t", Took: ReportedWait}}, heldUp: ReportedWait},
		{after: 13*time.Second - 1, heldUp: 13*time.Second - 1},
		{after: 13 * time.Second, news: []WaitNews{{Topic: "/t", Took: 13 * time.Second}}, heldUp: 13 * time.Second},
		{after: 14 * time.Second, end: true, news: []WaitNews{{Topic: "/t", Took: 14 * time.Second, Over: true}}, heldUp: 14 * time.Second},
		{after: time.Minute, heldUp: 14 * time.Second},
	} {
		now := start.Add(tc.after)
		if tc.end {
			topic.EndWait(w, now)
		}
		if diff := cmp.Diff(tc.news, a.WaitNews(now)); diff != "" {
			t.Errorf("after %v (-want +got):\n%s", tc.after, diff)
		}
		if got := topic.HeldUp(now); got != tc.heldUp {
			t.Errorf("after %v: held up for %v, want %v", tc.after, got, tc.heldUp)
		}
	}
}

// TestLinksWaitApart: a link that stands is reported although the other link of the topic goes on, and links
// that are served in turn are not.
func TestLinksWaitApart(t *testing.T) {
	t.Parallel()
	topic := &Topic{name: "/t"}
	a := Accounts{topics: []*Topic{topic}}
	start := time.Now()
	turn := topic.BeginWait(start)
	for s := range 10 { // one of two links waits at any time
		next := topic.BeginWait(start.Add(time.Duration(s) * time.Second))
		topic.EndWait(turn, start.Add(time.Duration(s+1)*time.Second))
		turn = next
	}
	now := start.Add(10 * time.Second)
	if news := a.WaitNews(now); news != nil || topic.HeldUp(now) != 0 {
		t.Errorf("served in turn: %+v, held up for %v", news, topic.HeldUp(now))
	}
	stands := topic.BeginWait(now.Add(-ReportedWait))
	topic.EndWait(turn, now)
	if news := a.WaitNews(now); len(news) != 1 || topic.HeldUp(now) != ReportedWait {
		t.Errorf("one stands: %+v, held up for %v", news, topic.HeldUp(now))
	}
	if topic.EndWait(stands, now); topic.HeldUp(now) != ReportedWait {
		t.Errorf("it goes on: held up for %v", topic.HeldUp(now))
	}
}
