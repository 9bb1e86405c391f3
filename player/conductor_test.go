package player

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/follow"
	"github.com/gorosbag/gorosbag/player/internal/output"
	"github.com/gorosbag/gorosbag/player/internal/pacing"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/readahead"
	"github.com/gorosbag/gorosbag/player/internal/stage"
	"github.com/gorosbag/gorosbag/player/internal/transport"
	"github.com/gorosbag/gorosbag/player/internal/watchers"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// rig is a conductor with a publisher that writes down what it gets and when.
// It lives in a synctest bubble: time is exact.
type rig struct {
	control *conductor
	queue   *readahead.Queue
	route   *plan.Route
	start   time.Time

	mu     sync.Mutex
	events []string
}

func newRig(s transport.Schedule, late time.Duration) *rig {
	g := &rig{queue: readahead.NewQueue(32<<20, 1<<10), start: time.Now()}
	g.control, g.route = testConductor(s, lateSleeper{pacing.NewTimerSleeper(), late}, g.queue, g)
	g.control.load(rosbag.Time{Sec: 100}, time.Second, nil)
	return g
}

// senderGraph is a graph whose topics all have the same sender.
type senderGraph struct {
	*fakeGraph
	to stage.Sender
}

func (g senderGraph) Advertise(tcpros.AdvertiseOptions, []plan.PublisherID) (stage.Publication, error) {
	return senderPublication{&fakePublication{graph: g.fakeGraph}, g.to}, nil
}

type senderPublication struct {
	*fakePublication
	to stage.Sender
}

func (p senderPublication) Source(plan.PublisherID) stage.Sender { return p.to }

// testConductor is a conductor that plays what a test puts into a queue. Messages of the route go
// to a sender.
func testConductor(s transport.Schedule, sleeper pacing.Sleeper, q *readahead.Queue, to stage.Sender) (*conductor, *plan.Route) {
	topic := &plan.Topic{}
	publisher := &plan.Publisher{Topic: topic}
	p := &plan.Plan{Topics: []*plan.Topic{topic}, Publishers: []*plan.Publisher{publisher}, Log: zap.NewNop()}
	return planConductor(p, s, sleeper, q, to), &plan.Route{Bag: &plan.Bag{}, Topic: topic, Publisher: publisher, Clocked: true}
}

// planConductor is a conductor that plays what comes from a queue, on the topics of a plan.
func planConductor(p *plan.Plan, s transport.Schedule, sleeper pacing.Sleeper, q *readahead.Queue, to stage.Sender) *conductor {
	if s.Rate == 0 {
		s.Rate = 1
	}
	position := transport.New(transport.Options{Schedule: s, Loop: transport.Loop{To: transport.Forever}})
	out := output.New(output.Options{Plan: p, Head: position.Head(), Log: zap.NewNop()})
	out.Advertise(senderGraph{newFakeGraph(), to}, tcpros.AdvertiseOptions{})
	return &conductor{
		plan: p, readahead: &readahead.Readahead{Queue: q}, output: out, time: follow.TimeBase{Sleeper: sleeper}, watchers: watchers.New(nil),
		transport: position, log: zap.NewNop(),
	}
}

// withClock makes the conductor publish the clock to so many subscribers, as events too.
func (g *rig) withClock(subscribers int) *rig {
	graph := newFakeGraph()
	graph.subscribers = func() int { return subscribers }
	if err := g.control.output.AdvertiseClock(senderGraph{graph, clockNotes{g}}, false); err != nil {
		panic(err)
	}
	return g
}

// clockNotes notes what the clock says.
type clockNotes struct{ *rig }

func (n clockNotes) Publish(frame []byte) {
	n.note(fmt.Sprintf("clock %v", stdmsg.StampAt(frame, stdmsg.FramePrefix).Sub(rosbag.Time{Sec: 100})))
}
func (n clockNotes) PublishNow(frame []byte) { n.Publish(frame) }

func (g *rig) note(what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.events = append(g.events, fmt.Sprintf("%v %s", time.Since(g.start), what))
}

// Publish implements stage.Sender.
func (g *rig) Publish(frame []byte) {
	g.note(fmt.Sprintf("message %d", frame[4]))
}

