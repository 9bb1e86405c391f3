package output

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/player/internal/follow"
	"github.com/gorosbag/gorosbag/player/internal/pacing"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/player/internal/transport"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

const ms = time.Millisecond

// Messages that are late keep the time at which they were due, unless play is behind for good.
func TestStampsOfLateMessages(t *testing.T) {
	t.Parallel()
	p := transport.New(transport.Options{Schedule: transport.Schedule{Rate: 1}})
	p.Begin(transport.Place{}, 0, time.Second)
	s := stamper{head: p.Head(), maxLate: 100 * ms}
	for _, step := range []struct{ late, want time.Duration }{
		{0, 0},
		{30 * ms, 0},
		{100 * ms, 0},
		{150 * ms, 50 * ms},
		{120 * ms, 50 * ms},
		{50 * ms, 50 * ms},
		{40 * ms, 40 * ms},
		{130 * ms, 40 * ms},
		{time.Hour, time.Hour - 100*ms},
		{time.Hour - 10*ms, time.Hour - 100*ms},
		{5, 5},
		{0, 0},
	} {
		if at := s.onSchedule(step.late); at.Pos != 0 || at.Due != time.Second+step.want {
			t.Errorf("%v late: position %v at %v, want %v", step.late, at.Pos, at.Due-time.Second, step.want)
		}
	}
}

// A clock that says little leaves no stamp of zero: that would mean none.
func TestStampsAreNotZero(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]rosbag.Time{
		-time.Hour: {Nsec: 1}, 0: {Nsec: 1}, 1: {Nsec: 1}, time.Second: {Sec: 1}, 1<<62 + 1<<61: {Sec: 1<<32 - 1, Nsec: 999_999_999},
	} {
		if got := sinceEpoch(d); got != want {
			t.Errorf("%v: %v, want %v", d, got, want)
		}
	}
}

// A message that does not fit its definition is published as it was recorded; the first one is said.
func TestStampsThatAreNotThere(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.WarnLevel)
	s := stamper{clock: func() time.Duration { return 1e18 }, head: transport.New(transport.Options{Schedule: transport.Schedule{Rate: 1}}).Head(), log: zap.New(core)}
	to := &Topic{Topic: &plan.Topic{Name: "/tf", Stamps: testplay.StampsOf(t, testplay.TFDefinition())}}
	m := Message{Frame: testplay.Framed([]byte{1, 2}), Recorded: testplay.Base}
	for n := range 3 {
		if got := s.stamp(to, &m); &got[0] != &m.Frame[0] || to.unstamped != uint64(n+1) {
			t.Errorf("message %d: %x, %d are not stamped", n, got, to.unstamped)
		}
	}
	if all := logs.All(); len(all) != 1 || all[0].ContextMap()["topic"] != "/tf" {
		t.Errorf("logged: %v", all)
	}
}

// The skew of another clock is that of its message that took the least time to arrive.
func TestClockSkews(t *testing.T) {
	t.Parallel()
	var c clockSkews
	for _, step := range []struct{ behind, want time.Duration }{
		{0, 0},
		{maxLatency, 0},
		{-maxLatency, 0},
		{time.Hour, time.Hour},
		{time.Hour + maxSkewChange, time.Hour}, // took longer
		{time.Hour - 300*ms, time.Hour - 300*ms},
		{time.Hour, time.Hour - 300*ms},
		{-time.Hour, -time.Hour}, // a third clock
		{-time.Hour + 5*ms, -time.Hour},
		{time.Hour, time.Hour - 300*ms},
		{time.Hour + maxSkewChange, time.Hour + maxSkewChange}, // a clock of its own
	} {
		if got := c.of(step.behind); got != step.want {
			t.Errorf("%v behind: skew %v, want %v", step.behind, got, step.want)
		}
	}
}

