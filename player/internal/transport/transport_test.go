package transport

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/rosbag"
)

var zero = rosbag.Time{Sec: 1000}

func at(pos time.Duration) Place { return Place{Stamp: zero.Add(pos)} }

// playing returns a transport that has published messages at these positions in their
// time: the first one at wall time 0, all at rate 1. There is a second to play.
func playing(o Options, positions ...time.Duration) *Transport {
	if o.Schedule.Rate == 0 {
		o.Schedule.Rate = 1
	}
	if o.Loop.To == 0 {
		o.Loop.To = Forever
	}
	t := New(o)
	t.Load(zero, time.Second)
	for i, pos := range positions {
		if i == 0 {
			t.Begin(at(pos), pos, 0)
		}
		t.SetNext(pos)
		t.Publish(at(pos), pos, pos)
	}
	return t
}

// Play waits for what is not published yet, and never goes back within a pass.
func TestPositionOfPlay(t *testing.T) {
	t.Parallel()
	p := playing(Options{}, 0, 100*ms)
	for _, step := range []struct {
		what string
		do   func()
		now  time.Duration
		want time.Duration
	}{
		{"the disk is awaited", func() {}, 150 * ms, 100 * ms},
		{"on the way to the next message", func() { p.SetNext(200 * ms) }, 150 * ms, 150 * ms},
		{"behind its schedule", func() {}, 250 * ms, 200 * ms},
		{"published", func() { p.Publish(at(200*ms), 200*ms, 250*ms) }, 250 * ms, 200 * ms},
		{"all is published, and play stays", func() { p.End() }, 300 * ms, 300 * ms},
		{"paused", func() { p.Pause(300 * ms) }, 400 * ms, 300 * ms},
		{"resumed", func() { p.Resume(500 * ms) }, 550 * ms, 350 * ms},
		{"over", func() { p.Finish(600 * ms) }, 600 * ms, 200 * ms},
	} {
		if step.do(); p.head.Position(step.now) != step.want {
			t.Errorf("%s: position %v at %v, want %v", step.what, p.head.Position(step.now), step.now, step.want)
		}
	}
	immediate := playing(Options{Schedule: Schedule{Immediate: true}}, 0, 100*ms)
	if immediate.End(); immediate.head.Position(time.Hour) != 100*ms {
		t.Errorf("position %v after immediate play, want that of the last message", immediate.head.Position(time.Hour))
	}
}

// The clock begins with play, goes with it, and says where a jump leads at once.
func TestClockOfPlay(t *testing.T) {
	t.Parallel()
	p := playing(Options{})
	if _, ok := p.head.Clock(0); ok || p.head.Begun() {
		t.Error("there is a clock before the first message")
	}
	p = playing(Options{}, 0)
	p.SetNext(100 * ms)
	want := func(now, pos time.Duration) {
		t.Helper()
		if got, ok := p.head.Clock(now); !ok || got != zero.Add(pos) {
			t.Errorf("the clock says %v at %v, want %v", got.Sub(zero), now, pos)
		}
	}
	want(60*ms, 60*ms)
	want(50*ms, 60*ms) // it never goes back
	if p.head.ClockIsBefore(60*ms) || !p.head.ClockIsBefore(60*ms+1) {
		t.Error("the clock does not know what it has told")
	}
	if e := p.Seek(40*ms, 70*ms); !e.Moved {
		t.Error("the clock is not told of a seek")
	}
	want(80*ms, 40*ms)
	p.NextPass(0, 500*ms, 90*ms) // the stamps go on
	if want(90*ms, 500*ms); p.head.Reached() != zero.Add(500*ms) {
		t.Errorf("reached %v", p.head.Reached().Sub(zero))
	}
}

// A loop around one message does not spin: a pass takes some wall time, but in immediate mode.
func TestPassTakesTime(t *testing.T) {
	t.Parallel()
	for _, immediate := range []bool{false, true} {
		p := New(Options{Schedule: Schedule{Rate: 1, Immediate: immediate}, Loop: Loop{On: true, To: Forever}})
		p.Load(zero, 0)
		now := 5 * ms
		p.Begin(at(0), 0, now)
		for pass := range 3 {
			p.Publish(at(0), 0, 0)
			p.NextPass(0, 0, now)
			want := now
			if !immediate {
				want += 10 * ms
			}
			due := p.SetNext(0)
			if due != want {
				t.Errorf("immediate %v: pass %d begins at %v, want %v", immediate, pass, due, want)
			}
			if got := p.head.Position(now); got != 0 {
				t.Errorf("position %v before the pass begins", got)
			}
			now = due
		}
		if p.NextPass(0, 0, now+time.Second); p.SetNext(0) != now+time.Second {
			t.Error("a pass that took long enough delays the next")
		}
	}
}

