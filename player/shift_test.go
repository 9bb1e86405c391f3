package player

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/framing"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/player/internal/transport"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// tfData is a tf2_msgs/TFMessage.
func tfData(stamps ...bagfmt.Time) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(stamps)))
	for i, t := range stamps {
		b = append(b, testplay.HeaderData(t, strings.Repeat("f", i))...)
		b = append(b, testplay.StringData("child")...)
		b = append(b, bytes.Repeat([]byte{byte(i)}, 7*8)...) // translation and rotation
	}
	return b
}

// stampsOfType returns what finds the stamps in messages of a definition, whatever its md5sum.
func stampsOfType(tb testing.TB, definition string) *rosmsg.HeaderStamps {
	tb.Helper()
	typ, err := rosmsg.Parse("a/B", definition)
	if err != nil {
		tb.Fatal(err)
	}
	return typ.HeaderStamps()
}

func TestShiftStamps(t *testing.T) {
	t.Parallel()
	at, moved := bagfmt.Time{Sec: 100, Nsec: 900e6}, bagfmt.Time{Sec: 103, Nsec: 400e6}
	clock := func(t bagfmt.Time) []byte { return testplay.HeaderData(t, "")[4:12] }
	tests := map[string]struct {
		definition    string
		payload, want []byte
	}{
		"header":           {"Header header" + testplay.HeaderBlock, testplay.HeaderData(at, "map"), testplay.HeaderData(moved, "map")},
		"header not first": {"int32 x\nHeader header" + testplay.HeaderBlock, append(clock(at)[:4:4], testplay.HeaderData(at, "map")...), append(clock(at)[:4:4], testplay.HeaderData(moved, "map")...)},
		"no stamp":         {"Header header" + testplay.HeaderBlock, testplay.HeaderData(bagfmt.Time{}, "map"), testplay.HeaderData(bagfmt.Time{}, "map")},
		"too short":        {"Header header" + testplay.HeaderBlock, testplay.HeaderData(at, "")[:11:11], testplay.HeaderData(at, "")[:11:11]},
		"clock":            {"time clock\n", clock(at), clock(moved)},
		"tf":               {plan.KnownDefinition(testplay.TFMD5), tfData(at, bagfmt.Time{}, at), tfData(moved, bagfmt.Time{}, moved)},
		"tf, empty":        {plan.KnownDefinition(testplay.TFMD5), tfData(), tfData()},
		"tf, too many":     {plan.KnownDefinition(testplay.TFMD5), []byte{255, 255, 255, 255, 0, 0, 0, 0}, []byte{255, 255, 255, 255, 0, 0, 0, 0}},
		"no stamps at all": {"string data\n", testplay.StringData("x"), testplay.StringData("x")},
		"the last time there is": {
			"Header header" + testplay.HeaderBlock, testplay.HeaderData(bagfmt.Time{Sec: 1<<32 - 1}, ""), testplay.HeaderData(bagfmt.Time{Sec: 1<<32 - 1, Nsec: 999999999}, ""),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			frame := testplay.Framed(tc.payload)
			before := slices.Clone(frame)
			var s stampShifter
			got := s.shift(stampsOfType(t, tc.definition), frame, 2500*ms)
			if d := cmp.Diff(testplay.Framed(tc.want), got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if !bytes.Equal(frame, before) {
				t.Error("the frame of the bag was modified")
			}
		})
	}
}

// What latched publishers hold moves with the pass; the state that was read does not.
func TestShiftedState(t *testing.T) {
	t.Parallel()
	var s stampShifter
	frame := testplay.Framed(testplay.HeaderData(bagfmt.Time{Sec: 100}, "map"))
	state := []plan.Latched{{Route: &plan.Route{Topic: &plan.Topic{Stamps: stampsOfType(t, "Header header"+testplay.HeaderBlock)}}, Frame: frame}}
	moved := s.shiftState(state, time.Second)
	if d := cmp.Diff(testplay.Framed(testplay.HeaderData(bagfmt.Time{Sec: 101}, "map")), moved[0].Frame); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if &state[0].Frame[0] != &frame[0] {
		t.Error("the state that was read has changed")
	}
	if same := s.shiftState(state, 0); &same[0] != &state[0] {
		t.Error("a pass that does not move costs a copy")
	}
}

// A list of transforms that ends early is left as it is.
func TestShiftDamagedTransforms(t *testing.T) {
	t.Parallel()
	h := stampsOfType(t, plan.KnownDefinition(testplay.TFMD5))
	at := bagfmt.Time{Sec: 100}
	whole := testplay.Framed(tfData(at, at))
	var s stampShifter
	for i := range whole {
		if got := s.shift(h, whole[:i:i], time.Second); !bytes.Equal(got, whole[:i]) {
			t.Errorf("cut at %d of %d: %x", i, len(whole), got)
		}
	}
}

