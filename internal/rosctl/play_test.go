package rosctl

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/tcpros/master"
)

// steered is a player of which only the words are there. It writes down what it is told.
type steered struct {
	mu     sync.Mutex
	s      control.Status
	topics []control.TopicStats
	last   bool // there is no message left
	told   []string
	next   chan struct{}
}

func newSteered() *steered {
	return &steered{
		s:    control.Status{Phase: control.PhasePlay, Rate: 1, Position: 2 * time.Second, Length: 10 * time.Second, BagTime: rosbag.Time{Sec: 1002}},
		next: make(chan struct{}),
	}
}

// did notes a call and does it.
func (c *steered) did(what string, do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(c.told, what)
	do()
	close(c.next)
	c.next = make(chan struct{})
}

func (c *steered) calls() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.told)
}

func (c *steered) setPaused(what string, paused bool) (changed bool) {
	c.did(what, func() { changed, c.s.Paused = c.s.Paused != paused, paused })
	return changed
}

func (c *steered) Pause() bool  { return c.setPaused("pause", true) }
func (c *steered) Resume() bool { return c.setPaused("resume", false) }
func (c *steered) Toggle() (paused bool) {
	c.did("toggle", func() { c.s.Paused = !c.s.Paused; paused = c.s.Paused })
	return paused
}

func (c *steered) advance(what string) (ok bool) {
	c.did(what, func() { ok = c.s.Paused && !c.last })
	return ok
}
func (c *steered) Step() bool            { return c.advance("step") }
func (c *steered) StepBack() bool        { return c.advance("step back") }
func (c *steered) Burst(n int) bool      { return c.advance(fmt.Sprint("burst ", n)) }
func (c *steered) Seek(to time.Duration) { c.did(fmt.Sprint("seek ", to), func() {}) }
func (c *steered) SetRate(rate float64) (err error) {
	c.did(fmt.Sprint("rate ", rate), func() {
		if !(rate > 0) {
			err = errors.New("must be positive")
		}
	})
	return err
}
func (c *steered) SetLoop(on bool) { c.did(fmt.Sprint("loop ", on), func() { c.s.Loop = on }) }
func (c *steered) SetMarks(from, to time.Duration) error {
	c.did(fmt.Sprint("marks ", from, " ", to), func() { c.s.MarkFrom, c.s.MarkTo = from, to })
	return nil
}

func (c *steered) Bookmark() (at time.Duration, err error) {
	c.did("bookmark", func() {
		if at = c.s.Position; c.last {
			err = control.ErrBookmarks
		}
	})
	return at, err
}

func (c *steered) PauseOnTopics(on bool)       { c.did(fmt.Sprint("pause on topics ", on), func() {}) }
func (c *steered) SetTopic(string, bool) error { return nil }
func (c *steered) Stop()                       { c.did("stop", func() { c.s.Phase = control.PhaseDone }) }
func (c *steered) Density(int) []uint64        { return nil }
func (c *steered) Status() control.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.s
}

func (c *steered) Stats() control.Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return control.Stats{Status: c.s, Topics: slices.Clone(c.topics)}
}

func (c *steered) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}

// world is a master, a player's node that is served, and a node of somebody else.
type world struct {
	t       *testing.T
	uri     string
	control *steered
	node    *tcpros.Node
	other   *tcpros.Node
	log     *observer.ObservedLogs
}

func servePlay(t *testing.T) *world {
	t.Helper()
	m, err := master.New(t.Context(), master.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	w := &world{t: t, uri: m.URI(), control: newSteered()}
	w.node, w.other = w.newNode("player"), w.newNode("other")
	core, logs := observer.New(zap.InfoLevel)
	w.log = logs
	s, err := ServePlay(PlayOptions{Node: w.node, Control: w.control, Log: zap.New(core)})
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
			w.t.Fatalf("never: %s; the player was told %v", what, w.control.calls())
		}
	}
}

// call calls a service of the player as soon as it is there.
func (w *world) call(name string, typ tcpros.ServiceType, request []byte) string {
	w.t.Helper()
	var answer []byte
	w.eventually("answer of "+name, func() bool {
		var err error
		answer, err = w.other.CallService(w.t.Context(), "/player/"+name, typ, request)
		return err == nil
	})
	o, err := tcpros.DecodeOutcome(answer)
	if err != nil {
		w.t.Fatal(err)
	}
	return fmt.Sprint(o.Success, ": ", o.Message)
}

