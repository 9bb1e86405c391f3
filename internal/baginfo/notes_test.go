package baginfo_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/baginfo"
	"github.com/gorosbag/gorosbag/internal/bagnote"
)

// TestNotes: notes and marks stand behind all that scripts look for, and none of them controls
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
		{"/chatter", "x"}, {bagnote.NotesTopic, "robot: r1\nevil: \x1b[2J: y\n"}, {bagnote.MarksTopic, "door: \"open\""}, {bagnote.MarksTopic, "\x1b]0;x\a"},
	} {
		c, err := w.AddConnection(m[0], bagfmt.ConnectionHeader{
			{Key: "md5sum", Value: bagnote.MD5Sum}, {Key: "message_definition", Value: bagnote.Definition}, {Key: "topic", Value: m[0]}, {Key: "type", Value: bagnote.Type},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteMessage(c, bagfmt.Time{Sec: at, Nsec: 5e8}, bagnote.Encode(m[1])); err != nil {
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
	i, err := baginfo.New("x.bag", r, baginfo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var text, yamlText, json, key bytes.Buffer
	for _, err := range []error{i.WriteText(&text), i.WriteYAML(&yamlText), i.WriteJSON(&json), i.WriteKey(&key, "marks[1].text")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	_, behind, _ := strings.Cut(text.String(), "notes:")
	if d := cmp.Diff("        robot: r1\n              evil: \\x1b[2J: y\nmarks:        +2.00s  door: \"open\"\n              +3.00s  \\x1b]0;x\\x07\n", behind); d != "" {
		t.Errorf("text (-want +got):\n%s", d)
	}
	var loaded struct {
		Notes []bagnote.Note
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
