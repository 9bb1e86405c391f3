package rosctl_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/internal/face/rosctl"
	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/tcpros/master"
)

// program has some commands, and writes down what it is told.
type program struct {
	mu   sync.Mutex
	told []string
	next chan struct{}
}

func (p *program) calls() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.told)
}

// note returns a command that notes its parameter.
func (p *program) note(name string) func(context.Context, command.Params) (command.Result, error) {
	return func(_ context.Context, given command.Params) (command.Result, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		call := name
		for _, v := range given {
			call += fmt.Sprint(" ", v)
		}
		p.told = append(p.told, call)
		close(p.next)
		p.next = make(chan struct{})
		return command.Result{Text: "did " + call}, nil
	}
}

func (p *program) commands() []command.Command {
	param := func(kind command.Type) []command.Param { return []command.Param{{Name: "x", Kind: kind}} }
	return []command.Command{
		{Service: "toggle", Do: p.note("toggle")},
		{Service: "lamp", Params: param(command.Bool), Do: p.note("lamp")},
		{Service: "refuse", Do: func(context.Context, command.Params) (command.Result, error) {
			return command.Result{Text: "not told"}, command.Refused(command.NoChange, "there is nothing to do")
		}},
		{Service: "is_on", Query: true, Do: p.note("is_on")},
		{Service: "count", Topic: "count", Params: param(command.Text), Do: p.note("count")},
		{Topic: "number", Params: param(command.Number), Do: p.note("number")},
		{Topic: "level", Params: param(command.Number), Do: p.note("level")},
		{Topic: "burst", Params: param(command.Count), Do: p.note("burst")},
		{Topic: "time", Params: param(command.Time), Do: p.note("time")},
		{HTTP: "elsewhere", Do: p.note("elsewhere")},
	}
}

func (p *program) status(node string) (time.Time, []stdmsg.DiagnosticStatus) {
	return time.Unix(1234, 0), []stdmsg.DiagnosticStatus{{Name: node + ": calls", Message: fmt.Sprint(p.calls())}}
}

func (p *program) changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.next
}

// world is a master, a program's node that is served, and a node of somebody else.
type world struct {
	t       *testing.T
	uri     string
	program *program
	node    *tcpros.Node
	other   *tcpros.Node
	log     *observer.ObservedLogs
}

func serve(t *testing.T) *world {
	t.Helper()
	m, err := master.New(t.Context(), master.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	w := &world{t: t, uri: m.URI(), program: &program{next: make(chan struct{})}}
	w.node, w.other = w.newNode("prog"), w.newNode("other")
	core, logs := observer.New(zap.InfoLevel)
	w.log = logs
	s, err := rosctl.Serve(rosctl.Options{
		Node: w.node, Log: zap.New(core), Commands: w.program.commands(), KnownBy: "toggle", Status: w.program.status, Changed: w.program.changed,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return w
}

func (w *world) newNode(name string) *tcpros.Node {
	w.t.Helper()
	n, err := tcpros.NewNode(w.t.Context(), tcpros.NodeOptions{BaseName: name, MasterURI: w.uri, Getenv: func(string) string { return "" }})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = n.Close(ctx)
	})
	return n
}

// eventually waits for a condition.
func (w *world) eventually(what string, ok func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !ok() {
		select {
		case <-again.C:
		case <-ctx.Done():
			w.t.Fatalf("never: %s; the program was told %v", what, w.program.calls())
		}
	}
}

// call calls a service of the program as soon as it is there.
func (w *world) call(name string, typ tcpros.ServiceType, request []byte) string {
	w.t.Helper()
	var answer []byte
	w.eventually("answer of "+name, func() bool {
		var err error
		answer, err = w.other.CallService(w.t.Context(), "/prog/"+name, typ, request)
		return err == nil
	})
	o, err := stdmsg.DecodeOutcome(answer)
	if err != nil {
		w.t.Fatal(err)
	}
	return fmt.Sprint(o.Success, ": ", o.Message)
}

// TestServices: a command is a service, whose type follows from its parameters.
func TestServices(t *testing.T) {
	t.Parallel()
	w := serve(t)
	for _, step := range []struct {
		service string
		request []byte // nil for std_srvs/Trigger
		want    string
	}{
		{"toggle", nil, "true: did toggle"},
		{"lamp", stdmsg.EncodeBool(true), "true: did lamp true"},
		{"lamp", stdmsg.EncodeBool(false), "true: did lamp false"},
		{"refuse", nil, "false: there is nothing to do"},
		{"is_on", nil, "true: did is_on"},
		{"count", nil, "true: did count"},
	} {
		typ := tcpros.TriggerService
		if step.request != nil {
			typ = tcpros.SetBoolService
		}
		if got := w.call(step.service, typ, step.request); got != step.want {
			t.Errorf("~%s answers %q, want %q", step.service, got, step.want)
		}
	}
	if n := w.log.FilterMessage("service call").Len(); n != 5 {
		t.Errorf("%d calls are in the log, want 5: all but the query", n)
	}
	for _, name := range []string{"elsewhere", "number"} {
		if _, err := w.other.Master().LookupService(t.Context(), "/prog/"+name); err == nil {
			t.Errorf("%s is a service", name)
		}
	}
}

// TestMalformedRequests: a request that is not one of its type is refused, and nothing is done.
func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	w := serve(t)
	if got := w.call("toggle", tcpros.TriggerService, nil); got != "true: did toggle" {
		t.Error(got)
	}
	done := len(w.program.calls())
	for _, bad := range []struct {
		service string
		typ     tcpros.ServiceType
		request []byte
	}{
		{"toggle", tcpros.TriggerService, make([]byte, 50)},
		{"toggle", tcpros.TriggerService, make([]byte, 1)},
		{"is_on", tcpros.TriggerService, make([]byte, 50)},
		{"lamp", tcpros.SetBoolService, nil},
		{"lamp", tcpros.SetBoolService, make([]byte, 2)},
	} {
		var err error
		w.eventually("answer of "+bad.service, func() bool {
			_, err = w.other.CallService(t.Context(), "/prog/"+bad.service, bad.typ, bad.request)
			return err == nil || errors.Is(err, tcpros.ErrService)
		})
		if err == nil {
			t.Errorf("~%s took a request of %d bytes", bad.service, len(bad.request))
		}
	}
	if all := w.program.calls(); len(all) != done {
		t.Errorf("done: %v", all[done:])
	}
}

