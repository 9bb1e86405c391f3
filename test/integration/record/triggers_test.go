package record_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// speaker publishes texts that steer a recording.
type speaker struct {
	g      *harness.Graph
	pub    *tcpros.Publication
	source *tcpros.Source
}

func newSpeaker(g *harness.Graph, topic string) *speaker {
	g.T.Helper()
	pub := peers.Advertise(g, peers.Node(g, "speaker"), topic, false)
	return &speaker{g, pub, pub.Source(false)}
}

// linked waits for the recorder.
func (s *speaker) linked() {
	s.g.T.Helper()
	s.g.Eventually(s.pub.Topic()+" is linked", func() bool { return s.pub.Subscribers() == 1 })
}

func (s *speaker) say(texts ...string) {
	for _, text := range texts {
		s.source.Publish(peers.StringFrame(text))
	}
}

// texts returns what a bag holds of a topic of type std_msgs/String.
func texts(t *testing.T, path, topic string) (all []string) {
	t.Helper()
	if found := bags.Read(t, path)[topic]; found != nil {
		for _, m := range found.Messages {
			all = append(all, string(m.Data[4:]))
		}
	}
	return all
}

const marksTopic = "/gorecord/marks"

// when is an expression that is true for one text of a topic.
func when(topic, text string) string { return `topic == "` + topic + `" && m.data == "` + text + `"` }

// TestTriggersStartAndStop: nothing is recorded before the first trigger; each bag begins with what
// is latched and has its causes as marks, and the message that stops it.
func TestTriggersStartAndStop(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	s := newSpeaker(g, "/state")
	n := peers.Node(g, "map")
	latched := peers.Advertise(g, n, "/map", true)
	latched.Source(true).Publish(peers.StringFrame("the map"))
	rec := g.Start("gorecord", "/state", "/map", "-O", "run", "--start-on", when("state", "go"), "--stop-on", when("/state", "halt"), "--trigger-pause", "0.000001")
	s.linked()
	g.Eventually("/map is linked", func() bool { return latched.Subscribers() == 1 })
	s.say("idle")
	if names := bags.Names(g, "run"); len(names) > 0 {
		t.Errorf("files before the first start: %v", names)
	}
	for _, name := range []string{"run.bag", "run_1.bag"} {
		s.say("go")
		rec.Printed(`Recording to {"file": "` + name + `"}`)
		g.Eventually("the mark of "+name, func() bool {
			return strings.Count(rec.Out.String(), `Mark {"text": "start-on: `) == len(bags.Names(g, "run"))+1
		})
		s.say("on the way", "halt")
		g.Closed(name)
		path := filepath.Join(g.Dir, name)
		if got := texts(t, path, "/state"); !slices.Equal(got, []string{"on the way", "halt"}) {
			t.Errorf("%s: %q", name, got)
		}
		if got := texts(t, path, "/map"); !slices.Equal(got, []string{"the map"}) {
			t.Errorf("%s: latched %q", name, got)
		}
		want := []string{`start-on: topic == "state" && m.data == "go" (/state)`, `stop-on: topic == "/state" && m.data == "halt" (/state)`}
		if got := texts(t, path, marksTopic); !slices.Equal(got, want) {
			t.Errorf("%s: marks %q", name, got)
		}
	}
	rec.Stop()
	harness.Contains(t, rec.Out.String(), `--start-on topic == "state" && m.data == "go": fired 2 times`, "lost: none")
}

