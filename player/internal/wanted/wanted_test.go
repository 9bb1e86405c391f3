package wanted_test

import (
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/ros/mismatch"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/wanted"
	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/tcpros"
)

type known map[string][]mismatch.Definition

func (k known) Find(typ string) ([]mismatch.Definition, error) { return k[typ], nil }

func sumOf(t *testing.T, typ, text string) string {
	t.Helper()
	parsed, err := rosmsg.Parse(typ, text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.MD5Sum()
}

func topic(t *testing.T, name, typ, text string) *plan.Topic {
	t.Helper()
	return &plan.Topic{Name: topicname.InGraph(name), Type: typ, MD5Sum: sumOf(t, typ, text), Definition: text}
}

func asks(caller, typ, sum, text string) tcpros.Header {
	h := tcpros.Header{{Key: "callerid", Value: caller}, {Key: "topic", Value: "/state"}, {Key: "md5sum", Value: sum}, {Key: "type", Value: typ}}
	if text != "" {
		h = append(h, tcpros.Header{{Key: "message_definition", Value: text}}...)
	}
	return h
}

const (
	old   = "int16 mode\n"
	wide  = "int32 mode\nstring name\n"
	less  = "string name\n"
	point = "================================================================================\nMSG: my/P\nfloat32 x\n"
)

// TestCases checks which subscribers get what, and what is said of those that are refused.
func TestCases(t *testing.T) {
	t.Parallel()
	p := &plan.Plan{Topics: []*plan.Topic{topic(t, "/state", "my/State", old), topic(t, "/name", "std_msgs/String", "string data\n"), topic(t, "/array", "my/A", "P[2] a\n"+point)}}
	state, array := p.Topics[0], p.Topics[2]
	for _, test := range []struct {
		name    string
		topic   *plan.Topic
		asked   tcpros.Header
		known   known
		adapted bool   // with Convert
		why     string // without
		warning string // without
	}{
		{name: "the same with other comments", topic: state, asked: asks("/a", "my/State", state.MD5Sum, "# new\n"+old)},
		{name: "the same under another name", topic: state, asked: asks("/a", "your/State", state.MD5Sum, old)},
		{
			name: "another version", topic: state, asked: asks("/a", "my/State", sumOf(t, "my/State", wide), wide), adapted: true,
			why: "another version of my/State: my/State.mode: int16 becomes int32; my/State.name (string) is added; goplay --to-wanted converts while playing, gobag fix IN OUT --to DEFS makes a converted copy",
		},
		{
			name: "another version that a C++ node wants", topic: state, asked: asks("/a", "my/State", sumOf(t, "my/State", wide), ""), adapted: true,
			known: known{"my/State": {{Type: "my/State", MD5Sum: sumOf(t, "my/State", wide), Text: wide}}},
			why:   "another version of my/State: my/State.mode: int16 becomes int32; my/State.name (string) is added; goplay --to-wanted converts while playing, gobag fix IN OUT --to DEFS makes a converted copy",
		},
		{
			name: "another version that nobody knows", topic: state, asked: asks("/a", "my/State", strings.Repeat("1", 32), ""),
			why: "another version of my/State, md5sum 11111111111111111111111111111111: its fields are not known, because it sends no definition and none that is known has its md5sum; " +
				"--definitions DIR, a folder with its .msg files, lets goplay --to-wanted convert",
		},
		{
			name: "a version that needs a decision", topic: state, asked: asks("/a", "my/State", sumOf(t, "my/State", less), less),
			why: "another version of my/State: my/State.mode (int16) is dropped; my/State.name (string) is added; that needs decisions: gobag fix IN OUT --to DEFS with --drop my/State.mode",
		},
		{
			name: "another type that the bags have elsewhere", topic: state, asked: asks("/a", "std_msgs/String", sumOf(t, "std_msgs/String", "string data\n"), "string data\n"),
			why: "another type: my/State, and not std_msgs/String; of that type is /name: play it with --rename, or remap the subscriber",
		},
		{name: "another type", topic: state, asked: asks("/a", "a/B", strings.Repeat("1", 32), ""), why: "another type: my/State, and not a/B; no topic that is played has that type"},
		{
			name: "the same md5sum, other arrays", topic: array, asked: asks("/a", "my/A", array.MD5Sum, "P[] a\n"+point), adapted: true,
			warning: "other arrays of my/A, with the same md5sum: my/A.a: my/P[2] becomes my/P[]; goplay --to-wanted converts while playing, gobag fix IN OUT --to DEFS makes a converted copy",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			core, logs := observer.New(zapcore.InfoLevel)
			d := wanted.New(wanted.Options{Known: test.known, Log: zap.New(core)}, p)
			a, why := d.Unfit(test.topic)(test.asked)
			if a != nil || why != test.why {
				t.Errorf("adapted: %v, %q; want %q", a != nil, why, test.why)
			}
			var warnings []string
			for _, l := range logs.All() {
				warnings = append(warnings, strings.TrimPrefix(l.Message, "a subscriber reads messages in another way than they were recorded: "))
			}
			if strings.Join(warnings, "\n") != test.warning {
				t.Errorf("warnings %q, want %q", warnings, test.warning)
			}
			d = wanted.New(wanted.Options{Convert: true, Known: test.known, Log: zap.New(core)}, p)
			unfit := d.Unfit(test.topic)
			a, why = unfit(test.asked)
			if (a != nil) != test.adapted || !test.adapted && why != test.why {
				t.Errorf("to what is wanted: adapted: %v, %q", a != nil, why)
			}
			if b, _ := unfit(test.asked); b != a {
				t.Error("two subscribers of one version share nothing")
			}
		})
	}
}

