package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
)

// mcapWithExtras writes an MCAP file as another program does: with an attachment, a metadata record and
// a topic that is not of ROS 1, if json is set. Without index it is as if its writer had been killed.
func mcapWithExtras(t *testing.T, json, index bool) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := mcap.NewWriter(&b, &mcap.WriterOptions{Chunked: true, ChunkSize: 200, IncludeCRC: true, Compression: mcap.CompressionZSTD})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	check(w.WriteHeader(&mcap.Header{Profile: "ros1", Library: "test"}))
	check(w.WriteSchema(&mcap.Schema{ID: 1, Name: "std_msgs/String", Encoding: "ros1msg", Data: []byte("string data\n")}))
	check(w.WriteChannel(&mcap.Channel{ID: 1, SchemaID: 1, Topic: "/a", MessageEncoding: "ros1"}))
	check(w.WriteChannel(&mcap.Channel{ID: 2, Topic: "/json", MessageEncoding: "json"}))
	check(w.WriteAttachment(&mcap.Attachment{Name: "map.png", MediaType: "image/png", DataSize: 5, Data: strings.NewReader("12345")}))
	check(w.WriteMetadata(&mcap.Metadata{Name: "site", Metadata: map[string]string{"a": "b"}}))
	for n := range 20 {
		check(w.WriteMessage(&mcap.Message{ChannelID: 1, LogTime: uint64(100+n) * 1e9, Data: []byte("\x02\x00\x00\x00hi")}))
		if json && n == 10 {
			check(w.WriteMessage(&mcap.Message{ChannelID: 2, LogTime: uint64(100+n) * 1e9, Data: []byte("{}")}))
		}
	}
	end := b.Len()
	check(w.Close())
	if index {
		return b.Bytes()
	}
	return b.Bytes()[:end]
}

// TestMCAPCommands runs commands on MCAP files of others, alone and beside bags.
func TestMCAPCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := write(t, "in.mcap", mcapWithExtras(t, false, true))
	killed := write(t, "killed.mcap", mcapWithExtras(t, false, false))
	out := func(name string) string { return filepath.Join(dir, name) }
	for _, step := range []struct {
		args   string
		code   int
		stdout string // is in it
		stderr string
	}{
		{"info " + in, 0, "attachments:  map.png (image/png, 0.0 KB)\nmetadata:     site", ""},
		{"info --json " + in, 0, `"attachments":[{"name":"map.png","media_type":"image/png","bytes":5}],"metadata":[{"name":"site",`, ""},
		{"info " + killed, 3, "version:      mcap (unindexed)", "killed.mcap: truncated: record at "},
		{"echo " + in + " /a -n 1", 0, `data: "hi"`, ""},
		{"check " + in, 0, "sound: version mcap, 20 messages of 1 connection", ""},
		{"check " + killed, 3, "gobag reindex keeps what is before", ""},
		{"convert " + in + " " + out("a.bag"), 0, "", `in.mcap: attachment "map.png" (5 bytes) is left out`},
		{"convert -f " + in + " " + out("a.bag"), 0, "", `in.mcap: metadata record "site"`},
		{"diff " + in + " " + out("a.bag"), 0, "Same: 20 messages", ""},
		{"filter " + in + " " + out("b.mcap") + " --until 4.5", 0, "", "b.mcap: 5 messages"},
		{"merge " + out("a.bag") + " " + in + " -o " + out("m.mcap"), 0, "", "m.mcap: 40 messages"},
		{"split --duration 10s " + in + " " + out("part"), 0, "", "20 messages in 2 files"},
		{"compress --output-dir " + dir + " " + in, 0, "", "in.mcap: 20 messages"},
		{"compress -f --bz2 --output-dir " + dir + " " + in, 1, "", "MCAP cannot be compressed with bz2"},
		{"reindex --output-dir " + dir + " " + killed, 3, "", "killed.mcap: 15 messages"},
		{"check " + out("killed.mcap"), 0, "sound: version mcap, 15 messages", ""},
		{"note " + in + " a=b", 1, "", "a bag of version 2.0 is needed; gobag convert makes one"},
		{"info " + dir, 0, "killed.mcap", ""},
	} {
		code, stdout, stderr := gobag(strings.Fields(step.args)...)
		if code != step.code || !strings.Contains(stdout, step.stdout) || !strings.Contains(stderr, step.stderr) {
			t.Errorf("gobag %s: code %d, stdout\n%s\nstderr\n%s\nwant %d, %q, %q", step.args, code, stdout, stderr, step.code, step.stdout, step.stderr)
		}
	}
	code, _, stderr := piped(bytes.NewReader(mcapWithExtras(t, false, true)), "convert", "-", out("p.bag"))
	if code != 0 || !strings.Contains(stderr, "20 messages") {
		t.Errorf("from a pipe: code %d, %s", code, stderr)
	}
	if _, err := os.Stat(in); err != nil {
		t.Error(err)
	}
}

