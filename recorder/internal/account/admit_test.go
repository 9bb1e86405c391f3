package account

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/rosbag"
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
			a.Publisher(of, "p", "/t")
		}
		a.Connections.Held, of.Headers = tc.held, tc.ofTopic
		err := a.Connections.Admit(of, tc.header, nil, "p", "http://p")
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
			of.Publishers.refuse(fmt.Sprint("http://p", i))
		}
		if s := a.Summaries(time.Now())[0]; s.Refused != c.want {
			t.Errorf("%d of %d publishers count as refused, want %d", s.Refused, c.publishers, c.want)
		}
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
	if a.OwnTopic("/a") != first || a.OwnTopic("/c") != own || a.AddTopic("/c", "/c", time.Time{}) != own || len(a.Topics) != 3 {
		t.Errorf("%d topics", len(a.Topics))
	}
	pub := a.Publisher(first, "/p", "/a")
	a.Publisher(first, "/q", "/a")
	if a.Publisher(first, "/p", "/a") != pub || len(first.Publishers.All) != 2 {
		t.Errorf("%d publishers", len(first.Publishers.All))
	}
}
