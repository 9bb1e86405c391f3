package integration_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/tcpros"
)

// dumped is one connection of a bag as rosbag's Python API reads it.
type dumped struct {
	Topic    string            `json:"topic"`
	Header   map[string]string `json:"header"`
	Messages []struct {
		T    int64  `json:"t"`
		Data string `json:"data"`
	} `json:"messages"`
}

func (d dumped) hashes() []string {
	all := make([]string, len(d.Messages))
	for i, m := range d.Messages {
		all[i] = m.Data
	}
	return all
}

// dump reads a bag with rosbag's Python API, by topic and callerid.
func (g *graph) dump(bag string) map[string]dumped {
	g.t.Helper()
	var all map[string]dumped
	g.python(&all, "dump.py", bag)
	return all
}

// TestRecordBesideStock records the same graph with both recorders at once.
func TestRecordBesideStock(t *testing.T) {
	t.Parallel()
	needROS(t)
	eachMaster(t, func(t *testing.T, g *graph) {
		for _, args := range [][]string{
			{"one", "/chatter,std_msgs/String,50,0,20", "/latched,std_msgs/Int32,0,1,0", "/cloud,sensor_msgs/PointCloud2,4,0,2000000"},
			{"two", "/chatter,std_msgs/String,100,0,500", "/pose,geometry_msgs/PoseStamped,100,0,0", "/tick,std_msgs/Float64,20,0,0"},
		} {
			g.startPython("publish.py", args...).printed("ready")
		}
		g.start("/usr/lib/rosbag/play", demoBag(t), "--loop", "--quiet", "__name:=roscpp_player")
		ours := g.record("-a", "-O", "ours", "__name:=our_record")
		theirs := g.start("/usr/lib/rosbag/record", "-a", "-O", "theirs", "__name:=stock_record")
		watcher := g.node("watcher")
		g.eventually("both subscribe to what the nodes and the player publish", func() bool { return g.heardByAll(watcher, "/our_record", "/stock_record") >= 12 })
		before := size(g, "theirs.bag.active")
		g.eventually("stock has recorded some of all", func() bool { return size(g, "theirs.bag.active") > before+40_000_000 })
		theirs.stop()
		ours.stop()

		want, got := g.dump("theirs.bag"), g.dump("ours.bag")
		compared := 0
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
			if err := sameWhileBoth(w.hashes(), o.hashes()); err != nil {
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
func (g *graph) heardByAll(watcher *tcpros.Node, nodes ...string) (n int) {
	g.t.Helper()
	state, err := watcher.Master().SystemState(g.t.Context())
	if err != nil {
		g.t.Fatal(err)
	}
	for _, heard := range state.Subscribers {
		if !slices.ContainsFunc(nodes, func(node string) bool { return !slices.Contains(heard, node) }) {
			n++
		}
	}
	return n
}

func keys(m map[string]dumped) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

// sameWhileBoth checks that from the first message that both have to the end of the
// shorter one the messages are the same, and that these are most of the shorter one: who
// subscribes later, or ends earlier, has less.
func sameWhileBoth(stock, ours []string) error {
	n, err := common(stock, ours)
	if err != nil {
		return err
	}
	if least := min(len(stock), len(ours)); n < least*8/10-3 {
		return fmt.Errorf("only %d messages in common of %d", n, least)
	}
	return nil
}

// common returns how many messages both have; these must be without a gap.
func common(stock, ours []string) (int, error) {
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
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return 0, fmt.Errorf("message %d of %d common ones differs", i, n)
		}
	}
	return n, nil
}

// TestStockReadsOurs opens our bags with every stock tool.
func TestStockReadsOurs(t *testing.T) {
	t.Parallel()
	needROS(t)
	for _, flag := range []string{"none", "--lz4", "--bz2"} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			g := newGraph(t, "gomaster")
			args := []string{"-a", "-x", "/rosout.*", "-O", "ours", "--chunksize=100"}
			if flag != "none" {
				args = append(args, flag)
			}
			pub := g.startPython("publish.py", "talker", "/chatter,std_msgs/String,200,0,900", "/latched,std_msgs/Int32,0,1,0", "/pose,geometry_msgs/PoseStamped,100,0,0")
			pub.printed("ready")
			rec := g.record(args...)
			g.eventually("some chunks are written", func() bool { return size(g, "ours.bag.active") > 60_000 })
			rec.stop()

			before := g.dump("ours.bag")
			if len(before) != 3 {
				t.Fatalf("%d connections: %v", len(before), keys(before))
			}
			info := g.run("rosbag", "info", "ours.bag")
			if !strings.Contains(info, "/chatter") || !strings.Contains(info, "std_msgs/String") {
				t.Errorf("rosbag info:\n%s", info)
			}
			if out := g.run("rosbag", "check", "ours.bag"); !strings.Contains(out, "does not need any migrations") {
				t.Errorf("rosbag check:\n%s", out)
			}
			if out := g.run("/usr/lib/rosbag/play", "ours.bag", "--rate", "20"); !strings.Contains(out, "Done.") {
				t.Errorf("rosbag play:\n%s", out)
			}
			for _, tool := range []string{"reindex", "decompress", "compress"} {
				// These rewrite the file in place and keep ours.orig.bag.
				os.Remove(filepath.Join(g.dir, "ours.orig.bag"))
				if out := g.run("rosbag", tool, "-q", "ours.bag"); strings.Contains(out, "rror") {
					t.Errorf("rosbag %s:\n%s", tool, out)
				}
				after := g.dump("ours.bag")
				for key, want := range before {
					if d := cmp.Diff(want.hashes(), after[key].hashes()); d != "" {
						t.Errorf("after rosbag %s: %s differs", tool, key)
					}
				}
			}
		})
	}
}

// realBags are bags of others beside the checkout, or those that the demo is made of.
func realBags(t *testing.T) []string {
	t.Helper()
	dir := os.Getenv("GOROSBAG_BAGS")
	if dir == "" {
		dir = "../../../shared/bags/real"
	}
	all, err := filepath.Glob(filepath.Join(dir, "*.bag"))
	if err != nil {
		t.Fatal(err)
	}
	bags := []string{demoBag(t)}
	for _, path := range all {
		head := make([]byte, 13)
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Read(head)
		f.Close()
		if abs, absErr := filepath.Abs(path); err == nil && absErr == nil && string(head) == "#ROSBAG V2.0\n" {
			bags = append(bags, abs)
		}
	}
	if len(bags) == 1 {
		t.Log("no real bags: set GOROSBAG_BAGS to a directory of V2.0 bags to play those too")
	}
	return bags
}