// TestMCAPOtherEncoding tells of a topic that is left out, and reads the others.
func TestMCAPOtherEncoding(t *testing.T) {
	t.Parallel()
	in := mcapWithExtras(t, true, true)
	code, _, stderr := piped(bytes.NewReader(in), "convert", "-", filepath.Join(t.TempDir(), "o.bag"))
	if code != 3 || !strings.Contains(stderr, `"/json" are left out: they are encoded as "json"`) || !strings.Contains(stderr, "20 messages") {
		t.Errorf("from a pipe: code %d, %s", code, stderr)
	}
	code, stdout, stderr := gobag("info", write(t, "in.mcap", in))
	if code != 0 || stderr != "" || !strings.Contains(stdout, "/json    1 msg     : (no schema)") || !strings.Contains(stdout, "/a      20 msgs    : std_msgs/String") || !strings.Contains(stdout, "messages:     21\n") {
		t.Errorf("info: code %d\n%s\n%s", code, stdout, stderr)
	}
	code, stdout, _ = gobag("check", write(t, "in.mcap", in))
	if code != 3 || !strings.Contains(stdout, "not damaged; 1 topic left out and not checked; 20 messages can be read") {
		t.Errorf("check: code %d, %s", code, stdout)
	}
}

// TestOtherTopics: topics that cannot be read matter only if they are selected, in MCAP and in pipes, of
// ROS 1 and of ROS 2.
func TestOtherTopics(t *testing.T) {
	t.Parallel()
	in := mcapWithExtras(t, true, true)
	path := write(t, "in.mcap", in)
	ros2 := write(t, "ros2.mcap", mcapOfROS2(t))
	out := filepath.Join(t.TempDir(), "out.bag")
	for args, want := range map[string]int{
		"filter -f " + path + " OUT -t /a":                       0,
		"filter -f " + path + " OUT -x /json":                    0,
		"filter -f " + path + " OUT":                             3,
		"filter -f " + path + " OUT --type std_msgs/String":      0,
		"filter -f - OUT -t /a":                                  0,
		"convert -f " + path + " OUT -t /a":                      0,
		"convert -f " + path + " OUT":                            3,
		"echo " + path + " /a":                                   0,
		"echo " + path:                                           3,
		"convert -f " + ros2 + " OUT -t /two":                    0,
		"convert -f " + ros2 + " OUT --type std_msgs/String":     0,
		"convert -f " + ros2 + " OUT":                            3,
		"convert -f " + ros2 + " OUT -t /two -t /idl":            3,
		"convert -f " + ros2 + " OUT --type a/I --type */String": 3,
		"filter -f " + ros2 + " OUT -t /two":                     0,
		"diff " + ros2 + " " + ros2 + " -t /two":                 0,
		"diff " + path + " " + path + " -t /a":                   0,
		"diff " + path + " " + path:                              3,
		"echo " + ros2 + " /two":                                 0,
		"echo " + ros2 + " /two /idl":                            3,
	} {
		code, stdout, stderr := piped(bytes.NewReader(in), strings.Fields(strings.ReplaceAll(args, "OUT", out+strings.Fields(args)[0]))...)
		if code != want {
			t.Errorf("gobag %s: code %d, want %d\n%s\n%s", args, code, want, stdout, stderr)
		}
	}
	code, stdout, _ := gobag("check", ros2)
	if code != 3 || !strings.Contains(stdout, "topic /idl is left out: ") || !strings.Contains(stdout, "not damaged; 1 topic left out and not checked; 2 messages can be read") {
		t.Errorf("check: code %d, %s", code, stdout)
	}
	dry := filepath.Join(t.TempDir(), "dry.bag")
	if _, stdout, _ := gobag("convert", "--dry-run", ros2, dry); !strings.Contains(stdout, "dry.bag: 2 messages would be written\n") {
		t.Error(stdout)
	}
	if _, stdout, _ := gobag("info", ros2); !strings.Contains(stdout, "version:  ROS 2, mcap\n") {
		t.Error(stdout)
	}
}

