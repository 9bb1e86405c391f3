package loss

import (
	"io"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// TestLinksLost: which links that end are lost, and how long there was none.
func TestLinksLost(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	type event struct {
		at   time.Duration
		what string
	}
	tests := map[string]struct {
		events  []event
		lost    int
		back    int
		without time.Duration // at 60 s
	}{
		"ended well":               {[]event{{0, "end"}, {20 * ms, "leave"}}, 0, 0, 0},
		"ended well and came back": {[]event{{0, "end"}, {20 * ms, "leave"}, {200 * ms, "open"}}, 0, 1, 200 * ms},
		"ended well, slowly":       {[]event{{0, "end"}, {4 * time.Second, "leave"}, {9 * time.Second, "open"}}, 0, 1, 9 * time.Second},
		"ended well in a message":  {[]event{{0, "cut"}, {20 * ms, "leave"}}, 0, 0, 0},
		"ended for a moment":       {[]event{{0, "end"}, {100 * ms, "again"}}, 0, 1, 100 * ms},
		"ended for long":           {[]event{{0, "end"}, {9 * time.Second, "again"}}, 1, 0, 9 * time.Second},
		"cut for a moment":         {[]event{{0, "cut"}, {100 * ms, "again"}}, 1, 0, 100 * ms},
		"cut while paused":         {[]event{{0, "pause"}, {0, "cut"}, {100 * ms, "again"}}, 0, 1, 100 * ms},
		"ended by us":              {[]event{{0, "close"}}, 0, 0, 0},
		"killed":                   {[]event{{0, "end"}}, 1, 0, time.Minute},
		"killed, then forgotten":   {[]event{{0, "end"}, {9 * time.Second, "leave"}}, 1, 0, time.Minute},
		"killed, soon back":        {[]event{{0, "end"}, {time.Second, "open"}}, 0, 1, time.Second},
		"killed, late back":        {[]event{{0, "end"}, {10 * time.Second, "open"}}, 1, 0, 10 * time.Second},
		"twice":                    {[]event{{0, "end"}, {time.Second, "open"}, {3 * time.Second, "end"}, {9 * time.Second, "open"}}, 1, 1, 7 * time.Second},
		"another while it lives":   {[]event{{0, "open"}, {20 * ms, "end"}, {20 * ms, "leave"}}, 0, 0, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			u := &Publisher{}
			u.Open(u.uri+" again", true, start)
			listed, wanted := true, true
			events := tc.events
			for at := time.Duration(0); at <= time.Minute; at += 10 * ms {
				for len(events) > 0 && events[0].at <= at {
					switch now := start.Add(events[0].at); events[0].what {
					case "open":
						u.Open(u.uri+" again", wanted, now)
					case "again":
						u.Open(u.uri, wanted, now)
					case "end":
						u.End(io.EOF, now)
					case "cut":
						u.End(io.ErrUnexpectedEOF, now)
					case "close":
						u.End(nil, now)
					case "leave":
						listed = false
					case "pause":
						wanted = false
					}
					events = events[1:]
				}
				if u.Overdue(start.Add(at)) {
					u.SetListed(listed)
				}
			}
			if got := u.withoutLink(start.Add(time.Minute)); u.lost != tc.lost || u.reconnected != tc.back || got != tc.without {
				t.Errorf("%d lost, %d back, %v without, want %d, %d, %v", u.lost, u.reconnected, got, tc.lost, tc.back, tc.without)
			}
		})
	}
}

// TestReported: the growth of a number is reported at once and then every 10 s, and nothing of it is
// reported twice.
func TestReported(t *testing.T) {
	t.Parallel()
	var s Reported
	start := time.Now()
	sum, times := uint64(0), 0
	for i := range 60 {
		if n := s.Growth(uint64(10+i), start.Add(time.Duration(i)*time.Second)); n > 0 {
			sum += n
			times++
		}
	}
	if sum != 10+50 || times != 6 {
		t.Errorf("reported %d in %d lines, want 60 in 6", sum, times)
	}
	if s.Growth(20, start.Add(time.Hour)) != 0 || s.Growth(22, start.Add(time.Hour)) != 2 {
		t.Error("what was taken back is reported, or what came then is not")
	}
}

// TestSettled: what is still to be asked or told of a publisher keeps its account.
func TestSettled(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for what, u := range map[string]Publisher{
		"is asked about":  {downSince: now.Add(-time.Minute)},
		"was not told of": {lost: 1},
	} {
		if u.Settled(now) {
			t.Errorf("a publisher that %s is settled", what)
		}
	}
	for what, u := range map[string]Publisher{
		"ended": {downSince: now, unregistered: true}, "is gone": {downSince: now, lostNow: true}, "never answers": {downSince: now.Add(-time.Hour)}, "was closed": {},
	} {
		if !u.Settled(now) {
			t.Errorf("a publisher that %s is not settled", what)
		}
	}
}

