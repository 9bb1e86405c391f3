package stock_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// TestIdlePolling: rosmaster is one thread of Python, and a recorder that waits for new topics
// must not keep it busy. In a minute with 500 topics, from its start on, ours takes less than
// twice the time of rosmaster that stock takes, which asks once a second.
func TestIdlePolling(t *testing.T) {
	t.Parallel()
	harness.NeedROS(t)
	harness.Long(t, "takes a minute for each recorder")
	const topics, nodes = 500, 20
	took := map[string]time.Duration{}
	for _, recorder := range []string{"gorecord", "/usr/lib/rosbag/record"} {
		g := harness.NewGraph(t, "roscore")
		hc := xmlrpc.NewHTTPClient(harness.Timeout)
		call := func(method string, args ...any) any {
			v, err := xmlrpc.Call(t.Context(), hc, g.URI(), method, append([]any{"/test"}, args...)...)
			if err != nil {
				t.Fatal(err)
			}
			return v.([]any)[2]
		}
		pid := call("getPid").(int)
		listen := peers.Node(g, "listener")
		for i := range topics {
			_, err := xmlrpc.Call(t.Context(), hc, g.URI(), "registerPublisher", fmt.Sprint("/node", i%nodes), fmt.Sprintf("/topic%03d", i), "a/B", listen.URI())
			if err != nil {
				t.Fatal(err)
			}
		}
		before := processorTime(t, pid)
		rec := g.Start(recorder, "-a", "-O", "out")
		<-time.After(time.Minute) // what is measured
		took[recorder] = processorTime(t, pid) - before
		rec.Stop()
	}
	ours, stock := took["gorecord"], took["/usr/lib/rosbag/record"]
	t.Logf("rosmaster runs %v for ours, %v for stock", ours, stock)
	if ours >= 2*stock {
		t.Errorf("rosmaster runs %v for ours, %v for stock", ours, stock)
	}
}

// processorTime is what a process has taken so far.
func processorTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	var ticks int
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	for _, f := range fields[11:13] {
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
