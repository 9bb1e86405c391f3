package note_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestParseNote(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]note.Note{
		"robot=r1":      {Key: "robot", Value: "r1"},
		"site = hall 3": {Key: "site", Value: "hall 3"},
		"at=12:30=noon": {Key: "at", Value: "12:30=noon"},
		"Ort=Köln":      {Key: "Ort", Value: "Köln"},
	} {
		if got, err := note.ParseNote(in); err != nil || got != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	if got, err := note.ParseNote("\t site=hall 3 "); err != nil || got != (note.Note{Key: "site", Value: "hall 3"}) {
		t.Errorf("white space around: %v, %v", got, err)
	}
	for _, in := range []string{
		"", "robot", "=r1", "robot=", "robot= ", "a:b=c", "a=b\nc", "a\nb=c", "a=\x1b[2J", "a=\xff", "a=b\u2028c",
		strings.Repeat("k", note.MaxKeyBytes+1) + "=v", "k=" + strings.Repeat("v", note.MaxValueBytes+1),
	} {
		if got, err := note.ParseNote(in); err == nil {
			t.Errorf("%.40q is read as %v", in, got)
		}
	}
	var many []string
	for i := range 20 {
		many = append(many, fmt.Sprintf("k%d=%s", i, strings.Repeat("v", note.MaxValueBytes)))
	}
	if _, err := note.ParseNotes(many); err == nil || !strings.Contains(err.Error(), "at most 65536") {
		t.Errorf("80 KB of notes: %v", err)
	}
	got, err := note.ParseNotes([]string{"a=1", "b=2", "a=3"})
	if d := cmp.Diff([]note.Note{{Key: "a", Value: "3"}, {Key: "b", Value: "2"}}, got); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestFromText(t *testing.T) {
	t.Parallel()
	notes := []note.Note{{Key: "a", Value: "1: 2"}, {Key: "b c", Value: "d"}}
	got, plain := note.FromText(note.Text(notes))
	if d := cmp.Diff(notes, got); d != "" || !plain {
		t.Errorf("plain %v: %s", plain, d)
	}
	// What others write: nested YAML, other line ends, and rubbish.
	got, plain = note.FromText("sys:\n  os: linux\r\nno colon\n: no key\n\nname :  x ")
	want := []note.Note{{Key: "sys"}, {Key: "os", Value: "linux"}, {Key: "name", Value: "x"}}
	if d := cmp.Diff(want, got); d != "" || plain {
		t.Errorf("plain %v: %s", plain, d)
	}
}

func TestCheckMark(t *testing.T) {
	t.Parallel()
	if got, err := note.CheckMark("  door opened "); got != "door opened" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, in := range []string{"", "  ", "a\nb", "\x07", "\xff", strings.Repeat("x", note.MaxMarkBytes+1)} {
		if got, err := note.CheckMark(in); err == nil {
			t.Errorf("%.40q is taken as %q", in, got)
		}
	}
}

// text is a message with a text on a topic.
type text struct {
	topic, publisher string
	at               uint32
	data             []byte
}

// bag makes a bag of texts.
func bag(t testing.TB, texts ...text) *bagfmt.Reader {
	t.Helper()
	var b bytes.Buffer
	w, err := bagfmt.NewWriter(&b, bagfmt.WriterOptions{ChunkBytes: 100})
	if err != nil {
		t.Fatal(err)
	}
	conns := map[string]*rosbag.Connection{}
	for _, m := range texts {
		key := m.topic + m.publisher
		if conns[key] == nil {
			conns[key], err = w.AddConnection(m.topic, rosbag.Header{
				{Key: "callerid", Value: m.publisher},
				{Key: "latching", Value: map[bool]string{true: "1", false: "0"}[m.publisher == "/latched"]},
				{Key: "md5sum", Value: note.MD5Sum},
				{Key: "message_definition", Value: note.Definition},
				{Key: "topic", Value: m.topic},
				{Key: "type", Value: note.Type},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Write(conns[key], rosbag.Time{Sec: m.at}, m.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := bagfmt.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func fail(err error) error { return err }

func TestRead(t *testing.T) {
	t.Parallel()
	r := bag(t,
		text{note.NotesTopic, "/a", 10, note.Encode("x: 1\ny: 2\n")},
		text{note.MarksTopic, "/a", 11, note.Encode("door 2")},
		text{note.MarksTopic, "/b", 13, note.Encode("door")},
		text{"/chatter", "/a", 14, note.Encode("z: 9")},
		text{note.NotesTopic, "/b", 15, note.Encode("z: 3\nx: 4\n")},
		text{note.MarksTopic, "/a", 16, []byte{9, 0, 0, 0, 'x'}}, // cut off
		text{note.NotesTopic, "/b", 17, nil},
	)
	got, err := note.Read(r, fail)
	if err != nil {
		t.Fatal(err)
	}
	want := note.Found{
		Notes: []note.Note{{Key: "x", Value: "4"}, {Key: "y", Value: "2"}, {Key: "z", Value: "3"}},
		Marks: []note.Mark{{Time: rosbag.Time{Sec: 11}, Text: "door 2"}, {Time: rosbag.Time{Sec: 13}, Text: "door"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for name, at := range map[string]int{"door": 1, "door 2": 0, "doo": 0} {
		if i, ok := note.Find(got.Marks, name); !ok || i != at {
			t.Errorf("%s: %d, %v", name, i, ok)
		}
	}
	for _, name := range []string{"window", ""} {
		if i, ok := note.Find(got.Marks, name); ok {
			t.Errorf("%q: %d", name, i)
		}
	}
}

// TestAdditions: notes come at the start and at the end of a bag, with those that are there if
// they come from the same publisher.
func TestAdditions(t *testing.T) {
	t.Parallel()
	more := []note.Note{{Key: "x", Value: "3"}, {Key: "z", Value: "4"}}
	now := rosbag.Time{Sec: 77}
	chatter := []text{{"/chatter", "/a", 10, nil}, {"/chatter", "/a", 20, nil}}
	for name, tc := range map[string]struct {
		texts    []text
		times    []uint32
		data     string
		callerID string
	}{
		"none yet":        {chatter, []uint32{10, 20}, "x: 3\nz: 4\n", "/gobag"},
		"empty bag":       {nil, []uint32{77}, "x: 3\nz: 4\n", "/gobag"},
		"one moment":      {chatter[:1], []uint32{10}, "x: 3\nz: 4\n", "/gobag"},
		"latched":         {append([]text{{note.NotesTopic, "/latched", 15, note.Encode("x: 1\ny: 2\n")}}, chatter...), []uint32{10, 20}, "x: 3\ny: 2\nz: 4\n", "/latched"},
		"not latched":     {append([]text{{note.NotesTopic, "/a", 15, note.Encode("x: 1\ny: 2\n")}}, chatter...), []uint32{10, 20}, "x: 3\nz: 4\n", "/gobag"},
		"latched YAML":    {append([]text{{note.NotesTopic, "/latched", 15, note.Encode("x:\n  y: 2\n")}}, chatter...), []uint32{10, 20}, "x: 3\nz: 4\n", "/gobag"},
		"latched rubbish": {append([]text{{note.NotesTopic, "/latched", 15, []byte{1}}}, chatter...), []uint32{10, 20}, "x: 3\nz: 4\n", "/gobag"},
	} {
		add, err := note.Additions(bag(t, tc.texts...), more, now)
		if err != nil {
			t.Fatal(err)
		}
		var times []uint32
		for _, a := range add {
			times = append(times, a.Time.Sec)
			if text, _ := note.Decode(a.Data()); text != tc.data || a.Conn.Topic != note.NotesTopic || a.Conn.Header.CallerID() != tc.callerID || !a.Conn.Header.Latching() {
				t.Errorf("%s: %q on %s of %v", name, text, a.Conn.Topic, a.Conn.Header)
			}
		}
		if d := cmp.Diff(tc.times, times); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	full := text{note.NotesTopic, "/latched", 1, note.Encode(strings.Repeat("k", 100) + ": v\n")}
	var big []note.Note
	for i := range 16 {
		big = append(big, note.Note{Key: fmt.Sprintf("k%d", i), Value: strings.Repeat("v", 4088)})
	}
	if _, err := note.Additions(bag(t, full), big, now); err == nil || !strings.Contains(err.Error(), "at most 65536") {
		t.Errorf("more than fits: %v", err)
	}
}

// TestMetadata: what stores get is ASCII, no more than they take, and can be read again.
func TestMetadata(t *testing.T) {
	t.Parallel()
	if got := note.Metadata(nil); got != nil {
		t.Errorf("no notes: %v", got)
	}
	notes := []note.Note{{Key: "site & hall", Value: "Köln = 3%"}, {Key: "robot", Value: "r1"}}
	got := note.Metadata(notes)
	if d := cmp.Diff(map[string]string{"notes": "site+%26+hall=K%C3%B6ln+%3D+3%25&robot=r1"}, got); d != "" {
		t.Error(d)
	}
	if q, err := url.ParseQuery(got["notes"]); err != nil || q.Get("site & hall") != "Köln = 3%" || q.Get("robot") != "r1" {
		t.Errorf("%v, %v", q, err)
	}
	notes = append([]note.Note{{Key: "long", Value: strings.Repeat("ö", 2000)}}, notes...)
	for i := range 500 {
		notes = append(notes, note.Note{Key: fmt.Sprintf("key%d", i), Value: "v"})
	}
	got = note.Metadata(notes)
	if n := len(got["notes"]); n > 1536 || n < 1500 || got["notes_omitted"] == "" || !strings.HasPrefix(got["notes"], "site+") {
		t.Errorf("%d bytes, omitted %s: %.60s", n, got["notes_omitted"], got["notes"])
	}
}

// TestReadMany: whoever publishes without end costs no memory without end.
func TestReadMany(t *testing.T) {
	t.Parallel()
	var texts []text
	for i := range uint32(note.MaxMarks + 5) {
		texts = append(texts, text{note.MarksTopic, "/a", i, note.Encode("m")})
		if i < 2000 {
			texts = append(texts, text{note.NotesTopic, "/a", i, note.Encode(fmt.Sprintf("k%d: v", i))})
		}
	}
	got, err := note.Read(bag(t, texts...), fail)
	if err != nil || len(got.Marks) != note.MaxMarks || got.More != 5 {
		t.Errorf("%d marks and %d more: %v", len(got.Marks), got.More, err)
	}
	if d := cmp.Diff([]note.Note{{Key: "k1999", Value: "v"}}, got.Notes); d != "" {
		t.Error(d)
	}
}

// TestReadLarge: however long the texts are, little of them is kept.
func TestReadLarge(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100<<10)
	texts := []text{{note.MarksTopic, "/a", 1, note.Encode(long)}}
	for i := range 100 {
		texts = append(texts, text{note.NotesTopic, "/a", 2, note.Encode(fmt.Sprintf("k%d: %s", i, long))})
	}
	got, err := note.Read(bag(t, texts...), fail)
	if err != nil || len(got.Marks) != 1 || len(got.Marks[0].Text) != note.MaxMarkBytes {
		t.Fatalf("%d marks, %v", len(got.Marks), err)
	}
	total := 0
	for _, n := range got.Notes {
		total += len(n.Key) + len(n.Value)
	}
	if total > 4*note.MaxNotesBytes || total < 3*note.MaxNotesBytes {
		t.Errorf("%d bytes of notes are kept", total)
	}
}

// FuzzRead: whatever stands in a message, what is read of it can be written again, unless it is
// marked as what others write.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"", "a: b\n", "a: b: c\nd: e\n", "x:\n  y: z\r\n", ": a\n", "a\x00: b", "\xff: \xff"} {
		f.Add(note.Encode(s))
	}
	f.Add([]byte{1, 2, 3})
	f.Add([]byte{255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, data []byte) {
		text, ok := note.Decode(data)
		if !ok {
			if len(data) >= 4 && int(binary.LittleEndian.Uint32(data)) == len(data)-4 {
				t.Fatal("not decoded")
			}
			return
		}
		if !bytes.Equal(note.Encode(text), data) {
			t.Fatalf("%q becomes %q", data, text)
		}
		notes, plain := note.FromText(text)
		for _, n := range notes {
			if n.Key == "" || strings.TrimSpace(n.Key) != n.Key || strings.Contains(n.Key, ":") {
				t.Fatalf("%q has the key %q", text, n.Key)
			}
		}
		if again, _ := note.FromText(note.Text(notes)); plain && !cmp.Equal(notes, again) {
			t.Fatalf("%q is read as %v, then as %v", text, notes, again)
		}
		if mark, err := note.CheckMark(text); err == nil {
			if again, err := note.CheckMark(mark); again != mark || err != nil {
				t.Fatalf("%q becomes %q, then %q, %v", text, mark, again, err)
			}
		}
	})
}
