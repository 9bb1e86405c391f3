package gaps_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/internal/bags/gaps"
	"github.com/gorosbag/gorosbag/rosbag"
)

// file is a bag in memory.
type file struct{ b []byte }

func (f *file) Write(p []byte) (int, error) {
	f.b = append(f.b, p...)
	return len(p), nil
}

func (f *file) WriteAt(p []byte, off int64) (int, error) { return copy(f.b[off:], p), nil }

// message is a message of a bag.
type message struct {
	topic string
	at    float64 // seconds after start
	stamp float64
}

const start = 1_700_000_000

func at(s float64) rosbag.Time { return rosbag.TimeOf(time.Unix(start, int64(s*1e9))) }

// every returns messages of a topic, stamped with their times and off more.
func every(topic string, period, from, to, off float64) (all []message) {
	for n := 0; from+float64(n)*period < to; n++ {
		t := from + float64(n)*period
		all = append(all, message{topic, t, t + off})
	}
	return all
}

// often returns messages of a topic that comes for 9 s n times, with 2.1 s between, and a tenth more each time.
func often(topic string, period float64, n int) (all []message) {
	from := 0.0
	for i := range n {
		all = append(all, every(topic, period, from, from+9, 0)...)
		from += 11.1 + float64(i)/10
	}
	return all
}