// PublishNow implements stage.Sender.
func (g *rig) PublishNow(frame []byte) { g.Publish(frame) }

// Unlatch implements stage.Sender.
func (g *rig) Unlatch() { g.note("unlatch") }

// lateSleeper wakes up late, as on a busy machine.
type lateSleeper struct {
	*pacing.TimerSleeper
	by time.Duration
}

func (s lateSleeper) SleepUntil(deadline time.Duration) {
	s.TimerSleeper.SleepUntil(deadline)
	<-time.After(s.by)
}

// load queues messages 0, 1, ... at these positions.
func (g *rig) load(ctx context.Context, pos ...time.Duration) {
	for i, p := range pos {
		g.queue.Push(ctx, readahead.Item{Route: g.route, Frame: []byte{1, 0, 0, 0, byte(i)}, Pos: p})
	}
}

// turn queues the end of a pass: the next one begins at 0 with a latched message.
func (g *rig) turn(ctx context.Context, end time.Duration, state ...plan.Latched) {
	g.queue.Push(ctx, readahead.Item{Pos: end, Jump: &readahead.Jump{EndOfPass: true, Latched: state}})
}

// run plays what is loaded, with orders given at their times.
func (g *rig) run(ctx context.Context, orders map[time.Duration]func()) {
	g.queue.Close(0)
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, at := range slices.Sorted(maps.Keys(orders)) {
			<-time.After(at - time.Since(g.start))
			orders[at]()
		}
	})
	g.control.pace(ctx)
	wg.Wait()
}

func TestPacer(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		schedule transport.Schedule
		late     time.Duration
		pos      []time.Duration
		orders   func(c control.Control) map[time.Duration]func()
		want     []string
	}{
		"rate 1": {
			pos:  []time.Duration{0, 1, 250 * ms, 250 * ms, 1000 * ms},
			want: []string{"0s message 0", "1ns message 1", "250ms message 2", "250ms message 3", "1s message 4"},
		},
		"rate 2": {
			schedule: transport.Schedule{Rate: 2},
			pos:      []time.Duration{0, 250 * ms, 1000 * ms},
			want:     []string{"0s message 0", "125ms message 1", "500ms message 2"},
		},
		"immediate": {
			schedule: transport.Schedule{Immediate: true},
			pos:      []time.Duration{0, time.Hour, 2 * time.Hour},
			want:     []string{"0s message 0", "0s message 1", "0s message 2"},
		},
		"late messages go at once, the others on time": {
			late: 30 * ms,
			pos:  []time.Duration{0, 10 * ms, 20 * ms, 100 * ms},
			want: []string{"0s message 0", "40ms message 1", "40ms message 2", "130ms message 3"},
		},
		"late by as much as play makes up for": {
			late: maxOwnDelay,
			pos:  []time.Duration{0, 10 * ms, 20 * ms},
			want: []string{"0s message 0", "1.01s message 1", "1.01s message 2"},
		},
		"a program that was stopped": {
			late: maxOwnDelay + ms,
			pos:  []time.Duration{0, 10 * ms, 20 * ms},
			want: []string{"0s message 0", "1.011s message 1", "2.022s message 2"},
		},
		"pause": {
			pos: []time.Duration{0, 100 * ms, 200 * ms},
			orders: func(c control.Control) map[time.Duration]func() {
				return map[time.Duration]func(){150 * ms: func() { c.Pause() }, 5150 * ms: func() { c.Resume() }}
			},
			want: []string{"0s message 0", "100ms message 1", "5.2s message 2"},
		},
		"toggle twice": {
			pos: []time.Duration{0, 100 * ms},
			orders: func(c control.Control) map[time.Duration]func() {
				return map[time.Duration]func(){20 * ms: func() { c.Toggle() }, 30 * ms: func() { c.Toggle() }}
			},
			want: []string{"0s message 0", "110ms message 1"},
		},
		"pause while immediate": {
			schedule: transport.Schedule{Immediate: true, Paused: true},
			pos:      []time.Duration{0, time.Hour},
			orders: func(c control.Control) map[time.Duration]func() {
				return map[time.Duration]func(){time.Second: func() { c.Resume() }}
			},
			want: []string{"1s message 0", "1s message 1"},
		},
		"steps": {
			schedule: transport.Schedule{Paused: true},
			pos:      []time.Duration{0, 100 * ms, 200 * ms, 300 * ms, 350 * ms},
			orders: func(c control.Control) map[time.Duration]func() {
				return map[time.Duration]func(){
					1 * time.Second: func() { c.Step() },
					2 * time.Second: func() { c.Step(); c.Step() },
					3 * time.Second: func() { c.Resume() },
				}
			},
			want: []string{"1s message 0", "2s message 1", "2s message 2", "3.1s message 3", "3.15s message 4"},
		},
		"a step while running does nothing": {
			pos: []time.Duration{0, 100 * ms, 200 * ms},
			orders: func(c control.Control) map[time.Duration]func() {
				return map[time.Duration]func(){
					10 * ms: func() { c.Step() },
					20 * ms: func() { c.Pause() },
					90 * ms: func() { c.Resume() },
				}
			},
			want: []string{"0s message 0", "170ms message 1", "270ms message 2"},
		},
		"pausing while behind does not lose the place": {
			late: 50 * ms,
			pos:  []time.Duration{0, 10 * ms, 20 * ms, 200 * ms},
			orders: func(c control.Control) map[time.Duration]func() {
				return map[time.Duration]func(){30 * ms: func() { c.Pause() }, 1000 * ms: func() { c.Resume() }}
			},
			// Paused at position 10 ms, not 30; all wake-ups are 50 ms late.
			want: []string{"0s message 0", "1.05s message 1", "1.05s message 2", "1.24s message 3"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newRig(tc.schedule, tc.late)
				g.load(t.Context(), tc.pos...)
				var orders map[time.Duration]func()
				if tc.orders != nil {
					orders = tc.orders(g.control)
				}
				g.run(t.Context(), orders)
				if d := cmp.Diff(tc.want, g.events); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			})
		})
	}
}

