package ros2_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/internal/files"
	"github.com/gorosbag/gorosbag/internal/ros2"
	"github.com/gorosbag/gorosbag/internal/ros2/db3"
	"github.com/gorosbag/gorosbag/internal/ros2/mapping"
	"github.com/gorosbag/gorosbag/internal/ros2/rosbag2"
	"github.com/gorosbag/gorosbag/internal/ros2/sink"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sent is a message of ROS 1.
type sent struct {
	conn *rosbag.Connection
	at   rosbag.Time
	data []byte
}

// got is a message of ROS 2.
type got struct {
	topic, kind string
	at          uint64
	data        string
}

const transformsText = `geometry_msgs/TransformStamped[] transforms
================================================================================
MSG: geometry_msgs/TransformStamped
Header header
string child_frame_id
geometry_msgs/Transform transform
================================================================================
MSG: std_msgs/Header
uint32 seq
time stamp
string frame_id
================================================================================
MSG: geometry_msgs/Transform
geometry_msgs/Vector3 translation
geometry_msgs/Quaternion rotation
================================================================================
MSG: geometry_msgs/Vector3
float64 x
float64 y
float64 z
================================================================================
MSG: geometry_msgs/Quaternion
float64 x
float64 y
float64 z
float64 w
`

// known are definitions and sums of the types of these tests.
var known = map[string][2]string{
	"std_msgs/String":    {"string data\n", "992ce8a1687cec8c8bd883ec73ca41d1"},
	"std_msgs/UInt8":     {"uint8 data\n", "7c8164229e7d2c17eb95e9231617fdee"},
	"std_msgs/Empty":     {"", "d41d8cd98f00b204e9800998ecf8427e"},
	"tf/tfMessage":       {transformsText, "94810edda583a504dfda3829e70d7eec"},
	"tf2_msgs/TFMessage": {transformsText, "94810edda583a504dfda3829e70d7eec"},
}

func conn(topic, kind, caller string, latching bool) *rosbag.Connection {
	h := rosbag.Header{
		{Key: rosbag.KeyTopic, Value: topic},
		{Key: rosbag.KeyType, Value: kind},
		{Key: rosbag.KeyMD5Sum, Value: known[kind][1]},
		{Key: rosbag.KeyMessageDefinition, Value: known[kind][0]},
		{Key: rosbag.KeyCallerID, Value: caller},
	}
	if latching {
		h = append(h, rosbag.Field{Key: rosbag.KeyLatching, Value: "1"})
	}
	return &rosbag.Connection{Topic: topic, Header: h}
}

// str is a std_msgs/String of ROS 1.
func str(s string) []byte { return append(binary.LittleEndian.AppendUint32(nil, uint32(len(s))), s...) }

// str2 is one of ROS 2.
func str2(s string) string {
	return "\x00\x01\x00\x00" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)+1))) + s + "\x00"
}

// frames is a tf2_msgs/TFMessage of ROS 1 with a transform for each child.
func frames(children ...string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(children)))
	for _, child := range children {
		b = append(b, make([]byte, 12)...)
		b = append(b, str("map")...)
		b = append(b, str(child)...)
		b = append(b, make([]byte, 56)...)
	}
	return b
}

// announce counts connections as an index does.
func announce(all []sent) (list []sink.Announced) {
	for _, s := range all {
		i := slices.IndexFunc(list, func(a sink.Announced) bool { return a.Conn == s.conn })
		if i < 0 {
			i = len(list)
			list = append(list, sink.Announced{Conn: s.conn})
		}
		list[i].Count++
	}
	return list
}

// convert writes messages into a directory and returns that and the report.
func convert(t *testing.T, o sink.Options, all []sent) (string, *ros2.Report) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run")
	dir, err := files.MakeDir(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Abort()
	if o.Distro == "" {
		o.Distro = mapping.Jazzy
	}
	o.Announced = announce(all)
	s, err := sink.New(t.Context(), dir, "run", o)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if err := s.Write(m.conn, m.at, m.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := dir.Commit(); err != nil {
		t.Fatal(err)
	}
	return path, s.Report()
}

// readAll returns the recording and its messages in order, by libraries of others where there are.
func readAll(t *testing.T, path string) (*rosbag2.Recording, []got) {
	t.Helper()
	rec, err := rosbag2.ReadDirectory(os.DirFS(path))
	if err != nil || len(rec.Damage) > 0 {
		t.Fatal(err, rec.Damage)
	}
	var all []got
	for _, name := range rec.Files {
		if rec.Storage == rosbag2.SQLite {
			all = append(all, readDatabase(t, filepath.Join(path, name))...)
		} else {
			all = append(all, readMCAP(t, filepath.Join(path, name))...)
		}
	}
	return rec, all
}

func readMCAP(t *testing.T, path string) (all []got) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := mcap.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	it, err := r.Messages(mcap.InOrder(mcap.LogTimeOrder))
	if err != nil {
		t.Fatal(err)
	}
	for {
		schema, c, m, err := it.NextInto(nil)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if schema.Encoding != "ros2msg" || c.MessageEncoding != "cdr" {
			t.Errorf("encodings %q and %q", schema.Encoding, c.MessageEncoding)
		}
		all = append(all, got{c.Topic, schema.Name, m.LogTime, string(m.Data)})
	}
}

