package stage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

const ms = time.Millisecond

// listing returns the values of a field in the entries of a log that contain a text.
func listing(logs *observer.ObservedLogs, text, field string) []string {
	var all []string
	for _, e := range logs.FilterMessageSnippet(text).All() {
		all = append(all, fmt.Sprint(e.ContextMap()[field]))
	}
	return all
}

// TestWaitForSubscribers: waiting ends with the last subscriber, the timeout or the context, and is
// reported every 3 s with the topics that are left.
func TestWaitForSubscribers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		a, b    time.Duration // when the topics have a subscriber
		timeout time.Duration // zero means none
		end     time.Duration // when the context ends
		took    time.Duration
		missing []string // the topics of the error
		said    []string
	}{
		"there already": {0, 0, time.Second, time.Hour, 0, nil, nil},
		"one by one":    {time.Second, 7 * time.Second, 0, time.Hour, 7 * time.Second, nil, []string{"[/b]", "[/b]"}},
		"in time":       {time.Second, 2 * time.Second, 2500 * ms, time.Hour, 2 * time.Second, nil, nil},
		"too late":      {time.Hour, time.Hour, 4 * time.Second, time.Hour, 4 * time.Second, []string{"/a", "/b"}, []string{"[/a /b]"}},
		"one too late":  {0, time.Hour, time.Second, time.Hour, time.Second, []string{"/b"}, nil},
		"interrupted":   {time.Hour, 0, 0, 500 * ms, 500 * ms, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tc.end)
				defer cancel()
				core, logs := observer.New(zap.InfoLevel)
				start := time.Now()
				topics := []Publication{&fakePublication{topic: "/b", subscribers: after(tc.b)}, &fakePublication{topic: "/a", subscribers: after(tc.a)}}
				err := WaitForSubscribers(ctx, topics, tc.timeout, zap.New(core))
				if took := time.Since(start); took != tc.took {
					t.Errorf("took %v, want %v", took, tc.took)
				}
				var missing []string
				if late := (*WaitError)(nil); errors.As(err, &late) {
					missing = late.Topics
				} else if err != nil {
					t.Error(err)
				}
				if d := cmp.Diff(tc.missing, missing); d != "" {
					t.Errorf("missing (-want +got):\n%s", d)
				}
				for i, e := range logs.FilterMessageSnippet("still waiting for subscribers").All() {
					if at := e.Time.Sub(start); at != time.Duration(i+1)*3*time.Second {
						t.Errorf("said so after %v", at)
					}
				}
				if d := cmp.Diff(tc.said, listing(logs, "still waiting for subscribers", "topics")); d != "" {
					t.Errorf("said (-want +got):\n%s", d)
				}
			})
		})
	}
}

// TestWaitForLinks: waiting ends when the subscribers of played topics that still run are linked, or with
// the timeout; those that are missing then are named.
func TestWaitForLinks(t *testing.T) {
	t.Parallel()
	live := []LiveTopic{{Name: "/not_played", Subscribers: []string{"/three"}}, {Name: "/a", Subscribers: []string{"/one", "/two"}}}
	for name, tc := range map[string]struct {
		come   map[string]time.Duration // when the link of a node exists
		end    time.Duration            // when the context ends
		took   time.Duration
		warned []string
	}{
		"all come":        {map[string]time.Duration{"/one": 300 * ms, "/two": 250 * ms}, time.Hour, 300 * ms, nil},
		"they are there":  {map[string]time.Duration{"/one": 0, "/two": 0}, time.Hour, 0, nil},
		"one never comes": {map[string]time.Duration{"/one": 300 * ms}, time.Hour, 2 * time.Second, []string{"[/a: /two]"}},
		"interrupted":     {nil, 500 * ms, 500 * ms, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tc.end)
				defer cancel()
				core, logs := observer.New(zap.InfoLevel)
				start := time.Now()
				WaitForLinks(ctx, fakeGraph{}, []Publication{linkedAfter("/a", tc.come)}, live, 2*time.Second, zap.New(core))
				if took := time.Since(start); took != tc.took {
					t.Errorf("took %v, want %v", took, tc.took)
				}
				if d := cmp.Diff(tc.warned, listing(logs, "have not connected", "topics")); d != "" {
					t.Errorf("warned (-want +got):\n%s", d)
				}
				if n := logs.FilterMessageSnippet("do not run any more").Len(); n != 0 {
					t.Errorf("%d warnings of nodes that are gone", n)
				}
			})
		})
	}
}

