package stage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/player/internal/pacing"
	"github.com/gorosbag/gorosbag/tcpros"
)

// busy is a graph in which others publish and subscribe to some of the played topics.
var busy = tcpros.SystemState{
	Publishers:  map[string][]string{"/a": {"/other", "/play"}, "/b": {"/play"}, "/not_played": {"/other"}},
	Subscribers: map[string][]string{"/a": {"/y", "/x", "/y"}, "/c": {"/play_left", "/z"}},
}

var busyTopics = []LiveTopic{{"/a", []string{"/other"}, []string{"/x", "/y"}}, {"/c", nil, []string{"/z"}}}

// TestLiveTopics: only the played topics that other nodes use, each node once, in order.
func TestLiveTopics(t *testing.T) {
	t.Parallel()
	if d := cmp.Diff(busyTopics, LiveTopics(&busy, []string{"/a", "/b", "/c"}, []string{"/play", "/play_left"})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"/y", "/x", "/y"}, busy.Subscribers["/a"]); d != "" {
		t.Errorf("the answer of the master was changed (-want +got):\n%s", d)
	}
}

// TestQuery: Live waits for the answer for at most a second, and ends the call that goes on.
func TestQuery(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer time.Duration // how long the master takes
		err    error
		end    time.Duration // when the context ends
		took   time.Duration
		want   []LiveTopic
	}{
		"at once":     {0, nil, time.Hour, 0, busyTopics},
		"in time":     {900 * time.Millisecond, nil, time.Hour, 900 * time.Millisecond, busyTopics},
		"too late":    {time.Minute, nil, time.Hour, time.Second, nil},
		"refused":     {100 * time.Millisecond, errors.New("no"), time.Hour, 100 * time.Millisecond, nil},
		"interrupted": {time.Minute, nil, 300 * time.Millisecond, 300 * time.Millisecond, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tc.end)
				defer cancel()
				start := time.Now()
				got := Ask(ctx, fakeGraph{state: func(ctx context.Context) (tcpros.SystemState, error) {
					pacing.Wait(ctx, tc.answer)
					return busy, errors.Join(tc.err, ctx.Err())
				}}).Live(ctx, []string{"/a", "/b", "/c"})
				if d := cmp.Diff(tc.want, got); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
				if took := time.Since(start); took != tc.took {
					t.Errorf("took %v, want %v", took, tc.took)
				}
			})
		})
	}
}

// TestLogLive: others that listen are news, others that publish are a warning, and nobody is no line.
func TestLogLive(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	LogLive(append(slices.Clone(busyTopics), LiveTopic{"/d", []string{"/talker"}, nil}), zap.New(core))
	var got []string
	for _, e := range logs.All() {
		got = append(got, fmt.Sprint(e.Level, " ", e.Message, " ", e.ContextMap()["topics"]))
	}
	want := []string{"info these topics have subscribers already [/a: /x /y /c: /z]", "warn others publish these topics, too [/a: /other /d: /talker]"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	LogLive(nil, zap.New(core))
	if logs.Len() != len(want) {
		t.Errorf("nobody is there: %v", logs.All()[len(want):])
	}
}
