package viewing

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/internal/view/live"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

const ms = time.Millisecond

// fakeControl is the control of a playback that does nothing by itself.
type fakeControl struct {
	control.Control // nil: nothing else is called

	mu      sync.Mutex
	status  control.Status
	changed chan struct{}
	calls   []string
}

func newControl(s control.Status) *fakeControl {
	return &fakeControl{status: s, changed: make(chan struct{})}
}

func (c *fakeControl) Status() control.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

func (c *fakeControl) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// set changes the status, and tells so.
func (c *fakeControl) set(change func(*control.Status)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.status)
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *fakeControl) call(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, fmt.Sprintf(format, args...))
}

func (c *fakeControl) Seek(to time.Duration) {
	c.call("seek %v", to)
	c.set(func(s *control.Status) { s.Seeks++ })
}

func (c *fakeControl) SetRate(rate float64) error { c.call("rate %v", rate); return nil }
func (c *fakeControl) Resume() bool               { c.call("resume"); return true }
func (c *fakeControl) Pause() bool                { c.call("pause"); return true }

// scene is a playback of a bag with two topics, of which /tf has two latching publishers, and one viewer.
type scene struct {
	t       *testing.T
	v       *Viewing
	plan    *plan.Plan
	control *fakeControl
	viewer  *live.Viewer
	end     func() // ends Run, and waits for it
}

func bag(t *testing.T) []byte {
	t.Helper()
	tf := func(caller string) testplay.Conn {
		return testplay.Conn{Topic: "/tf", CallerID: caller, Latching: true}
	}
	return testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Concat(
		testplay.Series(testplay.ConnA, "a", 0, 300*ms, 700*ms),
		testplay.Series(tf("/one"), "one", 100*ms, 400*ms),
		testplay.Series(tf("/two"), "two", 200*ms),
	)...)
}

// begin begins a playback of a bag at a time in it, in a bubble, and runs it until the test ends.
func begin(t *testing.T, data []byte, at time.Duration) *scene {
	t.Helper()
	return beginWindow(t, data, at, 0)
}

// beginWindow is begin for a playback whose first message is at first.
func beginWindow(t *testing.T, data []byte, at, first time.Duration) *scene {
	t.Helper()
	p, err := plan.New(t.Context(), plan.Options{Log: zap.NewNop()}, testplay.OpenBags(t, data), testplay.Resolve)
	if err != nil {
		t.Fatal(err)
	}
	c := newControl(control.Status{Phase: control.PhasePlay, Paused: true, Rate: 1, BagTime: testplay.Base.Add(at), Length: 700 * ms})
	s := &scene{t: t, v: New(Options{Name: "goplay /play"}), plan: p, control: c}
	s.v.Open(p, p.Topics)
	s.v.Begin(c, testplay.Base.Add(first))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.v.Run(ctx) })
	s.end = func() { cancel(); running.Wait() }
	t.Cleanup(s.end)
	s.viewer, err = s.v.store.Attach(true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.viewer.Close)
	return s
}

func (s *scene) topic(name string) *plan.Topic {
	s.t.Helper()
	topic := s.plan.Topic(topicname.InGraph(name))
	if topic == nil {
		s.t.Fatalf("no topic %s", name)
	}
	return topic
}

// subscribe subscribes the viewer to topics.
func (s *scene) subscribe(topics ...string) {
	s.t.Helper()
	for _, c := range s.v.store.Channels() {
		if slices.Contains(topics, c.Topic) {
			if err := s.viewer.Subscribe(c.ID); err != nil {
				s.t.Error(err)
			}
		}
	}
}