func readDatabase(t *testing.T, path string) (all []got) {
	t.Helper()
	r, err := db3.Open(t.Context(), path, db3.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	byID := map[int64]db3.Topic{}
	for _, topic := range r.Topics() {
		byID[topic.ID] = topic
	}
	c, err := r.Messages(t.Context(), db3.Query{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for {
		m, err := c.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, got{byID[m.Topic].Name, byID[m.Topic].Type, uint64(m.At), string(m.Data)})
	}
}

// each runs a test with both storages.
func each(t *testing.T, do func(t *testing.T, o sink.Options)) {
	t.Helper()
	for _, storage := range []string{rosbag2.MCAP, rosbag2.SQLite} {
		t.Run(storage, func(t *testing.T) {
			t.Parallel()
			do(t, sink.Options{Storage: storage})
		})
	}
}

func TestConvert(t *testing.T) {
	t.Parallel()
	a, b := conn("chatter", "std_msgs/String", "/a", false), conn("chatter", "std_msgs/String", "/b", true)
	e := conn("/2d//done", "std_msgs/Empty", "/a", false)
	all := []sent{
		{a, rosbag.Time{}, str("x")},
		{b, rosbag.Time{Nsec: 5}, str("")},
		{e, rosbag.Time{Sec: 4294967295, Nsec: 999999999}, nil},
	}
	each(t, func(t *testing.T, o sink.Options) {
		t.Helper()
		path, report := convert(t, o, all)
		rec, messages := readAll(t, path)
		if diff := cmp.Diff([]got{
			{"/chatter", "std_msgs/msg/String", 0, str2("x")},
			{"/chatter", "std_msgs/msg/String", 5, str2("")},
			{"/topic_2d/done", "std_msgs/msg/Empty", 4294967295999999999, "\x00\x01\x00\x00\x00"},
		}, messages, cmp.AllowUnexported(got{})); diff != "" {
			t.Error(diff)
		}
		md := rec.Metadata
		if md.Messages != 3 || md.Start != 0 || md.Duration != 4294967295999999999 || len(md.Topics) != 2 || md.Topics[0].Messages != 2 || md.Distro != "jazzy" {
			t.Errorf("%+v", md)
		}
		for i, want := range []rosbag2.Durability{rosbag2.TransientLocal, rosbag2.Volatile} {
			qos, err := rosbag2.ParseQoS(md.Topics[i].QoS)
			if err != nil || len(qos) != 1 || qos[0].Durability != want {
				t.Errorf("topic %d: profiles %+v, %v", i, qos, err)
			}
		}
		if report.Lost() != 0 || len(report.Topics) != 2 {
			t.Errorf("%+v", report)
		}
	})
}

// TestSeveralTypes: the type with most messages keeps the topic.
func TestSeveralTypes(t *testing.T) {
	t.Parallel()
	few, many := conn("/x", "std_msgs/UInt8", "/a", false), conn("/x", "std_msgs/String", "/b", false)
	all := []sent{{few, rosbag.Time{Sec: 1}, []byte{7}}, {many, rosbag.Time{Sec: 2}, str("a")}, {many, rosbag.Time{Sec: 3}, str("b")}}
	each(t, func(t *testing.T, o sink.Options) {
		t.Helper()
		path, report := convert(t, o, all)
		_, messages := readAll(t, path)
		var topics []string
		for _, m := range messages {
			topics = append(topics, m.topic+" "+m.kind)
		}
		if diff := cmp.Diff([]string{"/x_std_msgs_UInt8 std_msgs/msg/UInt8", "/x std_msgs/msg/String", "/x std_msgs/msg/String"}, topics); diff != "" {
			t.Error(diff)
		}
		if r := report.Topics[0]; r.OutTopic != "/x_std_msgs_UInt8" || !slices.Equal(r.Warnings, []string{"a topic of ROS 2 has one type: messages of std_msgs/UInt8 go to /x_std_msgs_UInt8"}) {
			t.Errorf("%+v", r)
		}
	})
}

// TestDefinitionTexts: definitions that differ in comments only are one type, also where another type
// has the name of the topic.
func TestDefinitionTexts(t *testing.T) {
	t.Parallel()
	first, second, most := conn("/x", "std_msgs/UInt8", "/a", false), conn("/x", "std_msgs/UInt8", "/b", false), conn("/x", "std_msgs/String", "/c", false)
	second.Header[3].Value += "# by another generator\n"
	all := []sent{{first, rosbag.Time{Sec: 1}, []byte{1}}, {second, rosbag.Time{Sec: 2}, []byte{2}}}
	for i := range uint32(3) {
		all = append(all, sent{most, rosbag.Time{Sec: 3 + i}, str("a")})
	}
	path, _ := convert(t, sink.Options{Storage: rosbag2.MCAP}, all)
	_, messages := readAll(t, path)
	for _, m := range messages[:2] {
		if m.topic != "/x_std_msgs_UInt8" {
			t.Errorf("topic %s", m.topic)
		}
	}
}

// TestDamaged: a bad message costs itself, a bad type its topic.
func TestDamaged(t *testing.T) {
	t.Parallel()
	good := conn("/x", "std_msgs/String", "/a", false)
	bad := conn("/bad", "std_msgs/String", "/a", false)
	bad.Header[1].Value, bad.Header[3].Value = "my_msgs/Thing", "" // no definition
	all := []sent{{good, rosbag.Time{Sec: 1}, str("a")}, {good, rosbag.Time{Sec: 2}, str("abc")[:5]}, {bad, rosbag.Time{Sec: 3}, []byte{1}}, {good, rosbag.Time{Sec: 4}, str("b")}}
	each(t, func(t *testing.T, o sink.Options) {
		t.Helper()
		path, report := convert(t, o, all)
		_, messages := readAll(t, path)
		if len(messages) != 2 || report.Lost() != 2 {
			t.Errorf("%d messages, %d lost", len(messages), report.Lost())
		}
		if r := report.Topics[0]; r.In != 3 || r.Out != 2 || r.Reason == "" {
			t.Errorf("%+v", r)
		}
		if r := report.Topics[1]; r.In != 1 || r.Out != 0 || !strings.Contains(r.Reason, "no message definition of my_msgs/Thing") {
			t.Errorf("%+v", r)
		}
	})
}

// TestDefinitionMissing: types that ship with ROS need none.
func TestDefinitionMissing(t *testing.T) {
	t.Parallel()
	for name, sum := range map[string]string{"sum of the type": known["std_msgs/String"][1], "sum of nothing": known["std_msgs/Empty"][1]} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := conn("/x", "std_msgs/String", "/a", false)
			c.Header[2].Value, c.Header[3].Value = sum, ""
			path, _ := convert(t, sink.Options{Storage: rosbag2.MCAP}, []sent{{c, rosbag.Time{Sec: 1}, str("a")}})
			if _, messages := readAll(t, path); len(messages) != 1 || messages[0].data != str2("a") {
				t.Errorf("%+v", messages)
			}
		})
	}
}

