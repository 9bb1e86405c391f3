package stock_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// TestRecordBesideStock records the same graph with both recorders at once.
func TestRecordBesideStock(t *testing.T) {
	t.Parallel()
	harness.EachMasterForROS(t, func(t *testing.T, g *harness.Graph) {
		for _, args := range [][]string{
			{"one", "/chatter,std_msgs/String,50,0,20", "/latched,std_msgs/Int32,0,1,0", "/cloud,sensor_msgs/PointCloud2,4,0,2000000"},
			{"two", "/chatter,std_msgs/String,100,0,500", "/pose,geometry_msgs/PoseStamped,100,0,0", "/tick,std_msgs/Float64,20,0,0"},
		} {
			g.StartPython("publish.py", args...).Printed("ready")
		}
		g.Start("/usr/lib/rosbag/play", bags.Demo(t), "--loop", "--quiet", "__name:=roscpp_player")
		ours := g.Record("-a", "-O", "ours", "__name:=our_record")
		theirs := g.Start("/usr/lib/rosbag/record", "-a", "-O", "theirs", "__name:=stock_record")
		watcher := peers.Node(g, "watcher")
		g.Eventually("both subscribe to what the nodes and the player publish", func() bool { return heardByAll(g, watcher, "/our_record", "/stock_record") >= 12 })
		before := harness.Size(g, "theirs.bag.active")
		g.Eventually("stock has recorded some of all", func() bool { return harness.Size(g, "theirs.bag.active") > before+40_000_000 })
		theirs.Stop()
		ours.Stop()

		want, got := bags.Dump(g, "theirs.bag"), bags.Dump(g, "ours.bag")
		compared, ofTopic := 0, map[string]int{}
		for _, w := range want {
			ofTopic[w.Topic] += len(w.Messages)
		}
		for key, w := range want {
			if w.Topic == "/rosout_agg" || strings.Contains(key, "record") {
				continue // what the recorders themselves say
			}
			o, ok := got[key]
			if !ok {
				t.Errorf("%s: stock has %d messages, ours none", key, len(w.Messages))
				continue
			}
			if d := cmp.Diff(w.Header, o.Header); d != "" {
				t.Errorf("%s: connection header (-stock +ours):\n%s", key, d)
			}
			if err := sameWhileBoth(w.Hashes(), o.Hashes(), ofTopic[w.Topic]); err != nil {
				t.Errorf("%s: %v", key, err)
			}
			compared++
		}
		if compared < 12 {
			t.Errorf("only %d connections compared: %v", compared, keys(want))
		}
	})
}

// heardByAll returns how many topics all these nodes subscribe to.
func heardByAll(g *harness.Graph, watcher *tcpros.Node, nodes ...string) (n int) {
	g.T.Helper()
	state, err := watcher.Master().SystemState(g.T.Context())
	if err != nil {
		g.T.Fatal(err)
	}
	for _, heard := range state.Subscribers {
		if !slices.ContainsFunc(nodes, func(node string) bool { return !slices.Contains(heard, node) }) {
			n++
		}
	}
	return n
}

func keys(m map[string]bags.Dumped) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

// sameWhileBoth checks that from the first message that both have to the end of the
// shorter one the messages are the same, and that these are most of the shorter one: who
// subscribes later, or ends earlier, has less. ofTopic is as in common.
func sameWhileBoth(stock, ours []string, ofTopic int) error {
	n, err := common(stock, ours, ofTopic)
	if err != nil {
		return err
	}
	if least := min(len(stock), len(ours)); n < least*8/10-3 {
		return fmt.Errorf("only %d messages in common of %d", n, least)
	}
	return nil
}

// common returns the number of messages of a publisher that both have, which must be without gaps.
// Only stock may have gaps, if the queue of the topic can have been full, which all publishers of
// the topic share: stock has ofTopic messages of them. Ours must have every message that stock has
// in between.
func common(stock, ours []string, ofTopic int) (int, error) {
	if len(stock) == 0 || len(ours) == 0 {
		return 0, fmt.Errorf("stock has %d messages, ours %d", len(stock), len(ours))
	}
	a, b := stock, ours
	if i := slices.Index(ours, stock[0]); i >= 0 {
		b = ours[i:]
	} else if i := slices.Index(stock, ours[0]); i >= 0 {
		a = stock[i:]
	} else {
		return 0, fmt.Errorf("no common message in %d of stock and %d of ours", len(stock), len(ours))
	}
	n := 0
	for i := range a {
		at := slices.Index(b, a[i])
		if at < 0 {
			if slices.ContainsFunc(a[i:], func(m string) bool { return slices.Contains(b, m) }) {
				return 0, fmt.Errorf("ours does not have message %d of stock in its place, but later ones", i)
			}
			break
		}
		if at > 0 && ofTopic <= harness.StockQueue {
			return 0, fmt.Errorf("stock does not have %d messages in front of its message %d", at, i)
		}
		b, n = b[at+1:], n+1
	}
	return n, nil
}

