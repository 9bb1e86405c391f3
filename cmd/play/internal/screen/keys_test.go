package screen_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/cmd/play/internal/face"
	"github.com/gorosbag/gorosbag/cmd/play/internal/screen"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/face/term"
	"github.com/gorosbag/gorosbag/internal/face/term/keys"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/rosbag"
)

// fakeControl records calls. Methods that it does not implement must not be called.
type fakeControl struct {
	control.Control
	status  control.Status
	refuses bool
	calls   []string
}

func (f *fakeControl) tell(format string, args ...any) {
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
}

func (f *fakeControl) err() error {
	if f.refuses {
		return errors.New("not now")
	}
	return nil
}

func (f *fakeControl) Status() control.Status { return f.status }
func (f *fakeControl) Toggle() bool           { f.tell("toggle"); return true }
func (f *fakeControl) Step() bool             { f.tell("step"); return true }
func (f *fakeControl) StepBack() bool         { f.tell("back"); return true }
func (f *fakeControl) Seek(to time.Duration)  { f.tell("seek %v", to) }
func (f *fakeControl) SetLoop(on bool)        { f.tell("loop %v", on) }
func (f *fakeControl) PauseOnTopics(on bool)  { f.tell("topics %v", on) }

func (f *fakeControl) SetRate(rate float64) error {
	f.tell("rate %v", rate)
	return f.err()
}

func (f *fakeControl) SetLoopRange(from, to time.Duration) error {
	f.tell("range %v %v", from, to)
	return f.err()
}

func (f *fakeControl) Bookmark() (time.Duration, error) {
	f.tell("bookmark")
	return f.status.Position, f.err()
}

// keysOf returns the keys of a player.
func keysOf(f *fakeControl, log *zap.Logger, marks []note.Mark) []term.Key[control.Stats] {
	ui := face.New()
	ui.Attach(f)
	orders := &screen.Orders{Control: f, Commands: ui.Commands(), Quit: func() { f.tell("quit") }, Marks: marks, Log: log}
	return orders.Keys()
}

