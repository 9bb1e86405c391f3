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
)

const (
	tfMD5    = "94810edda583a504dfda3829e70d7eec"
	clockMD5 = "a9c97c1d230cfc112e270351a944ee47"
)

// framed puts the length in front of a payload.
func framed(payload []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}

// headerData is a header: seq, stamp, frame_id.
func headerData(t bagfmt.Time, frameID string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 7)
	b = binary.LittleEndian.AppendUint32(b, t.Sec)
	b = binary.LittleEndian.AppendUint32(b, t.Nsec)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(frameID))), frameID...)
}

// tfData is a tf2_msgs/TFMessage.
func tfData(stamps ...bagfmt.Time) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(stamps)))
	for i, t := range stamps {
		b = append(b, headerData(t, strings.Repeat("f", i))...)
		b = append(b, StringData("child")...)
		b = append(b, bytes.Repeat([]byte{byte(i)}, transformBytes)...)
	}
	return b
}

func TestShiftStamps(t *testing.T) {
	t.Parallel()
	at, moved := bagfmt.Time{Sec: 100, Nsec: 900e6}, bagfmt.Time{Sec: 103, Nsec: 400e6}
	clock := func(t bagfmt.Time) []byte { return headerData(t, "")[4:12] }
	tests := map[string]struct {
		md5, definition string
		payload, want   []byte
	}{
		"header":           {"1", "Header header\nstring s\n", headerData(at, "map"), headerData(moved, "map")},
		"header, long":     {"1", "# first\nstd_msgs/Header h\n", headerData(at, ""), headerData(moved, "")},
		"header not first": {"1", "int32 x\nHeader header\n", headerData(at, "map"), headerData(at, "map")},
		"no stamp":         {"1", "Header header\n", headerData(bagfmt.Time{}, "map"), headerData(bagfmt.Time{}, "map")},
		"header, too short": {
			"1", "Header header\n", headerData(at, "")[:11:11], headerData(at, "")[:11:11],
		},
		"clock":     {clockMD5, "time clock\n", clock(at), clock(moved)},
		"tf":        {tfMD5, "", tfData(at, bagfmt.Time{}, at), tfData(moved, bagfmt.Time{}, moved)},
		"tf, empty": {tfMD5, "", tfData(), tfData()},
		"tf, cut":   {tfMD5, "", tfData(at, at)[:150], tfData(at, at)[:150]},
		"tf, too long": {
			tfMD5, "", append(tfData(at), 0), append(tfData(at), 0),
		},
		"tf, too many": {tfMD5, "", []byte{255, 255, 255, 255, 0, 0, 0, 0}, []byte{255, 255, 255, 255, 0, 0, 0, 0}},
		"nothing":      {"1", "", nil, nil},
		"the last time there is": {
			"1", "Header header\n", headerData(bagfmt.Time{Sec: 1<<32 - 1}, ""), headerData(bagfmt.Time{Sec: 1<<32 - 1, Nsec: 999999999}, ""),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			frame := framed(tc.payload)
			before := slices.Clone(frame)
			got := stampsOf(tc.md5, tc.definition).shiftStamps(frame, 2500*ms)
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
	frame := framed(headerData(bagfmt.Time{Sec: 100}, "map"))
	state := []latchedMessage{{&route{topic: &topic{stamps: headerStamp}}, frame}}
	moved := shifted(state, time.Second)
	if d := cmp.Diff(framed(headerData(bagfmt.Time{Sec: 101}, "map")), moved[0].frame); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if &state[0].frame[0] != &frame[0] {
		t.Error("the state that was read has changed")
	}
	if same := shifted(state, 0); &same[0] != &state[0] {
		t.Error("a pass that does not move costs a copy")
	}
}

// A list of transforms that ends early, or whose lengths are wrong, is not one: it is left
// as it is.
func TestShiftDamagedTransforms(t *testing.T) {
	t.Parallel()
	at := bagfmt.Time{Sec: 100}
	whole := framed(tfData(at, at))
	for i := frameLength; i < len(whole); i++ {
		if got := tfStamps.shiftStamps(whole[:i:i], time.Second); !bytes.Equal(got, whole[:i]) {
			t.Errorf("cut at %d of %d: %x", i, len(whole), got)
		}
	}
	one := framed(tfData(at))
	child := bytes.Index(one, []byte("child"))
	if child < 0 {
		t.Fatal("no child_frame_id")
	}
	// Without its text, and a length that lies beyond the end: 56 bytes follow nevertheless.
	damaged := append(slices.Clone(one[:child]), one[child+len("child"):]...)
	binary.LittleEndian.PutUint32(damaged[child-4:], 1000)
	if got := tfStamps.shiftStamps(damaged, time.Second); !bytes.Equal(got, damaged) {
		t.Errorf("a name longer than the message: %x", got)
	}
}

// Whatever the bytes, only stamps change, and back again they are what they were.
func FuzzShiftStamps(f *testing.F) {
	at := bagfmt.Time{Sec: 100, Nsec: 5}
	f.Add(uint8(tfStamps), framed(tfData(at, at, bagfmt.Time{})))
	f.Add(uint8(tfStamps), framed(tfData(at, at))[:100])
	f.Add(uint8(headerStamp), framed(headerData(at, "map")))
	f.Add(uint8(clockStamp), framed(headerData(at, "")[4:12]))
	f.Fuzz(func(t *testing.T, kind uint8, frame []byte) {
		if kind > uint8(clockStamp) || len(frame) < frameLength {
			return
		}
		before := slices.Clone(frame)
		got := stamps(kind).shiftStamps(frame, time.Hour)
		if !bytes.Equal(frame, before) || len(got) != len(frame) {
			t.Fatalf("%x became %x, and the frame %x", before, got, frame)
		}
		changed := 0
		for i := range got {
			if got[i] != frame[i] {
				changed++
			}
		}
		if stamps(kind) != tfStamps && changed > stampBytes {
			t.Fatalf("%d bytes changed", changed)
		}
		if stamps(kind) == tfStamps && changed > 0 && changed > len(transformStamps(frame))*stampBytes {
			t.Fatalf("%d bytes changed of %d stamps", changed, len(transformStamps(frame)))
		}
	})
}

// With --loop=shift no time goes back from pass to pass: neither that of headers, nor
// that of tf, nor that of the clock, recorded or ours.
func TestLoopShift(t *testing.T) {
	t.Parallel()
	stamped := TestConn{Topic: "/s", Type: "a/Stamped", MD5Sum: strings.Repeat("1", 32)}
	tf := TestConn{Topic: "/tf", Type: "tf2_msgs/TFMessage", MD5Sum: tfMD5}
	clock := TestConn{Topic: "/clock", Type: "rosgraph_msgs/Clock", MD5Sum: clockMD5}
	f := &memoryFile{}
	w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var conns []*bagfmt.Connection
	for i, c := range []TestConn{stamped, tf, clock} {
		h := c.header()
		if i == 0 {
			h[3].Value = "Header header\n"
		}
		conn, err := w.AddConnection(c.Topic, h)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	for i := range 3 {
		at := testBase.Add(time.Duration(i) * 100 * ms)
		for n, data := range [][]byte{headerData(at, "x"), tfData(at), headerData(at, "")[4:12]} {
			if err := w.WriteMessage(conns[n], at, data); err != nil {
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
			if at.Before(last[topic]) {
				t.Errorf("%v: %s goes back from %v to %v", time.Since(g.start), topic, last[topic], at)
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
		if want := 300*3 + 1; count["/s"] != want || count["/tf"] != want || count["/clock"] < 3000 {
			t.Errorf("messages %v, want %d", count, want)
		}
	})
}
