package rosmsg_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

var (
	seedFlag = flag.Uint64("seed", 0, "seed of the definitions made up; 0 means a new one")
	update   = flag.Bool("update", false, "write testdata/made.jsonl anew, which needs ROS")
)

// needROS skips the test where ROS's Python is not installed, or fails if it must be.
func needROS(t *testing.T) {
	t.Helper()
	testkit.SkipWithoutROS(t)
	// Without the package of a message stock prints all of its arrays, also with --noarr.
	const packages = "import rosbag, rostopic, genpy, diagnostic_msgs, geometry_msgs, nav_msgs, sensor_msgs, tf2_msgs"
	const install = "Debian 12: apt-get install ros-core python3-sensor-msgs python3-tf2-msgs python3-nav-msgs python3-diagnostic-msgs"
	err := exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", packages).Run()
	if err != nil {
		testkit.Missing(t, "ROS's Python is not installed ("+install+"): "+err.Error())
	}
}

// said is what stock says about one message.
type said struct {
	Topic    string `json:"topic"`
	Time     int64  `json:"time"`
	Values   any    `json:"values"`
	Text     string `json:"text"`
	CSV      string `json:"csv"`
	NoArr    string `json:"noarr"`
	NoStr    string `json:"nostr"`
	CSVShort string `json:"csvshort"`
	MD5Sum   string `json:"md5sum"`
}

// like leaves out what other leaves out.
func (s said) like(other said) said {
	if other.NoArr == "" {
		s.NoArr, s.NoStr, s.CSVShort = "", "", ""
	}
	return s
}

func stock(t *testing.T, in []byte, args ...string) []said {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", append([]string{"testdata/stock.py"}, args...)...)
	cmd.Stdin = bytes.NewReader(in)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONIOENCODING=utf-8", "ROS_LOG_DIR="+t.TempDir())
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("stock.py %v: %v\n%s", args, err, complaints.Bytes())
	}
	var all []said
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<28)
	for lines.Scan() {
		var s said
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
	return all
}

// ours says the same about a message with our code.
func ours(t *testing.T, typ *rosmsg.Type, payload []byte, ns int64, short bool) said {
	t.Helper()
	m, err := typ.Decode(payload)
	if err != nil {
		t.Fatalf("%s: %v", typ.Name(), err)
	}
	text := func(o rosmsg.TextOptions) string {
		b, err := typ.AppendText(nil, payload, o)
		if err != nil {
			t.Fatal(err)
		}
		return string(b) + "\n---\n"
	}
	csv := func(o rosmsg.TextOptions) string {
		b, err := typ.Message(payload).AppendCSVHeader(nil, o)
		if err != nil {
			t.Fatal(err)
		}
		if b, err = typ.Message(payload).AppendCSV(append(b, '\n'), ns, o); err != nil {
			t.Fatal(err)
		}
		return string(b) + "\n"
	}
	s := said{Values: canonical(m), Text: text(rosmsg.TextOptions{}), CSV: csv(rosmsg.TextOptions{})}
	if short {
		s.NoArr, s.NoStr = text(rosmsg.TextOptions{NoArrays: true}), text(rosmsg.TextOptions{NoStrings: true})
		s.CSVShort = csv(rosmsg.TextOptions{NoArrays: true, NoStrings: true})
	}
	return s
}

// canonical returns values in the form of stock.py.
func canonical(x any) any {
	switch x := x.(type) {
	case *rosmsg.Message:
		all := make([]any, 0, len(x.Values))
		for i, f := range x.Type.Fields() {
			all = append(all, []any{f.Name, canonical(x.Values[i])})
		}
		return all
	case bool:
		if x {
			return "b:1"
		}
		return "b:0"
	case float32:
		return canonical(float64(x))
	case float64:
		if math.IsNaN(x) {
			return "d:nan"
		}
		return fmt.Sprintf("d:%016x", math.Float64bits(x))
	case string:
		// ROS replaces what is not UTF-8; how often, the text shows.
		return "s:" + replacements.ReplaceAllString(strings.ToValidUTF8(x, "\ufffd"), "\ufffd")
	case rosmsg.Stamp:
		return fmt.Sprintf("t:%d.%d", x.Secs, x.Nsecs)
	case rosmsg.Span:
		return fmt.Sprintf("t:%d.%d", x.Secs, x.Nsecs)
	case int8, uint8, int16, uint16, int32, uint32, int64, uint64:
		return fmt.Sprintf("i:%d", x)
	case []*rosmsg.Message:
		return list(x)
	case []bool:
		return list(x)
	case []int8:
		return list(x)
	case []uint8:
		return list(x)
	case []int16:
		return list(x)
	case []uint16:
		return list(x)
	case []int32:
		return list(x)
	case []uint32:
		return list(x)
	case []int64:
		return list(x)
	case []uint64:
		return list(x)
	case []float32:
		return list(x)
	case []float64:
		return list(x)
	case []string:
		return list(x)
	case []rosmsg.Stamp:
		return list(x)
	case []rosmsg.Span:
		return list(x)
	}
	panic(fmt.Sprintf("a value of type %T", x))
}

var replacements = regexp.MustCompile("\ufffd+")

func list[T any](x []T) any {
	all := make([]any, 0, len(x))
	for _, e := range x {
		all = append(all, canonical(e))
	}
	return all
}

// bags are the bags of others beside the checkout, and the demo.
func bags(t *testing.T) []string {
	t.Helper()
	dir := os.Getenv("GOROSBAG_BAGS")
	if dir == "" {
		dir = "../../shared/bags/real"
	}
	all, err := filepath.Glob(filepath.Join(dir, "*.bag"))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Log("no real bags: set GOROSBAG_BAGS to a directory of bags to compare those too")
	}
	return append(all, "../testdata/demo.bag")
}

