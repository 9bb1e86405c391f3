package player

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/pacing"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/tcpros"
)

// playLogged is playFake with a log.
func playLogged(ctx context.Context, g *fakeGraph, o Options) (control.Summary, *observer.ObservedLogs, error) {
	core, logs := observer.New(zap.InfoLevel)
	o.Rate, o.Hz, o.Log = 1, 100, zap.New(core)
	sum, err := playFake(ctx, g, o)
	return sum, logs, err
}

func twoTopics(t *testing.T) []byte {
	t.Helper()
	return testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Concat(testplay.Series(testplay.ConnA, "a", 0), testplay.Series(testplay.ConnB, "b", 1))...)
}

func TestWaitFor(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		o    Options
		come time.Duration // when there is a subscriber
		want string        // the first event
		err  string
		said int // times that play said whom it is waiting for
	}{
		"one":              {Options{WaitFor: []string{"/a"}}, 7 * time.Second, "7s /a#1 a0", "", 2},
		"glob":             {Options{WaitFor: []string{"**"}}, time.Second, "1s /a#1 a0", "", 0},
		"expression":       {Options{WaitFor: []string{"/[ab]"}, Regex: true}, time.Second, "1s /a#1 a0", "", 0},
		"in time":          {Options{WaitFor: []string{"/b"}, WaitTimeout: 2 * time.Second}, time.Second, "1s /a#1 a0", "", 0},
		"too late":         {Options{WaitFor: []string{"/b"}, WaitTimeout: 4 * time.Second}, time.Minute, "", "no subscriber within 4s: /b", 1},
		"all, too late":    {Options{WaitForSubscribers: true, WaitTimeout: time.Second}, time.Minute, "", "no subscriber within 1s: /a, /b", 0},
		"nobody will come": {Options{WaitFor: []string{"/a", "/typo"}}, 0, "", "option WaitFor names what is not played: /typo", 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bag := twoTopics(t)
			synctest.Test(t, func(t *testing.T) {
				g := newFakeGraph()
				g.subscribers = func() int {
					if time.Since(g.start) < tc.come {
						return 0
					}
					return 1
				}
				tc.o.Bags = testplay.OpenBags(t, bag)
				_, logs, err := playLogged(t.Context(), g, tc.o)
				if text := errorText(err); text != tc.err {
					t.Errorf("got %q, want %q", text, tc.err)
				}
				first := ""
				if len(g.events) > 0 {
					first = g.events[0]
				}
				if first != tc.want {
					t.Errorf("first event %q, want %q", first, tc.want)
				}
				said := logs.FilterMessage("still waiting for subscribers").All()
				if len(said) != tc.said {
					t.Errorf("said %d times whom it is waiting for, want %d", len(said), tc.said)
				}
				for i, entry := range said {
					if after := entry.Time.Sub(g.start); after != time.Duration(i+1)*3*time.Second {
						t.Errorf("said whom it is waiting for after %v", after)
					}
				}
				if took := time.Since(g.start); errors.As(err, new(*WaitError)) && took != tc.o.WaitTimeout {
					t.Errorf("gave up after %v", took)
				}
			})
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Stats name those that play waits for, and no others.
func TestWaitingFor(t *testing.T) {
	t.Parallel()
	bag := twoTopics(t)
	synctest.Test(t, func(t *testing.T) {
		g := newFakeGraph()
		g.subscribers = func() int {
			if time.Since(g.start) < time.Second {
				return 0
			}
			return 1
		}
		answers := make(chan []string, 2)
		o := Options{Bags: testplay.OpenBags(t, bag), WaitFor: []string{"/b"}}
		o.OnStart = func(c control.Control) {
			time.AfterFunc(500*time.Millisecond, func() { answers <- c.Stats().WaitingFor })
			time.AfterFunc(1500*time.Millisecond, func() { answers <- c.Stats().WaitingFor })
		}
		if _, _, err := playLogged(t.Context(), g, o); err != nil {
			t.Fatal(err)
		}
		for _, want := range [][]string{{"/b"}, nil} {
			if d := cmp.Diff(want, <-answers); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		}
	})
}

// Waiting ends with the context, unlike in stock.
func TestWaitIsInterruptible(t *testing.T) {
	t.Parallel()
	bag := twoTopics(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		g := newFakeGraph()
		g.subscribers = func() int { return 0 }
		s, _, err := playLogged(ctx, g, Options{Bags: testplay.OpenBags(t, bag), WaitForSubscribers: true})
		if err != nil || !s.Interrupted || time.Since(g.start) != 10*time.Second {
			t.Errorf("%+v, %v after %v", s, err, time.Since(g.start))
		}
	})
}

// Before the first message play logs the other nodes on its topics. A master that does not
// answer that delays play by no more than a second.
func TestAnnouncement(t *testing.T) {
	t.Parallel()
	live := tcpros.SystemState{
		Publishers:  map[string][]string{"/a": {"/other", "/play"}, "/b": {"/play"}, "/c": {"/other"}},
		Subscribers: map[string][]string{"/a": {"/y", "/x"}},
	}
	tests := map[string]struct {
		answer  time.Duration
		refused error
		heard   []any
		shared  []any
		first   string
	}{
		"at once":  {0, nil, []any{"/a: /x /y"}, []any{"/a: /other"}, "200ms /a#1 a0"},
		"in time":  {250 * time.Millisecond, nil, []any{"/a: /x /y"}, []any{"/a: /other"}, "250ms /a#1 a0"},
		"too late": {time.Minute, nil, nil, nil, "1.2s /a#1 a0"},
		"refused":  {0, errors.New("no"), nil, nil, "200ms /a#1 a0"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bag := twoTopics(t)
			synctest.Test(t, func(t *testing.T) {
				g := newFakeGraph()
				g.state = func(ctx context.Context) (tcpros.SystemState, error) {
					pacing.Wait(ctx, tc.answer)
					return live, errors.Join(tc.refused, ctx.Err())
				}
				_, logs, err := playLogged(t.Context(), g, Options{Bags: testplay.OpenBags(t, bag), Delay: 200 * time.Millisecond})
				if err != nil {
					t.Fatal(err)
				}
				if g.events[0] != tc.first {
					t.Errorf("first event %q, want %q", g.events[0], tc.first)
				}
				for message, want := range map[string][]any{
					"these topics have subscribers already": tc.heard, "others publish these topics, too": tc.shared,
				} {
					var got []any
					for _, e := range logs.FilterMessage(message).All() {
						got = append(got, e.ContextMap()["topics"].([]any)...)
					}
					if d := cmp.Diff(want, got); d != "" {
						t.Errorf("%s (-want +got):\n%s", message, d)
					}
				}
			})
		})
	}
}

