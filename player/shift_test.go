package player

import (
	"encoding/binary"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/player/internal/transport"
	"github.com/gorosbag/gorosbag/rosbag"
)

// With --loop=shift no time goes back or repeats from pass to pass: neither that of headers,
// nor that of tf, nor that of the clock, recorded or ours. The three topics have the same times,
// so a pass lasts one millisecond longer than from the first message to the last.
func TestLoopShift(t *testing.T) {
	t.Parallel()
	stamped := testplay.Conn{Topic: "/s", Type: "a/Stamped", MD5Sum: "*"}
	tf := testplay.Conn{Topic: "/tf", Type: "tf2_msgs/TFMessage", MD5Sum: testplay.TFMD5}
	clock := testplay.Conn{Topic: "/clock", Type: "rosgraph_msgs/Clock", MD5Sum: stdmsg.ClockMD5}
	f := &testplay.MemoryFile{}
	w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var conns []*rosbag.Connection
	for i, c := range []testplay.Conn{stamped, tf, clock} {
		h := c.Header()
		h[3].Value = []string{"Header header" + testplay.HeaderBlock, testplay.TFDefinition(), ""}[i]
		conn, err := w.AddConnection(c.Topic, h)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	for i := range 3 {
		at := testplay.Base.Add(time.Duration(i) * 100 * ms)
		for n, data := range [][]byte{testplay.HeaderData(at, "x"), testplay.TFData(at), testplay.HeaderData(at, "")[4:12]} {
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
		g.clockZero = rosbag.Time{Nsec: 1} // zero means none
		var at []time.Duration             // of the messages
		s := steer(t, g, Options{Bags: testplay.OpenBags(t, bag), Rate: 1e9, Loop: true, LoopShift: true, Clock: true, Hz: 1}, ordersAt{
			30 * time.Second: func(c control.Control) {
				if s := c.Status(); s.Position < 0 || s.Position > s.Length || s.Pass != 3 || s.Achieved() < 0 {
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
		if s.Played != transport.Forever || s.Achieved() <= 0 {
			t.Errorf("summary %+v", s)
		}
	})
}