// TestTriggerEndsRecording: without a trigger or an option that starts another bag, --stop-on ends
// the program. A pause is ended by --start-on as by ~resume.
func TestTriggerEndsRecording(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	s := newSpeaker(g, "/state")
	rec := g.Start("gorecord", "/state", "-O", "run", "--stop-on", when("/state", "halt"))
	s.linked()
	s.say("a", "halt")
	rec.Ended(0, `--stop-on topic == "/state" && m.data == "halt": fired 1 time`)
	path := filepath.Join(g.Dir, "run.bag")
	if got := texts(t, path, "/state"); !slices.Equal(got, []string{"a", "halt"}) {
		t.Errorf("%q", got)
	}
	if got := texts(t, path, marksTopic); len(got) != 1 {
		t.Errorf("marks %q", got)
	}
	g.Eventually("the first recorder has gone", func() bool { return s.pub.Subscribers() == 0 })
	rec = g.Record("/state", "-O", "paused", "--paused", "--start-on", when("/state", "go"))
	s.linked()
	s.say("before", "go")
	rec.Printed(`Mark {"text": "start-on: `)
	s.say("after")
	recorded(g, "paused.bag", 1, "/state")
	rec.Stop()
	if got := texts(t, filepath.Join(g.Dir, "paused.bag"), "/state"); !slices.Equal(got, []string{"after"}) {
		t.Errorf("%q", got)
	}
}