// TestStockReadsOurs opens our bags with every stock tool.
func TestStockReadsOurs(t *testing.T) {
	t.Parallel()
	harness.NeedROS(t)
	for _, flag := range []string{"none", "--lz4", "--bz2"} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			harness.LongCase(t, flag != "none", "stock's tools in Python take ten seconds for each compression")
			g := harness.NewGraph(t, "gomaster")
			args := []string{"-a", "-x", "/rosout.*", "-O", "ours", "--chunksize=100"}
			if flag != "none" {
				args = append(args, flag)
			}
			pub := g.StartPython("publish.py", "talker", "/chatter,std_msgs/String,200,0,900", "/latched,std_msgs/Int32,0,1,0", "/pose,geometry_msgs/PoseStamped,100,0,0")
			pub.Printed("ready")
			rec := g.Record(args...)
			g.Eventually("some chunks are written", func() bool { return harness.Size(g, "ours.bag.active") > 60_000 })
			rec.Stop()

			before := bags.Dump(g, "ours.bag")
			if len(before) != 3 {
				t.Fatalf("%d connections: %v", len(before), keys(before))
			}
			info := g.Run("rosbag", "info", "ours.bag")
			if !strings.Contains(info, "/chatter") || !strings.Contains(info, "std_msgs/String") {
				t.Errorf("rosbag info:\n%s", info)
			}
			if out := g.Run("rosbag", "check", "ours.bag"); !strings.Contains(out, "does not need any migrations") {
				t.Errorf("rosbag check:\n%s", out)
			}
			if out := g.Run("/usr/lib/rosbag/play", "ours.bag", "--rate", "20"); !strings.Contains(out, "Done.") {
				t.Errorf("rosbag play:\n%s", out)
			}
			for _, tool := range []string{"reindex", "decompress", "compress"} {
				// These rewrite the file in place and keep ours.orig.bag.
				os.Remove(filepath.Join(g.Dir, "ours.orig.bag"))
				if out := g.Run("rosbag", tool, "-q", "ours.bag"); strings.Contains(out, "rror") {
					t.Errorf("rosbag %s:\n%s", tool, out)
				}
				after := bags.Dump(g, "ours.bag")
				for key, want := range before {
					if d := cmp.Diff(want.Hashes(), after[key].Hashes()); d != "" {
						t.Errorf("after rosbag %s: %s differs", tool, key)
					}
				}
			}
		})
	}
}

// TestRepeatedForStock: stock's readers pass over the fields of the bag header that mark repeated
// messages. What they rewrite does not have them.
func TestRepeatedForStock(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	harness.NeedROS(t)
	g := harness.NewGraph(t, "gomaster")
	bags.Make(g, "whole.bag",
		bags.StringMessage{Topic: "/map", Node: "/server", Latching: true, Text: "map"},
		bags.StringMessage{Topic: "/tf_static", Node: "/arm", Latching: true, At: 100 * time.Millisecond, Text: "arm"},
		bags.StringMessage{Topic: "/odom", Node: "/base", At: 300 * time.Millisecond, Text: "1"},
		bags.StringMessage{Topic: "/odom", Node: "/base", At: 3 * time.Second, Text: "2"},
		bags.StringMessage{Topic: "/odom", Node: "/base", At: 3100 * time.Millisecond, Text: "3"})
	g.Run("gobag", "split", "-q", "--duration", "2", "whole.bag", "part")
	if out := g.Run("gobag", "info", "part_001.bag"); !strings.Contains(out, "2 repeated latched messages at the beginning") {
		t.Fatalf("gobag info:\n%s", out)
	}
	before := bags.Dump(g, "part_001.bag")
	if len(before) != 3 {
		t.Fatalf("%d connections: %v", len(before), keys(before))
	}
	for _, args := range [][]string{{"info", "part_001.bag"}, {"info", "--yaml", "part_001.bag"}} {
		if out := g.Run("rosbag", args...); !strings.Contains(out, "/tf_static") || strings.Contains(out, "rror") {
			t.Errorf("rosbag %v:\n%s", args, out)
		}
	}
	if out := g.Run("/usr/lib/rosbag/play", "part_001.bag"); !strings.Contains(out, "Done.") { // the reader in C++
		t.Errorf("rosbag play:\n%s", out)
	}
	g.Run("rosbag", "filter", "part_001.bag", "filtered.bag", "True")
	g.Run("rosbag", "reindex", "-q", "part_001.bag")
	for _, name := range []string{"filtered.bag", "part_001.bag"} {
		after := bags.Dump(g, name)
		for key, want := range before {
			if d := cmp.Diff(want.Hashes(), after[key].Hashes()); d != "" {
				t.Errorf("%s: %s differs", name, key)
			}
		}
	}
}
