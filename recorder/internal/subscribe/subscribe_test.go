package subscribe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// TestLogSubscribed: what was subscribed to since the last line is one line, and none if
// nothing was.
func TestLogSubscribed(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	s := New(Config{Log: zap.New(core), CountTopics: true})
	for _, names := range [][]string{{"/a", "/b", "/c"}, nil, {"/d"}} {
		s.fresh = append(s.fresh, names...)
		s.LogNew()
	}
	var got []string
	for _, e := range logs.All() {
		topic, _ := e.ContextMap()["topic"].(string)
		got = append(got, e.Message+topic)
	}
	if d := cmp.Diff([]string{"Subscribing to 3 topics", "Subscribing to/d"}, got); d != "" {
		t.Error(d)
	}
}
