package info_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bags/info"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestRepeated: only a bag with repeated messages tells of them.
func TestRepeated(t *testing.T) {
	t.Parallel()
	for count, want := range map[uint32][3]string{
		0: {"", "", ""},
		1: {"repeated:     1 repeated latched message at the beginning\n", "repeated_count: 1\nrepeated_time: 7.500000\n", `"repeated_count":1,"repeated_time":"7.500000000",`},
		9: {"repeated:     2 repeated latched messages at the beginning\n", "repeated_count: 2\n", `"repeated_count":2,`}, // there are not more
	} {
		var b bytes.Buffer
		w, err := bagfmt.NewWriter(&atEnd{&b}, bagfmt.WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := w.AddConnection("/map", rosbag.Header{{Key: "type", Value: "a/Map"}, {Key: "latching", Value: "1"}})
		if err != nil {
			t.Fatal(err)
		}
		at := rosbag.Time{Sec: 7, Nsec: 5e8}
		for range 2 {
			if err := w.Write(c, at, []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		w.SetRepeated(rosbag.Repeated{Count: count, Time: at})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := bagfmt.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()), bagfmt.ReaderOptions{IndexOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		i, err := info.New("x.bag", r, info.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var text, yamlText, json bytes.Buffer
		for _, err := range []error{i.WriteText(&text), i.WriteYAML(&yamlText), i.WriteJSON(&json)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for n, got := range []string{text.String(), yamlText.String(), json.String()} {
			if !strings.Contains(got, want[n]) || count == 0 && strings.Contains(got, "repeated") {
				t.Errorf("%d repeated: want %q in\n%s", count, want[n], got)
			}
		}
	}
}

// atEnd is a file in memory.
type atEnd struct{ *bytes.Buffer }

func (f *atEnd) WriteAt(p []byte, off int64) (int, error) { return copy(f.Bytes()[off:], p), nil }

// TestNotes: notes and marks stand after all that scripts look for, and none of them controls
// a terminal.
func TestNotes(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w, err := bagfmt.NewWriter(&b, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	at := uint32(100)
	for _, m := range [][2]string{
		{"/chatter", "x"}, {note.NotesTopic, "robot: r1\nevil: \x1b[2J: y\n"}, {note.MarksTopic, "door: \"open\""}, {note.MarksTopic, "\x1b]0;x\a"},
	} {
		c, err := w.AddConnection(m[0], rosbag.Header{
			{Key: "md5sum", Value: note.MD5Sum}, {Key: "message_definition", Value: note.Definition}, {Key: "topic", Value: m[0]}, {Key: "type", Value: note.Type},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(c, rosbag.Time{Sec: at, Nsec: 5e8}, note.Encode(m[1])); err != nil {
			t.Fatal(err)
		}
		at++
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := bagfmt.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	i, err := info.New("x.bag", r, info.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var text, yamlText, json, key bytes.Buffer
	for _, err := range []error{i.WriteText(&text), i.WriteYAML(&yamlText), i.WriteJSON(&json), i.WriteKey(&key, "marks[1].text")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	_, after, _ := strings.Cut(text.String(), "notes:")
	if d := cmp.Diff("        robot: r1\n              evil: \\x1b[2J: y\nmarks:        +2.00s  door: \"open\"\n              +3.00s  \\x1b]0;x\\x07\n", after); d != "" {
		t.Errorf("text (-want +got):\n%s", d)
	}
	var loaded struct {
		Notes []note.Note
		Marks []struct {
			Time float64
			Text string
		}
	}
	if err := yaml.Unmarshal(yamlText.Bytes(), &loaded); err != nil {
		t.Fatal(err)
	}
	if len(loaded.Notes) != 2 || loaded.Notes[1].Value != "\x1b[2J: y" || len(loaded.Marks) != 2 || loaded.Marks[0].Time != 102.5 || loaded.Marks[0].Text != `door: "open"` || loaded.Marks[1].Text != "\x1b]0;x\a" {
		t.Errorf("%+v in\n%s", loaded, yamlText.String())
	}
	if want := `"notes":[{"key":"robot","value":"r1"},{"key":"evil","value":"\u001b[2J: y"}],"marks":[{"time":"102.500000000","text":"door: \"open\""},{"time":"103.500000000","text":"\u001b]0;x\u0007"}]`; !strings.Contains(json.String(), want) {
		t.Errorf("no %s in\n%s", want, json.String())
	}
	if got := key.String(); got != "\\x1b]0;x\\x07\n" {
		t.Errorf("key: %q", got)
	}
	for name, out := range map[string]string{"text": text.String(), "YAML": yamlText.String(), "JSON": json.String(), "key": key.String()} {
		if strings.ContainsAny(out, "\x1b\a") {
			t.Errorf("%s holds control characters: %q", name, out)
		}
	}
}

// TestManyNotes: the text shows a hundred notes and marks, and says how many there are more.
func TestManyNotes(t *testing.T) {
	t.Parallel()
	i := info.Info{Found: note.Found{Notes: make([]note.Note, 107), Marks: make([]note.Mark, 102), More: 3}}
	var text bytes.Buffer
	if err := i.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	_, notes, _ := strings.Cut(text.String(), "notes:")
	notes, marks, _ := strings.Cut(notes, "marks:")
	for _, tt := range []struct {
		what, text string
		more       string
	}{{"notes", notes, "and 7 more;"}, {"marks", marks, "and 5 more;"}} {
		if lines := strings.Split(strings.TrimSpace(tt.text), "\n"); len(lines) != 101 || !strings.Contains(lines[100], tt.more) {
			t.Errorf("%d lines of %s, the last is %q", len(lines), tt.what, lines[len(lines)-1])
		}
	}
}
