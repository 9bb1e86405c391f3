package recorder

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/annotations"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// controlOf steers a pipeline without a session's loop.
func controlOf(p *pipeline, o Options) *Control {
	c := new(Control)
	o.Log = zap.NewNop()
	c.attach(sessionOn(p, o))
	return c
}

// stored returns what stands on a topic in a bag.
func stored(t *testing.T, path, topic string) (texts []string) {
	t.Helper()
	s := testlink.ScanBag(t, path)
	for {
		m, err := s.Next()
		if err != nil {
			return texts
		}
		if m.Conn.Topic == topic {
			texts = append(texts, string(m.Data()[4:]))
		}
	}
}

// TestNotesBeginEachFile: whatever else begins files, and however the recording begins.
func TestNotesBeginEachFile(t *testing.T) {
	t.Parallel()
	notes := []note.Note{{Key: "robot", Value: "r1"}, {Key: "site", Value: "hall: 3"}}
	for name, o := range map[string]Options{
		"recording": {}, "paused": {Begin: control.StatePaused}, "stopped": {Begin: control.StateStopped}, "no latched messages": {NoRepeatLatched: true},
		"stopped, no latched messages": {Begin: control.StateStopped, NoRepeatLatched: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.Split, o.Notes = true, notes
			p := testPipeline(t, o, nil)
			p.own.Notes(notes)
			c := controlOf(p, o)
			l := latching(t, p, "/map", "/p1")
			l.Frames(testlink.Frame(1, 1, 10), 1, time.Now())
			switch o.Begin {
			case control.StatePaused:
				if err := c.Resume(); err != nil {
					t.Fatal(err)
				}
			case control.StateStopped:
				if _, err := c.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
			case control.StateRecording:
			}
			for range 2 {
				if _, err := c.Split(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.close(); err != nil {
				t.Fatal(err)
			}
			paths := filesOf(t, p)
			if len(paths) != 3 {
				t.Fatalf("files: %v", paths)
			}
			for i, path := range paths {
				if got, want := stored(t, path, "/metadata"), []string{"robot: r1\nsite: hall: 3\n"}; !slices.Equal(got, want) {
					t.Errorf("%s: notes %q, want %q", path, got, want)
				}
				if got := len(stored(t, path, "/map")); i > 0 && o.NoRepeatLatched && got != 0 || i > 0 && !o.NoRepeatLatched && got != 1 {
					t.Errorf("%s: %d latched messages of others", path, got)
				}
				for _, c := range testlink.OpenBag(t, path).Connections() {
					if c.Topic == "/metadata" && (!c.Header.Latching() || c.Header.Type() != "std_msgs/String") {
						t.Errorf("%s: header %v", path, c.Header)
					}
				}
			}
		})
	}
}

// TestMarks: marks are messages with the time of the moment, and an error says which are not
// in the bag.
func TestMarks(t *testing.T) {
	t.Parallel()
	began := time.Now()
	p := pipelineSince(t, began.Add(-time.Hour), Options{Split: true, NoRepeatLatched: true}, nil)
	c := controlOf(p, Options{})
	if s, err := c.Stats(); err != nil || len(s.Topics) != 0 {
		t.Errorf("topics before the first mark: %v, %v", s.Topics, err)
	}
	want := []string{"door opened", "mark 2", "late"}
	for i, text := range []string{" door opened ", "", "late"} {
		at := time.Now()
		if i == 2 {
			at = began.Add(-5 * time.Second) // before the others, however long they took
		}
		m, err := c.MarkAt(text, at)
		if err != nil || m.Text != want[i] {
			t.Errorf("%+v, %v", m, err)
		}
		if d := m.Time.Sub(at); d < 0 || d > time.Minute {
			t.Errorf("%q is %v off", text, d)
		}
	}
	if m, err := c.MarkAt("old", time.Now().Add(-time.Hour)); err != nil || began.Sub(m.Time) > time.Minute {
		t.Errorf("an hour ago: %v, %v", m, err)
	}
	for _, text := range []string{"a\nb", strings.Repeat("x", 2000), "\x1b[2J", "  "} {
		if _, err := c.Mark(text); !errors.Is(err, note.ErrMark) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	if err := c.Pause(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Mark("x"); !errors.Is(err, control.ErrPaused) {
		t.Errorf("paused: %v", err)
	}
	if _, err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Mark("x"); !errors.Is(err, control.ErrStopped) {
		t.Errorf("stopped: %v", err)
	}
	if _, err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Mark("next"); err != nil {
		t.Error(err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Mark("x"); !errors.Is(err, control.ErrNotRecording) {
		t.Errorf("closed: %v", err)
	}
	paths := filesOf(t, p)
	for i, want := range [][]note.Mark{{{Text: "old"}, {Text: "late"}, {Text: "door opened"}, {Text: "mark 2"}}, {{Text: "next"}}} {
		marks, _, err := note.ReadMarks(testlink.OpenBag(t, paths[i]), func(err error) error { return err })
		if err != nil {
			t.Fatal(err)
		}
		for n := range marks {
			marks[n].Time.Sec, marks[n].Time.Nsec = 0, 0
		}
		if !slices.Equal(marks, want) {
			t.Errorf("%s: %v, want %v", paths[i], marks, want)
		}
	}
	s := accountsNow(p)
	if len(s) != 1 || s[0].Messages != 5 || s[0].Topic != note.MarksTopic {
		t.Errorf("account: %+v", s)
	}
}

// TestMarkOfThePastStaysInItsFile: bags of a recording do not overlap because of a mark.
func TestMarkOfThePastStaysInItsFile(t *testing.T) {
	t.Parallel()
	p := pipelineSince(t, time.Now().Add(-time.Hour), Options{Split: true, NoRepeatLatched: true}, nil)
	c := controlOf(p, Options{})
	l := open(t, p, "/t", "/p")
	for n := range uint32(2) {
		l.Frames(testlink.Frame(1, n, 10), 1, time.Now())
		if n > 0 {
			if _, err := c.Split(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.MarkAt("late", time.Now().Add(-30*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	paths := filesOf(t, p)
	if len(paths) != 2 {
		t.Fatalf("files %v", paths)
	}
	for i, path := range paths[1:] {
		if end, start := testlink.OpenBag(t, paths[i]).Info().End, testlink.OpenBag(t, path).Info().Start; start.Before(end) {
			t.Errorf("%s begins %v before the end of the one before", path, end.Sub(start))
		}
		if got := stored(t, path, note.MarksTopic); !slices.Equal(got, []string{"late"}) {
			t.Errorf("%s: marks %q", path, got)
		}
	}
}

// TestOwnTopicIsRecordedToo: what the recorder itself publishes, and what it receives on the
// same topic from a played bag, has one account.
func TestOwnTopicIsRecordedToo(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{}, nil)
	c := controlOf(p, Options{})
	if _, err := c.Mark("ours"); err != nil {
		t.Fatal(err)
	}
	open(t, p, note.MarksTopic, "/player").Frames(annotations.TextFrame([]byte("theirs")), 1, time.Now())
	if _, err := c.Mark("ours again"); err != nil {
		t.Fatal(err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if s := accountsNow(p); len(s) != 1 || s[0].Messages != 3 {
		t.Errorf("accounts: %+v", s)
	}
}