func TestPlayServices(t *testing.T) {
	t.Parallel()
	w := servePlay(t)
	on, off := tcpros.EncodeBool(true), tcpros.EncodeBool(false)
	const at = " at 2.000 s of 10.000 s"
	for _, step := range []struct {
		service string
		request []byte
		want    string
	}{
		{"is_paused", nil, "false: playing" + at},
		{"step", nil, "false: play is not paused: ~pause comes first"},
		{"pause_playback", on, "true: Playback is now paused"},
		{"pause_playback", on, "false: Bag is already paused."},
		{"pause_playback", off, "true: Playback is now resumed"},
		{"pause_playback", off, "false: Bag is already running."},
		{"play", nil, "true: already playing"},
		{"pause", nil, "true: paused" + at},
		{"pause", nil, "true: already paused" + at},
		{"is_paused", nil, "true: paused" + at},
		{"step", nil, "true: one message on from 2.000 s"},
		{"step_back", nil, "true: one message back from 2.000 s"},
		{"play", nil, "true: playing" + at},
		{"toggle", nil, "true: paused" + at},
		{"toggle", nil, "true: playing" + at},
		{"mark_from", nil, "true: ~loop goes from 2.000 s to 10.000 s"},
		{"mark_to", nil, "true: ~loop goes from 0.000 s to 2.000 s"},
		{"loop", on, "true: looping from 0.000 s to 2.000 s"},
		{"loop", off, "true: not looping"},
		{"bookmark", nil, "true: bookmark at 2.000 s"},
		{"pause_on_topics", on, "false: there are no topics to pause on: goplay was started without --pause-topics"},
		{"pause_on_topics", off, "true: not pausing on topics"},
		{"stop", nil, "true: stopped" + at},
	} {
		typ := tcpros.TriggerService
		if step.request != nil {
			typ = tcpros.SetBoolService
		}
		if got := w.call(step.service, typ, step.request); got != step.want {
			t.Errorf("~%s answers %q, want %q", step.service, got, step.want)
		}
	}
	w.control.Pause()
	w.control.did("end", func() { w.control.last = true })
	if got := w.call("step", tcpros.TriggerService, nil); got != "false: there is no message to go to" {
		t.Errorf("at the end: %q", got)
	}
	w.control.Resume()
	w.control.did("end", func() { w.control.s.Phase = control.PhaseKeepAlive })
	const end = "all is published at 2.000 s of 10.000 s"
	for _, step := range []struct{ service, want string }{
		{"is_paused", "false: " + end},
		{"play", "true: " + end},
		{"pause", "true: paused" + at},
		{"is_paused", "true: paused" + at},
		{"play", "true: " + end},
		{"toggle", "true: paused" + at},
		{"toggle", "true: " + end},
	} {
		if got := w.call(step.service, tcpros.TriggerService, nil); got != step.want {
			t.Errorf("when everything is published ~%s answers %q, want %q", step.service, got, step.want)
		}
	}
	if got := w.call("bookmark", tcpros.TriggerService, nil); got != "false: there are 1000 bookmarks already, and no more can be set" {
		t.Errorf("with too many bookmarks: %q", got)
	}
}

// publish sends frames to a command topic of the player.
func (w *world) publish(topic, typ, md5 string, frames ...[]byte) {
	w.t.Helper()
	p, err := w.other.Advertise(tcpros.AdvertiseOptions{Topic: "/player/" + topic, Type: typ, MD5Sum: md5})
	if err != nil {
		w.t.Fatal(err)
	}
	w.eventually("the player listens", func() bool { return p.Subscribers() > 0 })
	to := p.Source(false)
	for _, f := range frames {
		to.Publish(f)
	}
}

func frame(payload []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}

func float64Frame(f float64) []byte {
	return frame(binary.LittleEndian.AppendUint64(nil, math.Float64bits(f)))
}

func pairFrame(a, b uint32) []byte {
	return frame(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, a), b))
}

func TestPlayNumbers(t *testing.T) {
	t.Parallel()
	w := servePlay(t)
	w.control.did("pause", func() { w.control.s.Paused = true })
	const float, floatMD5 = "std_msgs/Float64", "fdb28210bfa9d7c91146260178d9a584"
	w.publish("seek", float, floatMD5, float64Frame(3.5), float64Frame(-1), float64Frame(math.NaN()), float64Frame(math.Inf(1)), float64Frame(math.Inf(-1)), float64Frame(1e300))
	w.eventually("the last seek", func() bool { return len(w.control.calls()) == 6 })
	w.publish("seek_to", "std_msgs/Time", "cd7166c74c552c311fbcc2fe5a7bc289", pairFrame(1004, 500_000_000), pairFrame(0, 0), pairFrame(math.MaxUint32, math.MaxUint32))
	w.eventually("the last seek to a time", func() bool { return len(w.control.calls()) == 9 })
	w.publish("set_rate", float, floatMD5, float64Frame(2), float64Frame(-1))
	w.eventually("the last rate", func() bool { return len(w.control.calls()) == 11 })
	w.publish("burst", "std_msgs/UInt32", "304a39449588c7f8ce2df6e8001c5fce", frame([]byte{0, 0, 0, 0}), frame([]byte{5, 0, 0, 0}), frame([]byte{255, 255, 255, 255}))
	w.eventually("the last burst", func() bool { return len(w.control.calls()) == 13 })
	want := []string{
		"pause", "seek 3.5s", "seek 9s", "seek 10s", "seek 0s", "seek 10s", // NaN is no place
		"seek 4.5s", "seek 0s", "seek 10s", "rate 2", "rate -1", "burst 5", "burst 2147483647",
	}
	if got := w.control.calls(); !slices.Equal(got, want) {
		t.Errorf("the player was told\n%q, want\n%q", got, want)
	}
}