// TestGoneSubscribersAreNotAwaited: a subscriber that has crashed stays listed, and play does not wait
// for it, but for those whose machine does not answer.
func TestGoneSubscribersAreNotAwaited(t *testing.T) {
	t.Parallel()
	var crashed []string
	for i := range 100 {
		crashed = append(crashed, fmt.Sprint("/crashed", i))
	}
	live := []LiveTopic{{Name: "/a", Subscribers: slices.Concat(crashed, []string{"/alive", "/linked"})}, {Name: "/b", Subscribers: []string{"/crashed0"}}}
	for name, tc := range map[string]struct {
		silent string // the node whose machine does not answer
		took   time.Duration
		warned []string
	}{
		"gone":              {"", 300 * ms, nil},
		"perhaps not there": {"/crashed7", 2 * time.Second, []string{"[/a: /crashed7]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				core, logs := observer.New(zap.InfoLevel)
				var mu sync.Mutex
				tried := map[string]int{}
				g := fakeGraph{gone: func(ctx context.Context, node string) bool {
					mu.Lock()
					tried[node]++
					mu.Unlock()
					if node == tc.silent {
						<-ctx.Done()
						return false
					}
					return node != "/alive"
				}}
				start := time.Now()
				topics := []Publication{linkedAfter("/a", map[string]time.Duration{"/alive": 300 * ms, "/linked": 0}), linkedAfter("/b", nil)}
				WaitForLinks(t.Context(), g, topics, live, 2*time.Second, zap.New(core))
				if took := time.Since(start); took != tc.took {
					t.Errorf("took %v, want %v", took, tc.took)
				}
				if d := cmp.Diff(tc.warned, listing(logs, "have not connected", "topics")); d != "" {
					t.Errorf("warned (-want +got):\n%s", d)
				}
				if tried["/crashed0"] != 1 || tried["/linked"] != 0 {
					t.Errorf("/crashed0 was tried %d times, /linked %d times; want 1 and 0", tried["/crashed0"], tried["/linked"])
				}
				if said := listing(logs, "do not run any more", "nodes"); len(said) != 1 || !strings.HasPrefix(said[0], "[/crashed0 /crashed1 /crashed10 ") {
					t.Errorf("gone: %q", said)
				}
			})
		})
	}
}

// TestWithoutLink: a topic that is not played does not hide those after it.
func TestWithoutLink(t *testing.T) {
	t.Parallel()
	pub := linkedTo("/linked")
	got := withoutLink(map[string]Publication{"/b": pub, "/c": pub}, []LiveTopic{
		{Name: "/a", Subscribers: []string{"/x"}},
		{Name: "/b", Subscribers: []string{"/linked", "/y"}},
		{Name: "/c", Subscribers: []string{"/linked"}},
	})
	if len(got) != 1 || got[0].Name != "/b" || !slices.Equal(got[0].Subscribers, []string{"/y"}) {
		t.Errorf("got %+v, want /b with /y", got)
	}
}

// An error that names many topics stays readable.
func TestWaitErrorIsShort(t *testing.T) {
	t.Parallel()
	err := &WaitError{Topics: strings.Fields(strings.Repeat("/x ", 200))}
	if text := err.Error(); !strings.HasSuffix(text, "/x, /x, and 192 more") {
		t.Errorf("got %q", text)
	}
}
