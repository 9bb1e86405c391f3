package definitions_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/bags/definitions"
	"github.com/gorosbag/gorosbag/internal/ros/mismatch"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

func tree(files ...string) fstest.MapFS {
	all := make(fstest.MapFS)
	for i := 0; i < len(files); i += 2 {
		all[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return all
}

const rule = "================================================================================\n"

func TestOfFolder(t *testing.T) {
	t.Parallel()
	const text = "Header\theader\nPoint p # a = b\nother/Q   q\n"
	full := text + "\n" + rule + "MSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n\n" + rule + "MSG: my/Point\nfloat32 x # right\n\n" + rule + "MSG: other/Q\nPoint p\n\n" + rule + "MSG: other/Point\nint8 x\n"
	files := []string{
		"src/my/msg/T.msg", text, "src/my/msg/Point.msg", "float32 x # right\n", "src/my/package.xml", "<package><name>my</name></package>",
		"src/group/renamed/msg/Q.msg", "Point p\n", "src/group/renamed/msg/Point.msg", "int8 x\n", "src/group/renamed/package.xml", "<package format='2'><name> other </name></package>",
		"src/.git/x/msg/T.msg", "bad\n", "src/my/msg/README", "",
	}
	set, err := definitions.OfFolder(tree(files...), "/home/u/ws", definitions.Noetic())
	if err != nil {
		t.Fatal(err)
	}
	d, ok, err := definitions.Wanted(set, "my/T")
	if !ok || err != nil || d.Text != full {
		t.Errorf("%v, %v, %s", ok, err, cmp.Diff(full, d.Text))
	}
	if typ, err := rosmsg.Parse("my/T", d.Text); err != nil || typ.MD5Sum() != d.MD5Sum {
		t.Errorf("md5sum %s: %v", d.MD5Sum, err)
	}
	if _, ok, err := definitions.Wanted(set, "my/Nosuch"); ok || err != nil {
		t.Errorf("of a type that is not there: %v, %v", ok, err)
	}
}

func TestFolders(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, path string
		files      fstest.MapFS
		typ        string
	}{
		{"one package", "/ws/src/my", tree("msg/T.msg", "int8 a\n"), "my/T"},
		{"its msg folder", "/ws/src/my/msg", tree("T.msg", "int8 a\n"), "my/T"},
		{"installed", "/opt/ros/noetic/share", tree("a/msg/T.msg", "int8 a\n", "doc/a/msg/T.msg", "int16 a\n", "README", ""), "a/T"},
	} {
		set, err := definitions.OfFolder(test.files, test.path)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if d, ok, err := definitions.Wanted(set, test.typ); !ok || err != nil || d.Text != "int8 a\n" {
			t.Errorf("%s: %+v, %v, %v", test.name, d, ok, err)
		}
	}
}

func TestFolderErrors(t *testing.T) {
	t.Parallel()
	if _, err := definitions.OfFolder(tree("a/b.txt", ""), "/x"); err == nil || !strings.Contains(err.Error(), "has no .msg files") {
		t.Errorf("an empty folder: %v", err)
	}
	for _, test := range []struct {
		name  string
		files fstest.MapFS
		want  string
	}{
		{"missing", tree("p/msg/T.msg", "q/X x\n"), "p/msg/T.msg: it needs q/X, and there is no q/msg/X.msg"},
		{"bent", tree("p/msg/T.msg", "int8\n"), `p/msg/T.msg: definition of "p/T": line 1: want TYPE NAME, got "int8"`},
		{"twice in a part", tree("p/msg/T.msg", "U u\n", "a/p/msg/U.msg", "int8 a\n", "b/p/msg/U.msg", "int16 a\n"), "p/msg/T.msg: a/p/msg/U.msg and b/p/msg/U.msg are two definitions of p/U"},
		{"twice", tree("a/p/msg/T.msg", "int8 a\n", "b/p/msg/T.msg", "int16 a\n"), "a/p/msg/T.msg and b/p/msg/T.msg are two definitions of p/T"},
		{"itself", tree("p/msg/T.msg", "T t\n"), `p/msg/T.msg: definition of "p/T": line 1: "p/T" contains itself`},
	} {
		set, err := definitions.OfFolder(test.files, "/ws")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := definitions.Wanted(set, "p/T"); err == nil || err.Error() != test.want {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
	same := tree("a/p/msg/T.msg", "int8 a\n", "b/p/msg/T.msg", "int8 a\n")
	set, err := definitions.OfFolder(same, "/ws")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := definitions.Wanted(set, "p/T"); !ok || err != nil {
		t.Errorf("the same text twice: %v", err)
	}
}

func conn(typ, sum, text string) *rosbag.Connection {
	return &rosbag.Connection{Header: rosbag.Header{{Key: "type", Value: typ}, {Key: "md5sum", Value: sum}, {Key: "message_definition", Value: text}}}
}

func TestOfConnections(t *testing.T) {
	t.Parallel()
	sum := func(text string) string {
		typ, err := rosmsg.Parse("p/T", text)
		if err != nil {
			t.Fatal(err)
		}
		return typ.MD5Sum()
	}
	good, other := conn("p/T", sum("int8 a\n"), "int8 a\n"), conn("p/T", sum("int16 a\n"), "int16 a\n")
	set := definitions.OfConnections([]*rosbag.Connection{good, good, conn("p/T", sum("int8 a\n"), "int32 a\n"), conn("p/U", "*", "int8 a\n"), conn("p/V", sum("int8 a\n"), "")})
	if d, ok, err := definitions.Wanted(set, "p/T"); !ok || err != nil || d.Text != "int8 a\n" {
		t.Errorf("%v, %v, %v", d, ok, err)
	}
	for _, typ := range []string{"p/U", "p/V"} {
		if _, ok, err := definitions.Wanted(set, typ); ok || err != nil {
			t.Errorf("%s: %v, %v", typ, ok, err)
		}
	}
	if _, _, err := definitions.Wanted(definitions.OfConnections([]*rosbag.Connection{good, other}), "p/T"); err == nil {
		t.Error("two versions are no error")
	}
	list := definitions.List{definitions.OfConnections([]*rosbag.Connection{other}), definitions.OfConnections([]*rosbag.Connection{good}), definitions.Noetic()}
	if d, _, err := definitions.Wanted(list, "p/T"); err != nil || d.Text != "int16 a\n" {
		t.Errorf("%v, %v", d, err)
	}
	if all, err := list.Find("p/T"); err != nil || len(all) != 2 {
		t.Errorf("%v, %v", all, err)
	}
	if d, ok, err := definitions.Wanted(list, "std_msgs/String"); !ok || err != nil || d.MD5Sum != "992ce8a1687cec8c8bd883ec73ca41d1" {
		t.Errorf("%v, %v", d, err)
	}
}

// class is a file as genpy writes it.
func class(text string) string {
	return "# This Python file uses the following encoding: utf-8\nclass X(genpy.Message):\n  _md5sum = \"0\"\n  _full_text = \"\"\"" + text + "\"\"\"\n  __slots__ = ['a']\n  other = \"\"\"x\"\"\"\n"
}

// installIn writes classes, path and text by turns, and returns their folder.
func installIn(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestInstalledIn(t *testing.T) {
	t.Parallel()
	first := installIn(t, "p/msg/_Plain.py", class("int8 a # is it?\n"), "p/msg/_Quoted.py", class(`int8 a # \"\"\" and "b"`+"\n"), "p/msg/_Ends.py", class(`int8 a # "b\"`),
		"p/msg/_Cut.py", `class X:`+"\n"+`  _full_text = """int8 a\"""`, "p/msg/_Bent.py", class("int8\n"), "p/msg/_Hidden.py", class("int8\n"), "p/msg/_Empty.py", class(""))
	second := installIn(t, "p/msg/_Plain.py", class("int16 a\n"), "q/msg/_T.py", class("p/Plain x\n\n"+rule+"MSG: p/Plain\nint8 a\n"), "p/msg/_Hidden.py", class("int8 a\n"))
	s := definitions.InstalledIn(first, filepath.Join(first, "nosuch"), second)
	for typ, want := range map[string]string{
		"p/Plain": "int8 a # is it?\n", "p/Quoted": `int8 a # """ and "b"` + "\n", "p/Ends": `int8 a # "b"`, "q/T": "p/Plain x\n\n" + rule + "MSG: p/Plain\nint8 a\n", "p/Empty": "",
	} {
		d, ok, err := definitions.Wanted(s, typ)
		if err != nil || !ok || d.Text != want || d.Type != typ {
			t.Errorf("%s: %+v, %v, %v", typ, d, ok, err)
		}
		if parsed, err := rosmsg.Parse(typ, want); err != nil || parsed.MD5Sum() != d.MD5Sum {
			t.Errorf("%s: md5sum %s, %v", typ, d.MD5Sum, err)
		}
	}
	for _, typ := range []string{"p/Cut", "p/Bent", "p/Hidden", "p/Nosuch", "Plain", "../p/Plain", "p/msg/Plain", "/Plain", "p/", "p/.", "p/../msg/_Plain", ""} {
		if d, ok, err := definitions.Wanted(s, typ); ok || err != nil {
			t.Errorf("%s: %+v, %v", typ, d, err)
		}
	}
}

// TestTextsOfPython checks that the texts that are installed take the place of those in the table, if they have their md5sum.
func TestTextsOfPython(t *testing.T) {
	t.Setenv("PYTHONPATH", installIn(t, "std_msgs/msg/_String.py", class("string data # as installed\n"), "std_msgs/msg/_Int8.py", class("int16 data # another version\n"), "std_msgs/msg/_UInt8.py", class("uint8 data\n"),
		"std_msgs/msg/_Header.py", class("# a header\nuint32 seq\ntime stamp\nstring frame_id\n"), "my/msg/_T.py", class("int8 a\n"))+string(os.PathListSeparator)+"relative")
	for d, want := range map[mismatch.Definition]bool{
		{Type: "std_msgs/Int8", MD5Sum: "27ffa0c9c4b8fb8492252bcad9e5c57b", Text: "int8 data\n"}:             true,
		{Type: "std_msgs/Int8", MD5Sum: "27ffa0c9c4b8fb8492252bcad9e5c57b", Text: "int8 data # commented\n"}: false,
		{Type: "std_msgs/UInt8", MD5Sum: "7c8164229e7d2c17eb95e9231617fdee", Text: "uint8 data\n"}:           false,
		{Type: "my/T", MD5Sum: "27ffa0c9c4b8fb8492252bcad9e5c57b", Text: "int8 data\n"}:                      false,
	} {
		if got := definitions.IsBare(d, definitions.Installed()); got != want {
			t.Errorf("%+v: bare %v", d, got)
		}
	}
	src := filepath.Join(installIn(t, "src/my/msg/Stamped.msg", "Header header # mine\n"), "src")
	for _, test := range []struct{ place, typ, want string }{
		{"noetic", "std_msgs/String", "string data # as installed\n"},
		{"noetic", "std_msgs/Int8", "int8 data\n"},
		{"noetic", "my/T", ""},
		{"installed", "my/T", "int8 a\n"},
		{"installed", "std_msgs/Int8", "int16 data # another version\n"},
		{src, "my/Stamped", "Header header # mine\n\n" + rule + "MSG: std_msgs/Header\n# a header\nuint32 seq\ntime stamp\nstring frame_id\n"},
	} {
		for _, places := range [][]string{{test.place}, {test.place, "noetic"}} {
			list, err := definitions.Open(t.Context(), places, bags.Options{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if d, _, err := definitions.Wanted(list, test.typ); err != nil || d.Text != test.want {
				t.Errorf("%s in %v: %q, %v", test.typ, places, d.Text, err)
			}
		}
	}
}

// TestInstalled checks that texts of an installed share folder are what ROS makes of them.
func TestInstalled(t *testing.T) {
	t.Parallel()
	testkit.SkipWithoutROS(t)
	out, err := exec.CommandContext(t.Context(), "/usr/bin/python3", "-c",
		"from nav_msgs.msg import Odometry as O; from sensor_msgs.msg import PointCloud2 as P; print(O._full_text, end='\\0'); print(P._full_text, end='')").Output()
	if err != nil {
		testkit.Missing(t, "ROS's messages for Python are not installed (Debian 12: apt-get install python3-nav-msgs python3-sensor-msgs)")
	}
	texts := strings.Split(string(out), "\x00")
	here := definitions.InstalledIn("/usr/lib/python3/dist-packages")
	for i, typ := range []string{"nav_msgs/Odometry", "sensor_msgs/PointCloud2"} {
		if d, ok, err := definitions.Wanted(here, typ); !ok || err != nil || d.Text != texts[i] {
			t.Errorf("%s of the class: %v, %v\n%s", typ, ok, err, cmp.Diff(texts[i], d.Text))
		}
	}
	if _, err := os.Stat("/usr/share/nav_msgs/msg"); err != nil {
		testkit.Missing(t, "the .msg files of ROS are not installed (Debian 12: apt-get install ros-nav-msgs)")
	}
	set, err := definitions.OfFolder(os.DirFS("/usr/share"), "/usr/share")
	if err != nil {
		t.Fatal(err)
	}
	for i, typ := range []string{"nav_msgs/Odometry", "sensor_msgs/PointCloud2"} {
		if d, ok, err := definitions.Wanted(set, typ); !ok || err != nil || d.Text != texts[i] {
			t.Errorf("%s: %v, %v\n%s", typ, ok, err, cmp.Diff(texts[i], d.Text))
		}
	}
}
