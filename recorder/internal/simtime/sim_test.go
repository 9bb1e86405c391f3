package simtime_test

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ticks makes frames of rosgraph_msgs/Clock, some nanoseconds after the seconds, at most 5.
func ticks(seconds ...uint32) []byte {
	var run []byte
	for _, s := range seconds {
		run = binary.LittleEndian.AppendUint32(run, 8)
		run = binary.LittleEndian.AppendUint32(run, s)
		run = binary.LittleEndian.AppendUint32(run, min(s, 5))
	}
	return run
}

// linked is a clock that need not wait for a file, with the link of a publisher.
func linked(t *testing.T) (*simtime.Sim, tcpros.LinkSink) {
	t.Helper()
	sim := simtime.New()
	sim.Release()
	l, err := sim.Link(testlink.Info("/clock", "/sim"))
	if err != nil {
		t.Fatal(err)
	}
	return sim, l
}

// TestBegins: the clock begins with its first time that is not zero.
func TestBegins(t *testing.T) {
	t.Parallel()
	sim, l := linked(t)
	l.Frames(ticks(0), 1, time.Now())
	ended, end := context.WithCancel(t.Context())
	end()
	if err := sim.Await(ended, zap.NewNop()); !errors.Is(err, simtime.ErrNoTime) {
		t.Errorf("at zero: %v", err)
	}
	l.Frames(ticks(1), 1, time.Now())
	if err := sim.Await(t.Context(), zap.NewNop()); err != nil {
		t.Errorf("at 1 s: %v", err)
	}
	if at := sim.At(time.Now()); !at.Equal(time.Unix(1, 1)) {
		t.Errorf("it is %v", at)
	}
}

// TestBeginsAtZero: a simulator that begins at zero sends its first time on the same link. The link must not wait for
// the recording before, and with the first time it must.
func TestBeginsAtZero(t *testing.T) {
	t.Parallel()
	for name, runs := range map[string][][]byte{
		"a run for each": {ticks(0), ticks(0), ticks(1), ticks(2)},
		"one run":        {ticks(0, 0, 1, 2)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sim, recorded := simtime.New(), &testlink.Sink{}
				if err := sim.Record(func(tcpros.LinkInfo) (tcpros.LinkSink, error) { return recorded, nil }); err != nil {
					t.Fatal(err)
				}
				l, err := sim.Link(testlink.Info("/clock", "/sim"))
				if err != nil {
					t.Fatal(err)
				}
				ended := make(chan struct{})
				go func() { // ends when the link has its frames
					defer close(ended)
					for _, run := range runs {
						l.Frames(run, len(run)/12, time.Now())
					}
				}()
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := sim.Await(ctx, zap.NewNop()); err != nil {
					t.Errorf("not begun although a time came: %v", err)
				}
				if recorded.Messages != 0 {
					t.Errorf("%d messages are recorded before the recording has begun", recorded.Messages)
				}
				sim.Release()
				<-ended
				if recorded.Messages != 2 { // the times that are not zero
					t.Errorf("%d messages of /clock are recorded, want 2", recorded.Messages)
				}
			})
		})
	}
}

// TestUntil: that a time has passed is told once, and not at that very time.
func TestUntil(t *testing.T) {
	t.Parallel()
	sim, l := linked(t)
	over := sim.Until(time.Unix(200, 5))
	l.Frames(ticks(1, 200), 2, time.Now())
	select {
	case at := <-over:
		t.Errorf("over at %v", at)
	default:
	}
	l.Frames(ticks(201, 202), 2, time.Now())
	if at := <-over; !at.Equal(time.Unix(201, 5)) {
		t.Errorf("over at %v", at)
	}
	select {
	case at := <-over:
		t.Errorf("over once more, at %v", at)
	default:
	}
}

