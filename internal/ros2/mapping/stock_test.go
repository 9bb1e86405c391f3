package mapping_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/ros2/mapping"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosmsg/noetic"
)

// stockTypes are the types that ship with noetic, from the table.
func stockTypes(t testing.TB) []string {
	t.Helper()
	table, err := os.ReadFile("../../../rosmsg/noetic/noetic.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(table)) {
		if name, ok := strings.CutPrefix(line, "MSG: "); ok {
			all = append(all, strings.TrimSpace(name))
		}
	}
	return all
}

// needROS skips the test where ROS's Python is not installed, or fails if it must be.
func needROS(t *testing.T) {
	t.Helper()
	testkit.SkipWithoutROS(t)
	err := exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", "import genpy, tf2_msgs.msg, sensor_msgs.msg").Run()
	if err != nil {
		testkit.Missing(t, "ROS's Python is not installed (Debian 12: apt-get install ros-core): "+err.Error())
	}
}

// asked is a type of which ROS's Python makes random messages.
type asked struct {
	Type       string `json:"type"`
	Definition string `json:"definition"`
	Seed       uint32 `json:"seed"`
}

// answer is what ROS's Python says about it.
type answer struct {
	MD5Sum   string   `json:"md5sum"`
	Payloads []string `json:"payloads"`
}

func randomMessages(t *testing.T, types []asked) []answer {
	t.Helper()
	var in bytes.Buffer
	seed := newMaker(t).r
	for _, a := range types {
		a.Seed = seed.Uint32()
		if err := json.NewEncoder(&in).Encode(a); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "testdata/random_messages.py")
	cmd.Stdin = &in
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "ROS_LOG_DIR="+t.TempDir())
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, complaints.Bytes())
	}
	answers := make([]answer, len(types))
	decoder := json.NewDecoder(bytes.NewReader(out))
	for i := range answers {
		if err := decoder.Decode(&answers[i]); err != nil {
			t.Fatalf("answer for %s: %v", types[i].Type, err)
		}
	}
	return answers
}

// TestStockTypesThereAndBack converts random messages of every type that ships with
// noetic, made by ROS's own Python, to each distribution and back.
func TestStockTypesThereAndBack(t *testing.T) {
	t.Parallel()
	testkit.SkipUnlessFull(t, "seconds of processor time, half of them of stock's Python")
	needROS(t)
	var types []asked
	for _, name := range stockTypes(t) {
		definition, _, _ := noetic.Definition(name)
		types = append(types, asked{Type: name, Definition: definition})
	}
	for i, a := range randomMessages(t, types) {
		for _, d := range mapping.Distros() {
			thereAndBack(t, d, types[i].Type, a.MD5Sum, a.Payloads)
		}
	}
}

// TestROS2TypesThereAndBack does the same with the types that ROS 2 has beyond those of
// noetic. Their ROS 1 definitions are ours: ROS's Python must be able to use them.
func TestROS2TypesThereAndBack(t *testing.T) {
	t.Parallel()
	testkit.SkipUnlessFull(t, "a second of processor time, half of it of stock's Python")
	needROS(t)
	m := newMapper(t, mapping.Rolling, mapping.Options{})
	text, err := os.ReadFile("testdata/hashes.txt")
	if err != nil {
		t.Fatal(err)
	}
	var types []asked
	var backs []*mapping.To1
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(line, " ")
		schema, ok := m.Schema(name)
		if !ok {
			t.Fatalf("no schema of %s", name)
		}
		if strings.Contains(schema, "wstring") {
			continue // has no counterpart
		}
		back := to1(t, m, name, schema)
		if _, _, noetic := noetic.Definition(back.Type); !noetic && !slices.ContainsFunc(types, func(a asked) bool { return a.Type == back.Type }) {
			types, backs = append(types, asked{Type: back.Type, Definition: back.Definition}), append(backs, back)
		}
	}
	if len(types) < 20 {
		t.Errorf("only %d types", len(types))
	}
	for i, a := range randomMessages(t, types) {
		if a.MD5Sum != backs[i].MD5Sum {
			t.Errorf("%s: md5sum %s, want %s", types[i].Type, backs[i].MD5Sum, a.MD5Sum)
		}
		there := to2(t, m, types[i].Type, types[i].Definition)
		for _, text := range a.Payloads {
			payload, err := hex.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			message, err := there.Append(nil, payload, nil)
			if err != nil {
				if !strings.Contains(err.Error(), "ROS 2 allows at most") {
					t.Error(err)
				}
				continue
			}
			if again, err := backs[i].Append(nil, message, nil); err != nil || !bytes.Equal(again, payload) {
				t.Errorf("%s: %x, want %x (%v)", types[i].Type, again, payload, err)
			}
		}
	}
}

func thereAndBack(t *testing.T, d mapping.Distro, name, md5sum string, payloads []string) {
	t.Helper()
	m := newMapper(t, d, mapping.Options{})
	there := stockTo2(t, m, name)
	back := to1(t, m, there.Type, there.Schema)
	want := name
	if name == "tf/tfMessage" {
		want = "tf2_msgs/TFMessage"
	}
	if back.Type != want || back.MD5Sum != md5sum {
		t.Errorf("%s, %s: back as %s %s, want %s", name, d, back.Type, back.MD5Sum, md5sum)
	}
	if there.Notes == nil && strings.Contains(there.Schema, "std_msgs/Header") {
		t.Errorf("%s, %s: no note that seq is dropped", name, d)
	}
	for _, text := range payloads {
		payload, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		var n mapping.Counts
		message, err := there.Append(nil, payload, &n)
		if err != nil {
			if !strings.Contains(err.Error(), "ROS 2 allows at most") { // three dimensions
				t.Errorf("%s, %s: %v", name, d, err)
			}
			continue
		}
		again, err := back.Append(nil, message, &n)
		if err != nil || !bytes.Equal(again, payload) || n != (mapping.Counts{}) {
			t.Errorf("%s, %s: %x and %+v, want %x (%v)", name, d, again, n, payload, err)
		}
	}
}

// TestInstalledTypes compares the table with the definitions that Debian installs: each is
// in the table, with the same md5sum.
func TestInstalledTypes(t *testing.T) {
	t.Parallel()
	needROS(t)
	names := stockTypes(t)
	for _, pkg := range []string{"std_msgs", "geometry_msgs", "nav_msgs", "sensor_msgs", "rosgraph_msgs", "diagnostic_msgs", "actionlib_msgs"} {
		files, err := filepath.Glob("/usr/share/" + pkg + "/msg/*.msg")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if name := pkg + "/" + strings.TrimSuffix(filepath.Base(f), ".msg"); !slices.Contains(names, name) {
				t.Errorf("%s is not in the table", name)
			}
		}
	}
	script := "import genpy.message, sys\nfor l in sys.stdin:\n c = genpy.message.get_message_class(l.strip())\n print(l.strip(), c._md5sum if c else '')"
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", script)
	cmd.Stdin = strings.NewReader(strings.Join(names, "\n"))
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for line := range strings.Lines(string(out)) {
		name, want, _ := strings.Cut(strings.TrimSpace(line), " ")
		if want == "" {
			continue // the package is not installed
		}
		compared++
		if _, got, ok := noetic.Definition(name); !ok || got != want {
			t.Errorf("%s has md5sum %s, want %s", name, got, want)
		}
	}
	if compared < 50 {
		t.Errorf("only %d types were compared", compared)
	}
}