// bag writes messages in chunks of a second, the second half of each chunk before the first.
func bag(t *testing.T, messages ...[]message) []byte {
	t.Helper()
	all := slices.Concat(messages...)
	slices.SortStableFunc(all, func(a, b message) int { return at(a.at).Compare(at(b.at)) })
	var f file
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	conns := map[string]*rosbag.Connection{}
	for len(all) > 0 {
		n := 0
		for n < len(all) && int(all[n].at) == int(all[0].at) {
			n++
		}
		var records chunk.Records
		var b chunk.Builder
		b.Reset(&records)
		for _, m := range slices.Concat(all[n/2:n], all[:n/2]) {
			if conns[m.topic] == nil {
				h := rosbag.Header{{Key: "type", Value: "a/A"}, {Key: "md5sum", Value: "m"}, {Key: "message_definition", Value: "Header header\n"}}
				if strings.HasPrefix(m.topic, "/map") {
					h = append(h, rosbag.Field{Key: "latching", Value: "1"})
				}
				if conns[m.topic], err = w.AddConnection(m.topic, h); err != nil {
					t.Fatal(err)
				}
			}
			stamp := at(m.stamp)
			data := binary.LittleEndian.AppendUint32(make([]byte, 4), stamp.Sec)
			b.AppendMessage(conns[m.topic], at(m.at), binary.LittleEndian.AppendUint32(data, stamp.Nsec))
		}
		sealed, err := b.Seal(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteChunk(sealed); err != nil {
			t.Fatal(err)
		}
		all = all[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return f.b
}

// TestFind: the same findings as while recording, by the index alone where that suffices. A time without any message is a
// pause if there are several topics.
func TestFind(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		messages [][]message
		want     string
		stamps   string // what reading the messages finds besides
	}{
		"good": {[][]message{every("/a", 0.1, 0, 60, -0.01), every("/map", 1, 0, 5, 0), every("/gorecord/marks", 1, 0, 20, 0)}, "", ""},
		"silent": {
			[][]message{every("/a", 0.1, 0, 20, 0), every("/a", 0.1, 30, 60, 0), every("/b", 0.1, 0, 40, 0), every("/c", 1, 0, 60, 0)},
			"  +19.90s  /a silent for 10 s\n  +39.90s  /b silent for 19 s, until the end\n", "",
		},
		"slow": {
			[][]message{every("/a", 0.05, 0, 20, 0), every("/a", 0.2, 20, 60, 0), every("/b", 0.1, 0, 60, 0)},
			"  +20.25s  /a slow: 10.7 Hz, usual 20, for 39 s, until the end\n", "",
		},
		"stamps": {
			[][]message{every("/a", 0.1, 0, 30, -3600), every("/b", 0.1, 0, 30, 0)},
			"",
			"  +0.20s  /a stamps 1 h behind, for 29 s, until the end\n",
		},
		"a pause": {
			[][]message{every("/a", 0.1, 0, 20, 0), every("/a", 0.1, 50, 60, 0), every("/b", 0.1, 0, 20, 0), every("/b", 0.1, 50, 60, 0)},
			"  +19.90s  nothing was recorded for 30 s: a pause, the recorder was stopped, or all publishers were away\n", "",
		},
		"one topic": {
			[][]message{every("/a", 0.1, 0, 20, 0), every("/a", 0.1, 50, 60, 0)}, "  +19.90s  /a silent for 30 s\n", "",
		},
		"one topic, again and again": { // 13 s after the first silence: a driver that dies often
			[][]message{every("/imu", 0.02, 0, 60, 0), every("/imu", 0.02, 80, 93, 0), every("/imu", 0.02, 106, 140, 0)},
			"  +59.98s  /imu silent for 20 s\n  +92.98s  /imu silent for 13 s\n", "",
		},
		"a driver that starts late, beside a topic of events": {
			[][]message{every("/imu", 0.02, 10, 30, 0), every("/imu", 0.02, 40, 60, 0), every("/events", 9, 0, 60, 0)},
			"  +29.98s  /imu silent for 10 s\n", "",
		},
		"the only regular topic, and nothing else meanwhile": {
			[][]message{every("/imu", 0.02, 0, 20, 0), every("/imu", 0.02, 30, 60, 0), every("/events", 1, 1, 2, 0)},
			"  +19.98s  /imu silent for 10 s\n", "",
		},
		"again at once": {
			[][]message{every("/b", 0.1, 0, 60, 0), every("/imu", 0.02, 0, 20, 0), every("/imu", 0.02, 30, 34, 0), every("/imu", 0.02, 38, 60, 0)},
			"  +19.98s  /imu silent for 10 s\n  /imu silent 1 more time soon after it had come back\n", "",
		},
		"often": {
			[][]message{every("/b", 0.1, 0, 100, 0), often("/cmd_vel", 0.1, 8)},
			`  +31.20s  /cmd_vel silent for 2.5 s
  +53.90s  /cmd_vel silent for 2.6 s
  +65.40s  /cmd_vel silent for 2.8 s
  +77.00s  /cmd_vel silent for 2.9 s
  +88.70s  /cmd_vel silent for 11 s, until the end
  /cmd_vel silent 3 more times, at most for 2.5 s, together 7.3 s: --json has all
`, "",
		},
		"one topic, whose clock was set": {
			[][]message{every("/a", 0.1, -1.6e9, -1.6e9+20, 0), every("/a", 0.1, 0, 20, 0)},
			"  +19.90s  nothing was recorded for 50 years: a pause, the recorder was stopped, or all publishers were away\n", "",
		},
		"nothing but a mark, long after": {
			[][]message{every("/a", 0.1, 0, 20, 0), every("/gorecord/marks", 1, 2e8, 2e8+1, 0)},
			"  +19.90s  /a silent for 6 years, until the end\n", "",
		},
		"no messages": {nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, stamps := range []bool{false, true} {
				r, err := bagfmt.NewReader(bytes.NewReader(bag(t, tc.messages...)), int64(len(bag(t, tc.messages...))), bagfmt.ReaderOptions{})
				if err != nil {
					t.Fatal(err)
				}
				report, err := gaps.Find(r, gaps.Options{Stamps: stamps, Damaged: func(err error) error { return err }})
				if err != nil {
					t.Fatal(err)
				}
				var text strings.Builder
				if err := report.WriteText(&text, "x.bag"); err != nil {
					t.Fatal(err)
				}
				_, got, _ := strings.Cut(text.String(), "\n")
				want := tc.want
				if stamps {
					want += tc.stamps
				}
				if got != want {
					t.Errorf("stamps %v: got\n%swant\n%s", stamps, got, want)
				}
			}
		})
	}
}

// TestDamage: what cannot be read is reported, and ends the work only if the caller says so.
func TestDamage(t *testing.T) {
	t.Parallel()
	b := bag(t, every("/a", 0.1, 0, 20, 0))
	at := bytes.LastIndex(b[:len(b)/2], []byte("op=\x04")) // an index record
	copy(b[at-4:], "\xff\xff\xff\xff")
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	errEnough := errors.New("enough")
	seen := 0
	for _, answer := range []error{nil, errEnough} {
		_, err := gaps.Find(r, gaps.Options{Damaged: func(err error) error {
			if seen++; !errors.Is(err, rosbag.ErrCorrupt) {
				t.Error(err)
			}
			return answer
		}})
		if !errors.Is(err, answer) || err != nil && answer == nil {
			t.Errorf("%v, want %v", err, answer)
		}
	}
	if seen == 0 {
		t.Error("no damage was seen")
	}
}

// TestJSON: the figures have the keys that gorecord has.
func TestJSON(t *testing.T) {
	t.Parallel()
	b := bag(t, every("/a", 0.05, 0, 20, -3600), every("/a", 0.2, 20, 40, -3600), every("/b", 0.1, 0, 30, 0))
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	report, err := gaps.Find(r, gaps.Options{Stamps: true, Damaged: func(err error) error { return err }})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := report.WriteJSON(&text, "x.bag"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"path":"x.bag","findings":[{"topic":"/a","kind":"stamps","start":1700000000.2,"for":`, `"open":true,"offset":3600,"text":"stamps 1 h behind, for 39 s, until the end"}`,
		`"kind":"slow",`, `"want":20,`, `{"topic":"/b","kind":"silent","start":1700000029.9,`, `"untold":[],"nothing_recorded":[]}`,
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %s in %s", want, text.String())
		}
	}
}
