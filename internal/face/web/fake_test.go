package web_test

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"sync"
	"testing/fstest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/internal/face/web"
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
	note := func(call string) (command.Result, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.calls = append(f.calls, call)
		f.paused = f.paused || call == "pause"
		return command.Result{Text: call + " it", Fields: []command.Field{{Name: "paused", Value: f.paused}}}, nil
	}
	s.Commands([]command.Command{
		{HTTP: "pause", Do: func(context.Context, command.Params) (command.Result, error) { return note("pause") }},
		{HTTP: "step", Do: func(context.Context, command.Params) (command.Result, error) {
			r, _ := note("step")
			return r, command.Refused(command.NoChange, "there is nothing to step to")
		}},
		{HTTP: "rate", Params: []command.Param{{Name: "rate", Kind: command.Number}}, Do: func(_ context.Context, given command.Params) (command.Result, error) {
			return note(fmt.Sprint("rate ", given.Number("rate")))
		}},
		{HTTP: "wait", Do: func(ctx context.Context, _ command.Params) (command.Result, error) {
			<-ctx.Done()
			return command.Result{}, ctx.Err()
		}},
		{Service: "elsewhere"},
	})
	s.Handle("GET /api/v1/list", func(w http.ResponseWriter, _ *http.Request) { web.WriteJSON(w, http.StatusOK, []int{}) })
}
