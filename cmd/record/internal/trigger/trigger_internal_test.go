package trigger

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/bags/expr"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeRecording records the calls of triggers.
type fakeRecording struct {
	mu    sync.Mutex
	calls []string
	state control.State
	err   error
	did   chan struct{} // has a token after a call

	starting chan struct{} // closed by Start, which then lasts until its ctx is done; nil for a Start that returns at once
}

func (c *fakeRecording) call(format string, args ...any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, fmt.Sprintf(format, args...))
	select {
	case c.did <- struct{}{}:
	default:
	}
	return c.err
}

func (c *fakeRecording) BeginSnapshot(_ context.Context, at time.Time) error {
	return c.call("snapshot %d", at.Unix())
}

func (c *fakeRecording) MarkAt(text string, at time.Time) (control.Mark, error) {
	return control.Mark{}, c.call("mark %d %s", at.Unix(), text)
}

func (c *fakeRecording) Pin(_ context.Context, last time.Duration) ([]string, error) {
	return nil, c.call("pin %v", last)
}

func (c *fakeRecording) Start(ctx context.Context) (string, error) {
	if c.starting != nil {
		close(c.starting)
		<-ctx.Done()
		return "", ctx.Err()
	}
	c.mu.Lock()
	c.state = control.StateRecording
	c.mu.Unlock()
	return "", c.call("start")
}

func (c *fakeRecording) Stop(ctx context.Context) (string, error) {
	c.mu.Lock()
	c.state = control.StateStopped
	c.mu.Unlock()
	return "", errors.Join(c.call("stop"), ctx.Err()) // as if the bag were not closed yet
}

func (c *fakeRecording) Resume() error {
	c.mu.Lock()
	c.state = control.StateRecording
	c.mu.Unlock()
	return c.call("resume")
}

func (c *fakeRecording) Stats() (control.Stats, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return control.Stats{State: c.state}, nil
}

// all returns the calls when there are at least n.
func (c *fakeRecording) all(t *testing.T, n int) []string {
	t.Helper()
	late := time.After(2 * time.Minute)
	for {
		c.mu.Lock()
		calls := slices.Clone(c.calls)
		c.mu.Unlock()
		if len(calls) >= n {
			return calls
		}
		select {
		case <-c.did:
		case <-late:
			t.Fatalf("only %q", calls)
		}
	}
}

func resolve(name string) (string, error) { return "/" + strings.TrimPrefix(name, "/"), nil }

// newSet makes triggers on c with a pause of 10 s. If running is true, they run until the test
// ends.
func newSet(t *testing.T, c *fakeRecording, running bool, on map[Kind][]string) (*Set, *observer.ObservedLogs) {
	t.Helper()
	c.did = make(chan struct{}, 1)
	core, logs := observer.New(zapcore.WarnLevel)
	s, err := New(Options{On: on, Pause: 10 * time.Second, Span: time.Minute, Control: c, Resolve: resolve, Log: zap.New(core)})
	if err != nil {
		t.Fatal(err)
	}
	if running {
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		wg.Go(func() { s.Run(ctx) })
		t.Cleanup(func() {
			cancel()
			wg.Wait()
		})
	}
	return s, logs
}

func header(definition string) rosbag.Header {
	return rosbag.Header{{Key: "type", Value: "p/T"}, {Key: "md5sum", Value: "*"}, {Key: "message_definition", Value: definition}}
}

const xDefinition = "uint8 x\n"

// say sends messages with these values of x, one a second, starting at the given second. Their
// stamps run backwards: triggers use the time of receipt.
func say(l control.LinkWatcher, second int64, values ...byte) {
	for i, x := range values {
		at := time.Unix(second+int64(i), 0)
		l.Frames([]byte{1, 0, 0, 0, x}, 1, time.Unix(1_000_000-at.Unix(), 0), at)
	}
}

