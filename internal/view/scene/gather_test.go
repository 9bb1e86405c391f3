package scene_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/aler9/goroslib/pkg/msgs/diagnostic_msgs"
	"github.com/aler9/goroslib/pkg/msgs/geometry_msgs"
	"github.com/aler9/goroslib/pkg/msgs/nav_msgs"
	"github.com/aler9/goroslib/pkg/msgs/rosgraph_msgs"
	"github.com/aler9/goroslib/pkg/msgs/sensor_msgs"
	"github.com/aler9/goroslib/pkg/msgs/std_msgs"
	"github.com/aler9/goroslib/pkg/msgs/tf2_msgs"

	"github.com/gorosbag/gorosbag/internal/testkit/rosmade"
	"github.com/gorosbag/gorosbag/internal/view/scene"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

var start = rosbag.Time{Sec: 1000}

func at(seconds float64) rosbag.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

// sent is a message with when and from whom it came.
type sent struct {
	at     float64
	from   string
	static bool
	msg    any
}

// gather makes a scene of messages, and checks that it marshals to JSON.
func gather(t *testing.T, kind scene.Kind, o scene.Options, messages ...sent) any {
	t.Helper()
	o.Start = start
	g := scene.Gather(kind, o)
	for _, m := range messages {
		typ := rosmade.Type(t, m.msg)
		if k := scene.KindOf(typ); k != kind || !k.Gathers() {
			t.Fatalf("%T has the kind %q", m.msg, k)
		}
		if err := g.Add(scene.Message{Type: typ, Time: at(m.at), Publisher: m.from, Static: m.static, Payload: rosmade.Payload(t, m.msg)}); err != nil {
			t.Fatal(err)
		}
	}
	s := g.Scene()
	if b, err := json.Marshal(s); err != nil || !strings.HasPrefix(string(b), `{"kind":"`+string(kind)+`"`) {
		t.Errorf("%s, %v", b, err)
	}
	return s
}

func odometry(frame string, x, y float64) any {
	m := nav_msgs.Odometry{Header: std_msgs.Header{FrameId: frame}}
	m.Pose.Pose.Position = geometry_msgs.Point{X: x, Y: y}
	return m
}

func fix(status int8, latitude, longitude float64) any {
	return sensor_msgs.NavSatFix{Status: sensor_msgs.NavSatStatus{Status: status}, Latitude: latitude, Longitude: longitude}
}

func pose(x, y float64) geometry_msgs.Pose {
	return geometry_msgs.Pose{Position: geometry_msgs.Point{X: x, Y: y}}
}