// publish sends frames to a command topic of the program.
func (w *world) publish(topic, typ, md5 string, frames ...[]byte) {
	w.t.Helper()
	p, err := w.other.Advertise(tcpros.AdvertiseOptions{Topic: "/prog/" + topic, Type: typ, MD5Sum: md5})
	if err != nil {
		w.t.Fatal(err)
	}
	w.eventually("the program listens", func() bool { return p.Subscribers() > 0 })
	to := p.Source(false)
	for _, f := range frames {
		to.Publish(f)
	}
}

const (
	float, floatMD5 = "std_msgs/Float64", "fdb28210bfa9d7c91146260178d9a584"
	text, textMD5   = "std_msgs/String", "992ce8a1687cec8c8bd883ec73ca41d1"
)

func frame(payload []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}

func float64Frame(f float64) []byte {
	return frame(binary.LittleEndian.AppendUint64(nil, math.Float64bits(f)))
}

func pairFrame(a, b uint32) []byte {
	return frame(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, a), b))
}

// TestTopics: a topic carries the parameter of a command. What is none is refused.
func TestTopics(t *testing.T) {
	t.Parallel()
	w := serve(t)
	var want []string
	expect := func(calls ...string) {
		t.Helper()
		want = append(want, calls...)
		w.eventually("the last command", func() bool { return len(w.program.calls()) >= len(want) })
		if got := w.program.calls(); !slices.Equal(got, want) {
			t.Errorf("the program was told\n%q, want\n%q", got, want)
		}
	}
	w.publish("number", float, floatMD5, float64Frame(3.5), float64Frame(-1), float64Frame(math.NaN()), float64Frame(math.Inf(1)), float64Frame(1e300))
	expect("number 3.5", "number -1", "number +Inf", "number 1e+300") // NaN is no number
	w.publish("time", "std_msgs/Time", "cd7166c74c552c311fbcc2fe5a7bc289", pairFrame(1004, 500_000_000), pairFrame(0, 0))
	expect("time "+fmt.Sprint(rosbag.Time{Sec: 1004, Nsec: 500_000_000}), "time "+fmt.Sprint(rosbag.Time{}))
	w.publish("burst", "std_msgs/UInt32", "304a39449588c7f8ce2df6e8001c5fce", frame([]byte{0, 0, 0, 0}), frame([]byte{5, 0, 0, 0}), frame([]byte{255, 255, 255, 255}))
	expect("burst 5", "burst 2147483647") // none is no count
	w.publish("count", text, textMD5, frame(frame([]byte("door open"))), frame([]byte{9, 0, 0, 0, 'x'}), frame(frame(nil)))
	expect("count door open", "count ")
}

// TestHostileNumbers: what is no number is refused, and however much comes, the log stays
// short.
func TestHostileNumbers(t *testing.T) {
	t.Parallel()
	w := serve(t)
	flood := slices.Repeat([][]byte{frame([]byte{1, 2, 3})}, 2000)
	flood = append(flood, float64Frame(1))
	start := time.Now()
	w.publish("number", float, floatMD5, flood...)
	w.eventually("the good one", func() bool { return slices.Equal(w.program.calls(), []string{"number 1"}) })
	n := w.log.FilterMessage("no std_msgs/Float64").Len()
	if most := 2 + int(time.Since(start)/loglimit.Interval); n == 0 || n > most {
		t.Errorf("%d lines for 2000 messages", n)
	}
	w.publish("level", float, floatMD5, frame(make([]byte, 9)), float64Frame(2))
	w.eventually("the large one is passed over", func() bool { return slices.Contains(w.program.calls(), "level 2") })
}

