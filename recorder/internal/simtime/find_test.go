package simtime_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
	"github.com/gorosbag/gorosbag/recorder/internal/testgraph"
	"github.com/gorosbag/gorosbag/tcpros"
)

// noMaster is where nobody listens.
const noMaster = "http://127.0.0.1:1/"

// nodeOf is a node of a graph.
func nodeOf(t *testing.T, masterURI string) *tcpros.Node {
	t.Helper()
	n, err := tcpros.NewNode(t.Context(), tcpros.NodeOptions{BaseName: "rec", MasterURI: masterURI, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close(context.Background()) })
	return n
}

// TestFind: only a graph that says true has a clock of its own.
func TestFind(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		params    map[string]any
		gone      bool
		sim, away bool
	}{
		"a simulation":       {params: map[string]any{"/use_sim_time": true}, sim: true},
		"a simulation ended": {params: map[string]any{"/use_sim_time": false}},
		"not a bool":         {params: map[string]any{"/use_sim_time": "true"}},
		"a robot":            {},
		"no master":          {gone: true, away: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := testgraph.New(t)
			g.Params = test.params
			uri := g.URI
			if test.gone {
				uri = noMaster
			}
			sim, away, err := simtime.Find(t.Context(), nodeOf(t, uri))
			if err != nil || (sim != nil) != test.sim || away != test.away {
				t.Fatalf("a clock: %v, away: %v, %v", sim != nil, away, err)
			}
			if sim != nil && sim.Topic() != simtime.Topic {
				t.Errorf("follows %s", sim.Topic())
			}
			sim.Close()
		})
	}
}

// TestAwaitWarns: a user whose simulator does not run is told so after two seconds, once.
func TestAwaitWarns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.WarnLevel)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		begun := time.Now()
		if err := simtime.New().Await(ctx, zap.New(core)); !errors.Is(err, simtime.ErrNoTime) {
			t.Errorf("without a time: %v", err)
		}
		if all := logs.All(); len(all) != 1 || all[0].Time.Sub(begun) != 2*time.Second {
			t.Errorf("logged: %v", all)
		}
	})
}

// TestFindLate: a master that is there later is asked, and a clock that it has is an error.
func TestFindLate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		params map[string]any
		want   int // lines
	}{
		"a simulation": {map[string]any{"/use_sim_time": true}, 1},
		"a robot":      {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := testgraph.New(t)
			g.Params = test.params
			core, logs := observer.New(zap.ErrorLevel)
			simtime.FindLate(t.Context(), nodeOf(t, g.URI), zap.New(core))
			if logs.Len() != test.want {
				t.Errorf("logged: %v", logs.All())
			}
		})
	}
}

// TestFindLaterStill: a master that does not answer at first is asked again.
func TestFindLaterStill(t *testing.T) {
	t.Parallel()
	g := testgraph.New(t)
	g.Params = map[string]any{"/use_sim_time": true}
	master, err := url.Parse(g.URI)
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	pass := httputil.NewSingleHostReverseProxy(master)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || bytes.Contains(body, []byte("/use_sim_time")) && asked.Add(1) == 1 {
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	core, logs := observer.New(zap.ErrorLevel)
	simtime.FindLate(t.Context(), nodeOf(t, server.URL), zap.New(core))
	if logs.Len() != 1 || asked.Load() != 2 {
		t.Errorf("asked %d times, logged: %v", asked.Load(), logs.All())
	}
}

// TestFindLateEnds: a master that never comes is asked until the recording ends.
func TestFindLateEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	simtime.FindLate(ctx, nodeOf(t, noMaster), zap.NewNop())
}