// stoppedSender is a rig whose program is stopped while it publishes message 1.
type stoppedSender struct {
	*rig
	after time.Duration // when it continues
}

func (s stoppedSender) Publish(frame []byte) {
	s.rig.Publish(frame)
	if frame[4] == 1 {
		<-time.After(s.after)
	}
}
func (s stoppedSender) PublishNow(frame []byte) { s.Publish(frame) }

// A program that is stopped while it does not sleep continues where it was, too.
func TestStoppedWhilePublishing(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration][]string{
		maxOwnDelay:      {"0s message 0", "10ms message 1", "1.01s message 2", "1.01s message 3"},
		maxOwnDelay + ms: {"0s message 0", "10ms message 1", "1.011s message 2", "1.021s message 3"},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := &rig{queue: readahead.NewQueue(32<<20, 1<<10), start: time.Now()}
			g.control, g.route = testConductor(transport.Schedule{}, pacing.NewTimerSleeper(), g.queue, stoppedSender{g, after})
			g.control.load(rosbag.Time{Sec: 100}, time.Second, nil)
			g.load(t.Context(), 0, 10*ms, 20*ms, 30*ms)
			g.run(t.Context(), nil)
			if d := cmp.Diff(want, g.events); d != "" {
				t.Errorf("stopped for %v (-want +got):\n%s", after, d)
			}
		})
	}
}

// howSender notes whether messages are sent at once.
type howSender struct {
	stage.Sender
	how []string
}

func (s *howSender) Publish([]byte)    { s.how = append(s.how, "together") }
func (s *howSender) PublishNow([]byte) { s.how = append(s.how, "at once") }

// A message that is late by floodLate is sent together with the next ones.
func TestLateMessagesAreSentTogether(t *testing.T) {
	t.Parallel()
	for late, want := range map[time.Duration]string{floodLate - 1: "at once", floodLate: "together"} {
		synctest.Test(t, func(t *testing.T) {
			to := &howSender{}
			q := readahead.NewQueue(32<<20, 1<<10)
			p, route := testConductor(transport.Schedule{}, lateSleeper{pacing.NewTimerSleeper(), late}, q, to)
			p.load(rosbag.Time{Sec: 100}, time.Second, nil)
			for _, pos := range []time.Duration{0, 100 * ms} {
				q.Push(t.Context(), readahead.Item{Route: route, Frame: []byte{1, 0, 0, 0, 0}, Pos: pos})
			}
			q.Close(0)
			p.pace(t.Context())
			if !slices.Equal(to.how, []string{"at once", want}) {
				t.Errorf("late by %v: %q, want the second %q", late, to.how, want)
			}
		})
	}
}