// TestFrames checks converted frames, and that those which cannot be converted are counted.
func TestFrames(t *testing.T) {
	t.Parallel()
	p := &plan.Plan{Topics: []*plan.Topic{topic(t, "/state", "my/State", old)}}
	d := wanted.New(wanted.Options{Convert: true, Log: zap.NewNop()}, p)
	a, _ := d.Unfit(p.Topics[0])(asks("/a", "my/State", sumOf(t, "my/State", wide), wide))
	if a == nil || a.MD5Sum != sumOf(t, "my/State", wide) || a.MessageDefinition != wide || a.Type != "my/State" {
		t.Fatalf("%+v", a)
	}
	if got := string(a.Frame([]byte("\x02\x00\x00\x00\xfe\xff"))); got != "\x08\x00\x00\x00\xfe\xff\xff\xff\x00\x00\x00\x00" {
		t.Errorf("%q", got)
	}
	if a.Frame([]byte("\x01\x00\x00\x00\xfe")) != nil || d.Unconverted(p.Topics[0]) != 1 {
		t.Errorf("%d are counted, want 1", d.Unconverted(p.Topics[0]))
	}
}

// TestManyVersions checks that subscribers cannot fill the memory.
func TestManyVersions(t *testing.T) {
	t.Parallel()
	p := &plan.Plan{Topics: []*plan.Topic{topic(t, "/state", "my/State", old)}}
	unfit := wanted.New(wanted.Options{Convert: true, Log: zap.NewNop()}, p).Unfit(p.Topics[0])
	adapted := 0
	for n := range 100 {
		text := old + "int8 " + strings.Repeat("x", n+1) + "\n"
		if a, _ := unfit(asks("/a", "my/State", sumOf(t, "my/State", text), text)); a != nil {
			adapted++
		}
	}
	if adapted != 32 {
		t.Errorf("%d versions are converted, want 32", adapted)
	}
}

func TestFrameAllocations(t *testing.T) {
	p := &plan.Plan{Topics: []*plan.Topic{topic(t, "/state", "my/State", old)}}
	a, _ := wanted.New(wanted.Options{Convert: true, Log: zap.NewNop()}, p).Unfit(p.Topics[0])(asks("/a", "my/State", sumOf(t, "my/State", wide), wide))
	frame := []byte("\x02\x00\x00\x00\xfe\xff")
	a.Frame(frame)
	if n := testing.AllocsPerRun(100, func() { a.Frame(frame) }); n > 1 {
		t.Errorf("%v allocations for a frame, want 1: its own", n)
	}
}
