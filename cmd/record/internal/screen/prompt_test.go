package screen_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/cmd/record/internal/screen"
	"github.com/gorosbag/gorosbag/internal/face/term"
	"github.com/gorosbag/gorosbag/internal/face/term/keys"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// TestPrompt: while a text is typed no key acts, and the moment is that of the first key.
func TestPrompt(t *testing.T) {
	t.Parallel()
	quits := 0
	var got []string
	var at time.Time
	v := &screen.View{Stats: func() (control.Stats, error) { return control.Stats{DiskFree: -1}, nil }}
	v.Keys = []term.Key[control.Stats]{
		{Press: []keys.Key{'q'}, Name: func(*control.Stats) string { return "quit" }, Do: func() { quits++ }},
		{Press: []keys.Key{'m'}, Name: func(*control.Stats) string { return "mark" }, Do: func() {
			v.Text.Ask("mark", func(text string, since time.Time) { got, at = append(got, text), since })
		}},
	}
	last := func(w int) string {
		lines := v.Frame(w, 24, false)
		return lines[len(lines)-1]
	}
	typed := func(text string) {
		for _, k := range text {
			v.Press(keys.Key(k))
		}
	}
	if v.Typing() || !strings.Contains(last(80), "q: quit") {
		t.Errorf("at first: %q", last(80))
	}
	before := time.Now()
	typed("m")
	after := time.Now()
	typed("qquit\x7f")
	v.Press(keys.Up)
	typed("\x01 é")
	if !v.Typing() || quits != 0 || last(80) != "mark: qqui é_" {
		t.Errorf("%d quits, %q", quits, last(80))
	}
	if line := last(8); line != "qui é_" && len([]rune(line)) > 7 {
		t.Errorf("narrow: %q", line)
	}
	typed("\n")
	if v.Typing() || len(got) != 1 || got[0] != "qqui é" || at.Before(before) || after.Before(at) {
		t.Errorf("%q at %v", got, at)
	}
	typed("mx\x1b")
	typed("mabc\x15d\r")
	typed("m" + strings.Repeat("x", 5000) + "\b\n")
	if len(got) != 3 || got[1] != "d" || len(got[2]) != 1023 {
		t.Errorf("%.40q", got)
	}
	typed("q")
	if quits != 1 {
		t.Errorf("%d quits", quits)
	}
}
