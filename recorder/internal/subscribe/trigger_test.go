package subscribe

import (
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/tcpros"
)

// TestTriggerFires: with the messages of a run, after they are recorded.
func TestTriggerFires(t *testing.T) {
	t.Parallel()
	recorded := &testlink.Sink{}
	var fired []int
	l := watched(recorded, nil, &trigger{topic: "/go", fire: func(topic string, messages int, received time.Time) {
		if topic != "/go" || !received.Equal(time.Unix(1700000000, 0)) {
			t.Errorf("fired by %s at %v", topic, received)
		}
		fired = append(fired, messages, recorded.Messages)
	}})
	l.Frames(testlink.Frame(0, 1, 8), 1, time.Unix(1700000000, 0))
	l.Frames(testlink.Frame(0, 2, 8), 3, time.Unix(1700000000, 0))
	if want := []int{1, 1, 3, 4}; !slices.Equal(fired, want) {
		t.Errorf("fired with %v messages, want %v", fired, want)
	}
}

// TestListen: the trigger is recorded if the user asked for it by name, expression or type: by name, it has that name in
// the bag, as any topic. Otherwise it has a subscription of its own.
func TestListen(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		named, selected bool
		recorded        string // the name in the bag; empty for a trigger that is not recorded
	}{
		"by name":      {named: true, recorded: "snapshot_trigger"},
		"by type":      {selected: true, recorded: "/snapshot_trigger"},
		"not recorded": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := newSet(t, Config{IsNamed: func(topicname.InGraph) bool { return test.named }})
			selects := func(topic, typ string) bool {
				return test.selected && topic == "/snapshot_trigger" && typ == "std_msgs/Empty"
			}
			if err := s.Listen("/snapshot_trigger", selects, func(string, int, time.Time) {}); err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if test.named { // as the session does next with all topics that the user named
				if err := s.Add("snapshot_trigger", Named, time.Time{}); err != nil {
					t.Fatal(err)
				}
			}
			recorded := ""
			if sub := s.subs["/snapshot_trigger"]; sub != nil {
				recorded = string(sub.topic.Name())
			}
			if own := s.trigger.sub != nil; recorded != test.recorded || own == (recorded != "") {
				t.Errorf("in the bag as %q; a subscription of its own: %v", recorded, own)
			}
		})
	}
}

// TestTriggerOfAnotherType: messages on the topic of the trigger begin snapshots only if they are
// std_msgs/Empty, and those of other topics never do.
func TestTriggerOfAnotherType(t *testing.T) {
	t.Parallel()
	s, _ := newSet(t, Config{})
	s.trigger = &trigger{topic: "/go"}
	empty := func(topic string) tcpros.LinkInfo {
		info := testlink.Info(topic, "/p")
		for i, f := range info.Header {
			if f.Key == "type" {
				info.Header[i].Value = triggerType
			}
		}
		return info
	}
	for name, test := range map[string]struct {
		info tcpros.LinkInfo
		want bool
	}{"empty": {empty("/go"), true}, "numbered": {testlink.Info("/go", "/p"), false}, "elsewhere": {empty("/t"), false}} {
		if fires := len(s.watchersOf(topicname.InGraph(test.info.Topic), test.info)) > 0; fires != test.want {
			t.Errorf("%s begins snapshots: %v", name, fires)
		}
	}
}
