package web_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"sync"
	"testing/fstest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gorosbag/gorosbag/internal/web"
)

// fakeProgram is a backend that remembers what it was told.
type fakeProgram struct {
	mu     sync.Mutex
	paused bool
	calls  []string
	looks  int // at the state
}

// newProgram returns a program that is ready and well.
func newProgram() *fakeProgram { return new(fakeProgram) }

// said returns the calls so far.
func (f *fakeProgram) said() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

func (f *fakeProgram) Program() string { return "fake" }

func (f *fakeProgram) Pages() fs.FS {
	return fstest.MapFS{"fake.html": {Data: []byte(`<script src="/static/fake.js"></script>`)}, "fake.js": {Data: []byte("// nothing")}}
}

func (f *fakeProgram) Changed() <-chan struct{} { return nil }

func (f *fakeProgram) Describe(chan<- *prometheus.Desc) {}

func (f *fakeProgram) Collect(chan<- prometheus.Metric) {}

func (f *fakeProgram) Poll(time.Time) web.View {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks++
	return web.View{State: map[string]bool{"paused": f.paused}}
}

func (f *fakeProgram) Routes(s *web.Server) {
	note := func(call string) (any, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.calls = append(f.calls, call)
		f.paused = f.paused || call == "pause"
		return web.Done{Message: call}, nil
	}
	for _, name := range []string{"pause", "step"} {
		s.Action(name, web.Simple(func(context.Context) (any, error) { return note(name) }))
	}
	s.Action("rate", func(_ context.Context, body io.Reader) (any, error) {
		var p struct {
			Rate float64 `json:"rate"`
		}
		if err := web.Decode(body, &p); err != nil {
			return nil, err
		}
		return note(fmt.Sprint("rate ", p.Rate))
	})
	s.Handle("GET /api/v1/list", func(w http.ResponseWriter, _ *http.Request) { web.WriteJSON(w, http.StatusOK, []int{}) })
}
