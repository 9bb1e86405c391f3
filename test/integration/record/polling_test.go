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

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// TestIdleCalls: a recorder of all topics that has nothing to do asks the master a few times a
// second. It made 30 calls a second once. It registers each topic, and asks once more who publishes
// the topic when it first compares registrations, ten seconds later.
func TestIdleCalls(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	const topics, measured, mostPerSecond = 50, 3 * time.Second, 10
	hc := xmlrpc.NewHTTPClient(harness.Timeout)
	listen := peers.Node(g, "listener")
	for i := range topics {
		_, err := xmlrpc.Call(t.Context(), hc, g.URI(), "registerPublisher", fmt.Sprint("/node", i), fmt.Sprint("/topic", i), "a/B", listen.URI())
		if err != nil {
			t.Fatal(err)
		}
	}
	calls := countCalls(t, g.URI())
	cmd := g.Command("gorecord", "-a", "-O", "out")
	cmd.Env = append(cmd.Env, "ROS_MASTER_URI="+calls.server.URL)
	start := time.Now()
	p := g.Launch("gorecord", cmd)
	const services = 9 // of gorecord, which are registered meanwhile
	g.Eventually("all topics and services are registered", func() bool {
		return calls.of(registering) >= topics && calls.of("registerService") >= services
	})
	before, began := calls.others(), time.Now()
	<-time.After(measured) // a slow machine makes fewer calls
	n, most := calls.others()-before, int(mostPerSecond*time.Since(began).Seconds())
	t.Logf("%d calls in %v", n, time.Since(began))
	if n > most || n == 0 {
		t.Errorf("%d calls in %v: %v", n, time.Since(began), calls.methods)
	}
	comparisons := int(time.Since(start) / (10 * time.Second))
	if n, most := calls.of(registering), 2*(topics+1)+10*comparisons; n > most { // /rosout, too; ten topics again in each comparison
		t.Errorf("%d registrations of %d topics in %v", n, topics, time.Since(start))
	}
	p.Stop()
}

// registering is the call that registers a topic, and that asks for its publishers again.
const registering = "registerSubscriber"

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

// others returns how many calls there were of other methods than registering.
func (c *callCounter) others() (sum int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for method, n := range c.methods {
		if method != registering {
			sum += n
		}
	}
	return sum
}
