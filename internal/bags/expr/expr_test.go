package expr_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bags/expr"
	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// demo counts the messages of the demo bag that an expression keeps.
func demo(t *testing.T, p *expr.Program) (kept int, failed error) {
	t.Helper()
	b, err := os.ReadFile("../../../testdata/demo.bag")
	if err != nil {
		t.Fatal(err)
	}
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for m, err := range rosbag.Messages(r, rosbag.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		ok, err := p.Keep(m.Conn, m)
		if ok && err != nil {
			t.Fatalf("kept with an error: %v", err)
		}
		if ok {
			kept++
		}
		failed = errors.Join(failed, err)
	}
	return kept, failed
}

// narrow reports whether an expression counts further than this machine's int.
func narrow(text string) bool { return strconv.IntSize < 64 && strings.Contains(text, "ns ") }

func TestKeepDemo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		expr    string
		want    int
		missing string
	}{
		{expr: `topic == "/odom"`, want: 500},
		{expr: `type startsWith "tf2_msgs/" and callerid != ""`, want: 502},
		{expr: `topic == "/odom" && m.pose.pose.position.x > 0`, want: 250},
		{expr: `msg.pose.pose.position.x > 0`, want: 250},
		{expr: `not (m.pose.pose.position.x > 0)`, want: 250}, // other types lack it: not kept
		{expr: `m["pose"]["pose"].position.x != 0`, want: 500},
		{expr: `len(m.transforms) > 0 && m.transforms[0].header.frame_id == "odom"`, want: 500},
		{expr: `m.transforms[-1].header.frame_id == "odom"`, want: 500},
		{expr: `m.transforms[7].header.frame_id == "odom"`},
		{expr: `any(m.transforms, .child_frame_id == "base_link")`, want: 1},
		{expr: `m.header.stamp.secs > 0 and m.header.stamp <= t + 1`, want: 1661},
		{expr: `m?.pose?.pose?.position?.x != nil`, want: 500},
		{expr: `(m?.pose?.pose?.position?.x ?? 5) > 4`, want: 1663},
		{expr: `ns > 0 and t * 1e9 - ns < 1e6`, want: 2163},
		{expr: `m.pose.positoin.x > 1`, missing: `m.pose.positoin.x: `},
		{expr: `m.foo?.bar == nil`, want: 2163, missing: `m.foo.bar: `},
		{expr: `m.transforms[len(m.transforms)].header.frame_id == "odom"`},
		{expr: `filter(m.transforms, .child_frame_id == "nobody")[0].header.seq == 1`},
		{expr: `any(m.transforms, .chld_frame_id == "base_link")`, missing: `m.transforms[…].chld_frame_id: geometry_msgs/TransformStamped has no field "chld_frame_id"`},
		{expr: `any(m.transforms, #.header.frame == "odom" or .header.frame_id == "")`, missing: `m.transforms[…].header.frame: std_msgs/Header has no field`},
		{expr: `any(m.transforms, #?.chld_frame_id == "base_link")`},
		{expr: `any(m.status, any(.values, .key == "nothing") or .nme == "")`, missing: `m.status[…].nme: `},
		{expr: `len(filter(m.status, any(.values, .key != "") and .name != "")) > 0`, want: 10},
		{expr: `reduce(m.transforms, #acc + len(#.child_frame_id), 0) > 1000`},
		{expr: `any(map(m.transforms, .transform), .rotation.w > 7)`},
	} {
		t.Run(test.expr, func(t *testing.T) {
			t.Parallel()
			if narrow(test.expr) {
				t.Skip("ns needs 64 bits")
			}
			p, err := expr.Compile(test.expr)
			if err != nil {
				t.Fatal(err)
			}
			got, err := demo(t, p)
			if err != nil {
				t.Errorf("error: %v", err)
			}
			if got != test.want {
				t.Errorf("kept %d messages, want %d", got, test.want)
			}
			var missing string
			for _, l := range p.Missing() {
				missing += l.String() + "\n"
			}
			if (missing == "") != (test.missing == "") || !strings.HasPrefix(missing, test.missing) {
				t.Errorf("missing %q, want %q", missing, test.missing)
			}
		})
	}
}

func TestCompileErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		expr   string
		column int
		want   string
	}{
		{`m > `, 4, "incomplete"},
		{`(topic == "/a"`, 14, "incomplete"},
		{`m.data.`, 7, "incomplete"},
		{`topic = "/a"`, 7, `unexpected "=": write == to compare`},
		{`topic == "/a" t`, 15, `unexpected "t"`},
		{`topic == “/a”`, 10, `unrecognized character: U+201C '“': write text between " or '`},
		{`"imu" in topic`, 7, `"in" finds an element of a list: to find a part of a text write TEXT contains PART, such as topic contains "imu"`},
		{`foo`, 1, "unknown name foo"},
		{`topic > 3`, 7, "mismatched types string and int"},
		{`topic`, 0, "expected bool"},
		{``, 1, "incomplete"},
		{strings.Repeat("1+", 10000) + "1 > 0", 0, "expression of"},
		{strings.Repeat("1+", 3000) + "1 > 0", 0, "exceeds maximum"},
	} {
		_, err := expr.Compile(test.expr)
		var e *expr.ExpressionError
		if !errors.Is(err, expr.ErrExpression) || !errors.As(err, &e) {
			t.Errorf("%.40q: %v is no ExpressionError", test.expr, err)
			continue
		}
		if !strings.Contains(err.Error(), test.want) || test.column != 0 && (e.Line != 1 || e.Column != test.column) {
			t.Errorf("%.40q: %v, want %q at column %d", test.expr, err, test.want, test.column)
		}
	}
}

// TestInText: what a field is shows only with a message, so in can be refused only then.
func TestInText(t *testing.T) {
	t.Parallel()
	p, err := expr.Compile(`"b" in m.data`)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Keep(message("/a", "std_msgs/String", "string data", []byte("\x03\x00\x00\x00abc")))
	if !errors.Is(err, expr.ErrExpression) || !strings.Contains(err.Error(), "write TEXT contains PART") {
		t.Errorf("%v", err)
	}
}

func message(topic, typ, definition string, data []byte) (*rosbag.Connection, *rosbag.Message) {
	conn := &rosbag.Connection{Topic: topic, Header: rosbag.Header{
		{Key: "type", Value: typ}, {Key: "md5sum", Value: "*"}, {Key: "message_definition", Value: definition},
	}}
	frame := binary.LittleEndian.AppendUint32(nil, uint32(len(data)))
	return conn, &rosbag.Message{Conn: conn, Time: rosbag.Time{Sec: 3, Nsec: 500_000_000}, Frame: append(frame, data...)}
}

func TestKeepErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, expr, definition string
		data                   string
		want                   error
	}{
		{"no definition", `m.data > 1`, "", "1234", msgdef.ErrNoDefinition},
		{"not asked for", `topic == "/a"`, "", "1234", nil},
		{"bad definition", `m.data > 1`, "what is this", "1234", rosmsg.ErrDefinition},
		{"bad definition with the text of another error", `m.data > 1`, "index out of range", "1234", rosmsg.ErrDefinition},
		{"short", `m.data > 1`, "uint32 data", "123", rosmsg.ErrCorrupt},
		{"mixed types", `m.data > "a"`, "uint32 data", "1234", expr.ErrExpression},
		{"no bool", `m.data`, "uint32 data", "1234", expr.ErrExpression},
		{"too much", `len(map(0..5000000, #)) > 3 or m.data`, "bool data", "\x01", expr.ErrExpression},
		{"bomb", `len(m.e) > 1`, "E[1000000] e\n" + strings.Repeat("=", 80) + "\nMSG: p/E\n", "", rosmsg.ErrLimit},
		{"trailing bytes", `m.data > 1 and m.data == m["data"] and len(m) == 1`, "uint32 data", "12345", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, err := expr.Compile(test.expr)
			if err != nil {
				t.Fatal(err)
			}
			if test.name == "bomb" {
				_, err := p.Keep(message("/a", "p/T", test.definition, nil))
				if want := "/a: m.e: "; err == nil || !strings.HasPrefix(err.Error(), want) {
					t.Errorf("error %v, want %s…", err, want)
				}
			}
			for range 2 { // the second time from what is known about the connection
				kept, err := p.Keep(message("/a", "p/T", test.definition, []byte(test.data)))
				if !errors.Is(err, test.want) || kept != (test.want == nil) {
					t.Errorf("kept %v, error %v, want %v", kept, err, test.want)
				}
			}
		})
	}
}