// sees checks what the viewer has been sent since the last call, clocks apart.
func (s *scene) sees(want ...string) {
	s.t.Helper()
	synctest.Wait()
	var got []string
	for f, ok := s.viewer.Take(); ok; f, ok = s.viewer.Take() {
		switch at := f.Time.Sub(testplay.Base); f.Kind {
		case live.Jump:
			got = append(got, fmt.Sprintf("jump to %v", at))
		case live.Message:
			got = append(got, fmt.Sprintf("%s at %v", f.Payload[4:], at))
		case live.Clock:
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		s.t.Errorf("the viewer sees (-want +got):\n%s", d)
	}
}

// jump moves play to a time in the bag.
func (s *scene) jump(to time.Duration) {
	s.control.set(func(st *control.Status) { st.BagTime = testplay.Base.Add(to) })
	s.v.Jumped(testplay.Base.Add(to))
	s.control.set(func(*control.Status) {}) // as a seek tells
}

// TestShow: who subscribes to a topic gets its messages, as they were when they were published.
func TestShow(t *testing.T) {
	t.Parallel()
	data := bag(t)
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, data, 0)
		frame := testplay.Framed(testplay.StringData("shown"))
		s.v.Show(s.topic("/a"), testplay.Base.Add(5*ms), testplay.Framed(testplay.StringData("nobody sees this")))
		s.subscribe("/a")
		s.sees("a0 at 0s")
		s.v.Show(s.topic("/a"), testplay.Base.Add(10*ms), frame)
		copy(frame[8:], "other")
		s.v.Show(s.topic("/tf"), testplay.Base.Add(10*ms), frame)
		s.sees("shown at 10ms")
	})
}

// TestEarlier: a viewer that subscribes gets the latest message of each publisher at the place of play,
// unless the topic is off or the bags are closed.
func TestEarlier(t *testing.T) {
	t.Parallel()
	data := bag(t)
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, data, 350*ms)
		s.subscribe("/tf")
		s.sees("one0 at 100ms", "two0 at 200ms")
		s.v.Switched(s.topic("/a"), true)
		s.subscribe("/a")
		s.sees()
		s.v.Switched(s.topic("/a"), false)
		s.viewer.Unsubscribe(s.v.feeds[s.topic("/a").Number].Channel().ID)
		s.subscribe("/a")
		s.sees("a1 at 300ms")
	})
}

// TestEarlierThanTheWindow: of what was recorded before the first message, only latched messages are shown.
func TestEarlierThanTheWindow(t *testing.T) {
	t.Parallel()
	data := bag(t)
	synctest.Test(t, func(t *testing.T) {
		s := beginWindow(t, data, 350*ms, 310*ms)
		s.subscribe("/a", "/tf")
		s.sees("one0 at 100ms", "two0 at 200ms")
	})
}

// jumpingSource calls during before it reads what was published last.
type jumpingSource struct {
	rosbag.Indexed
	during func()
}

func (s jumpingSource) Latest(t rosbag.Time, keep func(*rosbag.Connection) bool) iter.Seq2[*rosbag.Connection, rosbag.Found] {
	s.during()
	return s.Indexed.(rosbag.Latest).Latest(t, keep)
}

// TestJumpDuringRead: what was read for a place that play has left is not shown.
func TestJumpDuringRead(t *testing.T) {
	t.Parallel()
	data := bag(t)
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, data, 0)
		s.subscribe("/a")
		s.sees("a0 at 0s")
		once := sync.OnceFunc(func() { s.jump(650 * ms) })
		s.plan.Bags[0].Source = jumpingSource{s.plan.Bags[0].Source, once}
		s.jump(600 * ms)
		s.sees("jump to 650ms", "a1 at 300ms") // a jump replaces what the viewer has not taken
	})
}

// TestEarlierAtTheEnd: after Run a viewer gets nothing, and does not wait for it.
func TestEarlierAtTheEnd(t *testing.T) {
	t.Parallel()
	data := bag(t)
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, data, 350*ms)
		s.end()
		start := time.Now()
		s.subscribe("/a")
		s.sees()
		if took := time.Since(start); took != 0 {
			t.Errorf("waited for %v", took)
		}
	})
}

// TestJump: after a jump viewers get what was published last before that place on topics that they want and
// that have had no message since. Latched messages are published by play.
func TestJump(t *testing.T) {
	t.Parallel()
	data := bag(t)
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, data, 0)
		s.subscribe("/a", "/tf")
		s.sees("a0 at 0s")
		s.jump(600 * ms)
		s.sees("jump to 600ms", "a1 at 300ms")
		s.jump(300 * ms) // play is about to publish the message there
		s.sees("jump to 300ms", "a0 at 0s")
		s.v.Switched(s.topic("/a"), true)
		s.jump(650 * ms)
		s.sees("jump to 650ms")
		s.v.Switched(s.topic("/a"), false)
		s.control.set(func(st *control.Status) { st.BagTime = testplay.Base.Add(500 * ms) })
		s.v.Jumped(testplay.Base.Add(500 * ms))
		s.v.Show(s.topic("/a"), testplay.Base.Add(510*ms), testplay.Framed(testplay.StringData("new")))
		s.control.set(func(*control.Status) {})
		s.sees("jump to 500ms", "new at 510ms")
	})
}