// TestEdges: a trigger fires when its expression turns true for a publisher, once within the pause.
func TestEdges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		a, b              []byte // of two publishers, each second
		want              []int64
		suppressed, fired uint64
	}{
		"turns true":            {a: []byte{0, 0, 1, 1, 1}, want: []int64{2}, fired: 1},
		"true from the start":   {a: []byte{1, 1, 0}, want: []int64{0}, fired: 1},
		"within the pause":      {a: []byte{1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0}, want: []int64{0}, fired: 1, suppressed: 2},
		"at the pause's end":    {a: []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, want: []int64{0, 10}, fired: 2},
		"true beyond a pause":   {a: []byte{1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1}, want: []int64{0}, fired: 1, suppressed: 1},
		"publishers do not mix": {a: []byte{1, 1, 1, 1}, b: []byte{0, 0, 0, 0}, want: []int64{0}, fired: 1},
		"the pause is common":   {a: []byte{1, 1}, b: []byte{0, 1}, want: []int64{0}, fired: 1, suppressed: 1},
		"never":                 {a: []byte{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := newSet(t, new(fakeRecording), false, map[Kind][]string{Mark: {`topic == "a" && m.x > 0`}})
			var fired []int64
			e := evaluator{log: zap.NewNop(), fire: func(act action) { fired = append(fired, act.received.Unix()) }}
			a, b := s.Open("/a", header(xDefinition)), s.Open("/a", header(xDefinition))
			for i := range test.a {
				say(a, int64(i), test.a[i])
				if i < len(test.b) {
					say(b, int64(i), test.b[i])
				}
			}
			evaluateAll(s, &e)
			if d := cmp.Diff(test.want, fired); d != "" {
				t.Errorf("fired at %v: %s", fired, d)
			}
			got := s.Triggers()[0]
			if got.Fired != test.fired || got.Suppressed != test.suppressed || got.Messages != uint64(len(test.a)+len(test.b)) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// evaluateAll evaluates all items of the queue.
func evaluateAll(s *Set, e *evaluator) {
	b := s.queue.swap(newBatch())
	for i := range b.items {
		e.item(&b.items[i], b.frame(i))
	}
}

// TestTopicsApart: an expression about two topics has an edge of its own for each topic.
func TestTopicsApart(t *testing.T) {
	t.Parallel()
	s, logs := newSet(t, new(fakeRecording), false, map[Kind][]string{Mark: {`topic == "/a" && m.x > 0 || topic == "/b" && m.y > 0`}})
	var fired []string
	e := evaluator{log: s.Log, fire: func(act action) { fired = append(fired, act.topic) }}
	a, b := s.Open("/a", header(xDefinition)), s.Open("/b", header("uint8 y\n"))
	say(a, 0, 1)
	say(b, 1, 0)
	say(a, 2, 1)
	say(b, 20, 1)
	say(a, 40, 1)
	evaluateAll(s, &e)
	if d := cmp.Diff([]string{"/a", "/b"}, fired); d != "" {
		t.Error(d)
	}
	if n := logs.Len(); n > 0 {
		t.Errorf("warnings: %v", logs.All())
	}
}

// TestActions: each kind does what it says, and records its cause.
func TestActions(t *testing.T) {
	t.Parallel()
	const text = `topic == "/a" && m.x > 0`
	for _, test := range []struct {
		kind  Kind
		state control.State
		want  []string
	}{
		{Snapshot, control.StateRecording, []string{"mark 7 snapshot-on: " + text + " (/a)", "snapshot 7"}},
		{Mark, control.StateRecording, []string{"mark 7 mark-on: " + text + " (/a)"}},
		{Pin, control.StateRecording, []string{"mark 7 pin-on: " + text + " (/a)", "pin 1m0s"}},
		{Start, control.StateStopped, []string{"start", "mark 7 start-on: " + text + " (/a)"}},
		{Start, control.StatePaused, []string{"resume", "mark 7 start-on: " + text + " (/a)"}},
		{Stop, control.StateRecording, []string{"mark 7 stop-on: " + text + " (/a)", "stop"}},
		{Stop, control.StateStopped, []string{"stop"}},
	} {
		t.Run(test.kind.String()+" "+test.state.String(), func(t *testing.T) {
			t.Parallel()
			c := &fakeRecording{state: test.state}
			s, _ := newSet(t, c, true, map[Kind][]string{test.kind: {"topic == \"/a\" \n && m.x > 0"}})
			say(s.Open("/a", header(xDefinition)), 7, 1)
			if d := cmp.Diff(test.want, c.all(t, len(test.want))); d != "" {
				t.Error(d)
			}
			if got := s.Triggers()[0]; got.Refused != 0 || got.Fired != 1 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestEnd: when no trigger can start another bag, the recording is ended, after the mark.
func TestEnd(t *testing.T) {
	t.Parallel()
	c := new(fakeRecording)
	s, _ := newSet(t, c, false, map[Kind][]string{Stop: {`topic == "/a"`}})
	s.End = func() { c.call("end") }
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { s.Run(ctx) })
	say(s.Open("/a", header(xDefinition)), 7, 1)
	if d := cmp.Diff([]string{`mark 7 stop-on: topic == "/a" (/a)`, "end"}, c.all(t, 2)); d != "" {
		t.Error(d)
	}
	cancel()
	wg.Wait()
}

// TestRefused: an action that the recording refuses is counted and logged.
func TestRefused(t *testing.T) {
	t.Parallel()
	c := &fakeRecording{err: control.ErrNoSnapshots}
	s, logs := newSet(t, c, true, map[Kind][]string{Snapshot: {`topic == "/a"`}})
	say(s.Open("/a", header(xDefinition)), 7, 1)
	c.all(t, 2)
	deadline := time.Now().Add(2 * time.Minute)
	for s.Triggers()[0].Refused == 0 && time.Now().Before(deadline) {
		<-time.After(time.Millisecond)
	}
	if got := s.Triggers()[0]; got.Refused != 1 || got.Fired != 1 {
		t.Errorf("%+v", got)
	}
	for logs.FilterMessage("the recording did not do what a trigger asked for").Len() != 1 && time.Now().Before(deadline) {
		<-time.After(time.Millisecond)
	}
	if logs.Len() != 1 {
		t.Errorf("log: %v", logs.All())
	}
}

// TestBusy: actions that cannot be queued are refused, and nothing waits for them.
func TestBusy(t *testing.T) {
	t.Parallel()
	s, _ := newSet(t, new(fakeRecording), false, map[Kind][]string{Mark: {`topic == "/a"`}})
	a := newActor(&s.Options) // no goroutine carries out actions
	for range mostWaiting + 3 {
		a.fire(action{rule: s.rules[0], topic: "/a"})
	}
	if got := s.Triggers()[0].Refused; got != 3 {
		t.Errorf("%d refused", got)
	}
}

// TestAbandoned: actions that wait when everything ends are counted.
func TestAbandoned(t *testing.T) {
	t.Parallel()
	c := &fakeRecording{starting: make(chan struct{})}
	s, _ := newSet(t, c, false, map[Kind][]string{Start: {`topic == "/a" && m.x > 0`}})
	s.rules[0].pause.length = 0
	c.state = control.StateStopped
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { s.Run(ctx) })
	say(s.Open("/a", header(xDefinition)), 7, 1, 0, 1, 0, 1)
	<-c.starting // and Start continues until ctx is done
	deadline := time.Now().Add(2 * time.Minute)
	for s.Triggers()[0].Messages < 5 && time.Now().Before(deadline) {
		<-time.After(time.Millisecond)
	}
	cancel()
	wg.Wait()
	if got := s.Triggers()[0]; got.Fired != 3 || got.Refused != 2 {
		t.Errorf("%+v", got)
	}
}

// TestSuppressedStart: a start or stop that the pause suppresses is logged the first time.
func TestSuppressedStart(t *testing.T) {
	t.Parallel()
	for kind, want := range map[Kind]int{Mark: 0, Start: 1, Stop: 1} {
		s, logs := newSet(t, new(fakeRecording), false, map[Kind][]string{kind: {`topic == "/a" && m.x > 0`}})
		e := evaluator{log: s.Log, fire: func(action) {}}
		say(s.Open("/a", header(xDefinition)), 0, 1, 0, 1, 0, 1)
		evaluateAll(s, &e)
		if n := logs.FilterMessageSnippet("did not start or stop the recording").Len(); n != want || logs.Len() != want {
			t.Errorf("%s: told %d times: %v", kind, n, logs.All())
		}
		if got := s.Triggers()[0].Suppressed; got != 2 {
			t.Errorf("%s: %d suppressed", kind, got)
		}
	}
}

// TestQueueIsBounded: messages beyond the limits of messages and of bytes are counted, and the
// first is logged.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"messages": 1, "bytes": 100 << 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, logs := newSet(t, new(fakeRecording), false, map[Kind][]string{Mark: {`topic == "/a"`}})
			l := s.Open("/a", header("uint8[] x\n"))
			frame := append(binary.LittleEndian.AppendUint32(nil, uint32(size)), make([]byte, size)...)
			run := slices.Repeat(frame, 3)
			const runs = batchItems
			for range runs {
				l.Frames(run, 3, time.Now(), time.Now())
			}
			l.Skipped(2)
			b := s.queue.swap(newBatch())
			kept := len(b.items) - 1 // without the item of the link
			if kept+1 > batchItems || len(b.bytes) > batchBytes || kept < min(batchItems, batchBytes/(size+4))-1 {
				t.Errorf("%d messages, %d bytes wait", kept, len(b.bytes))
			}
			if got := s.Triggers()[0].Skipped; got != uint64(3*runs+2-kept) {
				t.Errorf("%d skipped, %d kept", got, kept)
			}
			for i := range b.items[1:] {
				if got := b.frame(i + 1); len(got) != len(frame) {
					t.Fatalf("frame of %d bytes", len(got))
				}
			}
			if n := logs.FilterMessageSnippet("does not look at all messages").Len(); n != 1 {
				t.Errorf("told %d times", n)
			}
		})
	}
}

// TestFrameAllocations: a watched message costs the link no allocation, whether it is queued or
// not. It is not parallel: allocations of other tests would count.
func TestFrameAllocations(t *testing.T) { // not parallel: it counts allocations
	s, _ := newSet(t, new(fakeRecording), false, map[Kind][]string{Mark: {`topic == "/a"`}})
	l := s.Open("/a", header(xDefinition))
	now := time.Now()
	run := []byte{1, 0, 0, 0, 1, 1, 0, 0, 0, 1}
	b := newBatch()
	if n := testing.AllocsPerRun(1000, func() { l.Frames(run, 2, now, now) }); n != 0 {
		t.Errorf("%v allocations a run", n)
	}
	if n := testing.AllocsPerRun(1000, func() {
		b = s.queue.swap(b)
		b.reset()
		l.Frames(run, 2, now, now)
	}); n != 0 {
		t.Errorf("%v allocations a run with an exchange", n)
	}
	for range batchItems {
		l.Frames(run, 2, now, now)
	}
	if n := testing.AllocsPerRun(1000, func() { l.Frames(run, 2, now, now) }); n != 0 {
		t.Errorf("%v allocations a run that is skipped", n)
	}
}

// TestProblems: missing fields and failed evaluations are logged once, and errors are counted.
func TestProblems(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		expr       string
		definition string
		messages   int // for each of two publishers
		want       string
		errors     uint64
	}{
		"known before a message": {expr: `topic == "/a" && m.y > 0`, definition: xDefinition, want: `p/T has no field "y": it has x`},
		"told once":              {expr: `topic == "/a" && m.y > 0`, definition: xDefinition, messages: 3, want: `p/T has no field "y": it has x`},
		"found at a message":     {expr: `topic == "/a" && m.y > 0 || topic == "/other" && m.z > 0`, definition: xDefinition, messages: 3, want: `p/T has no field "y": it has x`},
		"of elements":            {expr: `topic == "/a" && any(m.s, {.level >= 2})`, definition: "S[] s\n" + strings.Repeat("=", 80) + "\nMSG: p/S\nuint8 lvl\n", messages: 1, want: `p/S has no field "level": it has lvl`},
		"wrong comparison":       {expr: `topic == "/a" && m.x > "b"`, definition: xDefinition, messages: 3, want: "invalid operation", errors: 6},
		"no definition":          {expr: `topic == "/a" && m.x > 0`, messages: 2, want: "no message definition", errors: 4},
		"too much memory":        {expr: `topic == "/a" && repeat(topic + type, 1000000) != ""`, definition: xDefinition, messages: 3, want: "4 MiB of memory", errors: 6},
		"too many steps":         {expr: `let r = 1..5000; topic == "/a" && all(r, all(r, # > 0))`, definition: xDefinition, messages: 1, want: "too many steps", errors: 2},
		"nothing":                {expr: `topic == "/a" && m.x > 0`, definition: xDefinition, messages: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, logs := newSet(t, new(fakeRecording), false, map[Kind][]string{Mark: {test.expr}})
			e := evaluator{log: s.Log, fire: func(action) {}}
			for range 2 {
				l := s.Open("/a", header(test.definition))
				for range test.messages {
					l.Frames([]byte{4, 0, 0, 0, 0, 0, 0, 0}, 1, time.Now(), time.Now())
				}
			}
			evaluateAll(s, &e)
			switch entries := logs.All(); {
			case test.want == "" && len(entries) == 0:
			case len(entries) != 1:
				t.Errorf("told %v", entries)
			default:
				fields := entries[0].ContextMap()
				if said := fmt.Sprint(fields["reason"], fields["error"]); !strings.Contains(said, test.want) || fields["option"] != "--mark-on" || fields["topic"] != "/a" {
					t.Errorf("%v, want %s", fields, test.want)
				}
			}
			if got := s.Triggers()[0].Errors; got != test.errors {
				t.Errorf("%d errors", got)
			}
		})
	}
}