// TestHostileNumbers: what is no number is refused, and however much comes, the log stays
// short.
func TestHostileNumbers(t *testing.T) {
	t.Parallel()
	w := servePlay(t)
	flood := slices.Repeat([][]byte{frame([]byte{1, 2, 3})}, 2000)
	flood = append(flood, float64Frame(1))
	start := time.Now()
	w.publish("seek", "std_msgs/Float64", "fdb28210bfa9d7c91146260178d9a584", flood...)
	w.eventually("the good one", func() bool { return slices.Equal(w.control.calls(), []string{"seek 1s"}) })
	n := w.log.FilterMessage("no std_msgs/Float64").Len()
	if most := 2 + int(time.Since(start)/loglimit.Interval); n == 0 || n > most {
		t.Errorf("%d lines for 2000 messages", n)
	}
	w.publish("set_rate", "std_msgs/Float64", "fdb28210bfa9d7c91146260178d9a584", frame(make([]byte, 9)), float64Frame(1))
	w.eventually("the large one is passed over", func() bool { return slices.Contains(w.control.calls(), "rate 1") })
}

// TestManyCalls: however many calls and commands come, the log stays short.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	w := servePlay(t)
	const calls = 300
	start := time.Now()
	for range calls {
		w.call("toggle", tcpros.TriggerService, nil)
	}
	w.publish("seek", "std_msgs/Float64", "fdb28210bfa9d7c91146260178d9a584", slices.Repeat([][]byte{float64Frame(1)}, calls)...)
	w.eventually("the last seek", func() bool { return len(w.control.calls()) == 2*calls })
	for _, kind := range []string{"service call", "command"} {
		n := w.log.FilterMessage(kind).Len()
		if most := 20 + int(time.Since(start)/loglimit.Interval); n < 20 || n > most {
			t.Errorf("%d lines of %d: %s", n, calls, kind)
		}
	}
}

// TestNoCommandsToItself: the player that publishes a bag with commands of its own past
// does not follow them.
func TestNoCommandsToItself(t *testing.T) {
	t.Parallel()
	w := servePlay(t)
	own, err := w.node.Advertise(tcpros.AdvertiseOptions{Topic: "~seek", Type: "std_msgs/Float64", MD5Sum: "fdb28210bfa9d7c91146260178d9a584", Latching: true})
	if err != nil {
		t.Fatal(err)
	}
	own.Source(true).Publish(float64Frame(1))
	w.publish("seek", "std_msgs/Float64", "fdb28210bfa9d7c91146260178d9a584", float64Frame(2))
	w.eventually("a seek", func() bool { return len(w.control.calls()) > 0 })
	if got := w.control.calls(); !slices.Equal(got, []string{"seek 2s"}) {
		t.Errorf("the player was told %q", got)
	}
}

// statusSink collects the status of a player. It implements tcpros.LinkSink.
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
func (s *statusSink) Large(int) tcpros.LargeFrame { return nil }
func (s *statusSink) Closed(error)                {}

func (s *statusSink) last() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.frames) == 0 {
		return nil
	}
	return s.frames[len(s.frames)-1]
}

// TestPlayStatusTopic: a late subscriber gets the status at once, and each change.
func TestPlayStatusTopic(t *testing.T) {
	t.Parallel()
	w := servePlay(t)
	sink := &statusSink{}
	_, err := w.other.Subscribe(tcpros.SubscribeOptions{
		Topic: "/player/status", Type: tcpros.DiagnosticArrayType, MD5Sum: tcpros.DiagnosticArrayMD5Sum,
		Open: func(tcpros.LinkInfo) (tcpros.LinkSink, error) { return sink, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	message := func() string {
		if f := sink.last(); f != nil {
			return show(t, f).Status[0].Message
		}
		return ""
	}
	w.eventually("a status", func() bool { return message() == "playing at 2.000 s of 10.000 s" })
	w.control.Pause()
	w.eventually("the change", func() bool { return message() == "paused at 2.000 s of 10.000 s" })
	if _, err := w.other.Master().LookupService(t.Context(), "/player/pause_playback"); err != nil {
		t.Errorf("the status is there before the service that tells whose it is: %v", err)
	}
}
