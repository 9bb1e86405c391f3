package player_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/tcpros/master"
)

// timeout bounds a wait for something that should come at once.
const timeout = time.Minute

// world is a master with a player's node.
type world struct {
	t      *testing.T
	master *master.Master
	node   *tcpros.Node
}

func newWorld(t *testing.T) *world {
	t.Helper()
	m, err := master.New(t.Context(), master.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	w := &world{t: t, master: m}
	w.node = w.newNode("play")
	return w
}

func (w *world) newNode(name string) *tcpros.Node {
	w.t.Helper()
	n, err := tcpros.NewNode(w.t.Context(), tcpros.NodeOptions{
		BaseName: name, MasterURI: w.master.URI(), Bind: "127.0.0.1",
		Getenv: func(key string) string { return map[string]string{"ROS_IP": "127.0.0.1"}[key] },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		if err := n.Close(ctx); err != nil {
			w.t.Error(err)
		}
	})
	return n
}

// listener collects the texts of a topic.
type listener struct {
	t    *testing.T
	slow <-chan struct{} // nil, or: one value lets one read of the socket pass
	more chan struct{}

	mu     sync.Mutex
	texts  []string
	header tcpros.Header
	closed bool
}

// listen subscribes with a node of its own.
func (w *world) listen(name, topic string, slow <-chan struct{}) *listener {
	w.t.Helper()
	l := &listener{t: w.t, slow: slow, more: make(chan struct{}, 1)}
	_, err := w.newNode(name).Subscribe(tcpros.SubscribeOptions{
		Topic: topic,
		Open: func(info tcpros.LinkInfo) (tcpros.LinkSink, error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.header = info.Header
			return l, nil
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

func (l *listener) Frames(run []byte, count int, _ time.Time) {
	if l.slow != nil {
		<-l.slow
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for range count {
		n := 4 + int(run[0]) + int(run[1])<<8 + int(run[2])<<16
		if n >= 8 {
			l.texts = append(l.texts, string(run[8:n]))
		}
		run = run[n:]
	}
	l.signal()
}

func (l *listener) Closed(error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.signal()
}

func (l *listener) signal() {
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// wait returns when ok says so of the texts so far.
func (l *listener) wait(ok func(texts []string, closed bool) bool) []string {
	l.t.Helper()
	end := time.NewTimer(timeout)
	defer end.Stop()
	for {
		l.mu.Lock()
		texts, closed := slices.Clone(l.texts), l.closed
		l.mu.Unlock()
		if ok(texts, closed) {
			return texts
		}
		select {
		case <-l.more:
		case <-end.C:
			l.t.Fatalf("waited in vain; got %d texts: %.200q", len(texts), texts)
		}
	}
}

func untilClosed(_ []string, closed bool) bool { return closed }

func untilCount(n int) func([]string, bool) bool {
	return func(texts []string, _ bool) bool { return len(texts) >= n }
}

// start runs the player and returns how to stop it and its result.
func (w *world) start(o player.Options) (stop context.CancelFunc, result func() control.Summary) {
	w.t.Helper()
	o.Node = w.node
	ctx, cancel := context.WithCancel(w.t.Context())
	w.t.Cleanup(cancel)
	type outcome struct {
		s   control.Summary
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		s, err := player.Run(ctx, o)
		done <- outcome{s, err}
	}()
	return cancel, func() control.Summary {
		w.t.Helper()
		select {
		case r := <-done:
			if r.err != nil {
				w.t.Fatal(r.err)
			}
			return r.s
		case <-time.After(timeout):
			w.t.Fatal("Run does not return")
			panic("not reached")
		}
	}
}

// atPhase closes c when the phase is entered.
func atPhase(p control.Phase, c chan<- struct{}) func(control.Status) {
	var once sync.Once
	return func(s control.Status) {
		if s.Phase == p {
			once.Do(func() { close(c) })
		}
	}
}

var chatter = testplay.Conn{Topic: "chatter", CallerID: "/talker"}

func numbered(c testplay.Conn, n int, every time.Duration, size int) (ms []testplay.Message, texts []string) {
	for i := range n {
		text := fmt.Sprintf("%06d%s", i, strings.Repeat("x", size))
		ms = append(ms, testplay.Message{Conn: c, At: time.Duration(i) * every, Text: text})
		texts = append(texts, text)
	}
	return ms, texts
}

func TestPlayToSubscriber(t *testing.T) {
	t.Parallel()
	messages, texts := numbered(chatter, 200, 2*time.Millisecond, 10)
	for name, z := range map[string]rosbag.Compression{"none": rosbag.CompressionNone, "lz4": rosbag.CompressionLZ4, "bz2": rosbag.CompressionBZ2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			l := w.listen("listener", "/chatter", nil)
			bag := testplay.MakeBag(t, bagfmt.WriterOptions{Compression: z, ChunkBytes: 1000}, messages...)
			_, result := w.start(player.Options{Bags: testplay.OpenBags(t, bag), WaitForSubscribers: true, Rate: 4})
			got := l.wait(untilClosed)
			if d := cmp.Diff(texts, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			s := result()
			if s.Messages != 200 || s.Lossy() || s.Interrupted || s.Timing.Messages != 200 {
				t.Errorf("summary %+v", s)
			}
			// The bag covers 398 ms: at rate 4 that is 99.5 ms.
			// TestRun is exact; a busy machine is slower.
			if d := 99500 * time.Microsecond; s.Elapsed < d || s.Elapsed > d+timeout/2 {
				t.Errorf("played in %v, want at least %v and not much more", s.Elapsed, d)
			}
			for key, want := range map[string]string{
				"callerid": "/play", "latching": "0", "md5sum": "992ce8a1687cec8c8bd883ec73ca41d1",
				"type": "std_msgs/String", "message_definition": "string data\n", "topic": "/chatter",
			} {
				if got, _ := l.header.Get(key); got != want {
					t.Errorf("%s is %q, want %q", key, got, want)
				}
			}
		})
	}
}

// What is queued at the end of play reaches a reader that is slower than play.
func TestSlowReaderGetsAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gate := make(chan struct{})
	l := w.listen("slow", "/chatter", gate)
	messages, texts := numbered(chatter, 3000, time.Microsecond, 2000) // 6 MB: more than the sockets hold
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, messages...)
	drains := make(chan struct{})
	_, result := w.start(player.Options{
		Bags: testplay.OpenBags(t, bag), WaitForSubscribers: true, Immediate: true, Overflow: player.OverflowDrop,
		OnStatus: atPhase(control.PhaseDrain, drains),
	})
	<-drains
	close(gate) // all is published before the reader reads anything
	if got := l.wait(untilClosed); !slices.Equal(texts, got) {
		t.Errorf("got %d messages, want %d", len(got), len(texts))
	}
	if s := result(); s.Lossy() {
		t.Errorf("summary: dropped %d, undelivered %v", s.Dropped, s.Undelivered)
	}
}

// With a bounded queue the slow reader loses messages, and they are counted. The others are what they were, though
// the memory of those that the socket has no room for is used again meanwhile.
func TestSlowReaderIsCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gate := make(chan struct{})
	slow := w.listen("slow", "/chatter", gate)
	// Not all at once: the link has to find that the socket is full.
	messages, texts := numbered(chatter, 6000, 50*time.Microsecond, 4000)
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, messages...)
	drains := make(chan struct{})
	_, result := w.start(player.Options{
		Bags: testplay.OpenBags(t, bag), WaitForSubscribers: true, Queue: 10, Overflow: player.OverflowDrop,
		OnStatus: atPhase(control.PhaseDrain, drains),
	})
	<-drains
	close(gate)
	got := slow.wait(untilClosed)
	s := result()
	if s.Dropped == 0 || !s.Lossy() || uint64(len(got))+s.Dropped != 6000 {
		t.Errorf("got %d, dropped %d, want them to be 6000 together", len(got), s.Dropped)
	}
	for _, text := range got {
		i := slices.Index(texts, text)
		if i < 0 {
			t.Fatalf("got %.20q, which is no message, or out of order", text)
		}
		texts = texts[i+1:]
	}
	if s.Topics[0].Dropped != s.Dropped || s.Topics[0].Subscribers != 1 {
		t.Errorf("topic %+v", s.Topics[0])
	}
}

// A subscriber that comes late gets the last message of each of two latched
// publishers of one topic.
func TestLateSubscriberOfLatchedTopic(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l1 := testplay.Conn{Topic: "/tf_static", CallerID: "/n1", Latching: true}
	l2 := testplay.Conn{Topic: "/tf_static", CallerID: "/n2", Latching: true}
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{},
		testplay.Message{Conn: l1, Text: "n1 old"}, testplay.Message{Conn: l2, Text: "n2"}, testplay.Message{Conn: l1, Text: "n1 new"})
	played := make(chan struct{})
	stop, result := w.start(player.Options{
		Bags: testplay.OpenBags(t, bag), KeepAlive: true,
		OnStatus: atPhase(control.PhaseKeepAlive, played),
	})
	<-played
	l := w.listen("late", "/tf_static", nil)
	got := l.wait(untilCount(2))
	slices.Sort(got)
	if d := cmp.Diff([]string{"n1 new", "n2"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got, _ := l.header.Get("latching"); got != "1" {
		t.Errorf("latching is %q", got)
	}
	stop()
	if s := result(); s.Interrupted || s.Lossy() {
		t.Errorf("summary %+v", s)
	}
}

// Each way of waiting ends at once with the context.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	messages, _ := numbered(chatter, 2, time.Hour, 0)
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, messages...)
	for name, tc := range map[string]struct {
		o     player.Options
		phase control.Phase // in which it waits
	}{
		"delay":           {player.Options{Delay: time.Hour}, control.PhaseDelay},
		"for subscribers": {player.Options{WaitForSubscribers: true}, control.PhaseWait},
		"for a message":   {player.Options{}, control.PhasePlay},
		"paused":          {player.Options{Paused: true}, control.PhasePlay},
		"keep alive":      {player.Options{Immediate: true, KeepAlive: true}, control.PhaseKeepAlive},
		"loop":            {player.Options{Immediate: true, Loop: true}, control.PhasePlay},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			o := tc.o
			o.Bags = testplay.OpenBags(t, bag)
			o.Clock = true
			waiting := make(chan struct{}, 2)
			o.OnStatus = func(s control.Status) {
				if s.Phase == tc.phase && len(waiting) < cap(waiting) {
					waiting <- struct{}{}
				}
			}
			stop, result := w.start(o)
			<-waiting // it has begun
			<-waiting // a tenth of a second later
			before := time.Now()
			stop()
			s := result()
			if d := time.Since(before); d > timeout/2 { // at once, but for a busy machine; TestPlay is exact
				t.Errorf("took %v to end", d)
			}
			if s.Interrupted != (name != "keep alive") {
				t.Errorf("interrupted is %v", s.Interrupted)
			}
		})
	}
}