func TestTrack(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		messages []sent
		want     scene.LineScene
	}{
		"nothing": {nil, scene.LineScene{}},
		"odometry": {
			[]sent{{at: 0, msg: odometry("odom", 1, 2)}, {at: 1, msg: odometry("odom", 3, 4)}},
			scene.LineScene{Frame: "odom", Total: 2, X: []float64{1, 3}, Y: []float64{2, 4}, T: []float64{0, 1}},
		},
		"one that stands": {
			[]sent{{at: 0, msg: odometry("", 1, 2)}, {at: 1, msg: odometry("", 1, 2)}, {at: 2, msg: odometry("", 1, 2)}},
			scene.LineScene{Total: 3, X: []float64{1, 1}, Y: []float64{2, 2}, T: []float64{0, 2}},
		},
		"a jump, another frame, and no number": {
			[]sent{
				{at: 0, msg: odometry("a", 0, 0)},
				{at: 0.1, msg: odometry("a", 5.1, 0)},
				{at: 0.2, msg: odometry("b", 5, 0)},
				{at: 0.3, msg: odometry("b", math.NaN(), 0)},
				{at: 0.4, msg: odometry("b", 4, 0)},
			},
			scene.LineScene{
				Frame: "b", Total: 4, X: []float64{0, 5.1, 5, 4}, Y: []float64{0, 0, 0, 0}, T: []float64{0, 0.1, 0.2, 0.4}, Breaks: []int{1, 2},
				Notes: []string{"without a position: 1 message", "1 jump", "changes of the frame: 1 time"},
			},
		},
		"small steps are no jumps": {
			[]sent{{at: 0, msg: odometry("", 0, 0)}, {at: 0, msg: odometry("", 4.9, 0)}, {at: 1, msg: odometry("", 50, 0)}},
			scene.LineScene{Total: 3, X: []float64{0, 4.9, 50}, Y: []float64{0, 0, 0}, T: []float64{0, 0, 1}},
		},
		"fixes": {
			[]sent{
				{at: 0, msg: fix(-1, 48, 11)},
				{at: 1, msg: fix(0, 0, 0)},
				{at: 2, msg: fix(0, math.NaN(), 11)},
				{at: 3, msg: fix(0, 60, 180)},
				{at: 30, msg: fix(0, 60.001, -179.999)},
			},
			scene.LineScene{
				Total: 2, X: []float64{0, 55.5975}, Y: []float64{0, 111.1951}, T: []float64{3, 30}, Origin: []float64{60, 180},
				Notes: []string{"without a position: 3 messages"},
			},
		},
		"other types": {
			[]sent{
				{at: 0, msg: geometry_msgs.PoseStamped{Pose: pose(1, 2)}},
				{at: 1, msg: geometry_msgs.PoseWithCovarianceStamped{Pose: geometry_msgs.PoseWithCovariance{Pose: pose(2, 3)}}},
				{at: 2, msg: geometry_msgs.PointStamped{Point: geometry_msgs.Point{X: 3, Y: 4}}},
				{at: 3, msg: geometry_msgs.TransformStamped{Transform: geometry_msgs.Transform{Translation: geometry_msgs.Vector3{X: 4, Y: 5}}}},
				{at: 4, msg: pose(5, 6)},
				{at: 5, msg: geometry_msgs.Pose2D{X: 6, Y: 7}},
			},
			scene.LineScene{Total: 6, X: []float64{1, 2, 3, 4, 5, 6}, Y: []float64{2, 3, 4, 5, 6, 7}, T: []float64{0, 1, 2, 3, 4, 5}},
		},
	} {
		tc.want.Kind = scene.Track
		if d := diff(any(&tc.want), gather(t, scene.Track, scene.Options{}, tc.messages...)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestLongTrack: a long track is thinned out, and keeps its shape, its ends and its breaks.
func TestLongTrack(t *testing.T) {
	t.Parallel()
	g := scene.Gather(scene.Track, scene.Options{Start: start})
	typ := rosmade.Type(t, odometry("", 0, 0))
	const n = 20_000
	for i := range n {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / n)
		frame := "a"
		if i > n/2 {
			frame = "b"
		}
		if err := g.Add(scene.Message{Type: typ, Time: at(float64(i)), Payload: rosmade.Payload(t, odometry(frame, 100*cos, 100*sin))}); err != nil {
			t.Fatal(err)
		}
	}
	s, _ := g.Scene().(*scene.LineScene)
	last := len(s.X) - 1
	if s.Total != n || last < 1000 || last > 4000 || s.X[0] != 100 || s.T[last] != n-1 || len(s.Breaks) != 1 || math.Abs(s.T[s.Breaks[0]]-n/2) > 100 {
		t.Errorf("%d points of %d, %v to %v, breaks %v", len(s.X), s.Total, s.X[0], s.T[last], s.Breaks)
	}
	for i := 1; i <= last; i++ {
		if gap := math.Hypot(s.X[i]-s.X[i-1], s.Y[i]-s.Y[i-1]); gap > 2 {
			t.Fatalf("a gap of %v m at point %d", gap, i)
		}
	}
}

// transforms makes a TFMessage of frames, as "child of parent".
func transforms(frames ...string) any {
	var m tf2_msgs.TFMessage
	for _, f := range frames {
		child, parent, _ := strings.Cut(f, " of ")
		m.Transforms = append(m.Transforms, geometry_msgs.TransformStamped{Header: std_msgs.Header{FrameId: parent}, ChildFrameId: child})
	}
	return m
}

func TestTree(t *testing.T) {
	t.Parallel()
	publishers := []string{"/n"}
	for name, tc := range map[string]struct {
		at       float64
		messages []sent
		want     scene.TreeScene
	}{
		"a tree": {
			10,
			[]sent{
				{at: 0, from: "/n", static: true, msg: transforms("laser of base")},
				{at: 8, from: "/n", msg: transforms("odom of map", "/base of /odom")},
				{at: 8.5, from: "/n", msg: transforms("base of odom")},
				{at: 9, from: "/n", msg: transforms("base of odom")},
				{at: 11, from: "/m", msg: transforms("base of other")}, // after the playhead
			},
			scene.TreeScene{Frames: []scene.TreeFrame{
				{Name: "map"},
				{Name: "odom", Parent: "map", Depth: 1, Publishers: publishers, Count: 1, Age: 2},
				{Name: "base", Parent: "odom", Depth: 2, Publishers: publishers, Count: 3, Rate: 2, Age: 1},
				{Name: "laser", Parent: "base", Depth: 3, Publishers: publishers, Count: 1, Static: true, Age: 10},
			}},
		},
		"two parents and two trees": {
			1,
			[]sent{{at: 0, from: "/n", msg: transforms("b of a", "y of x")}, {at: 1, from: "/n", msg: transforms("b of c")}},
			scene.TreeScene{
				Frames: []scene.TreeFrame{
					{Name: "c"},
					{Name: "b", Parent: "c", Depth: 1, Publishers: publishers, Count: 2, Rate: 1, Bad: true},
					{Name: "x"},
					{Name: "y", Parent: "x", Depth: 1, Publishers: publishers, Count: 1, Age: 1},
				},
				Problems: []string{"there are 2 trees that nothing connects: below c, x", "b has several parents: a, c"},
			},
		},
		"two publishers": {
			0,
			[]sent{{at: 0, from: "/n", msg: transforms("b of a")}, {at: 0, from: "/m", msg: transforms("b of a")}},
			scene.TreeScene{
				Frames:   []scene.TreeFrame{{Name: "a"}, {Name: "b", Parent: "a", Depth: 1, Publishers: []string{"/n", "/m"}, Count: 2, Bad: true}},
				Problems: []string{"b has several publishers: /n, /m"},
			},
		},
		"a loop": {
			0,
			[]sent{{at: 0, from: "/n", msg: transforms("a of c", "b of a", "c of b", "tool of c")}},
			scene.TreeScene{
				Frames: []scene.TreeFrame{
					{Name: "a", Parent: "c", Publishers: publishers, Count: 1, Bad: true},
					{Name: "b", Parent: "a", Depth: 1, Publishers: publishers, Count: 1, Bad: true},
					{Name: "c", Parent: "b", Depth: 2, Publishers: publishers, Count: 1, Bad: true},
					{Name: "tool", Parent: "c", Depth: 3, Publishers: publishers, Count: 1},
				},
				Problems: []string{"a loop, in which each is the parent of the next: b, c, a, b"},
			},
		},
		"its own parent": {
			0,
			[]sent{{at: 0, from: "/n", msg: transforms("a of a")}},
			scene.TreeScene{
				Frames:   []scene.TreeFrame{{Name: "a", Parent: "a", Publishers: publishers, Count: 1, Bad: true}},
				Problems: []string{"a loop, in which each is the parent of the next: a, a"},
			},
		},
	} {
		tc.want.Kind = scene.Tree
		if d := diff(any(&tc.want), gather(t, scene.Tree, scene.Options{At: at(tc.at)}, tc.messages...)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestHugeTree: too many frames, each below the one before.
func TestHugeTree(t *testing.T) {
	t.Parallel()
	var frames []string
	for i := range 2500 {
		frames = append(frames, fmt.Sprintf("f%d of f%d", i+1, i))
	}
	s, _ := gather(t, scene.Tree, scene.Options{}, sent{msg: transforms(frames...)}).(*scene.TreeScene)
	if len(s.Frames) != 2001 || s.More != 500 || s.Frames[2000].Depth != 2000 {
		t.Errorf("%d frames, %d more", len(s.Frames), s.More)
	}
}

func diagnostics(statuses ...string) any {
	var m diagnostic_msgs.DiagnosticArray
	for _, s := range statuses {
		var d diagnostic_msgs.DiagnosticStatus
		if _, err := fmt.Sscan(s, &d.Name, &d.Level, &d.Message); err != nil {
			panic(err)
		}
		d.Values = []diagnostic_msgs.KeyValue{{Key: "k", Value: d.Message}}
		m.Status = append(m.Status, d)
	}
	return m
}

func TestLevels(t *testing.T) {
	t.Parallel()
	values := func(v string) [][2]string { return [][2]string{{"k", v}} }
	got := gather(t, scene.Levels, scene.Options{At: at(2)},
		sent{at: 0, msg: diagnostics("/a 0 fine", "/b 0 fine")}, sent{at: 1, msg: diagnostics("/a 0 fine", "/b 1 warm")},
		sent{at: 2, msg: diagnostics("/b 2 hot")}, sent{at: 3, msg: diagnostics("/b 2 burning", "/late 0 new")},
		sent{at: 20, msg: diagnostics("/b 2 ash")})
	want := &scene.LevelsScene{Kind: scene.Levels, Rows: []scene.LevelsRow{
		{Name: "/b", Worst: 2, Bands: [][3]float64{{0, 1, 0}, {1, 2, 1}, {2, 3, 2}, {20, 20, 2}}, At: 2, Level: 2, Message: "hot", Values: values("hot")},
		{Name: "/a", Bands: [][3]float64{{0, 1, 0}}, At: 1, Message: "fine", Values: values("fine")},
		{Name: "/late", Bands: [][3]float64{{3, 3, 0}}, Level: -1},
	}}
	if d := diff(any(want), got); d != "" {
		t.Error(d)
	}
}

// TestManyLevels: names and bands are bounded, and the worst level stays.
func TestManyLevels(t *testing.T) {
	t.Parallel()
	var all []string
	for i := range 1001 {
		all = append(all, fmt.Sprintf("/n%04d 0 fine", i))
	}
	messages := []sent{{at: 0, msg: diagnostics(all...)}}
	for i := range 1001 {
		level := i % 2
		if i == 500 {
			level = 2
		}
		messages = append(messages, sent{at: float64(i + 1), msg: diagnostics(fmt.Sprintf("/n0000 %d text", level))})
	}
	s, _ := gather(t, scene.Levels, scene.Options{}, messages...).(*scene.LevelsScene)
	row := s.Rows[0]
	seen := false
	for _, b := range row.Bands {
		seen = seen || b[0] <= 501 && b[1] >= 501 && b[2] == 2
	}
	if len(s.Rows) != 1000 || s.More != 1 || row.Worst != 2 || len(row.Bands) > 500 || !seen || row.Bands[0][0] != 0 || row.Bands[len(row.Bands)-1][1] != 1001 {
		t.Errorf("%d rows, %d more, worst %d, %d bands, error seen %v", len(s.Rows), s.More, row.Worst, len(row.Bands), seen)
	}
}

func line(stamp uint32, level int8, node, text string) any {
	return rosgraph_msgs.Log{
		Header: std_msgs.Header{Stamp: time.Unix(int64(stamp), 0)}, Level: level, Name: node, Msg: text, File: "f.cpp", Line: 7, Function: "run",
	}
}

func TestLog(t *testing.T) {
	t.Parallel()
	messages := []sent{
		{at: 1, msg: line(1, 2, "/a", "Started <b>")}, {at: 1.1, msg: line(1, 2, "/a", "Started <b>")}, // also in /rosout_agg
		{at: 2, msg: line(2, 8, "/b", "lost")}, {at: 3, msg: line(3, 2, "/a", "Started <b>")}, {at: 9, msg: line(9, 16, "/b", "end")},
	}
	text := func(at float64, level int, node, text string) scene.LogLine {
		return scene.LogLine{At: at, Level: level, Node: node, Text: text, File: "f.cpp", Line: 7, Function: "run"}
	}
	for name, tc := range map[string]struct {
		o    scene.Options
		want []scene.LogLine
	}{
		"all up to the playhead": {scene.Options{At: at(3)}, []scene.LogLine{text(1, 2, "/a", "Started <b>"), text(2, 8, "/b", "lost"), text(3, 2, "/a", "Started <b>")}},
		"errors":                 {scene.Options{Level: 8}, []scene.LogLine{text(2, 8, "/b", "lost"), text(9, 16, "/b", "end")}},
		"a node":                 {scene.Options{Node: "B"}, []scene.LogLine{text(2, 8, "/b", "lost"), text(9, 16, "/b", "end")}},
		"a text":                 {scene.Options{Text: "STARTED"}, []scene.LogLine{text(1, 2, "/a", "Started <b>"), text(3, 2, "/a", "Started <b>")}},
	} {
		if d := diff(any(&scene.LogScene{Kind: scene.Log, Lines: tc.want}), gather(t, scene.Log, tc.o, messages...)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestLongLog: the newest lines stay, and long ones are cut.
func TestLongLog(t *testing.T) {
	t.Parallel()
	var messages []sent
	for i := range 1200 {
		messages = append(messages, sent{at: float64(i), msg: line(uint32(i), 2, "/n", strings.Repeat("x", i))})
	}
	s, _ := gather(t, scene.Log, scene.Options{}, messages...).(*scene.LogScene)
	if len(s.Lines) != 1000 || s.More != 200 || s.Lines[0].At != 200 || s.Lines[999].At != 1199 || len(s.Lines[999].Text) != 1024+len("…") {
		t.Errorf("%d lines from %v to %v, %d more", len(s.Lines), s.Lines[0].At, s.Lines[len(s.Lines)-1].At, s.More)
	}
}

// TestLogOfROS2: the levels are those of ROS 1.
func TestLogOfROS2(t *testing.T) {
	t.Parallel()
	typ, err := rosmsg.Parse("rcl_interfaces/Log", "time stamp\nuint8 level\nstring name\nstring msg\nstring file\nstring function\nuint32 line\n")
	if err != nil {
		t.Fatal(err)
	}
	g := scene.Gather(scene.Log, scene.Options{Start: start})
	payload := []byte{1, 0, 0, 0, 0, 0, 0, 0, 40, 1, 0, 0, 0, 'n', 1, 0, 0, 0, 'm', 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0}
	if err := g.Add(scene.Message{Type: typ, Time: start, Payload: payload}); err != nil || scene.KindOf(typ) != scene.Log {
		t.Fatal(err)
	}
	want := &scene.LogScene{Kind: scene.Log, Lines: []scene.LogLine{{Level: 8, Node: "n", Text: "m", Line: 5}}}
	if d := diff(any(want), g.Scene()); d != "" {
		t.Error(d)
	}
}

// TestKinds: which types have scenes.
func TestKinds(t *testing.T) {
	t.Parallel()
	for msg, want := range map[any]scene.Kind{
		std_msgs.String{}: "", geometry_msgs.Twist{}: "", geometry_msgs.Vector3{}: "", geometry_msgs.Pose2D{}: scene.Track,
	} {
		if k := scene.KindOf(rosmade.Type(t, msg)); k != want {
			t.Errorf("%T: %q, want %q", msg, k, want)
		}
	}
}