// TestGoesBack: stamps follow a clock that goes back; the time that has passed does not.
func TestGoesBack(t *testing.T) {
	t.Parallel()
	sim := simtime.New()
	var told []time.Duration
	sim.Tell(func(now, before time.Time) { told = append(told, now.Sub(before)) })
	for _, step := range []struct{ now, steady, back int64 }{{100, 100, 0}, {110, 110, 0}, {40, 110, 70}, {45, 115, 70}, {44, 115, 71}, {50, 121, 71}} {
		sim.Set(step.now * 1e9)
		at, steady, back := sim.At(time.Now()).Unix(), sim.Steady(time.Now()).Unix(), int64(sim.GoneBack().Seconds())
		if at != step.now || steady != step.steady || back != step.back {
			t.Errorf("at %d s it is %d, steady %d, gone back %d, want %+v", step.now, at, steady, back, step)
		}
	}
	if want := []time.Duration{100e9 - time.Duration(0), 10e9, -70e9, 5e9, -1e9, 6e9}; !slices.Equal(told[1:], want[1:]) || len(told) != len(want) {
		t.Errorf("told of steps %v, want %v", told, want)
	}
}

// TestWallClock: without a clock of the graph everything is as received.
func TestWallClock(t *testing.T) {
	t.Parallel()
	var wall *simtime.Sim
	now := time.Now()
	if wall.At(now) != now || wall.Steady(now) != now || wall.GoneBack() != 0 || wall.Step() != 1 {
		t.Error("the wall clock differs")
	}
	if simtime.New().Step() != 0 {
		t.Error("messages that come together have different times of the clock")
	}
	wall.Release()
	wall.Close()
}

// TestRecord: links that open before or after Record are recorded, each message once, until Forget. The
// clock goes on.
func TestRecord(t *testing.T) {
	t.Parallel()
	sim, early := linked(t)
	early.Frames(ticks(1), 1, time.Now())
	sinks := map[string]*testlink.Sink{}
	if err := sim.Record(func(info tcpros.LinkInfo) (tcpros.LinkSink, error) {
		s := &testlink.Sink{}
		sinks[rosbag.Header(info.Header).CallerID()] = s
		return s, nil
	}); err != nil {
		t.Fatal(err)
	}
	late, err := sim.Link(testlink.Info("/clock", "/late"))
	if err != nil {
		t.Fatal(err)
	}
	early.Frames(ticks(2, 3), 2, time.Now())
	late.Frames(ticks(4), 1, time.Now())
	if sinks["/sim"].Messages != 2 || !slices.Equal(sinks["/sim"].Last, ticks(3)) || sinks["/late"].Messages != 1 {
		t.Errorf("recorded: %+v, %+v", sinks["/sim"], sinks["/late"])
	}
	late.Closed(errGone)
	sim.Forget()
	early.Frames(ticks(300), 1, time.Now())
	early.Closed(nil)
	if at := sim.At(time.Now()); !at.Equal(time.Unix(300, 5)) {
		t.Errorf("it is %v", at)
	}
	for name, want := range map[string]error{"/sim": nil, "/late": errGone} {
		if s := sinks[name]; s.Ended != 1 || !errors.Is(s.Err, want) {
			t.Errorf("the sink of %s: %+v, want it closed once with %v", name, s, want)
		}
	}
}

var errGone = errors.New("gone")

// TestRecordRefused: the error of a sink that cannot be made reaches who asks for it.
func TestRecordRefused(t *testing.T) {
	t.Parallel()
	sim, _ := linked(t)
	if err := sim.Record(func(tcpros.LinkInfo) (tcpros.LinkSink, error) { return nil, errGone }); !errors.Is(err, errGone) {
		t.Errorf("Record: %v", err)
	}
	if _, err := sim.Link(testlink.Info("/clock", "/late")); !errors.Is(err, errGone) {
		t.Errorf("Link: %v", err)
	}
}

// TestHeldUntilRelease: a link waits until the recording is there, so that no time of the clock is missed.
func TestHeldUntilRelease(t *testing.T) {
	t.Parallel()
	sim := simtime.New()
	l, err := sim.Link(testlink.Info("/clock", "/sim"))
	if err != nil {
		t.Fatal(err)
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		l.Frames(ticks(7), 1, time.Now())
	}()
	if err := sim.Await(t.Context(), zap.NewNop()); err != nil { // the clock itself does not wait
		t.Fatal(err)
	}
	s := &testlink.Sink{}
	if err := sim.Record(func(tcpros.LinkInfo) (tcpros.LinkSink, error) { return s, nil }); err != nil {
		t.Fatal(err)
	}
	sim.Release()
	<-sent
	if s.Messages != 1 {
		t.Errorf("%d messages recorded", s.Messages)
	}
}