// TestClock: viewers are told the time at the rate of screens while it changes.
func TestClock(t *testing.T) {
	t.Parallel()
	data := bag(t)
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, data, 0)
		clocks := func() (last time.Duration) {
			last = -1
			for f, ok := s.viewer.Take(); ok; f, ok = s.viewer.Take() {
				if f.Kind == live.Clock {
					last = f.Time.Sub(testplay.Base)
				}
			}
			return last
		}
		time.Sleep(2 * timeInterval) // in the bubble
		synctest.Wait()
		clocks()
		s.control.mu.Lock()
		s.control.status.BagTime = testplay.Base.Add(250 * ms) // play does not tell of that
		s.control.mu.Unlock()
		time.Sleep(time.Second / 60)
		synctest.Wait()
		if at := clocks(); at != 250*ms {
			t.Errorf("told %v, want 250ms", at)
		}
		time.Sleep(2 * timeInterval)
		if at := clocks(); at != -1 {
			t.Errorf("told %v again", at)
		}
	})
}

// TestChanged: who waits for a change of the state of playback is told of one that viewers can see.
func TestChanged(t *testing.T) {
	t.Parallel()
	data := bag(t)
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, data, 0)
		p := playback{s.v}
		synctest.Wait()
		for name, tc := range map[string]struct {
			change func(*control.Status)
			want   bool
		}{
			"status":  {func(s *control.Status) { s.Paused = false }, true},
			"rate":    {func(s *control.Status) { s.Rate = 2 }, true},
			"nothing": {func(s *control.Status) { s.Messages++ }, false},
		} {
			s.control.set(func(s *control.Status) { s.Paused, s.Rate = true, 1 })
			synctest.Wait()
			changed, told := p.Changed(), false
			s.control.set(tc.change)
			synctest.Wait()
			select {
			case <-changed:
				told = true
			default:
			}
			if told != tc.want {
				t.Errorf("%s: told %v, want %v", name, told, tc.want)
			}
		}
	})
}

// TestBeforeBegin: a viewer that comes before play is prepared sees a source that buffers.
func TestBeforeBegin(t *testing.T) {
	t.Parallel()
	v := New(Options{})
	p := v.Source().Playback
	if s := p.State(); s != (live.PlaybackState{Status: live.Buffering, Speed: 1}) {
		t.Errorf("state %+v", s)
	}
	if first, last := p.Range(); !first.IsZero() || !last.IsZero() {
		t.Errorf("range %v to %v", first, last)
	}
	if p.Do(live.PlaybackRequest{Play: true, Seek: true}) {
		t.Error("a request without play jumps")
	}
	if len(v.store.Channels()) != 0 || v.latched(1) != nil {
		t.Error("there are channels")
	}
	if (*Viewing)(nil).Source() != nil {
		t.Error("no Viewing has a source")
	}
}

