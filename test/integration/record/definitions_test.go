package record_test

import (
	"crypto/md5"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

// TestDefinitionsAreThoseOfROS: everything that gorecord and goplay publish, and that gorecord
// writes by itself, has the definition that the packages of ROS have, with its comments.
// Otherwise rosbag check wants a migration.
func TestDefinitionsAreThoseOfROS(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	bags.Make(g, "walk.bag", bags.Walk()...)
	rec := g.Record("-a", "/rec/status", "/play/status", "-O", "out", "--summary=always", "--params", "--note=robot=r1", `--mark-on=topic == "/chatter"`, "__name:=rec")
	g.Start("goplay", "walk.bag", "--clock", "-q", "--wait-for", "/chatter", "__name:=play").Ended(0)
	rec.Stop()
	definitions, topics := map[string]string{}, map[string]string{}
	for topic, of := range bags.Read(t, filepath.Join(g.Dir, "out.bag")) {
		for _, h := range of.Headers {
			typ, text := h.Type(), h.MessageDefinition()
			topics[topic] = typ
			if other, ok := definitions[typ]; ok && other != text {
				t.Errorf("%s has two definitions:\n%s\n%s", typ, text, other)
			}
			definitions[typ] = text
			if parsed, err := rosmsg.Parse(typ, text); err != nil || parsed.MD5Sum() != h.MD5Sum() {
				t.Errorf("%s on %s: md5sum %s; parsed %v, %v", typ, topic, h.MD5Sum(), parsed, err)
			}
		}
	}
	for _, topic := range []string{"/rec/status", "/play/status", "/clock", "/gorecord/summary", "/gorecord/marks", "/metadata"} {
		if topics[topic] == "" {
			t.Errorf("no %s among %v", topic, topics)
		}
	}
	// The md5 of each text, comments and all. Where ROS is installed the test makes sure of them.
	golden := map[string]string{
		"diagnostic_msgs/DiagnosticArray": "cb8d58c02c6a342af6a23d515be3cfe0",
		"rosgraph_msgs/Clock":             "e6ecd4ab41c1032b93bdc409a310b211",
		"rosgraph_msgs/Log":               "bb11168e13f5747d99862b114db8fa57",
		"std_msgs/String":                 "5b89344b4d080ca499c0648063c40738",
	}
	sums := map[string]string{}
	for typ, text := range definitions {
		sums[typ] = fmt.Sprintf("%x", md5.Sum([]byte(text)))
	}
	if d := cmp.Diff(golden, sums); d != "" {
		t.Errorf("definitions (-want +got):\n%s", d)
	}
	if harness.ROSMissing() {
		return
	}
	installed := map[string]string{}
	g.Python(&installed, "definitions.py", slices.Collect(maps.Keys(definitions))...)
	if d := cmp.Diff(installed, definitions); d != "" {
		t.Errorf("definitions (-ROS +ours):\n%s", d)
	}
	if out := g.Run("rosbag", "check", "out.bag"); !strings.Contains(out, "does not need any migrations") {
		t.Errorf("rosbag check:\n%s", out)
	}
}

// TestTriggerWithoutDefinition: a trigger fires for a publisher that sends an empty definition of a type of ROS, as
// those of rosjava and rosbridge do.
func TestTriggerWithoutDefinition(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	b, err := os.ReadFile("../../../cmd/bag/testdata/definitions/twist_empty.bag")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(g.Dir, "twist.bag"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	rec := g.Record("/cmd", "-O", "out", `--mark-on=topic == "/cmd" && m.linear.y == 2`)
	g.Start("goplay", "twist.bag", "-q", "--wait-for", "/cmd").Ended(0)
	rec.Stop()
	recorded := bags.Read(t, filepath.Join(g.Dir, "out.bag"))
	if len(recorded["/cmd"].Headers) != 1 || recorded["/gorecord/marks"] == nil {
		t.Errorf("recorded %v", slices.Collect(maps.Keys(recorded)))
	}
}
