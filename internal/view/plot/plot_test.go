package plot_test

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/view/plot"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

func at(us int) rosbag.Time { return rosbag.Time{Sec: 1000}.Add(time.Duration(us) * time.Microsecond) }

// TestSpike: one value among a million is seen with any number of columns.
func TestSpike(t *testing.T) {
	t.Parallel()
	const n, spike = 1_000_000, 654_321
	for _, columns := range []int{1, 7, 390, 1280, plot.MaxColumns} {
		l := plot.NewLine(plot.Axis{From: at(0), To: at(n), Columns: columns}, 0)
		for i := range n {
			v := math.Sin(float64(i) / 1000)
			if i == spike {
				v = 50
			}
			l.Add(at(i), v)
		}
		if len(l.Columns) != columns {
			t.Errorf("%d columns of %d", len(l.Columns), columns)
		}
		if c := l.Columns[spike*columns/n]; c.Max != 50 || c.Min < -1 || c.First > 1 || c.Last > 1 {
			t.Errorf("%d columns: the spike is not in %+v", columns, c)
		}
	}
}

// TestLine: gaps and what is not finite break the line; what is outside is not drawn.
func TestLine(t *testing.T) {
	t.Parallel()
	axis := plot.Axis{From: at(0), To: at(100), Columns: 10}
	l := plot.NewLine(axis, 20*time.Microsecond)
	for _, v := range []struct {
		us int
		v  float64
	}{{-5, 9}, {0, 1}, {5, 3}, {9, 2}, {12, 2}, {25, math.NaN()}, {31, 4}, {60, 5}, {65, math.Inf(1)}, {100, 6}, {101, 9}} {
		l.Add(at(v.us), v.v)
	}
	want := []plot.Column{{0, 1, 1, 3, 2, false}, {1, 2, 2, 2, 2, false}, {3, 4, 4, 4, 4, true}, {6, 5, 5, 5, 5, true}, {9, 6, 6, 6, 6, true}}
	if diff := cmp.Diff(want, l.Columns); diff != "" || l.Odd != 2 {
		t.Errorf("%d odd values; %s", l.Odd, diff)
	}
}

// TestBackwards: stamps that run backwards forever take no endless memory.
func TestBackwards(t *testing.T) {
	t.Parallel()
	l := plot.NewLine(plot.Axis{From: at(0), To: at(100), Columns: 10}, 0)
	for i := range 100_000 {
		l.Add(at(i*37%100), 1)
	}
	if len(l.Columns) > 40 {
		t.Errorf("%d columns", len(l.Columns))
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ok": "ok", strings.Repeat("x", 200): strings.Repeat("x", 200), strings.Repeat("x", 201): strings.Repeat("x", 200) + " …",
		strings.Repeat("x", 199) + "ä": strings.Repeat("x", 199) + " …",
	} {
		if got := plot.Short(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestBands(t *testing.T) {
	t.Parallel()
	b := plot.NewBands(plot.Axis{From: at(0), To: at(100), Columns: 10}, 30*time.Microsecond)
	for _, v := range []struct {
		us   int
		text string
	}{{0, "ok"}, {10, "ok"}, {20, "warn"}, {22, "ok"}, {24, "warn"}, {35, "ok"}, {80, "ok"}, {90, strings.Repeat("x", 1000)}} {
		b.Add(at(v.us), v.text)
	}
	want := []plot.Band{
		{at(0), at(20), "ok", false},
		{at(20), at(35), "warn", true},
		{at(35), at(35), "ok", false},
		{at(80), at(90), "ok", false},
		{at(90), at(90), strings.Repeat("x", 200) + " …", false},
	}
	if diff := cmp.Diff(want, b.List()); diff != "" {
		t.Error(diff)
	}
}

const definition = `uint8 OK=0
uint8 ERROR=2
uint8 level
bool on
string text
float64 x
int64 big
time stamp
string[] name
float64[] position
geometry_msgs/Quaternion q
================================================================================
MSG: geometry_msgs/Quaternion
float64 x
float64 y
float64 z
float64 w
`

// payload is a message of the definition.
func payload() (b []byte) {
	text := func(s string) { b = append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...) }
	number := func(v float64) { b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v)) }
	b = append(b, 2, 1)
	text("hi")
	number(1.5)
	b = binary.LittleEndian.AppendUint64(b, 9007199254740993)
	b = binary.LittleEndian.AppendUint32(b, 1700000000)
	b = binary.LittleEndian.AppendUint32(b, 5)
	b = binary.LittleEndian.AppendUint32(b, 2)
	text("elbow")
	text("wrist")
	b = binary.LittleEndian.AppendUint32(b, 2)
	number(0.25)
	number(0.5)
	for _, v := range []float64{0, 0, math.Sqrt2 / 2, math.Sqrt2 / 2} {
		number(v)
	}
	return b
}

func TestFields(t *testing.T) {
	t.Parallel()
	typ, err := rosmsg.Parse("test/All", definition)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct {
		text   string
		number float64
		bands  bool
	}{
		"level":           {"ERROR", 2, true},
		"on":              {"true", 1, true},
		"text":            {"hi", 0, true},
		"x":               {"1.5", 1.5, false},
		"big":             {"9007199254740993", 9007199254740992, false},
		"stamp":           {"1700000000.000000005", 1700000000.000000005, false},
		"position[1]":     {"0.5", 0.5, false},
		"position{elbow}": {"0.25", 0.25, false},
		"position{wrist}": {"0.5", 0.5, false},
		"q.z":             {"0.7071067811865476", math.Sqrt2 / 2, false},
		"q:yaw":           {"90", 90, false},
	} {
		f, err := plot.Compile(typ, path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		text, err := f.Text(payload())
		number, err2 := f.Number(payload())
		if err := errors.Join(err, err2); err != nil || text != want.text || math.Abs(number-want.number) > 1e-9 || f.Bands != want.bands {
			t.Errorf("%s: %q, %v, bands %v, %v", path, text, number, f.Bands, err)
		}
	}
	for path, want := range map[string]string{
		"position": "position[0]", "q": "choose a field", "none": "none", "x:yaw": "Quaternion", "q{a}": "only elements", "text{a}": "only elements", "position{elbow": "",
	} {
		if _, err := plot.Compile(typ, path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{"position[7]", "position{none}"} {
		f, err := plot.Compile(typ, path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Number(payload()); !errors.Is(err, plot.ErrNothing) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// FuzzField reads fields of payloads of any bytes.
func FuzzField(f *testing.F) {
	typ, err := rosmsg.Parse("test/All", definition)
	if err != nil {
		f.Fatal(err)
	}
	f.Add("position{elbow}", payload())
	f.Add("q:yaw", payload()[:9])
	f.Fuzz(func(t *testing.T, path string, b []byte) {
		field, err := plot.Compile(typ, path)
		if err != nil {
			return
		}
		_, err1 := field.Text(b)
		_, err2 := field.Number(b)
		if (err1 == nil) != (err2 == nil) {
			t.Errorf("%s: %v, but %v", path, err1, err2)
		}
	})
}