// eachMessage reads a bag; the types are those that its definitions make.
func eachMessage(t *testing.T, path string, do func(m *rosbag.Message, typ *rosmsg.Type)) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	types := make(map[*rosbag.Connection]*rosmsg.Type)
	for m, err := range rosbag.Messages(r, rosbag.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		typ, ok := types[m.Conn]
		if !ok {
			h := m.Conn.Header
			if typ, err = rosmsg.Parse(h.Type(), h.MessageDefinition()); err != nil {
				t.Fatal(err)
			}
			if got, want := typ.MD5Sum(), h.MD5Sum(); got != want {
				t.Errorf("%s: %s has md5sum %s by its definition, %s by its connection", m.Conn.Topic, typ.Name(), got, want)
			}
			types[m.Conn] = typ
		}
		do(m, typ)
	}
}

// TestBagsBesideStock decodes and prints every message of the bags with both.
func TestBagsBesideStock(t *testing.T) {
	t.Parallel()
	needROS(t)
	testkit.SkipUnlessFull(t, "seconds of processor time, half a minute with real bags; TestMadeBesideStock compares fewer messages")
	for _, path := range bags(t) {
		if st, err := os.Stat(path); testkit.Race && err == nil && st.Size() > 100_000 {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			// Messages of one topic and time may come in another order.
			type key struct {
				topic string
				ns    int64
			}
			want := make(map[key][]said)
			for _, s := range stock(t, nil, "bag", path) {
				k := key{s.Topic, s.Time}
				s.Topic, s.Time = "", 0
				want[k] = append(want[k], s)
			}
			compared := 0
			eachMessage(t, path, func(m *rosbag.Message, typ *rosmsg.Type) {
				ns := int64(m.Time.Sec)*1e9 + int64(m.Time.Nsec)
				k := key{m.Conn.Topic, ns}
				candidates := want[k]
				if len(candidates) == 0 {
					t.Fatalf("stock has no message of %s at %d", k.topic, k.ns)
				}
				full := ours(t, typ, m.Data(), ns, true)
				i := slices.IndexFunc(candidates, func(w said) bool { return reflect.DeepEqual(w, full.like(w)) })
				if i < 0 {
					t.Fatalf("%s at %d differs (-stock +ours):\n%s", k.topic, k.ns, cmp.Diff(candidates[0], full.like(candidates[0])))
				}
				want[k] = slices.Delete(candidates, i, i+1)
				compared++
			})
			for k, left := range want {
				if len(left) > 0 {
					t.Errorf("%d messages of %s at %d are only in stock's", len(left), k.topic, k.ns)
				}
			}
			if compared == 0 {
				t.Error("no message was compared")
			}
			t.Logf("%d messages are the same", compared)
		})
	}
}

// TestMadeBesideStock makes definitions and payloads up and compares what stock makes
// of them: all types, arrays, constants, comments and odd strings.
func TestMadeBesideStock(t *testing.T) {
	t.Parallel()
	needROS(t)
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-seed %d", seed)
	maker := maker{rand.New(rand.NewPCG(seed, 1))}
	var in bytes.Buffer
	n := 40
	if testkit.Full() {
		n = 250
	}
	all := make([]made, n)
	for i := range all {
		all[i] = maker.message(fmt.Sprintf("made_msgs/T%d", i))
		line, err := json.Marshal(map[string]string{"type": all[i].name, "definition": all[i].definition, "data": hex.EncodeToString(all[i].data)})
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	want := stock(t, in.Bytes(), "made")
	if len(want) != len(all) {
		t.Fatalf("stock says something about %d of %d messages", len(want), len(all))
	}
	for i, m := range all {
		typ, err := rosmsg.Parse(m.name, m.definition)
		if err != nil {
			t.Fatalf("%v\n%s", err, m.definition)
		}
		got := ours(t, typ, m.data, 1_000_000_005, false)
		got.MD5Sum = typ.MD5Sum()
		if !reflect.DeepEqual(want[i], got) {
			t.Fatalf("definition:\n%s\ndata: %x\n(-stock +ours):\n%s", m.definition, m.data, cmp.Diff(want[i], got))
		}
	}
	if *update {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		for i := range 25 {
			if err := enc.Encode(golden{all[i].name, all[i].definition, all[i].data, want[i]}); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(goldenFile, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const goldenFile = "testdata/made.jsonl"

// golden is a message and what stock says about it.
type golden struct {
	Name, Definition string
	Data             []byte
	Stock            said
}

// TestMadeBefore compares with what stock said about some messages when -update wrote
// it down: without ROS.
func TestMadeBefore(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(b) {
		var g golden
		if err := json.Unmarshal(line, &g); err != nil {
			t.Fatal(err)
		}
		typ := parse(t, g.Name, g.Definition)
		got := ours(t, typ, g.Data, 1_000_000_005, false)
		got.MD5Sum = typ.MD5Sum()
		if d := cmp.Diff(g.Stock, got); d != "" {
			t.Errorf("definition:\n%s\n(-stock +ours):\n%s", g.Definition, d)
		}
		n++
	}
	if n < 25 {
		t.Errorf("only %d messages", n)
	}
}

// TestMD5SumOfBags computes the md5sum of every connection from its definition, and
// decodes every message.
func TestMD5SumOfBags(t *testing.T) {
	t.Parallel()
	for _, path := range bags(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			n := 0
			eachMessage(t, path, func(m *rosbag.Message, typ *rosmsg.Type) {
				n++
				if err := typ.Check(m.Data()); err != nil {
					t.Errorf("%s: %v", m.Conn.Topic, err)
				}
			})
			if n == 0 {
				t.Error("no messages")
			}
		})
	}
}