// TestTriggersMarkPinSnapshot: --mark-on, --pin-on and --snapshot-on act at most once within the pause
// between triggers.
func TestTriggersMarkPinSnapshot(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	s := newSpeaker(g, "/state")
	n := peers.Node(g, "splitter")
	rec := g.Record("/state", "-O", "run", "--split", "--max-splits=1", "--snapshot-beside", "__name:=rec",
		"--mark-on", when("/state", "mark"), "--pin-on", when("/state", "pin"), "--snapshot-on", when("/state", "snap"), "--trigger-pause", "1h")
	s.linked()
	split := func() {
		answer, err := n.CallService(t.Context(), "/rec/split", tcpros.TriggerService, nil)
		if err != nil {
			t.Fatal(err)
		}
		if o, err := stdmsg.DecodeOutcome(answer); err != nil || !o.Success {
			t.Fatalf("%+v, %v", o, err)
		}
	}
	g.Eventually("the service is registered", func() bool {
		_, err := n.Master().LookupService(t.Context(), "/rec/split")
		return err == nil
	})
	s.say("mark", "mark", "-", "mark", "snap", "pin", "-", "pin")
	for _, option := range []string{"mark", "snapshot", "pin"} {
		rec.Printed(`Mark {"text": "` + option + `-on: `)
	}
	rec.Printed("Triggered snapshot recording")
	rec.Printed("Pinned {")
	s.say("last")
	recorded(g, "run_0.bag", 1, "/state") // and with it the marks
	for range 4 {
		split()
	}
	rec.Stop()
	harness.Contains(t, rec.Out.String(), `m.data == "mark": fired 1 time, 1 more within the pause`, `m.data == "pin": fired 1 time, 1 more within the pause`)
	if _, err := os.Stat(filepath.Join(g.Dir, "run_0.bag")); err != nil {
		t.Errorf("the pinned bag: %v", err)
	}
	snapshots := 0
	for _, name := range bags.Names(g, "") {
		marks := texts(t, filepath.Join(g.Dir, name), marksTopic)
		switch {
		case name == "run_0.bag":
			if len(marks) != 3 {
				t.Errorf("%s: marks %q", name, marks)
			}
		case slices.ContainsFunc(marks, func(m string) bool { return strings.HasPrefix(m, "snapshot-on: ") }):
			snapshots++
			if got := texts(t, filepath.Join(g.Dir, name), "/state"); !slices.Contains(got, "snap") {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
	if snapshots != 1 {
		t.Errorf("%d snapshots in %v", snapshots, bags.Names(g, ""))
	}
}

// TestTriggerOnDiagnostics: a trigger on real diagnostics marks the moments at which a status turns
// bad. A field that is misspelt is reported when the publisher is linked.
func TestTriggerOnDiagnostics(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs nodes in Python for seconds")
	harness.NeedROS(t)
	g := harness.NewGraph(t, "gomaster")
	const good = `topic == "/diagnostics" && any(m.status, {.level >= 2})`
	rec := g.Start("gorecord", "-a", "-x", "/rosout.*", "-O", "run", "--mark-on", good, "--pin-on", `topic == "/diagnostics" && m.staus != nil`, "--trigger-pause", "0.000001")
	rec.Printed("Trigger {")
	g.StartPython("diagnostics.py", "diag")
	rec.Printed(`a trigger names a field that the messages do not have {"option": "--pin-on", "topic": "/diagnostics", "type": "diagnostic_msgs/DiagnosticArray", ` +
		`"field": "m.staus", "reason": "diagnostic_msgs/DiagnosticArray has no field \"staus\": it has header, status"}`)
	g.Eventually("two marks", func() bool { return strings.Count(rec.Out.String(), `Mark {"text": "mark-on: `) >= 2 })
	rec.Stop()
	topics := bags.Read(t, filepath.Join(g.Dir, "run.bag"))
	var turned []rosbag.Time
	bad := false
	for _, m := range topics["/diagnostics"].Messages {
		was := bad
		bad = level(m.Data) >= 2
		if bad && !was {
			turned = append(turned, m.Time)
		}
	}
	for _, m := range topics[marksTopic].Messages {
		if !slices.ContainsFunc(turned, func(b rosbag.Time) bool { return m.Time.Sub(b).Abs() < 2*time.Millisecond }) {
			t.Errorf("a mark at %v; bad since %v", m.Time, turned)
		}
	}
	if marks := len(topics[marksTopic].Messages); marks < 2 || marks > len(turned) {
		t.Errorf("%d marks for %d times", marks, len(turned))
	}
}

// level returns the level of the second status of diagnostics.py.
func level(data []byte) byte {
	const header, count, name = 12 + 4, 4, "motor" // no frame_id
	first := 1 + 4 + len(name) + 4 + 4 + 4         // level, name, message, hardware_id, values
	return data[header+count+first]
}

// TestEndlessTrigger: an expression that would take hours is aborted, and the bag is complete.
func TestEndlessTrigger(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	s := newSpeaker(g, "/state")
	const each = `all(split(m.data, ""), `
	rec := g.Record("/state", "-O", "run", "--mark-on", `topic == "/state"`, "--pin-on", `topic == "/state" && `+each+each+each+`true)))`)
	s.linked()
	text := strings.Repeat("x", 10_000)
	s.say(text)
	rec.Printed(`Mark {"text": "mark-on: `) // the other expression is next
	rec.Printed("the evaluation takes too much")
	rec.Stop()
	harness.Contains(t, rec.Out.String(), "lost: none")
	if got := texts(t, filepath.Join(g.Dir, "run.bag"), "/state"); !slices.Equal(got, []string{text}) {
		t.Errorf("%d messages", len(got))
	}
}

// TestWrongTriggers: a trigger that cannot work is an error before the recording starts.
func TestWrongTriggers(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-a", "--mark-on", `m.data == "x"`}, `--mark-on: "m.data == \"x\"": the expression names no topic: begin with topic == "/NAME" && `},
		{[]string{"-a", "--stop-on", `topic == "/a" &&`}, `--stop-on: "topic == \"/a\" &&": want an expression as of gobag filter: at 1:16: incomplete`},
		{[]string{"-a", "--pin-on", `topic == "/a b"`}, `--pin-on: "topic == \"/a b\"": ' ' at 2 is not valid`},
		{[]string{"-a", "--snapshot-on", `topic == "/a"`}, "--snapshot-on needs --snapshot or --snapshot-beside"},
		{[]string{"/b", "--start-on", `topic == "/a"`}, "a topic that a trigger watches is not recorded: /a"},
		{[]string{"-a", "-x", "/a", "--start-on", `topic == "/a"`}, "a topic that a trigger watches is not recorded: /a"},
		{[]string{"-e", "/b.*", "--start-on", `topic in ["/bc", "/a"]`}, "a topic that a trigger watches is not recorded: /a"},
	} {
		g.Start("gorecord", append(test.args, "-O", "out")...).Ended(1, test.want)
	}
	if names := bags.Names(g, "out"); len(names) > 0 {
		t.Errorf("files: %v", names)
	}
	rec := g.Record("--type", "std_msgs/String", "-O", "silent", "--mark-on", `topic == "/nobody"`)
	rec.Stop()
	harness.Contains(t, rec.Out.String(), `--mark-on topic == "/nobody": fired 0 times, no message of /nobody`)
}
