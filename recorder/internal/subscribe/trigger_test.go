package subscribe

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/tcpros"
)

// TestTriggerAnswersTogether: messages that come before an answer share it, whatever order their times are in;
// those that come too late are counted.
func TestTriggerAnswersTogether(t *testing.T) {
	t.Parallel()
	trigger := newTrigger("/snapshot_trigger")
	recorded := &testlink.Sink{}
	l := &triggerLink{recorded, trigger}
	at := time.Unix(1700000000, 0)
	l.Frames(testlink.Frame(0, 1, 8), 1, at)
	l.Frames(testlink.Frame(0, 2, 8), 1, at.Add(2*time.Second))
	l.Frames(testlink.Frame(0, 3, 8), 3, at.Add(time.Second))
	core, logs := observer.New(zap.ErrorLevel)
	ctx, cancel := context.WithCancel(t.Context())
	var answers []Messages
	left := 0
	trigger.Answer(ctx, zap.New(core), func(m Messages) error {
		answers = append(answers, m)
		if len(answers) == 1 {
			l.Frames(testlink.Frame(0, 4, 8), 1, at.Add(5*time.Second)) // needs an answer of its own
			return errors.New("no room")
		}
		l.Frames(testlink.Frame(0, 5, 8), 1, at.Add(time.Hour))
		cancel()
		return errors.New("no room yet") // is too soon to be logged
	}, func(messages int) { left += messages })
	want := []Messages{{at, at.Add(2 * time.Second), 5}, {at.Add(5 * time.Second), at.Add(5 * time.Second), 1}}
	if len(answers) != 2 || answers[0] != want[0] || answers[1] != want[1] || left != 1 {
		t.Errorf("answers %v, want %v; %d left", answers, want, left)
	}
	if all := logs.All(); len(all) != 1 || all[0].ContextMap()["times"] != uint64(5) {
		t.Errorf("logged: %v", all)
	}
	if recorded.Messages != 7 {
		t.Errorf("%d messages recorded", recorded.Messages)
	}
}

// TestListen: the trigger is recorded if the user asked for it by name, expression or type. Otherwise it has a
// subscription of its own.
func TestListen(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		named, selected, recorded bool
	}{
		"by name":      {named: true, recorded: true},
		"by type":      {selected: true, recorded: true},
		"not recorded": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := newSet(t, Config{IsNamed: func(string) bool { return test.named }})
			selects := func(topic, typ string) bool {
				return test.selected && topic == "/snapshot_trigger" && typ == "std_msgs/Empty"
			}
			trigger, err := s.Listen("/snapshot_trigger", selects)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if _, recorded := s.subs["/snapshot_trigger"]; recorded != test.recorded || (trigger.sub == nil) != test.recorded {
				t.Errorf("recorded: %v; a subscription of its own: %v", recorded, trigger.sub != nil)
			}
		})
	}
}

// TestTriggerOfAnotherType: messages on the topic of the trigger begin snapshots only if they are
// std_msgs/Empty, and those of other topics never do.
func TestTriggerOfAnotherType(t *testing.T) {
	t.Parallel()
	s, in := newSet(t, Config{})
	s.trigger = &Trigger{topic: "/go"}
	sub := &subscription{topic: in.Links().NewTopic("/go")}
	sink := &testlink.Sink{}
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
		if _, fires := s.withTrigger(test.info.Topic, sub, test.info, sink).(*triggerLink); fires != test.want {
			t.Errorf("%s begins snapshots: %v", name, fires)
		}
	}
}