// TestValues checks every kind of value against what an expression sees of it.
func TestValues(t *testing.T) {
	t.Parallel()
	const definition = `bool b
int8 i8
uint64 big
float32 f
string s
time at
duration took
uint8[] raw
float64[2] two
time[] times
Sub[] subs
================================================================================
MSG: p/Sub
int32 n
duration d`
	le := binary.LittleEndian
	data := []byte{1, 0xff}
	data = le.AppendUint64(data, math.MaxUint64)
	data = le.AppendUint32(data, math.Float32bits(0.5))
	data = append(data, "\x02\x00\x00\x00hi"...)
	data = le.AppendUint32(le.AppendUint32(data, 7), 250_000_000)
	data = le.AppendUint32(le.AppendUint32(data, math.MaxUint32), 0)
	data = append(data, "\x02\x00\x00\x00\x07\x08"...)
	data = le.AppendUint64(le.AppendUint64(data, math.Float64bits(1.5)), math.Float64bits(-2))
	data = le.AppendUint32(le.AppendUint32(le.AppendUint32(data, 1), 9), 0)
	data = append(data, "\x01\x00\x00\x00\x2a\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00"...)
	for _, text := range []string{
		`m.b`, `m.i8 == -1`, `m.big > 9e18`, `m.f == 0.5`, `m.s == "hi"`, `m.at == 7.25`, `m.took == -1`,
		`m.took.secs == -1 and m.at.nsecs == 250000000`, `m.raw[1] == 8 and len(m.raw) == 2`, `m.two[0] == 1.5`,
		`m.two == [1.5, -2.0]`, `sum(m.two) == -0.5`, `m.times == [9.0]`, `all(m.subs, .n == 42 and .d == 1)`,
		`m.subs[0].n == 42`, `m.subs[m.subs[0].n - 42].d == 1`, `m.i8 in [3, -1]`, `t == 3.5`, `ns == 3500000000`,
		`len(m) == 11`, `m.s matches "^h"`, `md5sum == "*"`,
	} {
		if narrow(text) {
			continue
		}
		p, err := expr.Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		kept, err := p.Keep(message("/a", "p/T", definition, data))
		if err != nil || !kept {
			t.Errorf("%s: kept %v, error %v", text, kept, err)
		}
	}
}

// TestEmptyDefinition has an empty definition of a type without fields, and one that
// was not recorded.
func TestEmptyDefinition(t *testing.T) {
	t.Parallel()
	p, err := expr.Compile(`m.data > 1`)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		md5sum string
		want   error
	}{{rosmsg.EmptyMD5Sum, nil}, {"992ce8a1687cec8c8bd883ec73ca41d1", msgdef.ErrNoDefinition}, {rosmsg.EmptyMD5Sum, nil}} {
		conn, m := message("/a", "p/T", "", nil)
		conn.Header[1].Value = test.md5sum
		if kept, err := p.Keep(conn, m); kept || !errors.Is(err, test.want) {
			t.Errorf("md5sum %s: kept %v, error %v, want %v", test.md5sum, kept, err, test.want)
		}
	}
}

// TestOnce looks at every element of an array by its number: the array is decoded once.
// It is not parallel: what others allocate would count.
func TestOnce(t *testing.T) {
	const n = 5000
	p, err := expr.Compile(`all(0..len(m.data)-1, m.data[#] == 0)`)
	if err != nil {
		t.Fatal(err)
	}
	conn, m := message("/a", "p/T", "uint8[] data", append(binary.LittleEndian.AppendUint32(nil, n), make([]byte, n)...))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	kept, err := p.Keep(conn, m)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; err != nil || !kept || used > 100*n {
		t.Errorf("kept %v, error %v, %d bytes for %d", kept, err, used, n)
	}
	m.Frame[len(m.Frame)-1] = 1
	if kept, err = p.Keep(conn, m); err != nil || kept {
		t.Errorf("the next message: kept %v, error %v", kept, err)
	}
}

func TestMissingNothing(t *testing.T) {
	t.Parallel()
	p, err := expr.Compile(`topic == "/a" or m.x > 1`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Keep(message("/a", "p/T", "uint8 y", []byte{1})); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]expr.Lack(nil), p.Missing()); d != "" {
		t.Errorf("a field that the evaluation never came to is missing:\n%s", d)
	}
}

// TestReplaced: the table of ROS helps where a definition is missing; that is said once for each type.
func TestReplaced(t *testing.T) {
	t.Parallel()
	p, err := expr.Compile(`m.data == "a"`)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		conn, m := message("/a", "std_msgs/String", "", []byte("\x01\x00\x00\x00a"))
		conn.Header[1].Value = "992ce8a1687cec8c8bd883ec73ca41d1"
		if kept, err := p.Keep(conn, m); !kept || err != nil {
			t.Errorf("kept %t, %v", kept, err)
		}
	}
	if got := p.Replaced(); len(got) != 1 || got[0] != "its definition of std_msgs/String is empty: that of ROS noetic is used" {
		t.Errorf("replaced: %q", got)
	}
}