// TestStatusOf: what viewers are told of each state of play.
func TestStatusOf(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status control.Status
		want   live.PlaybackStatus
	}{
		"registering":     {control.Status{Phase: control.PhaseRegister, Paused: true}, live.Buffering},
		"waiting":         {control.Status{Phase: control.PhaseWait}, live.Buffering},
		"playing":         {control.Status{Phase: control.PhasePlay}, live.Playing},
		"paused":          {control.Status{Phase: control.PhasePlay, Paused: true, Starving: time.Second}, live.Paused},
		"the disk":        {control.Status{Phase: control.PhasePlay, Starving: time.Second}, live.Buffering},
		"a subscriber":    {control.Status{Phase: control.PhasePlay, Delayed: time.Second}, live.Buffering},
		"keeping alive":   {control.Status{Phase: control.PhaseKeepAlive}, live.Ended},
		"draining":        {control.Status{Phase: control.PhaseDrain, Paused: true}, live.Ended},
		"done":            {control.Status{Phase: control.PhaseDone}, live.Ended},
		"starving at end": {control.Status{Phase: control.PhaseDone, Starving: time.Second}, live.Ended},
	} {
		if got := statusOf(&tc.status); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// TestDo: requests of viewers become orders, in a fixed order.
func TestDo(t *testing.T) {
	t.Parallel()
	playing := control.Status{Phase: control.PhasePlay, Rate: 0.1}
	for name, tc := range map[string]struct {
		status  control.Status
		request live.PlaybackRequest
		calls   string
		jumps   bool
	}{
		"play":               {playing, live.PlaybackRequest{Play: true, Speed: 0.1}, "resume", false},
		"pause":              {playing, live.PlaybackRequest{Speed: 0.1}, "pause", false},
		"rate of a float32":  {playing, live.PlaybackRequest{Play: true, Speed: float64(float32(0.1))}, "resume", false},
		"all":                {playing, live.PlaybackRequest{Play: true, Speed: 2, Seek: true, SeekTo: testplay.Base.Add(ms)}, "seek 1ms; rate 2; resume", true},
		"at the end":         {control.Status{Phase: control.PhaseDone, Rate: 1}, live.PlaybackRequest{Play: true, Speed: 1}, "", false},
		"at the end, slower": {control.Status{Phase: control.PhaseDone, Rate: 1}, live.PlaybackRequest{Speed: 0.5}, "rate 0.5", false},
	} {
		tc.status.BagTime = testplay.Base
		c := newControl(tc.status)
		v := New(Options{})
		v.Open(&plan.Plan{}, nil)
		v.Begin(c, testplay.Base)
		jumps := v.Source().Playback.Do(tc.request)
		if got := strings.Join(c.calls, "; "); got != tc.calls || jumps != tc.jumps {
			t.Errorf("%s: %q, jumps %v; want %q, %v", name, got, jumps, tc.calls, tc.jumps)
		}
	}
}

// TestBeginAnew: a second playback is another session, which viewers recognize.
func TestBeginAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := New(Options{Name: "goplay /play"})
		v.Open(&plan.Plan{}, nil)
		begun := func() live.Info {
			told, changed := v.store.Changed(), v.Source().Playback.Changed()
			v.Begin(newControl(control.Status{Length: time.Second}), rosbag.Time{Sec: 5})
			<-told
			<-changed
			time.Sleep(time.Nanosecond) // in the bubble: a session is named after the time
			return v.Source().Info()
		}
		first, second := begun(), begun()
		if first.Session == "" || first.Session == second.Session || !first.Clock || first.Name != "goplay /play" {
			t.Errorf("%+v, then %+v", first, second)
		}
		if from, to := v.Source().Playback.Range(); from != (rosbag.Time{Sec: 5}) || to != (rosbag.Time{Sec: 6}) {
			t.Errorf("range %v to %v", from, to)
		}
	})
}

// TestGraph: viewers see the graph that the master knows.
func TestGraph(t *testing.T) {
	t.Parallel()
	want := tcpros.SystemState{Publishers: map[string][]string{"/a": {"/n"}}}
	v := New(Options{Graph: func(context.Context) (tcpros.SystemState, error) { return want, nil }})
	g, err := v.Source().Graph(t.Context())
	if err != nil || len(g.Publishers["/a"]) != 1 {
		t.Errorf("%v, %v", g, err)
	}
	if New(Options{}).Source().Graph != nil {
		t.Error("there is a graph without a master")
	}
}

// TestDefinition: viewers get a definition that they can use, though the bag has none.
func TestDefinition(t *testing.T) {
	t.Parallel()
	data := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Series(testplay.Conn{Topic: "/t", NoDefinition: true}, "a", 0)...)
	p, err := plan.New(t.Context(), plan.Options{Log: zap.NewNop()}, testplay.OpenBags(t, data), testplay.Resolve)
	if err != nil {
		t.Fatal(err)
	}
	v := New(Options{Name: "goplay /play"})
	v.Open(p, p.Topics)
	v.Begin(newControl(control.Status{Phase: control.PhasePlay, Rate: 1}), testplay.Base)
	if c := v.Source().Store.Channels(); len(c) != 1 || c[0].Definition != testplay.StringDefinition {
		t.Errorf("channels %+v", c)
	}
}
