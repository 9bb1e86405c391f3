package tcpros_test

import (
	"context"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros"
)

// serveMaster answers the calls of nodes as the test chooses.
func serveMaster(t *testing.T, answer func(ctx context.Context, method string) (any, error)) (uri string) {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := xmlrpc.NewServer(func(ctx context.Context, _, method string, _ []any) (any, error) { return answer(ctx, method) }, xmlrpc.ServerOptions{Conns: 1024})
	done := make(chan error, 1)
	go func() { done <- s.Serve(ln) }()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	return "http://" + ln.Addr().String() + "/"
}

// lines returns the number of log lines with a text.
func lines(logs *observer.ObservedLogs, text string) int { return count(logs.All(), text) }

// count returns the number of the given lines with a text.
func count(logs []observer.LoggedEntry, text string) (n int) {
	for _, e := range logs {
		if strings.Contains(e.Message, text) {
			n++
		}
	}
	return n
}

// TestNonsenseMaster: a master that answers only some calls seems to come and go with each call.
// This is logged once in a while, in pairs of lines.
func TestNonsenseMaster(t *testing.T) {
	t.Parallel()
	var failed atomic.Int32
	uri := serveMaster(t, func(_ context.Context, method string) (any, error) {
		switch method {
		case "getPid":
			return []any{1, "", 7}, nil
		case "getParam":
			return []any{-1, "not set", 0}, nil
		}
		failed.Add(1)
		return "nonsense", nil
	})
	o := nodeOptions("n", uri)
	log, logs := observedLog()
	o.Log = log
	start := time.Now()
	subscribe(t, newNode(t, o), "/t", &inbox{})
	waitFor(t, "fifteen answers that are none", func() bool { return failed.Load() >= 15 })
	all := logs.All() // read once, and before the clock is read: more lines may be logged
	intervals := int(time.Since(start)/loglimit.Interval) + 1
	away, back := count(all, "Failed to contact master"), count(all, "Connected to master")
	t.Logf("%d bad answers, %d and %d lines", failed.Load(), away, back)
	if away == 0 || away > intervals || back > away || back < away-1 {
		t.Errorf("%d times away and %d times back in %v", away, back, time.Since(start))
	}
	if len(all) > 3*intervals {
		t.Errorf("%d lines: %v", len(all), all)
	}
}

// TestHungCall: a call that the master does not answer is logged once when it hangs, and once when
// the method is answered again.
func TestHungCall(t *testing.T) {
	t.Parallel()
	var hang atomic.Bool
	hang.Store(true)
	uri := serveMaster(t, func(ctx context.Context, method string) (any, error) {
		switch method {
		case "getPublishedTopics":
			if hang.Load() {
				<-ctx.Done()
			}
			return []any{1, "", []any{}}, nil
		case "getParam":
			return []any{-1, "not set", 0}, nil
		case "getPid":
			return []any{1, "", 7}, nil
		}
		return []any{1, "", []any{}}, nil
	})
	// No call that the node makes by itself may be late enough to be reported, too.
	o := nodeOptions("n", uri).With(tcpros.Timing{Hang: 4 * time.Second, Identify: never, Reconcile: never})
	log, logs := observedLog()
	o.Log = log
	n := newNode(t, o)
	const text, over = "the master does not answer a call", "the master answers its calls again"
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		for range 3 { // callers repeat the call
			if _, err := n.Master().PublishedTopics(ctx); err == nil {
				t.Error("answered")
			}
		}
	}()
	waitFor(t, "the report", func() bool { return lines(logs, text) == 1 })
	if m := logs.FilterMessage(text).All()[0].ContextMap(); m["method"] != "getPublishedTopics" {
		t.Errorf("it says %v", m)
	}
	cancel()
	<-asked
	if _, err := n.Master().TopicTypes(t.Context()); err != nil { // another call
		t.Error(err)
	}
	if lines(logs, over) != 0 {
		t.Error("over, but the call is not answered")
	}
	hang.Store(false)
	if _, err := n.Master().PublishedTopics(t.Context()); err != nil {
		t.Fatal(err)
	}
	if lines(logs, text) != 1 || lines(logs, over) != 1 {
		t.Errorf("logged %v", logs.All())
	}
	if _, err := n.Master().PublishedTopics(t.Context()); err != nil || lines(logs, over) != 1 {
		t.Error("the end is logged twice")
	}
}

// TestManyBadPublishers: of hundreds of publishers with the same problem, a few are named.
func TestManyBadPublishers(t *testing.T) {
	t.Parallel()
	const publishers = 200
	var refused atomic.Int32
	node := serveMaster(t, func(context.Context, string) (any, error) {
		refused.Add(1)
		return []any{-1, "no such topic", 0}, nil
	})
	uris := make([]any, publishers)
	for i := range uris {
		uris[i] = node + strconv.Itoa(i)
	}
	uri := serveMaster(t, func(_ context.Context, method string) (any, error) {
		switch method {
		case "registerSubscriber":
			return []any{1, "", uris}, nil
		case "getPid":
			return []any{1, "", 7}, nil
		case "getParam":
			return []any{-1, "not set", 0}, nil
		}
		return []any{1, "", []any{}}, nil
	})
	o := nodeOptions("n", uri).With(tcpros.Timing{RetryFirst: 10 * time.Millisecond})
	log, logs := observedLog()
	o.Log = log
	start := time.Now()
	subscribe(t, newNode(t, o), "/t", &inbox{})
	waitFor(t, "five attempts of each, on average", func() bool { return refused.Load() >= 5*publishers })
	said := map[string]int{}       // by text: on a busy machine some do not answer in time, which is another trouble with its own lines
	for _, e := range logs.All() { // read before the clock is read: more lines may be logged
		if strings.HasPrefix(e.Message, "publisher is listed but") {
			said[e.Message]++
		}
	}
	most := 5 + int(time.Since(start)/loglimit.Interval) + 1
	if len(said) == 0 || len(said) > 2 {
		t.Errorf("%d kinds of lines: %v", len(said), logs.All())
	}
	for text, n := range said {
		if n > most {
			t.Errorf("%d lines %q for %d publishers in %v: %v", n, text, publishers, time.Since(start), logs.All())
		}
	}
}