// TestWaitForLinks: play begins when the subscribers that the master lists are linked, or
// when LinkTimeout is over; Delay remains the minimum.
func TestWaitForLinks(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		o      Options
		come   map[string]time.Duration // when the link of a node exists
		want   string                   // the first event
		warned string
	}{
		"they are there":     {Options{LinkTimeout: 2 * time.Second, Delay: 500 * ms}, map[string]time.Duration{"/one": 0, "/two": 0}, "500ms /a#1 a0", ""},
		"one never comes":    {Options{LinkTimeout: 2 * time.Second}, map[string]time.Duration{"/one": 300 * ms, "/two": time.Hour}, "2s /a#1 a0", "[/a: /two]"},
		"not to be awaited":  {Options{}, map[string]time.Duration{"/one": time.Hour, "/two": time.Hour}, "0s /a#1 a0", ""},
		"after the delay":    {Options{LinkTimeout: time.Second, Delay: 500 * ms}, map[string]time.Duration{"/one": 700 * ms, "/two": 0}, "700ms /a#1 a0", ""},
		"the master is slow": {Options{LinkTimeout: time.Second, Delay: 1}, nil, "1.000000001s /a#1 a0", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bag := twoTopics(t)
			synctest.Test(t, func(t *testing.T) {
				g := newFakeGraph()
				g.state = func(ctx context.Context) (tcpros.SystemState, error) {
					if tc.come == nil {
						<-ctx.Done()
						return tcpros.SystemState{}, ctx.Err()
					}
					return tcpros.SystemState{Subscribers: map[string][]string{"/a": {"/one", "/two", "/play"}, "/other": {"/three"}}}, nil
				}
				g.linked = func(topic, node string) bool {
					come, ok := tc.come[node]
					if topic != "/a" || !ok {
						t.Errorf("play waits for %s of %s", node, topic)
					}
					return time.Since(g.start) >= come
				}
				tc.o.Bags = testplay.OpenBags(t, bag)
				_, logs, err := playLogged(t.Context(), g, tc.o)
				if err != nil || len(g.events) == 0 || g.events[0] != tc.want {
					t.Errorf("%v, events %q, want %q first", err, g.events, tc.want)
				}
				warned := ""
				for _, e := range logs.FilterMessageSnippet("have not connected").All() {
					warned += fmt.Sprint(e.ContextMap()["topics"])
				}
				if warned != tc.warned {
					t.Errorf("warned of %q, want %q", warned, tc.warned)
				}
			})
		})
	}
}