func TestClockOnTheWire(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	clock := w.listen("clock", "/clock", nil)
	heard := w.listen("chatter", "/chatter", nil)
	messages, _ := numbered(chatter, 2, time.Millisecond, 0)
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, messages...)
	stop, result := w.start(player.Options{
		Bags: testplay.OpenBags(t, bag), WaitForSubscribers: true, Delay: 10 * time.Millisecond, Clock: true, Hz: 200, KeepAlive: true,
	})
	clock.wait(untilCount(24)) // one for each message, the others by the wall
	heard.wait(untilCount(2))  // the clock by the wall does not wait for play
	stop()
	if s := result(); s.Messages != 2 {
		t.Errorf("%d messages, want 2", s.Messages)
	}
	clock.mu.Lock()
	defer clock.mu.Unlock()
	for key, want := range map[string]string{
		"type": "rosgraph_msgs/Clock", "md5sum": "a9c97c1d230cfc112e270351a944ee47", "latching": "0",
	} {
		if got, _ := clock.header.Get(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if def, _ := clock.header.Get("message_definition"); !strings.Contains(def, "time clock") {
		t.Errorf("definition %q", def)
	}
}

func TestOptionErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bags := testplay.OpenBags(t, testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Message{Conn: chatter, Text: "x"}))
	for name, o := range map[string]player.Options{
		"no node":         {Bags: bags},
		"no bag":          {Node: w.node},
		"negative rate":   {Node: w.node, Bags: bags, Rate: -1},
		"tiny rate":       {Node: w.node, Bags: bags, Rate: 1e-308}, // each deadline overflows
		"negative start":  {Node: w.node, Bags: bags, Start: -1},
		"negative delay":  {Node: w.node, Bags: bags, Delay: -1},
		"negative queue":  {Node: w.node, Bags: bags, Queue: -1},
		"negative hz":     {Node: w.node, Bags: bags, Hz: -1},
		"tiny hz":         {Node: w.node, Bags: bags, Hz: 1e-10}, // its period overflows
		"hz not a number": {Node: w.node, Bags: bags, Hz: math.NaN()},
	} {
		if _, err := player.Run(t.Context(), o); !errors.Is(err, control.ErrOption) {
			t.Errorf("%s: got %v, want ErrOption", name, err)
		}
	}
	if _, err := player.Run(t.Context(), player.Options{Node: w.node, Bags: bags, Topics: []string{"/x"}}); !errors.Is(err, plan.ErrNoMessages) {
		t.Errorf("got %v, want ErrNoMessages", err)
	}
}