// TestSilentTopics: topics without a message are in the account.
func TestSilentTopics(t *testing.T) {
	t.Parallel()
	s, _ := newSet(t, new(fakeRecording), false, map[Kind][]string{Pin: {`topic in ["/b", "c", "/a"]`}, Mark: {`topic == "/c"`}})
	if d := cmp.Diff([]topicname.InGraph{"/a", "/b", "/c"}, s.Topics()); d != "" {
		t.Error(d)
	}
	say(s.Open("/b", header(xDefinition)), 0, 1)
	s.Open("/a", header(xDefinition)).Skipped(1)
	for _, got := range s.Triggers() {
		if d := cmp.Diff([]string{"/c"}, got.Silent); d != "" {
			t.Errorf("%s: %s", got.Option, d)
		}
	}
}

// TestCause: the text of a mark is one line that fits.
func TestCause(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`topic  ==
	"/a"`, `topic == "/` + strings.Repeat("ä", 3000) + `"`} {
		act := action{rule: &rule{kind: Pin, text: text}, topic: "/a"}
		got, err := note.CheckMark(act.cause())
		if err != nil || !strings.HasPrefix(got, `pin-on: topic == "/`) || !strings.HasSuffix(got, " (/a)") {
			t.Errorf("%.60q, %v", got, err)
		}
	}
}

func TestNewErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{`m.x > 1`: "--stop-on: the expression names no topic", `topic = 1`: "--stop-on: 1:"} {
		_, err := New(Options{On: map[Kind][]string{Stop: {text}}, Resolve: resolve})
		if !errors.Is(err, expr.ErrExpression) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