// TestDamageOfSelected: what is lost of selected messages is told, whatever selects them.
func TestDamageOfSelected(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w, err := mcap.NewWriter(&b, &mcap.WriterOptions{Chunked: true})
	if err != nil {
		t.Fatal(err)
	}
	message := []byte("\x00\x01\x00\x00\x03\x00\x00\x00hi\x00")
	err = errors.Join(
		w.WriteHeader(&mcap.Header{Profile: "ros2"}),
		w.WriteSchema(&mcap.Schema{ID: 1, Name: "std_msgs/msg/String", Encoding: "ros2msg", Data: []byte("string data\n")}),
		w.WriteSchema(&mcap.Schema{ID: 2, Name: "rcl_interfaces/msg/Log", Encoding: "ros2msg"}),
		w.WriteSchema(&mcap.Schema{ID: 3, Name: "our_interfaces/msg/Log", Encoding: "ros2idl"}),
		w.WriteChannel(&mcap.Channel{ID: 1, SchemaID: 1, Topic: "/two", MessageEncoding: "cdr"}),
		w.WriteChannel(&mcap.Channel{ID: 2, SchemaID: 2, Topic: "/rosout", MessageEncoding: "cdr"}),
		w.WriteChannel(&mcap.Channel{ID: 3, SchemaID: 3, Topic: "/idl", MessageEncoding: "cdr"}),
		w.WriteMessage(&mcap.Message{ChannelID: 1, LogTime: 1e9, Data: message}),
		w.WriteMessage(&mcap.Message{ChannelID: 2, LogTime: 2e9, Data: message}), // too short
		w.WriteMessage(&mcap.Message{ChannelID: 3, LogTime: 3e9, Data: message}),
		w.WriteSchema(&mcap.Schema{ID: 4, Name: "std_msgs/msg/Bool", Encoding: "ros2msg"}),
		w.WriteChannel(&mcap.Channel{ID: 4, SchemaID: 4, Topic: "/json", MessageEncoding: "json"}),
		w.WriteMessage(&mcap.Message{ChannelID: 4, LogTime: 3e9, Data: []byte("{}")}),
		w.Close(),
	)
	if err != nil {
		t.Fatal(err)
	}
	ros2, other := write(t, "ros2.mcap", b.Bytes()), write(t, "other.mcap", mcapWithExtras(t, true, true))
	out := filepath.Join(t.TempDir(), "out.bag")
	for args, want := range map[string]string{
		"convert -f " + ros2 + " OUT --type std_msgs/String --type rosgraph_msgs/Log --type our_interfaces/Log": "/rosout: message of, /idl is left out",
		"convert -f " + ros2 + " OUT --callerid /rosbag2":                                                       "/rosout: message of, /idl is left out",
		"convert -f " + ros2 + " OUT -t /two -t /rosout":                                                        "/rosout: message of",
		"convert -f " + ros2 + " OUT --type std_msgs/String":                                                    "",
		"convert -f " + ros2 + " OUT --type std_msgs/*":                                                         "/json",
		"filter -f " + other + " OUT --allow-empty --callerid /n":                                               "/json",
	} {
		code, stdout, stderr := gobag(strings.Fields(strings.ReplaceAll(args, "OUT", out))...)
		told := want == "" || code == 3
		for _, text := range strings.Split(want, ", ") {
			told = told && strings.Contains(stderr, text)
		}
		if !told || want == "" && code != 0 {
			t.Errorf("gobag %s: code %d, want %q told\n%s\n%s", args, code, want, stdout, stderr)
		}
	}
}

