package foxglove

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/view/live"
)

func TestGraph(t *testing.T) {
	t.Parallel()
	source := newSource(nil, live.Limits{})
	var now atomic.Pointer[live.Graph]
	now.Store(&live.Graph{
		Publishers: map[string][]string{"/a": {"/p"}, "/b": {"/p"}}, Subscribers: map[string][]string{"/a": {"/s"}}, Services: map[string][]string{"/p/get": {"/p"}},
	})
	source.Graph = func(context.Context) (live.Graph, error) {
		if g := now.Load(); g != nil {
			return *g, nil
		}
		return live.Graph{}, errors.New("no master")
	}
	_, url := serve(t, source, func(c *timing) { c.graph = time.Millisecond })
	v := connect(t, url)
	if info := v.expect("serverInfo"); len(info["capabilities"].([]any)) != 1 { // a wrong type fails the test
		t.Errorf("server info %v", info)
	}
	v.text(`{"op":"subscribeConnectionGraph"}`)
	v.text(`{"op":"subscribeConnectionGraph"}`)
	nodes := func(name, key string, ids ...any) map[string]any {
		if ids == nil {
			ids = []any{}
		}
		return map[string]any{"name": name, key: ids}
	}
	check := func(want map[string]any) {
		t.Helper()
		want["op"] = "connectionGraphUpdate"
		for _, key := range []string{"publishedTopics", "subscribedTopics", "advertisedServices", "removedTopics", "removedServices"} {
			if want[key] == nil {
				want[key] = []any{}
			}
		}
		if diff := cmp.Diff(want, v.expect("connectionGraphUpdate")); diff != "" {
			t.Errorf("update (-want +got):\n%s", diff)
		}
	}
	check(map[string]any{
		"publishedTopics":    []any{nodes("/a", "publisherIds", "/p"), nodes("/b", "publisherIds", "/p")},
		"subscribedTopics":   []any{nodes("/a", "subscriberIds", "/s")},
		"advertisedServices": []any{nodes("/p/get", "providerIds", "/p")},
	})
	now.Store(&live.Graph{Publishers: map[string][]string{"/a": {"/p", "/q"}}})
	check(map[string]any{
		"publishedTopics":  []any{nodes("/a", "publisherIds", "/p", "/q"), nodes("/b", "publisherIds")},
		"subscribedTopics": []any{nodes("/a", "subscriberIds")},
		"removedTopics":    []any{"/b"},
		"removedServices":  []any{"/p/get"},
	})
	now.Store(nil)
	v.expectStatus(graphFailed)
	now.Store(&live.Graph{})
	v.expect("removeStatus")
	check(map[string]any{"publishedTopics": []any{nodes("/a", "publisherIds")}, "removedTopics": []any{"/a"}})
	v.text(`{"op":"unsubscribeConnectionGraph"}`)
	v.text(`{"op":"subscribeConnectionGraph"}`)
	check(map[string]any{}) // the whole graph again
}

// TestGraphIsSlow checks that a viewer which leaves does not wait for the graph that another viewer has
// asked for, and that a viewer which asks again and again does not add work.
func TestGraphIsSlow(t *testing.T) {
	t.Parallel()
	source := newSource(nil, live.Limits{})
	asked := make(chan struct{}, 1)
	source.Graph = func(ctx context.Context) (live.Graph, error) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-ctx.Done()
		return live.Graph{}, ctx.Err()
	}
	s, url := serve(t, source)
	first := connect(t, url)
	first.text(`{"op":"subscribeConnectionGraph"}`)
	<-asked
	second := connect(t, url)
	second.expect("serverInfo")
	before := runtime.NumGoroutine()
	for range 200 {
		second.text(`{"op":"subscribeConnectionGraph"}`)
		second.text(`{"op":"unsubscribeConnectionGraph"}`)
	}
	second.text(`{"op":"fly"}`)
	second.expectStatus(unknownOp)
	if more := runtime.NumGoroutine() - before; more > 150 {
		t.Errorf("%d goroutines more than before", more)
	}
	second.ws.CloseNow()
	wait(t, func() bool { return len(s.Viewers()) == 1 })
}