// TestManyCalls: however many calls and commands come, the log stays short.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	w := serve(t)
	const calls = 300
	start := time.Now()
	for range calls {
		w.call("toggle", tcpros.TriggerService, nil)
	}
	w.publish("number", float, floatMD5, slices.Repeat([][]byte{float64Frame(1)}, calls)...)
	w.eventually("the last command", func() bool { return len(w.program.calls()) == 2*calls })
	for _, kind := range []string{"service call", "command"} {
		n := w.log.FilterMessage(kind).Len()
		if most := 20 + int(time.Since(start)/loglimit.Interval); n < 20 || n > most {
			t.Errorf("%d lines of %d: %s", n, calls, kind)
		}
	}
}

// TestNoCommandsToItself: a player that publishes a bag with commands of its own past does not
// follow them.
func TestNoCommandsToItself(t *testing.T) {
	t.Parallel()
	w := serve(t)
	own, err := w.node.Advertise(tcpros.AdvertiseOptions{Topic: "~number", Type: float, MD5Sum: floatMD5, Latching: true})
	if err != nil {
		t.Fatal(err)
	}
	own.Source(true).Publish(float64Frame(1))
	w.publish("number", float, floatMD5, float64Frame(2))
	w.eventually("a command", func() bool { return len(w.program.calls()) > 0 })
	if got := w.program.calls(); !slices.Equal(got, []string{"number 2"}) {
		t.Errorf("the program was told %q", got)
	}
}

// TestPatience: a call gives up after ten seconds, but for a command that takes as long as the
// user has said.
func TestPatience(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		patient bool
		takes   time.Duration
		want    string
	}{
		"in time": {false, 9 * time.Second, "true: done"},
		"late":    {false, 11 * time.Second, "false: not done within 10s: it will be, after the messages that wait for the disk"},
		"patient": {true, time.Hour, "true: done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := rosctl.Call(t.Context(), &command.Command{Patient: tc.patient, Do: func(ctx context.Context, _ command.Params) (command.Result, error) {
					select {
					case <-time.After(tc.takes):
						return command.Result{Text: "done"}, nil
					case <-ctx.Done():
						return command.Result{}, ctx.Err()
					}
				}}, nil)
				if got := fmt.Sprint(o.Success, ": ", o.Message); got != tc.want {
					t.Errorf("%q, want %q", got, tc.want)
				}
			})
		})
	}
}

// statusSink collects the status of a program. It implements tcpros.LinkSink.
type statusSink struct {
	mu     sync.Mutex
	frames [][]byte
}

func (s *statusSink) Frames(run []byte, count int, _ time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range count {
		size := 4 + int(binary.LittleEndian.Uint32(run))
		s.frames = append(s.frames, bytes.Clone(run[:size]))
		run = run[size:]
	}
}
func (s *statusSink) Closed(error) {}

func (s *statusSink) last() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.frames) == 0 {
		return nil
	}
	return s.frames[len(s.frames)-1]
}

// shown is what ROS's tools see of a status.
type shown struct {
	Header struct{ Seq uint32 }
	Status []struct{ Name, Message string }
}

func show(frame []byte) (s shown, err error) {
	if frame == nil {
		return s, errors.New("there is no status")
	}
	typ, err := rosmsg.Parse(stdmsg.DiagnosticArrayType, stdmsg.DiagnosticArrayDefinition)
	if err != nil {
		return s, err
	}
	text, err := typ.AppendJSON(nil, frame[4:])
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(text, &s)
}

// TestStatusTopic: a late subscriber gets the status at once, and each change.
func TestStatusTopic(t *testing.T) {
	t.Parallel()
	w := serve(t)
	sink := &statusSink{}
	_, err := w.other.Subscribe(tcpros.SubscribeOptions{
		Topic: "/prog/status", Type: stdmsg.DiagnosticArrayType, MD5Sum: stdmsg.DiagnosticArrayMD5Sum(),
		Open: func(tcpros.LinkInfo) (tcpros.LinkSink, error) { return sink, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	shows := func(want string) func() bool {
		return func() bool {
			s, err := show(sink.last())
			return err == nil && s.Status[0].Name == "/prog: calls" && s.Status[0].Message == want
		}
	}
	w.eventually("a status", shows("[]"))
	first, _ := show(sink.last())
	if _, err := w.other.Master().LookupService(t.Context(), "/prog/toggle"); err != nil {
		t.Errorf("the status is there before the service that tells whose it is: %v", err)
	}
	w.call("toggle", tcpros.TriggerService, nil)
	w.eventually("the change", shows("[toggle]"))
	if next, _ := show(sink.last()); next.Header.Seq <= first.Header.Seq {
		t.Errorf("numbers %d, %d", first.Header.Seq, next.Header.Seq)
	}
}
