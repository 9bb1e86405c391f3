package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

const fixRule = "================================================================================\n"

// oldConn returns a connection of a type with its real md5sum.
func oldConn(t *testing.T, topic, typ, text string, more ...rosbag.Field) *rosbag.Connection {
	t.Helper()
	parsed, err := rosmsg.Parse(typ, text)
	if err != nil {
		t.Fatal(err)
	}
	h := rosbag.Header{
		{Key: "callerid", Value: "/driver"}, {Key: "md5sum", Value: parsed.MD5Sum()}, {Key: "message_definition", Value: text}, {Key: "type", Value: typ}, {Key: "x", Value: "y"},
	}
	return &rosbag.Connection{Topic: topic, Header: append(h, more...)}
}

type oldMessage struct {
	conn *rosbag.Connection
	sec  uint32
	data string
}

// bagOfOld writes a bag, with a new chunk after each message that has no data after it in the list as "".
func bagOfOld(t *testing.T, chunkBytes int, list ...oldMessage) string {
	t.Helper()
	var b bytes.Buffer
	w, err := bagfmt.NewWriter(&b, bagfmt.WriterOptions{Compression: rosbag.CompressionLZ4, ChunkBytes: chunkBytes})
	if err != nil {
		t.Fatal(err)
	}
	own := map[*rosbag.Connection]*rosbag.Connection{}
	for _, m := range list {
		if own[m.conn] == nil {
			if own[m.conn], err = w.AddConnection(m.conn.Topic, m.conn.Header); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Write(own[m.conn], rosbag.Time{Sec: m.sec, Nsec: 5}, []byte(m.data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return write(t, "old.bag", b.Bytes())
}

// workspace writes .msg files: name and text by turns.
func workspace(t *testing.T, files ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "src")
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, filepath.FromSlash(files[i]))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// read returns the messages of a recording, one text each, in the order of time.
func read(t *testing.T, path string) (all []string) {
	t.Helper()
	r, err := bags.Open(t.Context(), path, bags.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for m, err := range rosbag.Messages(r.Source, rosbag.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		typ, err := rosmsg.Parse(m.Conn.Header.Type(), m.Conn.Header.MessageDefinition())
		if err != nil || typ.MD5Sum() != m.Conn.Header.MD5Sum() {
			t.Fatalf("%s: %v", m.Conn.Topic, err)
		}
		text, err := typ.Message(m.Data()).AppendJSON(nil)
		if err != nil {
			t.Fatalf("%s %x: %v", m.Conn.Topic, m.Data(), err)
		}
		all = append(all, fmt.Sprintf("%d.%d %s %s %s", m.Time.Sec, m.Time.Nsec, m.Conn.Topic, m.Conn.Header.CallerID(), text))
	}
	return all
}

func wantLines(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestFix converts a bag in each form, and compares values, times and headers.
func TestFix(t *testing.T) {
	t.Parallel()
	state := oldConn(t, "/state", "my/State", "int16 mode\nPart[] parts\n"+fixRule+"MSG: my/Part\nfloat32 x\n")
	other := oldConn(t, "/other", "your/Other", "string s\n", rosbag.Field{Key: "latching", Value: "1"})
	var list []oldMessage
	for n := range uint32(40) {
		if n%8 < 4 {
			list = append(list, oldMessage{state, 100 - n, "\xfe\xff\x01\x00\x00\x00\x00\x00\x80\x3f"})
		} else {
			list = append(list, oldMessage{other, 100 - n, "\x04\x00\x00\x00abcd"})
		}
	}
	in := bagOfOld(t, 150, list...)
	src := workspace(t, "my/msg/State.msg", "# the state\nint32 mode\nstring name\nPart[] parts\n", "my/msg/Part.msg", "float64 x\nuint8 kind\n")
	out := filepath.Join(t.TempDir(), "new.bag")

	code, stdout, stderr := gobag("fix", in, "--to", src, "--dry-run", "--set", "my/Part.kind=7")
	for _, want := range []string{
		"my/State (/state, 20 messages): converted, md5sum " + state.Header.MD5Sum() + " becomes ", "\n  my/State.mode: int16 becomes int32\n", "\n  my/Part.x: float32 becomes float64\n",
		"\n  my/Part.kind (uint8) is added\n", "\n  my/State.name (string) is added\n", "your/Other (/other, 20 messages): stays, because nothing else is wanted\n", "nothing is lost\n",
	} {
		if code != 0 || !strings.Contains("\n"+stdout, want) {
			t.Errorf("--dry-run: %d, %s%s; want %s", code, stdout, stderr, want)
		}
	}
	if code, _, stderr = gobag("fix", in, out, "--to", src, "--set", "my/Part.kind=7"); code != 0 || !strings.Contains(stderr, "of 10 chunks as they were stored") && !strings.Contains(stderr, "chunks as they were stored") {
		t.Fatalf("%d, %s", code, stderr)
	}
	var want []string
	for n := 39; n >= 0; n-- {
		s := fmt.Sprintf(`%d.5 /other /driver {"s":"abcd"}`, 100-n)
		if n%8 < 4 {
			s = fmt.Sprintf(`%d.5 /state /driver {"mode":-2,"name":"","parts":[{"x":1.0,"kind":7}]}`, 100-n)
		}
		want = append(want, s)
	}
	wantLines(t, "the bag", read(t, out), want...)
	if code, stdout, stderr := gobag("check", "--deep", "-q", out); code != 0 || stdout != "" {
		t.Errorf("check: %d, %s%s", code, stdout, stderr)
	}
	r, err := bags.Open(t.Context(), out, bags.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	conns := r.Connections()
	if h := conns[0].Header; len(conns) != 2 || h[0] != state.Header[0] || h[4] != state.Header[4] || h[2].Value != "# the state\nint32 mode\nstring name\nPart[] parts\n\n"+fixRule+"MSG: my/Part\nfloat64 x\nuint8 kind\n" {
		t.Errorf("header %q", h)
	}
	if !conns[1].Header.Latching() {
		t.Error("latching is lost")
	}

	// The same through MCAP, in both directions, and of a bag that was not closed.
	mcap := filepath.Join(t.TempDir(), "new.mcap")
	if code, _, stderr := gobag("fix", in, mcap, "--to", src, "--set", "my/Part.kind=7"); code != 0 {
		t.Fatalf("%d, %s", code, stderr)
	}
	wantLines(t, "MCAP", read(t, mcap), want...)
	old := filepath.Join(t.TempDir(), "old.mcap")
	if code, _, stderr := gobag("convert", in, old); code != 0 {
		t.Fatalf("%d, %s", code, stderr)
	}
	again := filepath.Join(t.TempDir(), "again.bag")
	if code, _, stderr := gobag("fix", old, again, "--to", out, "--set", "my/Part.kind=7"); code != 0 { // like a newer bag
		t.Fatalf("%d, %s", code, stderr)
	}
	wantLines(t, "of MCAP", read(t, again), want...)
	b, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := gobag("fix", write(t, "cut.bag", b[:len(b)*2/3]), filepath.Join(t.TempDir(), "c.bag"), "--to", src); code != 3 || !strings.Contains(stderr, "truncated") && !strings.Contains(stderr, "cut") && !strings.Contains(stderr, "ends") {
		t.Errorf("of a bag that is cut: %d, %s", code, stderr)
	}
}

// TestFixWithoutMessages checks that a connection without messages refuses nothing, and that no verdict says that nothing is
// lost beside exit code 3.
func TestFixWithoutMessages(t *testing.T) {
	t.Parallel()
	kept, idle := oldConn(t, "/a", "my/T", "int8 a\n"), oldConn(t, "/b", "my/U", "int32 a\n")
	var b bytes.Buffer
	w, err := bagfmt.NewWriter(&b, bagfmt.WriterOptions{ChunkBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*rosbag.Connection{kept, idle} {
		own, err := w.AddConnection(c.Topic, c.Header)
		if err != nil {
			t.Fatal(err)
		}
		for n := range uint32(3) {
			if c == kept {
				if err := w.Write(own, rosbag.Time{Sec: 7 + n}, []byte{byte(n)}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	src := workspace(t, "my/msg/T.msg", "int16 a\n", "my/msg/U.msg", "string a\n")
	out := filepath.Join(t.TempDir(), "new.bag")
	code, _, stderr := gobag("fix", write(t, "old.bag", b.Bytes()), out, "--to", src)
	if code != 0 || strings.Contains(stderr, "my/U") || !strings.Contains(stderr, "\nnothing is lost\n") {
		t.Errorf("with a connection without messages: %d, %s", code, stderr)
	}
	wantLines(t, "the bag", read(t, out), `7.0 /a /driver {"a":0}`, `8.0 /a /driver {"a":1}`, `9.0 /a /driver {"a":2}`)
	cut := write(t, "cut.bag", b.Bytes()[:bytes.LastIndex(b.Bytes(), []byte("op=\x05"))-10])
	for _, args := range [][]string{{"fix", cut, filepath.Join(t.TempDir(), "c.bag"), "--to", src}, {"fix", cut, "--dry-run", "--to", src}} {
		code, stdout, stderr := gobag(args...)
		if said := stdout + stderr; code != 3 || strings.Contains(said, "nothing is lost") || !strings.Contains(said, "the conversion loses nothing; messages are missing, as reported\n") {
			t.Errorf("%v of a bag that is cut: %d, %s", args, code, said)
		}
	}
}