// With --loop=shift no time goes back or repeats from pass to pass: neither that of headers,
// nor that of tf, nor that of the clock, recorded or ours. The three topics have the same times,
// so a pass lasts one millisecond longer than from the first message to the last.
func TestLoopShift(t *testing.T) {
	t.Parallel()
	stamped := testplay.Conn{Topic: "/s", Type: "a/Stamped", MD5Sum: "*"}
	tf := testplay.Conn{Topic: "/tf", Type: "tf2_msgs/TFMessage", MD5Sum: testplay.TFMD5}
	clock := testplay.Conn{Topic: "/clock", Type: "rosgraph_msgs/Clock", MD5Sum: framing.ClockMD5}
	f := &testplay.MemoryFile{}
	w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var conns []*bagfmt.Connection
	for i, c := range []testplay.Conn{stamped, tf, clock} {
		h := c.Header()
		h[3].Value = []string{"Header header" + testplay.HeaderBlock, plan.KnownDefinition(testplay.TFMD5), ""}[i]
		conn, err := w.AddConnection(c.Topic, h)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	for i := range 3 {
		at := testplay.Base.Add(time.Duration(i) * 100 * ms)
		for n, data := range [][]byte{testplay.HeaderData(at, "x"), tfData(at), testplay.HeaderData(at, "")[4:12]} {
			if err := w.Write(conns[n], at, data); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		g := newFakeGraph()
		last := map[string]bagfmt.Time{}
		count := map[string]int{}
		g.frames = func(topic string, frame []byte) {
			offset := map[string]int{"/s": 8, "/tf": 12, "/clock": 4}[topic]
			b := frame[offset:]
			at := bagfmt.Time{Sec: binary.LittleEndian.Uint32(b), Nsec: binary.LittleEndian.Uint32(b[4:])}
			if at.Before(last[topic]) || at == last[topic] && topic != "/clock" { // which we publish, too
				t.Errorf("%v: %s goes back, or repeats a stamp, from %v to %v", time.Since(g.start), topic, last[topic], at)
			}
			if want := testplay.Base.Add(time.Since(g.start)); topic != "/clock" && at != want {
				t.Errorf("%v: %s has %v, want %v", time.Since(g.start), topic, at, want)
			}
			last[topic] = at
			count[topic]++
		}
		steer(t, g, Options{
			Bags: testplay.OpenBags(t, f.Data), Loop: true, LoopShift: true, Clock: true, Hz: 50,
		}, ordersAt{time.Minute + 50*ms: stop})
		if want := 298*3 + 2; count["/s"] != want || count["/tf"] != want || count["/clock"] < 3000 {
			t.Errorf("messages %v, want %d", count, want)
		}
	})
}

// A bag with a stamp of zero, as nodes on simulated time leave them, and the latest stamp
// there is: after three passes the time that was played is more than a Duration holds.
func TestLoopOverAllStamps(t *testing.T) {
	t.Parallel()
	zero := -time.Duration(testplay.Base.Sec) * time.Second
	end := zero + (1<<32-1)*time.Second
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Series(testplay.ConnA, "a", zero, end)...)
	synctest.Test(t, func(t *testing.T) {
		g := newFakeGraph()
		last := time.Duration(-1)
		g.clockZero = bagfmt.Time{Nsec: 1} // zero means none
		var at []time.Duration             // of the messages
		s := steer(t, g, Options{Bags: testplay.OpenBags(t, bag), Rate: 1e9, Loop: true, LoopShift: true, Clock: true, Hz: 1}, ordersAt{
			30 * time.Second: func(c control.Control) {
				if s := c.Status(); s.Position < 0 || s.Position > s.Length || s.Pass != 3 || s.Achieved < 0 {
					t.Errorf("status %+v", s)
				}
				c.Stop()
			},
		})
		for _, e := range g.events {
			f := strings.Fields(e)
			if f[1] == "clock" {
				d, err := time.ParseDuration(f[2])
				if err != nil || d < last {
					t.Errorf("the clock goes back from %v: %s", last, e)
				}
				last = d
				continue
			}
			if d, err := time.ParseDuration(f[0]); err == nil && f[1] != "drain" {
				at = append(at, d)
			}
		}
		pass := end - zero
		want := []time.Duration{}
		for i := range 7 {
			want = append(want, time.Duration(i)*(pass/1e9))
		}
		if d := cmp.Diff(want, at); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if s.Played != transport.Forever || s.Achieved <= 0 {
			t.Errorf("summary %+v", s)
		}
	})
}