func TestKeys(t *testing.T) {
	t.Parallel()
	here := control.Status{Rate: 1, Position: 2 * time.Minute, Length: 10 * time.Minute}
	with := func(change func(*control.Status)) control.Status {
		s := here
		change(&s)
		return s
	}
	rate := func(r float64) control.Status { return with(func(s *control.Status) { s.Rate = r }) }
	tests := []struct {
		keys   string
		press  []keys.Key
		status control.Status
		want   string
	}{
		{"space", []keys.Key{' '}, here, "toggle"},
		{"step", []keys.Key{'s', '.'}, here, "step"},
		{"back", []keys.Key{'S', ','}, here, "back"},
		{"left", []keys.Key{keys.Left}, here, "seek 1m55s"},
		{"right", []keys.Key{keys.Right}, here, "seek 2m5s"},
		{"far back", []keys.Key{keys.ShiftLeft, keys.PageUp}, here, "seek 1m0s"},
		{"far on", []keys.Key{keys.ShiftRight, keys.PageDown}, here, "seek 3m0s"},
		{"before the start", []keys.Key{keys.Left, keys.PageUp}, with(func(s *control.Status) { s.Position = time.Second }), "seek 0s"},
		{"after the end", []keys.Key{keys.Right, keys.PageDown}, with(func(s *control.Status) { s.Position = s.Length - time.Second }), "seek 10m0s"},
		{"start", []keys.Key{keys.Home, '0'}, here, "seek 0s"},
		{"end", []keys.Key{keys.End}, here, "seek 10m0s"},
		{"tenths", []keys.Key{'7'}, here, "seek 7m0s"},
		{"faster", []keys.Key{keys.Up}, here, "rate 2"},
		{"slower", []keys.Key{keys.Down}, here, "rate 0.5"},
		{"fastest", []keys.Key{keys.Up}, rate(8), "rate 8"},
		{"slowest", []keys.Key{keys.Down}, rate(0.1), "rate 0.1"},
		{"up from beside the steps", []keys.Key{keys.Up}, rate(1.5), "rate 2"},
		{"down from beside the steps", []keys.Key{keys.Down}, rate(1.5), "rate 1"},
		{"down from above the steps", []keys.Key{keys.Down}, rate(20), "rate 8"},
		{"up from below the steps", []keys.Key{keys.Up}, rate(0.01), "rate 0.1"},
		{"rate 1", []keys.Key{'='}, rate(4), "rate 1"},
		{"loop", []keys.Key{'l'}, here, "loop true"},
		{"no loop", []keys.Key{'l'}, with(func(s *control.Status) { s.Loop = true }), "loop false"},
		{"from here", []keys.Key{'['}, here, "range 2m0s 10m0s"},
		{"to here", []keys.Key{']'}, here, "range 0s 2m0s"},
		{"from here, before the end", []keys.Key{'['}, with(func(s *control.Status) { s.LoopTo = 3 * time.Minute }), "range 2m0s 3m0s"},
		{"from here, after the end", []keys.Key{'['}, with(func(s *control.Status) { s.LoopTo = time.Minute }), "range 2m0s 10m0s"},
		{"to here, after the beginning", []keys.Key{']'}, with(func(s *control.Status) { s.LoopFrom = time.Minute }), "range 1m0s 2m0s"},
		{"to here, before the beginning", []keys.Key{']'}, with(func(s *control.Status) { s.LoopFrom = 3 * time.Minute }), "range 0s 2m0s"},
		{"pause on topics", []keys.Key{'t'}, here, "topics true"},
		{"pause on topics no more", []keys.Key{'t'}, with(func(s *control.Status) { s.PauseOnTopics = true }), "topics false"},
		{"bookmark", []keys.Key{'b'}, here, "bookmark"},
		{"quit", []keys.Key{'q'}, here, "quit"},
		{"none", []keys.Key{'x', 'Q', keys.Escape, '\r', '?'}, here, ""},
	}
	for _, tc := range tests {
		for _, k := range tc.press {
			f := &fakeControl{status: tc.status}
			view := screen.View{Keys: keysOf(f, zap.NewNop(), nil)}
			view.Press(k)
			var want []string
			if tc.want != "" {
				want = []string{tc.want}
			}
			if d := cmp.Diff(want, f.calls); d != "" {
				t.Errorf("%s, %v (-want +got):\n%s", tc.keys, k, d)
			}
		}
	}
}

// Keys go to recorded marks that are played, and only where there are some.
func TestMarkKeys(t *testing.T) {
	t.Parallel()
	at := func(seconds uint32) rosbag.Time { return rosbag.Time{Sec: 1000 + seconds} }
	marks := []note.Mark{{Time: rosbag.Time{Sec: 1}, Text: "before"}, {Time: at(10), Text: "a"}, {Time: at(20), Text: "b"}, {Time: at(500), Text: "after"}}
	for _, tc := range []struct {
		key   keys.Key
		from  uint32
		marks []note.Mark
		want  []string
	}{
		{'m', 0, marks, []string{"seek 10s"}},
		{'m', 10, marks, []string{"seek 20s"}},
		{'m', 20, marks, nil},
		{'M', 25, marks, []string{"seek 20s"}},
		{'M', 20, marks, []string{"seek 10s"}},
		{'M', 10, marks, nil},
		{'m', 0, nil, nil},
	} {
		f := &fakeControl{status: control.Status{Rate: 1, Position: time.Duration(tc.from) * time.Second, BagTime: at(tc.from), Length: time.Minute}}
		view := screen.View{Keys: keysOf(f, zap.NewNop(), tc.marks)}
		view.Press(tc.key)
		if d := cmp.Diff(tc.want, f.calls); d != "" {
			t.Errorf("%v at %d s (-want +got):\n%s", tc.key, tc.from, d)
		}
	}
}

// A key that is refused says so.
func TestKeyRefused(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zapcore.InfoLevel)
	f := &fakeControl{refuses: true}
	view := screen.View{Keys: keysOf(f, zap.New(core), nil)}
	view.Press('=')
	view.Press(']')
	if n := logs.FilterMessage("the key did nothing").Len(); n != 2 {
		t.Errorf("%d lines: %v", n, logs.All())
	}
}