// TestStaticTransforms: late subscribers get the transforms of all publishers.
func TestStaticTransforms(t *testing.T) {
	t.Parallel()
	var all []sent
	for i := range 15 {
		c := conn("/tf_static", "tf2_msgs/TFMessage", fmt.Sprintf("/n%d", i), true)
		all = append(all, sent{c, rosbag.Time{Sec: uint32(i)}, frames(fmt.Sprintf("f%d", i), "shared")})
	}
	for _, apart := range []bool{false, true} {
		path, report := convert(t, sink.Options{Storage: rosbag2.MCAP, Apart: apart}, all)
		_, messages := readAll(t, path)
		if len(messages) != 15 {
			t.Fatalf("%d messages", len(messages))
		}
		want := uint32(16)
		if apart {
			want = 2
		}
		if n := binary.LittleEndian.Uint32([]byte(messages[14].data[4:])); n != want {
			t.Errorf("apart %t: %d transforms in the last message; want %d", apart, n, want)
		}
		if r := report.Topics[0]; apart && (r.Merged != 0 || len(r.Warnings) != 1) || !apart && (r.Merged != 15 || len(r.Warnings) != 0) {
			t.Errorf("apart %t: %+v", apart, r)
		}
	}
}

// TestStaticTransformsOfTwoKinds: publishers in C++ and in Python have definitions with other comments,
// and old ones another name of the type. All are merged.
func TestStaticTransformsOfTwoKinds(t *testing.T) {
	t.Parallel()
	old, cpp, python := conn("/tf_static", "tf/tfMessage", "/o", true), conn("/tf_static", "tf2_msgs/TFMessage", "/c", true), conn("/tf_static", "tf2_msgs/TFMessage", "/p", true)
	python.Header[3].Value += "\n# by genpy\n"
	all := []sent{{old, rosbag.Time{Sec: 1}, frames("old")}, {cpp, rosbag.Time{Sec: 2}, frames("cpp")}, {python, rosbag.Time{Sec: 3}, frames("python")}}
	path, _ := convert(t, sink.Options{Storage: rosbag2.MCAP}, all)
	_, messages := readAll(t, path)
	if last := messages[2]; last.topic != "/tf_static" || binary.LittleEndian.Uint32([]byte(last.data[4:])) != 3 {
		t.Errorf("the last message has %d transforms, topic %s; want 3", binary.LittleEndian.Uint32([]byte(last.data[4:])), last.topic)
	}
}

