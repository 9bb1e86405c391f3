package record_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// TestParams: each file begins with the parameters and the node graph of the start.
func TestParams(t *testing.T) {
	t.Parallel()
	harness.EachMaster(t, func(t *testing.T, g *harness.Graph) {
		harness.NeedROS(t)                                              // rosparam
		long := strings.TrimSpace(strings.Repeat("<robot> & ", 10_000)) // twice, to be more than fits a link's buffer
		g.Run("rosparam", "set", "/robot/name", "arm \"7\"")
		g.Run("rosparam", "set", "/robot/gains", "[1, 2.5, true, .inf]")
		g.Run("rosparam", "set", "/robot_description", long)
		g.Run("rosparam", "set", "/robot_description_semantic", long)
		f := peers.NewFlood(g, "/t", 100_000)
		rec := g.Record("/t", "-O", "out", "--params", "--split", "__name:=rec")
		n := peers.Node(g, "splits")
		for i := range 3 { // the first file has them as soon as the master has told them
			recorded(g, "out_"+strconv.Itoa(i)+".bag", 1, "/gorecord/params", "/gorecord/graph", "/t")
			if i == 2 {
				break
			}
			if _, err := n.CallService(t.Context(), "/rec/split", tcpros.TriggerService, nil); err != nil {
				t.Fatal(err)
			}
			f.WaitSent(f.Sent.Load() + 20)
		}
		rec.Stop()
		for i := range bags.Names(g, "out_") {
			topics := bags.Read(t, filepath.Join(g.Dir, "out_"+strconv.Itoa(i)+".bag"))
			var params struct {
				Robot struct {
					Name  string
					Gains []any
				}
				Description string `json:"robot_description"`
			}
			var graph struct {
				Publishers, Subscribers, Services map[string][]string
				Types                             map[string]string
			}
			for topic, into := range map[string]any{"/gorecord/params": &params, "/gorecord/graph": &graph} {
				if topics[topic] == nil || len(topics[topic].Messages) != 1 {
					t.Fatalf("%s is not in file %d, once", topic, i)
				}
				if err := json.Unmarshal(topics[topic].Messages[0].Data[4:], into); err != nil {
					t.Fatal(err)
				}
			}
			if params.Robot.Name != `arm "7"` || !slices.Equal(params.Robot.Gains, []any{1.0, 2.5, true, "+Inf"}) || params.Description != long {
				t.Errorf("file %d: parameters %.200v", i, params)
			}
			if !slices.Equal(graph.Publishers["/t"], []string{"/flood/t"}) || graph.Types["/t"] != "std_msgs/String" {
				t.Errorf("file %d: graph %+v", i, graph)
			}
		}
		if n := len(bags.Names(g, "out_")); n < 3 {
			t.Errorf("%d files", n)
		}
	})
}