// TestExtrasAreNamed: what an MCAP file has beside messages is named by all that writes without it, of
// recordings of ROS 2, too.
func TestExtrasAreNamed(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w, err := mcap.NewWriter(&b, &mcap.WriterOptions{Chunked: true})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(
		w.WriteHeader(&mcap.Header{Profile: "ros2"}),
		w.WriteSchema(&mcap.Schema{ID: 1, Name: "std_msgs/msg/String", Encoding: "ros2msg", Data: []byte("string data\n")}),
		w.WriteChannel(&mcap.Channel{ID: 1, SchemaID: 1, Topic: "/two", MessageEncoding: "cdr"}),
		w.WriteMessage(&mcap.Message{ChannelID: 1, LogTime: 1e9, Data: []byte("\x00\x01\x00\x00\x03\x00\x00\x00hi\x00")}),
		w.WriteAttachment(&mcap.Attachment{Name: "map.png", MediaType: "image/png", DataSize: 5, Data: strings.NewReader("12345")}),
		w.WriteMetadata(&mcap.Metadata{Name: "site", Metadata: map[string]string{"a": "b"}}),
		w.WriteMetadata(&mcap.Metadata{Name: "rosbag2", Metadata: map[string]string{"serialized_metadata": "version: 8"}}),
		w.Close(),
	)
	if err != nil {
		t.Fatal(err)
	}
	one, two := write(t, "one.mcap", mcapWithExtras(t, false, true)), write(t, "two.mcap", b.Bytes())
	dir := filepath.Dir(write(t, "run_0.mcap", b.Bytes()))
	for _, path := range []string{two, dir} {
		for _, c := range []struct{ option, want string }{
			{"--freq", "profile:     ros2\nlibrary:     mcap-go"},
			{"--freq", "attachments: map.png (image/png, 0.0 KB)\nmetadata:    site (0.0 KB)\nduration:"},
			{"--yaml", "attachments:\n    - name: \"map.png\"\n      bytes: 5\nmetadata:\n    - name: \"site\"\n"},
			{"--json", `"attachments":[{"name":"map.png","media_type":"image/png","bytes":5}],"metadata":[{"name":"site","bytes":22}]}`},
		} {
			if code, stdout, stderr := gobag("info", c.option, path); code != 0 || !strings.Contains(stdout, c.want) {
				t.Errorf("info %s %s: code %d, want %q in\n%s%s", c.option, path, code, c.want, stdout, stderr)
			}
		}
	}
	out := t.TempDir()
	for i, args := range []string{
		"convert " + two + " OUT.bag", "convert " + two + " OUT.bag --dry-run", "filter " + dir + " OUT.mcap", "split --duration 1s " + two + " OUT",
		"convert " + one + " OUT --to ros2", "split --duration 10s " + one + " OUT",
	} {
		code, _, stderr := gobag(strings.Fields(strings.ReplaceAll(args, "OUT", filepath.Join(out, string(rune('a'+i)))))...)
		if code != 0 || strings.Count(stderr, `: attachment "map.png" (5 bytes) is left out`) != 1 ||
			strings.Count(stderr, `: metadata record "site" (`) != 1 || strings.Contains(stderr, `"rosbag2"`) {
			t.Errorf("gobag %s: code %d, %s", args, code, stderr)
		}
	}
}