// A message that is stamped costs its copy, which the reader makes, and no other allocation.
func TestStampingAllocatesNothing(t *testing.T) {
	s := stamper{clock: follow.Machine(pacing.NewTimerSleeper(), true).Stamps, head: transport.New(transport.Options{Schedule: transport.Schedule{Rate: 1}}).Head(), log: zap.NewNop()}
	h := testplay.StampsOf(t, testplay.TFDefinition())
	to := &Topic{Topic: &plan.Topic{Stamps: h}}
	m := Message{Frame: testplay.Framed(testplay.TFData(testplay.Base, testplay.Base)), Private: true, Recorded: testplay.Base}
	if n := testing.AllocsPerRun(1000, func() { s.stamp(to, &m) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	before := slices.Clone(m.Frame)
	m.Private = false
	if n := testing.AllocsPerRun(1000, func() { s.stamp(to, &m) }); n != 1 {
		t.Errorf("%v allocations with a copy", n)
	}
	if !bytes.Equal(before, m.Frame) {
		t.Error("the frame of the bag was modified")
	}
}

// FuzzStamp stamps anything by any definition: only stamps that are not zero change, and a
// frame that is not ours does not change.
func FuzzStamp(f *testing.F) {
	f.Add(sensorDefinition, sensorData(testplay.Base), int64(1e9), int64(0))
	f.Add(testplay.TFDefinition(), testplay.TFData(testplay.Base, rosbag.Time{}, testplay.Base.Add(time.Hour)), int64(-1), int64(1e18))
	f.Add(pathDefinition, pathData(testplay.Base, testplay.Base, testplay.Base)[:60], int64(5), int64(-1e12))
	f.Add("time clock", testplay.HeaderData(testplay.Base, "")[4:12], int64(0), int64(1<<62))
	f.Fuzz(func(t *testing.T, definition string, payload []byte, recorded, now int64) {
		typ, err := rosmsg.Parse("a/B", definition)
		if err != nil {
			return
		}
		p := transport.New(transport.Options{Schedule: transport.Schedule{Rate: 0.3}})
		s := stamper{clock: func() time.Duration { return 1e18 }, head: p.Head(), log: zap.NewNop()}
		to := &Topic{Topic: &plan.Topic{Stamps: typ.HeaderStamps()}}
		frame := testplay.Framed(payload)
		before := slices.Clone(frame)
		at := rosbag.Time{}.Add(time.Duration(recorded))
		m := Message{Frame: frame, Recorded: at, At: s.outOfTurn(at, time.Duration(now))}
		got := s.stamp(to, &m)
		if !bytes.Equal(frame, before) || len(got) != len(frame) {
			t.Fatalf("%x became %x", before, frame)
		}
		var offsets []int
		if to.Stamps != nil {
			if offsets, err = to.Stamps.AppendOffsets(nil, payload); err != nil && to.unstamped != 1 {
				t.Fatalf("%v is not counted", err)
			}
		}
		for _, i := range offsets {
			was, is := stdmsg.StampAt(payload, i), stdmsg.StampAt(got[stdmsg.FramePrefix:], i)
			if was.IsZero() != is.IsZero() {
				t.Fatalf("%v became %v", was, is)
			}
			stdmsg.SetStamp(got[stdmsg.FramePrefix:], i, was)
		}
		if !bytes.Equal(got, before) {
			t.Fatalf("more than stamps has changed: %x became %x", before, got)
		}
		m.Frame, m.Private = frame, true
		if got := s.stamp(to, &m); len(got) > 0 && &got[0] != &frame[0] {
			t.Fatal("a private frame was copied")
		}
	})
}

// The types of stamped messages.
var (
	sensorDefinition = "Header header\nint32 n" + testplay.HeaderBlock
	pathDefinition   = "Header header\nSensor[] poses\n" +
		"================================================================================\nMSG: a/Sensor\n" + sensorDefinition
)

func sensorData(stamp rosbag.Time) []byte { return append(testplay.HeaderData(stamp, "f"), 1, 2, 3, 4) }

// pathData is a message of pathDefinition.
func pathData(stamps ...rosbag.Time) []byte {
	b := binary.LittleEndian.AppendUint32(testplay.HeaderData(stamps[0], "map"), uint32(len(stamps)-1))
	for _, s := range stamps[1:] {
		b = append(b, sensorData(s)...)
	}
	return b
}
