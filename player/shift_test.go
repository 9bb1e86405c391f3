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
	"github.com/gorosbag/gorosbag/player/internal/transport"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

const tfMD5 = "94810edda583a504dfda3829e70d7eec"

// framed puts the length in front of a payload.
func framed(payload []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}

// headerData is a header: seq, stamp, frame_id.
func headerData(t rosbag.Time, frameID string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 7)
	b = binary.LittleEndian.AppendUint32(b, t.Sec)
	b = binary.LittleEndian.AppendUint32(b, t.Nsec)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(frameID))), frameID...)
}

// tfData is a tf2_msgs/TFMessage.
func tfData(stamps ...rosbag.Time) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(stamps)))
	for i, t := range stamps {
		b = append(b, headerData(t, strings.Repeat("f", i))...)
		b = append(b, StringData("child")...)
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

// headerBlock is what definitions with a header have behind them.
var headerBlock = "\n" + strings.Repeat("=", 80) + "\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n"

func TestShiftStamps(t *testing.T) {
	t.Parallel()
	at, moved := rosbag.Time{Sec: 100, Nsec: 900e6}, rosbag.Time{Sec: 103, Nsec: 400e6}
	clock := func(t rosbag.Time) []byte { return headerData(t, "")[4:12] }
	tests := map[string]struct {
		definition    string
		payload, want []byte
	}{
		"header":           {"Header header" + headerBlock, headerData(at, "map"), headerData(moved, "map")},
		"header not first": {"int32 x\nHeader header" + headerBlock, append(clock(at)[:4:4], headerData(at, "map")...), append(clock(at)[:4:4], headerData(moved, "map")...)},
		"no stamp":         {"Header header" + headerBlock, headerData(rosbag.Time{}, "map"), headerData(rosbag.Time{}, "map")},
		"too short":        {"Header header" + headerBlock, headerData(at, "")[:11:11], headerData(at, "")[:11:11]},
		"clock":            {"time clock\n", clock(at), clock(moved)},
		"tf":               {knownDefinitions[tfMD5], tfData(at, rosbag.Time{}, at), tfData(moved, rosbag.Time{}, moved)},
		"tf, empty":        {knownDefinitions[tfMD5], tfData(), tfData()},
		"tf, too many":     {knownDefinitions[tfMD5], []byte{255, 255, 255, 255, 0, 0, 0, 0}, []byte{255, 255, 255, 255, 0, 0, 0, 0}},
		"no stamps at all": {"string data\n", StringData("x"), StringData("x")},
		"the last time there is": {
			"Header header" + headerBlock, headerData(rosbag.Time{Sec: 1<<32 - 1}, ""), headerData(rosbag.Time{Sec: 1<<32 - 1, Nsec: 999999999}, ""),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			frame := framed(tc.payload)
			before := slices.Clone(frame)
			var s stampShifter
			got := s.shift(stampsOfType(t, tc.definition), frame, 2500*ms)
			if d := cmp.Diff(framed(tc.want), got); d != "" {
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
	frame := framed(headerData(rosbag.Time{Sec: 100}, "map"))
	state := []latchedMessage{{route: &route{topic: &topic{stamps: stampsOfType(t, "Header header"+headerBlock)}}, frame: frame}}
	moved := s.shiftState(state, time.Second)
	if d := cmp.Diff(framed(headerData(rosbag.Time{Sec: 101}, "map")), moved[0].frame); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if &state[0].frame[0] != &frame[0] {
		t.Error("the state that was read has changed")
	}
	if same := s.shiftState(state, 0); &same[0] != &state[0] {
		t.Error("a pass that does not move costs a copy")
	}
}

// A list of transforms that ends early is left as it is.
func TestShiftDamagedTransforms(t *testing.T) {
	t.Parallel()
	h := stampsOfType(t, knownDefinitions[tfMD5])
	at := rosbag.Time{Sec: 100}
	whole := framed(tfData(at, at))
	var s stampShifter
	for i := range whole {
		if got := s.shift(h, whole[:i:i], time.Second); !bytes.Equal(got, whole[:i]) {
			t.Errorf("cut at %d of %d: %x", i, len(whole), got)
		}
	}
}

// The stamps of a topic are found by its definition, if that is of its messages.
func TestStampsOfTopics(t *testing.T) {
	t.Parallel()
	stamped, err := rosmsg.Parse("a/Stamped", "Header header"+headerBlock)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		*topic
		stamps bool
		err    string
	}{
		"header":                 {&topic{typ: "a/Stamped", md5: stamped.MD5Sum(), definition: "Header header" + headerBlock}, true, ""},
		"any md5sum":             {&topic{typ: "a/Stamped", md5: "*", definition: "Header header" + headerBlock}, true, ""},
		"none":                   {&topic{typ: stringType, md5: stringMD5, definition: stringDefinition}, false, ""},
		"empty":                  {&topic{typ: "std_msgs/Empty", md5: rosmsg.EmptyMD5Sum}, false, ""},
		"tf by its md5sum":       {&topic{typ: "tf/tfMessage", md5: tfMD5}, true, ""},
		"clock by its md5sum":    {&topic{typ: "rosgraph_msgs/Clock", md5: clockMD5}, true, ""},
		"no definition":          {&topic{typ: "a/Stamped", md5: stamped.MD5Sum()}, false, "no message definition of a/Stamped"},
		"of another type":        {&topic{typ: "a/Stamped", md5: tfMD5, definition: "Header header" + headerBlock}, false, "has md5sum " + stamped.MD5Sum()},
		"that cannot be read":    {&topic{typ: "a/Stamped", md5: tfMD5, definition: "Heder header"}, false, `no definition of "a/Heder"`},
		"without the block":      {&topic{typ: "a/Stamped", md5: stamped.MD5Sum(), definition: "Header header"}, false, `no definition of "std_msgs/Header"`},
		"with a name of no type": {&topic{typ: "\x00", md5: tfMD5, definition: "bool b"}, false, "no name for a type"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, err := tc.headerStamps()
			if (h != nil) != tc.stamps || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("has stamps: %v, error %v", h != nil, err)
			}
		})
	}
}

// With --loop=shift no time goes back or repeats from pass to pass: neither that of headers,
// nor that of tf, nor that of the clock, recorded or ours. The three topics have the same times,
// so a pass lasts one millisecond longer than from the first message to the last.
func TestLoopShift(t *testing.T) {
	t.Parallel()
	stamped := TestConn{Topic: "/s", Type: "a/Stamped", MD5Sum: "*"}
	tf := TestConn{Topic: "/tf", Type: "tf2_msgs/TFMessage", MD5Sum: tfMD5}
	clock := TestConn{Topic: "/clock", Type: "rosgraph_msgs/Clock", MD5Sum: clockMD5}
	f := &memoryFile{}
	w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var conns []*rosbag.Connection
	for i, c := range []TestConn{stamped, tf, clock} {
		h := c.header()
		h[3].Value = []string{"Header header" + headerBlock, knownDefinitions[tfMD5], ""}[i]
		conn, err := w.AddConnection(c.Topic, h)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	for i := range 3 {
		at := testBase.Add(time.Duration(i) * 100 * ms)
		for n, data := range [][]byte{headerData(at, "x"), tfData(at), headerData(at, "")[4:12]} {
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
		last := map[string]rosbag.Time{}
		count := map[string]int{}
		g.frames = func(topic string, frame []byte) {
			offset := map[string]int{"/s": 8, "/tf": 12, "/clock": 4}[topic]
			b := frame[offset:]
			at := rosbag.Time{Sec: binary.LittleEndian.Uint32(b), Nsec: binary.LittleEndian.Uint32(b[4:])}
			if at.Before(last[topic]) || at == last[topic] && topic != "/clock" { // which we publish, too
				t.Errorf("%v: %s goes back, or repeats a stamp, from %v to %v", time.Since(g.start), topic, last[topic], at)
			}
			if want := testBase.Add(time.Since(g.start)); topic != "/clock" && at != want {
				t.Errorf("%v: %s has %v, want %v", time.Since(g.start), topic, at, want)
			}
			last[topic] = at
			count[topic]++
		}
		steer(t, g, Options{
			Bags: OpenTestBags(t, f.data), Loop: true, LoopShift: true, Clock: true, Hz: 50,
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
	zero := -time.Duration(testBase.Sec) * time.Second
	end := zero + (1<<32-1)*time.Second
	bag := MakeBag(t, bagfmt.WriterOptions{}, series(connA, "a", zero, end)...)
	synctest.Test(t, func(t *testing.T) {
		g := newFakeGraph()
		last := time.Duration(-1)
		g.clockZero = rosbag.Time{Nsec: 1} // zero means none
		var at []time.Duration             // of the messages
		s := steer(t, g, Options{Bags: OpenTestBags(t, bag), Rate: 1e9, Loop: true, LoopShift: true, Clock: true, Hz: 1}, ordersAt{
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