// mcapOfROS2 has a message of /two, one of /idl, whose definition cannot be read, and one of /one of ROS 1.
func mcapOfROS2(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := mcap.NewWriter(&b, &mcap.WriterOptions{Chunked: true})
	if err != nil {
		t.Fatal(err)
	}
	message := []byte("\x00\x01\x00\x00\x03\x00\x00\x00hi\x00")
	err = errors.Join(
		w.WriteHeader(&mcap.Header{Profile: "ros2"}),
		w.WriteSchema(&mcap.Schema{ID: 1, Name: "std_msgs/msg/String", Encoding: "ros2msg", Data: []byte("string data\n")}),
		w.WriteSchema(&mcap.Schema{ID: 2, Name: "a/msg/I", Encoding: "ros2idl", Data: []byte("module a {}")}),
		w.WriteSchema(&mcap.Schema{ID: 3, Name: "std_msgs/String", Encoding: "ros1msg", Data: []byte("string data\n")}),
		w.WriteChannel(&mcap.Channel{ID: 3, SchemaID: 3, Topic: "/one", MessageEncoding: "ros1"}),
		w.WriteMessage(&mcap.Message{ChannelID: 3, LogTime: 1e9, Data: []byte("\x02\x00\x00\x00hi")}),
		w.WriteChannel(&mcap.Channel{ID: 1, SchemaID: 1, Topic: "/two", MessageEncoding: "cdr"}),
		w.WriteChannel(&mcap.Channel{ID: 2, SchemaID: 2, Topic: "/idl", MessageEncoding: "cdr"}),
		w.WriteMessage(&mcap.Message{ChannelID: 1, LogTime: 1e9, Data: message}),
		w.WriteMessage(&mcap.Message{ChannelID: 2, LogTime: 2e9, Data: message}),
		w.Close(),
	)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// growing is a standard error that lets a file grow when it is first written to.
type growing struct {
	bytes.Buffer
	path string
	b    []byte
}

// Write implements io.Writer.
func (g *growing) Write(b []byte) (int, error) {
	if len(g.b) > 0 {
		f, err := os.OpenFile(g.path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return 0, err
		}
		_, err = f.Write(g.b)
		if err = errors.Join(err, f.Close()); err != nil {
			return 0, err
		}
		g.b = nil
	}
	return g.Buffer.Write(b)
}

// TestReindexGrowingMCAP leaves an MCAP file to its recorder, which grows after it was found to end early.
func TestReindexGrowingMCAP(t *testing.T) {
	t.Parallel()
	whole := mcapWithExtras(t, false, true)
	start := mcapWithExtras(t, false, false)
	path := write(t, "live.mcap", start)
	stderr := growing{path: path, b: whole[len(start):]}
	code := run(t.Context(), []string{"reindex", path}, job.NewOutput(strings.NewReader(""), io.Discard, &stderr))
	if code != 1 || !strings.Contains(stderr.String(), "is still being written") {
		t.Errorf("code %d, %s", code, stderr.String())
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, whole) {
		t.Errorf("the file was replaced by one of %d bytes, %v", len(after), err)
	}
}

// TestCheckWithoutSummary: a recording of ROS 2 that ends after its messages is sound, and has a warning as one of ROS 1.
func TestCheckWithoutSummary(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("testdata", "definitions", "ros2_empty_type.mcap"))
	if err != nil {
		t.Fatal(err)
	}
	const dataEnd = 0x0f
	at := len("\x89MCAP0\r\n")
	for b[at] != dataEnd {
		at += 9 + int(binary.LittleEndian.Uint64(b[at+1:]))
	}
	in := filepath.Join(t.TempDir(), "in.mcap")
	if err := os.WriteFile(in, b[:at+9+4], 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := gobag("check", in)
	if code != 0 || !strings.Contains(stdout, "warning: unindexed bag: it is read from front to back") || !strings.Contains(stdout, "sound: ") || stderr != "" {
		t.Errorf("code %d, %s%s", code, stdout, stderr)
	}
}