// TestStaticTransformsBounded: a merged message does not grow forever, and no transform is lost.
func TestStaticTransformsBounded(t *testing.T) {
	t.Parallel()
	a, b := conn("/tf_static", "tf2_msgs/TFMessage", "/a", true), conn("/tf_static", "tf2_msgs/TFMessage", "/b", true)
	big := func(name string) []byte { return frames(name + strings.Repeat("x", 100_000)) }
	all := []sent{{a, rosbag.Time{Sec: 1}, big("a")}, {b, rosbag.Time{Sec: 2}, big("b")}, {a, rosbag.Time{Sec: 3}, big("c")}, {b, rosbag.Time{Sec: 4}, big("d")}}
	path, report := convert(t, sink.Options{Storage: rosbag2.MCAP}, all)
	_, messages := readAll(t, path)
	var counts []uint32
	for _, m := range messages {
		counts = append(counts, binary.LittleEndian.Uint32([]byte(m.data[4:])))
	}
	if !slices.Equal(counts, []uint32{1, 2, 1, 1}) {
		t.Errorf("transforms in each message: %d", counts)
	}
	if w := report.Topics[0].Warnings; len(w) != 1 || !strings.Contains(w[0], "from the message of 3.000000000 on") {
		t.Errorf("warnings %q", w)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	c := conn("/x", "std_msgs/String", "/a", false)
	var all []sent
	for i := range 100 {
		all = append(all, sent{c, rosbag.Time{Sec: uint32(i)}, str(strings.Repeat("x", 1000))})
	}
	each(t, func(t *testing.T, o sink.Options) {
		t.Helper()
		o.FileBytes, o.Compression = 10_000, "none"
		path, _ := convert(t, o, all)
		rec, messages := readAll(t, path)
		if len(messages) != 100 || len(rec.Files) < 8 || len(rec.Files) > 12 {
			t.Errorf("%d messages in %v", len(messages), rec.Files)
		}
		var sum uint64
		for i, f := range rec.Metadata.Files {
			if f.Path != rec.Files[i] || f.Start != int64(sum)*1e9 || f.Duration != int64(f.Messages-1)*1e9 {
				t.Errorf("file %+v", f)
			}
			sum += f.Messages
		}
		if sum != 100 {
			t.Errorf("%d messages in the files", sum)
		}
	})
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o sink.Options) {
		t.Helper()
		path, _ := convert(t, o, nil)
		if rec, messages := readAll(t, path); len(messages) != 0 || len(rec.Files) != 1 {
			t.Error(rec, messages)
		}
	})
}

// TestDryRun: without a directory the report is the same.
func TestDryRun(t *testing.T) {
	t.Parallel()
	all := []sent{{conn("/x", "std_msgs/String", "/a", false), rosbag.Time{Sec: 1}, str("a")}, {conn("/y", "std_msgs/String", "/a", false), rosbag.Time{Sec: 1}, nil}}
	_, want := convert(t, sink.Options{Storage: rosbag2.MCAP}, all)
	s, err := sink.New(t.Context(), nil, "run", sink.Options{Storage: rosbag2.MCAP, Distro: mapping.Jazzy, Announced: announce(all)})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if err := s.Write(m.conn, m.at, m.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, s.Report()); diff != "" {
		t.Error(diff)
	}
}
