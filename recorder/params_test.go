package recorder

import (
	"bytes"
	"context"
	"errors"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/own"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// stored returns what stands on a topic in a bag.
func stored(t *testing.T, path, topic string) (texts []string) {
	t.Helper()
	s := testlink.ScanBag(t, path)
	for {
		m, err := s.Next()
		if err != nil {
			return texts
		}
		if m.Conn.Topic == topic {
			texts = append(texts, string(m.Data()[4:]))
		}
	}
}

// TestStore: small and large values come into the bag and into each next one; what is
// too large, or cannot be had before the end, costs nothing.
func TestStore(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{Split: true}, nil)
	w := p.own
	long := string(bytes.Repeat([]byte("<x>"), 100_000))
	ctx, cancel := context.WithCancel(t.Context())
	for topic, value := range map[string]any{
		"/small": map[string]any{"n": []any{1, math.NaN(), math.Inf(-1)}, "s": "a \"b\""},
		"/long":  long,
		"/huge":  string(bytes.Repeat([]byte("x"), own.MaxStored)),
	} {
		tries := 0
		w.Store(ctx, topic, func() (any, error) {
			if tries++; tries == 1 && topic == "/small" {
				return nil, errors.New("not there yet")
			}
			return value, nil
		})
	}
	cancel()
	w.Store(ctx, "/never", func() (any, error) { return nil, errors.New("gone") })
	first := p.Out.Target()
	p.Mu.Lock()
	p.NextFile(time.Now())
	p.Mu.Unlock()
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	second := filepath.Join(filepath.Dir(first), "test_1.bag")
	for _, path := range []string{first, second} {
		for topic, want := range map[string]string{
			"/small": `{"n":[1,"NaN","-Inf"],"s":"a \"b\""}`, "/long": `"` + long + `"`, "/huge": "", "/never": "",
		} {
			got := stored(t, path, topic)
			if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || got[0] != want) {
				t.Errorf("%s in %s: %.100q", topic, path, got)
			}
		}
	}
}
