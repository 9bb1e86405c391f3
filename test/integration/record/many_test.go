package record_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
	"github.com/gorosbag/gorosbag/test/load"
)

// TestManyTopics: a recorder of all topics comes to a graph with thousands of them, most of
// crashed nodes. The ones that are alive do not wait for the others, and all are registered in
// a time that grows with their number.
func TestManyTopics(t *testing.T) {
	t.Parallel()
	for _, topics := range []int{1000, 20_000} {
		t.Run(fmt.Sprint(topics), func(t *testing.T) {
			harness.LongCase(t, topics > 1000, "it takes ten seconds on an idle machine")
			g := harness.NewGraph(t, "gomaster")
			crashed := harness.FreePort(t)
			const nodes, callers = 100, 4
			var wg sync.WaitGroup
			hc := xmlrpc.NewHTTPClient(harness.Timeout)
			for c := range callers {
				wg.Go(func() {
					for i := c; i < topics; i += callers {
						_, err := xmlrpc.Call(t.Context(), hc, g.URI(), "registerPublisher", fmt.Sprint("/crashed", i%nodes), fmt.Sprintf("/a/%05d", i), "a/B", "http://127.0.0.1:"+crashed+"/")
						if err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			linked := make(chan time.Time, 1)
			peers.FakePublisher(g, "/healthy", "/z", func(_ tcpros.Header, conn net.Conn) {
				linked <- time.Now()
				_, _ = conn.Write(tcpros.AppendHeader(nil, tcpros.Header{
					{Key: "callerid", Value: "/healthy"},
					{Key: "latching", Value: "0"},
					{Key: "md5sum", Value: peers.StringMD5},
					{Key: "message_definition", Value: "string data\n"},
					{Key: "topic", Value: "/z"},
					{Key: "type", Value: "std_msgs/String"},
				}))
			})
			looker := peers.Node(g, "looker")
			rec := g.Record("-a", "-x", "/rosout.*", "-O", "out")
			stalls, start := g.Stalls(rec, g.Core), time.Now()
			var first time.Duration
			select {
			case at := <-linked:
				first = at.Sub(start)
			case <-time.After(harness.Timeout):
				t.Fatalf("the healthy topic is not linked:\n%.2000s", rec.Out.String())
			}
			if first > time.Second { // otherwise the machine does not matter
				stood := stalls()
				stalls = g.Stalls(rec, g.Core)
				if first-stood > time.Second {
					t.Errorf("the healthy topic is linked after %v, of which the programs waited %v for a processor", first, stood)
				}
			}
			again := time.NewTicker(max(20*time.Millisecond, time.Duration(topics)*50*time.Microsecond)) // the state of the graph is large
			defer again.Stop()
			for n := 0; n <= topics; <-again.C {
				if time.Since(start) > 5*harness.Timeout {
					t.Fatalf("%d are registered", n)
				}
				state, err := looker.Master().SystemState(t.Context())
				if err != nil {
					t.Log(err) // the answer is large, and a busy machine may take longer for it than a call may
					continue
				}
				n = 0
				for topic, nodes := range state.Subscribers {
					if strings.HasPrefix(topic, "/a/") || topic == "/z" {
						n += len(nodes)
					}
				}
			}
			took, stood := time.Since(start), stalls()
			t.Logf("%d topics: the healthy one is linked after %v, all are registered after %v, of which the programs waited %v for a processor", topics, first, took, stood)
			if took-stood > 15*time.Second {
				t.Errorf("takes %v", took-stood)
			}
			rec.Stop()
			if out, want := rec.Out.String(), fmt.Sprintf("topics still waiting at the end: %d for publishers that are listed and were not reached\n", topics); !strings.Contains(out, want) {
				t.Errorf("want %q in the summary:\n%s", want, out[max(0, len(out)-1000):])
			}
		})
	}
}

// TestManyPublishers: a topic may have any number of publishers. Those that the limit of open files leaves out are
// counted and named, also while the recording runs, and the exit code is 3.
func TestManyPublishers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		publishers, files, linked int
	}{
		"more than 1024":  {1100, 0, 1100},
		"few descriptors": {250, 256, 150},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			harness.LongCase(t, tt.publishers > 1000, "it starts a thousand publishers")
			g := harness.NewGraph(t, "gomaster")
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			defer wg.Wait()
			defer cancel()
			for i := range tt.publishers {
				pub, err := load.Advertise(ctx, "127.0.0.1:"+g.Port, fmt.Sprint("/node", i), "/t")
				if err != nil {
					t.Fatal(err)
				}
				wg.Go(func() {
					defer pub.Close()
					_ = pub.Serve(ctx, 16, func(l *load.Link) error { // ends with ctx, also where no subscriber comes
						_, err := l.Flood(1, nil)
						<-ctx.Done()
						return err
					})
				})
			}
			port := harness.FreePort(t)
			rec := g.Command("gorecord", "/t", "-O", "out", "--http", "127.0.0.1:"+port)
			if tt.files > 0 {
				rec = g.Command("/usr/bin/prlimit", append([]string{fmt.Sprint("--nofile=", tt.files)}, rec.Args...)...)
			}
			p := g.Launch("gorecord", rec)
			left := tt.publishers - tt.linked
			var metrics string
			g.Eventually("all publishers are linked or counted as left out", func() bool {
				metrics = metricsOf(t, port)
				return strings.Contains(metrics, fmt.Sprintf("gorecord_messages_total{topic=\"/t\"} %d\n", tt.linked)) &&
					strings.Contains(metrics, fmt.Sprintf("gorecord_publishers_refused{topic=\"/t\"} %d\n", left))
			}, func() string { return metrics })
			p.Signal(syscall.SIGINT)
			if left == 0 {
				p.Ended(0, fmt.Sprintf("%d messages", tt.linked))
				return
			}
			p.Ended(3, fmt.Sprintf("not connected to, no file descriptor was left (ulimit -n): /t (%d publishers: http://127.0.0.1:", left),
				fmt.Sprintf("and %d more)", left-3), fmt.Sprintf("publishers were not connected to because no file descriptor was left (%d)", left))
		})
	}
}

// metricsOf returns the metrics of the program whose HTTP port is port; empty if it does not answer.
func metricsOf(t *testing.T, port string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+port+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return string(body)
}
