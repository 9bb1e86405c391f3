package account

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// TestAdmit: a publisher is refused when all headers together would take more than there is for them, or those of
// its topic more than four times what is left. One that needs nothing is always let in.
func TestAdmit(t *testing.T) {
	t.Parallel()
	const known = ConnectionOverhead + namedBytes + 1 // with a header that the topic has
	const fresh = known + ConnectionOverhead
	for name, tc := range map[string]struct {
		held, ofTopic   int64
		header, account bool // the topic has them
		refused         int64
	}{
		"the first":                    {0, 0, false, false, 0},
		"all that is left":             {HeaderBytes - fresh, 0, false, false, 0},
		"a byte more":                  {HeaderBytes - fresh + 1, 0, false, false, fresh},
		"a header that is there":       {HeaderBytes - known, 0, true, false, 0},
		"a byte more beside a header":  {HeaderBytes - known + 1, 0, true, false, known},
		"a publisher that comes back":  {HeaderBytes, HeaderBytes, true, true, 0},
		"as much as a topic may have":  {HeaderBytes - fresh, (memory.FairnessFactor - 1) * fresh, false, false, 0},
		"a byte more than a topic may": {HeaderBytes - fresh, (memory.FairnessFactor-1)*fresh + 1, false, false, fresh},
	} {
		var a Accounts
		of := a.AddTopic("/t", "/t", time.Time{})
		if tc.account {
			a.Publisher(of, "p")
		}
		a.connections.held, of.headers = tc.held, tc.ofTopic
		err := a.connections.Admit(of, tc.header, nil, "p", "http://p")
		var full *HeadersFullError
		if errors.As(err, &full) != (tc.refused > 0) || full != nil && *full != (HeadersFullError{tc.refused, tc.ofTopic}) {
			t.Errorf("%s: %v, want an error for %d bytes", name, err, tc.refused)
		}
		if refused := a.Stats(time.Now())[0].Refused; refused > 1 || refused == 1 != (tc.refused > 0) {
			t.Errorf("%s: %d publishers refused", name, refused)
		}
	}
}

// TestRefused: a publisher that is refused counts once, however often it comes, and beyond a number not at all.
func TestRefused(t *testing.T) {
	t.Parallel()
	var a Accounts
	of := a.AddTopic("/t", "/t", time.Time{})
	for _, c := range []struct{ publishers, want int }{{3, 3}, {3, 3}, {mostRefused, mostRefused}, {mostRefused + 1, mostRefused}} {
		for i := range c.publishers {
			of.publishers.refuse(fmt.Sprint("http://p", i))
		}
		if s := a.Summaries(time.Now())[0]; s.Refused != c.want {
			t.Errorf("%d of %d publishers count as refused, want %d", s.Refused, c.publishers, c.want)
		}
	}
}

// TestRefuse: publishers that the node cannot connect to are counted, and the first ones are named. Those that Admit has
// refused count already.
func TestRefuse(t *testing.T) {
	t.Parallel()
	var a Accounts
	of := a.AddTopic("/t", "/t", time.Time{})
	before := a.Summaries(time.Now())[0].Unlinked
	noFile := fmt.Errorf("dial: %w", syscall.EMFILE)
	for i, err := range []error{noFile, noFile, &HeadersFullError{}, &tcpros.HeaderError{Reason: "2 bytes, limit 1"}, noFile, noFile, noFile} {
		of.publishers.Refuse(fmt.Sprint("http://p", i), fmt.Errorf("link: %w", err))
	}
	s := a.Summaries(time.Now())[0]
	if d := cmp.Diff(control.UnlinkedPublishers{Count: 5, URIs: []string{"http://p0", "http://p1", "http://p4"}}, s.Unlinked); d != "" || s.Refused != 1 {
		t.Errorf("%d refused; %s", s.Refused, d)
	}
	if n := a.Stats(time.Now())[0].Refused; n != 6 {
		t.Errorf("%d shown, want 6", n)
	}
	of.publishers.Refuse("http://p1", nil)
	of.publishers.Refuse("http://p6", nil)
	if d := cmp.Diff(control.UnlinkedPublishers{Count: 3, URIs: []string{"http://p0", "http://p4"}}, a.Summaries(time.Now())[0].Unlinked); d != "" {
		t.Error(d)
	}
	if before.Count != 0 || len(before.URIs) != 0 {
		t.Errorf("an earlier summary has changed: %+v", before)
	}
	sum := control.Summary{Topics: []control.TopicSummary{s}}
	if got, want := sum.Losses(), "publishers were refused (1), publishers were not connected to because no file descriptor was left (5)"; got != want {
		t.Errorf("lost: %s, want %s", got, want)
	}
	ended := Topic{reportedDrops: new([control.DropCauses]loss.Reported)}
	ended.merge(of)
	ended.merge(of)
	if u := ended.publishers.unlinked; u.Count != 6 || len(u.URIs) != control.MostUnlinkedNamed {
		t.Errorf("of topics that ended: %+v", u)
	}
}

// TestPublisherID: a publisher without a name goes by its address, and no more of either is kept than a sensible
// one has.
func TestPublisherID(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", namedBytes+1)
	for _, c := range [][3]string{
		{"/p", "http://p", "/p"},
		{"", "http://p", "http://p"},
		{long, "http://p", long[1:]},
		{"", long, long[1:]},
	} {
		if got := PublisherID(rosbag.Header{{Key: "callerid", Value: c[0]}}, c[1]); got != c[2] {
			t.Errorf("%q at %q is %q", c[0], c[1], got)
		}
	}
}

// TestOneAccount: what has a name has one account, also what came first.
func TestOneAccount(t *testing.T) {
	t.Parallel()
	var a Accounts
	first := a.AddTopic("/a", "/a", time.Time{})
	a.AddTopic("/b", "/b", time.Time{})
	own := a.OwnTopic("/c")
	if a.OwnTopic("/a") != first || a.OwnTopic("/c") != own || a.AddTopic("/c", "/c", time.Time{}) != own || len(a.topics) != 3 {
		t.Errorf("%d topics", len(a.topics))
	}
	for _, s := range a.Stats(time.Time{}) {
		if s.Own == (s.Topic == "/b") {
			t.Errorf("%s: own is %t", s.Topic, s.Own)
		}
	}
	pub := a.Publisher(first, "/p")
	a.Publisher(first, "/q")
	if a.Publisher(first, "/p") != pub || len(first.publishers.all) != 2 {
		t.Errorf("%d publishers", len(first.publishers.all))
	}
}