// Each effect says where reading continues, and what else there is to do.
func TestEffects(t *testing.T) {
	t.Parallel()
	loop := Loop{To: Forever}
	marked := Loop{On: true, From: 200 * ms, To: 400 * ms}
	tests := map[string]struct {
		o    Options
		pos  []time.Duration
		do   func(p *Transport) Effects
		want Effects
	}{
		"seek": {
			pos: []time.Duration{0, 100 * ms}, do: func(p *Transport) Effects { return p.Seek(300*ms, 150*ms) },
			want: Effects{Changed: true, Moved: true, Read: true, Request: ReadRequest{From: at(300 * ms), Arrive: true, Loop: loop}},
		},
		"seek before the beginning": {
			pos: []time.Duration{0}, do: func(p *Transport) Effects { return p.Seek(-ms, 0) },
			want: Effects{Changed: true, Moved: true, Read: true, Request: ReadRequest{From: at(0), Arrive: true, Loop: loop}},
		},
		"seek to a position after the end": {
			pos: []time.Duration{0}, do: func(p *Transport) Effects { return p.Seek(time.Hour, 0) },
			want: Effects{Changed: true, Moved: true, Read: true, Request: ReadRequest{From: at(time.Second), Arrive: true, Loop: loop}},
		},
		"seek once play has ended": {
			pos: []time.Duration{0}, do: func(p *Transport) Effects { p.End(); return p.Seek(0, 0) },
			want: Effects{Changed: true, Moved: true, Read: true, Restarted: true, Request: ReadRequest{From: at(0), Arrive: true, Loop: loop}},
		},
		"seek when all is over": {
			pos: []time.Duration{0}, do: func(p *Transport) Effects { p.Finish(0); return p.Seek(0, 0) },
		},
		"step back while playing": {
			pos: []time.Duration{0}, do: func(p *Transport) Effects { e, _ := p.StepBack(); return e },
		},
		"step back": {
			o: Options{Schedule: Schedule{Paused: true}}, pos: []time.Duration{0, 100 * ms},
			do:   func(p *Transport) Effects { e, _ := p.StepBack(); return e },
			want: Effects{Changed: true, Read: true, Request: ReadRequest{From: at(100 * ms), Back: 1, Arrive: true, Loop: loop}},
		},
		"step back from the first message": {
			o: Options{Schedule: Schedule{Paused: true}}, pos: []time.Duration{0},
			do: func(p *Transport) Effects {
				e, ok := p.StepBack()
				if ok {
					panic("it reports success")
				}
				return e
			},
		},
		"two steps back, before the reader is there": {
			o: Options{Schedule: Schedule{Paused: true}}, pos: []time.Duration{0, 100 * ms},
			do:   func(p *Transport) Effects { p.StepBack(); e, _ := p.StepBack(); return e },
			want: Effects{Changed: true, Read: true, Request: ReadRequest{From: at(100 * ms), Back: 2, Arrive: true, Loop: loop}},
		},
		"step back twice, after the reader was there": {
			o: Options{Schedule: Schedule{Paused: true}}, pos: []time.Duration{0, 100 * ms},
			do: func(p *Transport) Effects {
				p.StepBack()
				p.Arrive(at(100*ms), 100*ms, true, 0)
				e, _ := p.StepBack()
				return e
			},
			want: Effects{Changed: true, Read: true, Request: ReadRequest{From: at(100 * ms), Back: 1, Arrive: true, Loop: loop}},
		},
		"loop on: reading continues after the last message": {
			pos: []time.Duration{0, 100 * ms}, do: func(p *Transport) Effects { return p.SetLoop(true, 0) },
			want: Effects{Changed: true, Read: true, Request: ReadRequest{From: Place{zero.Add(100 * ms), 1}, Loop: Loop{On: true, To: Forever}}},
		},
		"loop on, before any message": {
			do:   func(p *Transport) Effects { return p.SetLoop(true, 0) },
			want: Effects{Changed: true, Read: true, Request: ReadRequest{From: at(0), Loop: Loop{On: true, To: Forever}}},
		},
		"loop on again": {
			o: Options{Loop: Loop{On: true}}, do: func(p *Transport) Effects { return p.SetLoop(true, 0) },
		},
		"loop on, on the way to a seek": {
			pos: []time.Duration{0}, do: func(p *Transport) Effects { p.Seek(500*ms, 0); return p.SetLoop(true, 0) },
			want: Effects{Changed: true, Read: true, Request: ReadRequest{From: at(500 * ms), Arrive: true, Loop: Loop{On: true, To: Forever}}},
		},
		"ends that play has passed": {
			o: Options{Loop: Loop{On: true}}, pos: []time.Duration{0, 400 * ms},
			do:   func(p *Transport) Effects { e, _ := p.SetLoopRange(200*ms, 400*ms, 400*ms); return e },
			want: Effects{Changed: true, Moved: true, Read: true, Request: ReadRequest{From: at(200 * ms), Arrive: true, Loop: marked}},
		},
		"ends ahead of play": {
			o: Options{Loop: Loop{On: true}}, pos: []time.Duration{0},
			do:   func(p *Transport) Effects { e, _ := p.SetLoopRange(200*ms, 400*ms, 0); return e },
			want: Effects{Changed: true, Read: true, Request: ReadRequest{From: Place{zero, 1}, Loop: marked}},
		},
		"ends up to the last message": {
			pos:  []time.Duration{0},
			do:   func(p *Transport) Effects { e, _ := p.SetLoopRange(-ms, time.Hour, 0); return e },
			want: Effects{Changed: true, Read: true, Request: ReadRequest{From: Place{zero, 1}, Loop: loop}},
		},
		"loop off after the end": {
			o: Options{Loop: Loop{On: true}}, pos: []time.Duration{0},
			do:   func(p *Transport) Effects { p.End(); return p.SetLoop(false, 0) },
			want: Effects{Changed: true},
		},
		"loop on after the end": {
			pos: []time.Duration{0}, do: func(p *Transport) Effects { p.End(); return p.SetLoop(true, 0) },
			want: Effects{Changed: true, Read: true, Restarted: true, Request: ReadRequest{From: Place{zero, 1}, Loop: Loop{On: true, To: Forever}}},
		},
		"loop on when all is over": {
			pos: []time.Duration{0}, do: func(p *Transport) Effects { p.Finish(0); return p.SetLoop(true, 0) },
			want: Effects{Changed: true},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(tc.want, tc.do(playing(tc.o, tc.pos...))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestMarksThatAreNone(t *testing.T) {
	t.Parallel()
	p := playing(Options{}, 0)
	for _, ends := range [][2]time.Duration{{400 * ms, 400 * ms}, {400 * ms, 200 * ms}, {time.Second, time.Hour}, {-time.Hour, 0}} {
		if e, err := p.SetLoopRange(ends[0], ends[1], 0); err == nil || e != (Effects{}) {
			t.Errorf("from and to %v: %v, %v", ends, e, err)
		}
	}
	if s := p.State(0); s.From != 0 || s.To != time.Second {
		t.Errorf("the loop is from %v to %v", s.From, s.To)
	}
}

// Steps are taken while paused only, one message each, and end with what ends the pause.
func TestSteps(t *testing.T) {
	t.Parallel()
	p := playing(Options{}, 0)
	if p.Stepping() || p.Burst(1) {
		t.Error("a step while playing")
	}
	p.Pause(50 * ms)
	if p.Burst(0) || p.Stepping() {
		t.Error("a burst of none")
	}
	if !p.Burst(2) || !p.Stepping() {
		t.Error("no step while paused")
	}
	for i, pos := range []time.Duration{100 * ms, 200 * ms} {
		p.SetNext(pos)
		if pace := p.Publish(at(pos), pos, time.Hour); pace != ByStep || p.Stepping() != (i == 0) {
			t.Errorf("step %d: pace %d, stepping %v", i, pace, p.Stepping())
		}
	}
	if p.head.Position(time.Hour) != 200*ms {
		t.Errorf("position %v after the steps", p.head.Position(time.Hour))
	}
	for what, do := range map[string]func(*Transport){
		"a pause": func(p *Transport) { p.Resume(time.Second); p.Pause(time.Second) },
		"a seek":  func(p *Transport) { p.Seek(0, 0) },
	} {
		p := playing(Options{Schedule: Schedule{Paused: true}}, 0)
		p.Burst(2) // the message of playing was one
		if do(p); p.Stepping() {
			t.Errorf("steps are left after %s", what)
		}
	}
	for _, step := range []bool{false, true} { // back: the message there is a step, too
		p := playing(Options{})
		p.Pause(0)
		if p.Arrive(at(100*ms), 100*ms, step, 0); p.Stepping() != step || !p.head.Begun() {
			t.Errorf("arrived with step %v: stepping %v", step, p.Stepping())
		}
	}
	if p.End(); p.Burst(1) {
		t.Error("a step after the end")
	}
}

// A step through a loop without messages would never end.
func TestStepInAnEmptyLoop(t *testing.T) {
	t.Parallel()
	p := playing(Options{Schedule: Schedule{Paused: true}})
	p.Begin(at(0), 0, 0)
	p.Burst(1)
	if p.NextPass(0, 0, 0); !p.Stepping() {
		t.Error("the step ends with the first pass")
	}
	if p.NextPass(0, 0, 0); p.Stepping() {
		t.Error("the step goes on in a loop without messages")
	}
	if s := p.State(0); s.Pass != 2 {
		t.Errorf("pass %d", s.Pass)
	}
}

// A gap that is too long is skipped, and the schedule with it.
func TestSkip(t *testing.T) {
	t.Parallel()
	p := playing(Options{SkipEmpty: 100 * ms}, 0)
	if p.Skip(100*ms, 10*ms) || p.SetNext(100*ms) != 100*ms {
		t.Error("a gap was skipped that is not longer")
	}
	if !p.Skip(101*ms, 10*ms) || p.SetNext(101*ms) != 10*ms || p.head.ClockIsBefore(101*ms) {
		t.Errorf("101 ms are due at %v, want 10ms", p.SetNext(101*ms))
	}
	p = playing(Options{SkipEmpty: 100 * ms}, 0, 90*ms)
	if p.Skip(190*ms, 0) || !p.Skip(191*ms, 0) {
		t.Error("a gap is not counted from the last message")
	}
	if playing(Options{}, 0).Skip(time.Hour, 0) {
		t.Error("a gap was skipped without being asked")
	}
}

// What has held play up does not count.
func TestRebase(t *testing.T) {
	t.Parallel()
	p := playing(Options{}, 0)
	p.SetNext(100 * ms)
	if p.Rebase(40 * ms); p.SetNext(100*ms) != 100*ms {
		t.Errorf("due at %v, want 100ms: nothing has held play up", p.SetNext(100*ms))
	}
	p.SetNext(100 * ms)
	p.Rebase(500 * ms) // it is at 100 ms, and waits
	if got := p.SetNext(150 * ms); got != 550*ms {
		t.Errorf("due at %v, want 550ms", got)
	}
	if p.RebaseTo(150*ms, time.Second); p.SetNext(200*ms) != 1050*ms {
		t.Errorf("due at %v, want 1.05s", p.SetNext(200*ms))
	}
}

func TestStateOfPlay(t *testing.T) {
	t.Parallel()
	p := playing(Options{Schedule: Schedule{Rate: 2}, PauseOnTopics: true}, 0)
	p.SetNext(time.Second)
	if pos, ok := p.Bookmark(100 * ms); pos != 200*ms || !ok {
		t.Errorf("bookmark at %v", pos)
	}
	p.PauseFor("/a", 150*ms)
	p.SetRate(4, 200*ms)
	want := State{
		Paused: true, Rate: 4, Position: 300 * ms, BagTime: zero.Add(300 * ms), Length: time.Second, To: time.Second,
		Bookmarks: []time.Duration{200 * ms}, PauseOnTopics: true, PausedBy: "/a", Played: 300 * ms,
	}
	if d := cmp.Diff(want, p.State(time.Hour)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for what, do := range map[string]func(){
		"resume": func() { p.Resume(time.Second) }, "publish": func() { p.Publish(at(400*ms), 400*ms, 400*ms) }, "seek": func() { p.Seek(0, 0) },
	} {
		p.Resume(0)
		p.PauseFor("/a", 0)
		if do(); p.State(0).PausedBy != "" {
			t.Errorf("%s does not end the pause for a topic", what)
		}
	}
	if s := p.State(0); s.Jumps != 1 {
		t.Errorf("%d jumps, want 1", s.Jumps)
	}
	if p.PauseOnTopics(false); p.PausesOnTopics() {
		t.Error("still pauses for topics")
	}
	if first, length := p.head.Span(); first != zero || length != time.Second {
		t.Errorf("span %v, %v", first, length)
	}
	if p.End(); !p.head.Ended() {
		t.Error("not ended")
	}
	if d := cmp.Diff(ReadRequest{Loop: Loop{To: Forever}}, p.FirstRequest()); d != "" {
		t.Errorf("first order (-want +got):\n%s", d)
	}
}

// Any node may set bookmarks: there are not more than a thousand.
func TestBookmarksAreBounded(t *testing.T) {
	t.Parallel()
	p := playing(Options{}, 0)
	p.SetNext(time.Second)
	for i := range 1500 {
		pos, ok := p.Bookmark(time.Duration(i) * time.Microsecond)
		if want := time.Duration(i) * time.Microsecond; i < 1000 && (!ok || pos != want) || i >= 1000 && ok {
			t.Fatalf("bookmark %d at %v: %v", i, pos, ok)
		}
	}
	if all := p.State(time.Second).Bookmarks; len(all) != 1000 || all[999] != 999*time.Microsecond {
		t.Errorf("%d bookmarks, the last one at %v", len(all), all[len(all)-1])
	}
}
