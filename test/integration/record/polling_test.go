package record_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/xmlrpc"
	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// TestIdleCalls: a recorder of all topics that has nothing to do asks the master a few times a
// second. It made 30 calls a second once.
func TestIdleCalls(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	const topics, measured, mostPerSecond = 50, 5 * time.Second, 10
	hc := xmlrpc.NewHTTPClient(harness.Timeout)
	listen := g.Node("listener")
	for i := range topics {
		_, err := xmlrpc.Call(t.Context(), hc, g.URI(), "registerPublisher", fmt.Sprint("/node", i), fmt.Sprint("/topic", i), "a/B", listen.URI())
		if err != nil {
			t.Fatal(err)
		}
	}
	calls := countCalls(t, g.URI())
	cmd := g.Command("gorecord", "-a", "-O", "out")
	cmd.Env = append(cmd.Env, "ROS_MASTER_URI="+calls.server.URL)
	p := g.Launch("gorecord", cmd)
	g.Eventually("all topics are registered", func() bool { return calls.of("registerSubscriber") >= topics })
	before, began := calls.all(), time.Now()
	<-time.After(measured) // a slow machine makes fewer calls
	n, most := calls.all()-before, int(mostPerSecond*time.Since(began).Seconds())
	t.Logf("%d calls in %v", n, time.Since(began))
	if n > most || n == 0 {
		t.Errorf("%d calls in %v: %v", n, time.Since(began), calls.methods)
	}
	p.Stop()
}

// callCounter stands before a master and counts the calls to it.
type callCounter struct {
	server *httptest.Server

	mu      sync.Mutex
	methods map[string]int
}

var methodName = regexp.MustCompile(`<methodName>(\w+)</methodName>`)

func countCalls(t *testing.T, master string) *callCounter {
	t.Helper()
	to, err := url.Parse(master)
	if err != nil {
		t.Fatal(err)
	}
	c := &callCounter{methods: map[string]int{}}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	c.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if method := methodName.FindSubmatch(body); method != nil {
			c.mu.Lock()
			c.methods[string(method[1])]++
			c.mu.Unlock()
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(c.server.Close)
	return c
}

// of returns how often a method was called.
func (c *callCounter) of(method string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.methods[method]
}

// all returns how many calls there were.
func (c *callCounter) all() (sum int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.methods {
		sum += n
	}
	return sum
}