func TestPacerEndsWithContext(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]transport.Schedule{"waiting": {}, "paused": {Paused: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newRig(s, 0)
				g.load(t.Context(), 0, time.Hour)
				ctx, cancel := context.WithCancel(t.Context())
				defer context.AfterFunc(ctx, g.control.time.Wake)()
				g.run(ctx, map[time.Duration]func(){10 * ms: cancel})
				if got := time.Since(g.start); got != 10*ms {
					t.Errorf("ended after %v, want 10ms", got)
				}
				if g.control.completed {
					t.Error("counts as played to the end")
				}
			})
		})
	}
}

// A second pass begins at once, and its own schedule with it.
func TestPasses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(transport.Schedule{Rate: 2}, 0).withClock(1)
		g.load(t.Context(), 0, 100*ms)
		g.turn(t.Context(), 100*ms)
		g.load(t.Context(), 0, 100*ms)
		g.run(t.Context(), nil)
		want := []string{
			"0s clock 0s", "0s message 0", "50ms clock 100ms", "50ms message 1",
			"50ms clock 0s", "50ms message 0", "100ms clock 100ms", "100ms message 1",
		}
		if d := cmp.Diff(want, g.events); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if s := g.control.Status(); s.Pass != 1 || s.Messages != 4 || s.Achieved() != 2 {
			t.Errorf("status %+v", s)
		}
	})
}

// While paused, a further pass waits for a step, as each message does.
func TestPassWaitsForStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(transport.Schedule{Paused: true}, 0).withClock(1)
		g.load(t.Context(), 0, 100*ms)
		g.turn(t.Context(), 100*ms, plan.Latched{Route: g.route, Frame: []byte{1, 0, 0, 0, 77}})
		g.load(t.Context(), 0, 100*ms)
		step := func() { g.control.Step() }
		g.run(t.Context(), map[time.Duration]func(){
			10 * ms: step,
			20 * ms: step,
			30 * ms: func() {
				if s := g.control.Status(); s.Position != 100*ms || s.Pass != 0 {
					t.Errorf("after the last message of a pass: position %v, pass %d", s.Position, s.Pass)
				}
			},
			40 * ms: step,
			50 * ms: func() { g.control.Resume() },
		})
		want := []string{
			"0s clock 0s", "10ms clock 0s", "10ms message 0", "20ms clock 100ms", "20ms message 1",
			"40ms clock 0s", "40ms message 77", "40ms clock 0s", "40ms message 0", "150ms clock 100ms", "150ms message 1",
		}
		if d := cmp.Diff(want, g.events); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

func TestStatus(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(transport.Schedule{Rate: 2}, 0)
		g.load(t.Context(), 0, time.Second)
		var got []control.Status
		look := func() { got = append(got, g.control.Status()) }
		g.run(t.Context(), map[time.Duration]func(){
			100 * ms: look,
			200 * ms: func() { g.control.Pause() },
			300 * ms: look,
			400 * ms: func() { g.control.Resume() },
			time.Hour: func() {
				look()
				if g.control.Step() {
					t.Error("a step after the end")
				}
			},
		})
		want := []control.Status{
			{Rate: 2, BagTime: rosbag.Time{Sec: 100, Nsec: 200e6}, Position: 200 * ms, Length: time.Second, Messages: 1, Played: 200 * ms, Elapsed: 100 * ms, LoopTo: time.Second},
			{Rate: 2, BagTime: rosbag.Time{Sec: 100, Nsec: 400e6}, Position: 400 * ms, Length: time.Second, Messages: 1, Played: 400 * ms, Elapsed: 200 * ms, Paused: true, LoopTo: time.Second},
			{Rate: 2, BagTime: rosbag.Time{Sec: 101}, Position: time.Second, Length: time.Second, Messages: 2, Played: time.Second, Elapsed: 500 * ms, LoopTo: time.Second},
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}
