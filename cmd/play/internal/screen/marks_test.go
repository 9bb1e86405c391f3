package screen_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/cmd/play/internal/screen"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestPlayMarks: the ruler has the recorded marks, and the last one that was passed is named.
func TestPlayMarks(t *testing.T) {
	t.Parallel()
	zero := rosbag.Time{Sec: 1748682000, Nsec: 5e8}
	at := time.Minute
	v := screen.View{
		Control: &fakePlay{at: func() time.Duration { return at }}, ASCII: true, Zone: time.UTC,
		Marks: []note.Mark{{Time: zero.Add(-time.Hour), Text: "before"}, {Time: zero.Add(2 * time.Minute), Text: "door \x1b"}, {Time: zero.Add(8 * time.Minute), Text: "wall"}},
	}
	frame := strings.Join(v.Frame(101, 40, false), "\n")
	if n := strings.Count(frame, "|"); n != 2 || !strings.Contains(frame, "mark: before") {
		t.Errorf("%d marks in\n%s", n, frame)
	}
	at = 3 * time.Minute
	if frame = strings.Join(v.Frame(101, 40, false), "\n"); !strings.Contains(frame, "mark: ") || !strings.Contains(frame, "door") || strings.Contains(frame, "\x1b]") || strings.Contains(frame, "before") {
		t.Errorf("after the door:\n%s", frame)
	}
}