// TestMissedOfAPublisher: gaps count where the messages were wanted and the numbers are the
// publisher's own, and are reported only once that is known.
func TestMissedOfAPublisher(t *testing.T) {
	t.Parallel()
	now := time.Now()
	u := new(Publisher)
	if u.AddMissed(3, false) || u.Unverified() || u.Summary(now).Missed != 0 {
		t.Errorf("messages that nobody wanted count: %+v", u.Summary(now))
	}
	if !u.AddMissed(3, true) || !u.Unverified() {
		t.Error("nothing is to be verified after a gap")
	}
	if n, some := u.News(now); some || n.Missed != 0 {
		t.Errorf("news %+v before the numbers are verified", n)
	}
	if u.Settled(now) {
		t.Error("a publisher with a gap that was not reported is settled")
	}
	u.SetForeign(false)
	if u.Unverified() || u.Summary(now).Missed != 3 {
		t.Errorf("after the verification: %+v", u.Summary(now))
	}
	if n, some := u.News(now); !some || n.Missed != 3 {
		t.Errorf("news %+v, want 3 missed", n)
	}
	if !u.Settled(now) {
		t.Error("not settled, though all is known and was reported")
	}
	if u.AddMissed(2, true) || u.AddMissed(-1, true) || u.Summary(now).Missed != 4 {
		t.Errorf("2 more and 1 less: %+v", u.Summary(now))
	}
	if u.AddMissed(-10, false); u.Summary(now).Missed != 0 {
		t.Errorf("more taken back than there was: %+v", u.Summary(now))
	}
	u.AddMissed(5, true)
	u.SetForeign(true)
	if u.AddMissed(5, true) || u.Summary(now).Missed != 0 {
		t.Errorf("gaps in the numbers of others count: %+v", u.Summary(now))
	}
}

// TestWatch: the numbers of a process go on over its links, as long as it has one at a time.
func TestWatch(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		again bool
		links int
		goOn  bool
	}{
		"the same process":             {true, 1, true},
		"another process":              {false, 1, false},
		"a second link beside another": {true, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := &Publisher{links: 1}
			first := u.Watch(true)
			if first == nil || missedOf(first, testlink.Count(1, 20)) != 0 {
				t.Fatal("no sequence")
			}
			u.AddMissed(1, true)
			u.SetForeign(true)
			u.links = tc.links
			next := u.Watch(tc.again)
			missing := missedOf(next, testlink.Count(26, 20)) // 21 to 25 did not come
			if (next == first) != tc.goOn || (missing == 5) != tc.goOn || u.foreign != tc.goOn {
				t.Errorf("the same sequence %v, %d missing, numbers of others %v", next == first, missing, u.foreign)
			}
		})
	}
}

// TestNewsOfLinks: what is lost and what came back is reported once, with the time without.
func TestNewsOfLinks(t *testing.T) {
	t.Parallel()
	now := time.Now()
	u := &Publisher{links: 1}
	u.End(io.ErrUnexpectedEOF, now)
	if u.Overdue(now.Add(Grace)) || !u.Overdue(now.Add(Grace+1)) {
		t.Error("overdue at the wrong time")
	}
	u.SetListed(true)
	if u.Overdue(now.Add(time.Hour)) {
		t.Error("overdue, though it is explained")
	}
	at := now.Add(20 * time.Second)
	if n, some := u.News(at); !some || n != (News{Lost: 1, Without: 20 * time.Second}) {
		t.Errorf("news %+v of a link that is lost", n)
	}
	u.Open(u.uri, true, at)
	at = at.Add(time.Second)
	if n, some := u.News(at); !some || n != (News{Back: 1, Without: 20 * time.Second}) {
		t.Errorf("news %+v of a link that came back", n)
	}
	if n, some := u.News(at.Add(time.Hour)); some {
		t.Errorf("news twice: %+v", n)
	}
	if got, want := u.Summary(at), (control.PublisherSummary{LinksLost: 1, Without: 20 * time.Second}); got != want {
		t.Errorf("account %+v, want %+v", got, want)
	}
	if !u.Settled(at) {
		t.Error("not settled, though all was reported")
	}
	at = at.Add(time.Hour) // another outage has a time of its own
	u.End(io.EOF, at)
	u.Open(u.uri, true, at.Add(8*time.Second))
	if n, some := u.News(at.Add(9 * time.Second)); !some || n != (News{Back: 1, Without: 8 * time.Second}) {
		t.Errorf("news %+v of a link that came back again", n)
	}
	u.AddMissed(1, true)
	u.SetForeign(false)
	u.lost++
	if n, some := u.News(at.Add(time.Minute)); !some || n.Missed != 1 || n.Lost != 1 {
		t.Errorf("news %+v of a message and a link that are lost", n)
	}
	for _, each := range []Publisher{{missed: 1}, {lost: 1}, {reconnected: 1}, {missed: 1, lost: 1}, {lost: 1, reconnected: 1}, {missed: 1, reconnected: 1}} {
		each.verified = true
		if _, some := each.News(at); !some {
			t.Errorf("no news of %+v", each)
		}
	}
	if u.lost, u.reportedLost = 2, (Reported{1, at}); u.Settled(at) {
		t.Error("settled with a lost link that was not reported")
	}
}
