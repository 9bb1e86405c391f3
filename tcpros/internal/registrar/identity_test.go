package registrar

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
)

var calledMethod = regexp.MustCompile(`<methodName>(\w+)</methodName>`)

// countingMaster knows this node, and counts the calls by method.
type countingMaster struct {
	*httptest.Server
	mu    sync.Mutex
	pid   int
	calls map[string]int
}

func newCountingMaster(t *testing.T) *countingMaster {
	t.Helper()
	m := &countingMaster{pid: 1, calls: map[string]int{}}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

func (m *countingMaster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	method := string(calledMethod.FindSubmatch(body)[1])
	m.calls[method]++
	answer := map[string]any{"getPid": m.pid, "getParam": "run", "lookupNode": testURI, "getPublishedTopics": []any{}}[method]
	reply, err := xmlrpc.AppendResponse(nil, []any{1, "", answer})
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(reply)
}

// called returns the calls since the last time.
func (m *countingMaster) called() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls := m.calls
	m.calls = map[string]int{}
	return calls
}

const testURI = "http://127.0.0.1:1/"

// TestChecksAreCheap: the check that the master is the same costs one call, or none if the master
// has answered another call in the meantime, until a connection to the master breaks.
func TestChecksAreCheap(t *testing.T) {
	t.Parallel()
	m := newCountingMaster(t)
	client := rosapi.NewMaster(m.URL, m.Listener.Addr().String(), "/n", endpoint.NewDialer(nil, time.Minute), rosapi.NewHangWatch(zap.NewNop(), time.Minute))
	defer client.Close()
	r := newTestRegistrar()
	r.Master, r.URI, r.SetKeepAlive = client, testURI, func(bool) {}
	r.Add(rosapi.Key{Name: "/t"}, "", 0, nil)
	register := func() {
		e, _ := r.book.mostUrgent(time.Now())
		r.answered(e)
	}

	full := map[string]int{"getPid": 1, "getParam": 1, "lookupNode": 1}
	first := map[string]int{"getPid": 1, "getParam": 2} // with /tcp_keepalive, and nothing is registered
	nothing := func() {}
	ask := func() {
		if _, err := client.PublishedTopics(t.Context()); err != nil {
			t.Error(err)
		}
		m.called()
	}
	for _, step := range []struct {
		name   string
		before func()
		want   map[string]int
	}{
		{"the first", nothing, first},
		{"after the first connection", register, full},
		{"while nobody else calls", nothing, map[string]int{"getPid": 1}},
		{"again", nothing, map[string]int{"getPid": 1}},
		{"after another call", ask, map[string]int{}},
		{"after yet another", ask, map[string]int{}},
		{"after a new connection", func() { m.CloseClientConnections(); ask() }, full},
		{"after that", nothing, map[string]int{"getPid": 1}},
		{"while contact is lost", func() { r.id.failures = 1 }, full},
		{"when the name is taken", func() { r.id.nameTaken = true }, full},
		{"after another process has answered", func() { m.mu.Lock(); m.pid = 2; m.mu.Unlock() }, map[string]int{"getPid": 2, "getParam": 2}},
	} {
		step.before()
		if err := r.check(t.Context()); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := m.called(); !maps.Equal(got, step.want) {
			t.Errorf("%s: calls %v, want %v", step.name, got, step.want)
		}
	}
	if r.id.epoch != 1 {
		t.Errorf("%d restarts noticed, want 1", r.id.epoch)
	}
}
