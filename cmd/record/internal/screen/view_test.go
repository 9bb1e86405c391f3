package screen_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/cmd/record/internal/screen"
	"github.com/gorosbag/gorosbag/internal/face/term"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// recordFrame returns the first frame of a recording of one topic.
func recordFrame(t *testing.T, width int, ascii bool, change func(*control.Stats)) string {
	t.Helper()
	s := robot(time.Second)
	s.Topics = s.Topics[:1]
	change(&s)
	view := &screen.View{ASCII: ascii, Stats: func() (control.Stats, error) { return s, nil }}
	return strings.Join(view.Frame(width, 24, false), "\n")
}

// A name without room keeps its end, from a slash on where that is not too short.
func TestRecordNames(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		topic string
		width int
		ascii bool
		want  string
	}{
		{"/camera/front/color/image_raw", 80, false, "  /camera/front/color/image_raw"},
		{"/very/long/camera/image_raw", 28, false, "  …/camera/image_raw"},
		{"/very/long/camera/image_raw", 28, true, "  ../camera/image_raw"},
		{"/a/name_without_a_slash_for_long", 28, false, "  …t_a_slash_for_long"},
		{"/very/long/相机/图像", 20, false, "  …/相机/图像"},
	} {
		got := recordFrame(t, tc.width, tc.ascii, func(s *control.Stats) { s.Topics[0].Topic = tc.topic })
		if !strings.Contains(got, tc.want) {
			t.Errorf("%s in %d columns: no %q in\n%s", tc.topic, tc.width, tc.want, got)
		}
	}
}

// A buffer that a snapshot fills is no problem; one that waits for the disk is.
func TestRecordBuffer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		buffered, held int64
		writing        string
		want           string
	}{
		"waits for the disk":       {250 << 20, 0, "", "   ! buffer 98%"},
		"held for a snapshot":      {250 << 20, 192 << 20, "", "   buffer 23%"},
		"held, but cannot be left": {250 << 20, 192 << 20, "snapshot.bag", "   ! buffer 91%"},
	} {
		got := recordFrame(t, 80, false, func(s *control.Stats) {
			s.Buffered, s.Snapshots.Bytes, s.Snapshots.File = tc.buffered, tc.held, tc.writing
		})
		if !strings.Contains(got, tc.want) {
			t.Errorf("%s: no %q in\n%s", name, tc.want, got)
		}
	}
}

// At 80 columns what a recording is about to tell stands in one line, in whatever state.
func TestRecordHeaderIsOneLine(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*control.Stats){
		"well": func(*control.Stats) {},
		"snapshots": func(s *control.Stats) {
			s.Snapshots.Mode, s.Snapshots.Held, s.File = control.SnapshotOnly, time.Minute, ""
		},
		"trouble": func(s *control.Stats) {
			s.Buffered, s.TimeLeft = 250<<20, time.Minute
			s.Topics[0].Dropped, s.Topics[0].Missed = 1234, 1234
		},
	} {
		lines := strings.Split(recordFrame(t, 80, false, change), "\n")
		if len(lines) < 3 || !strings.HasPrefix(lines[2], "    Hz ") {
			t.Errorf("%s: the table does not begin in the third line:\n%s", name, strings.Join(lines, "\n"))
		}
	}
}

// The curve shows a topic that stops and goes on.
func TestRecordCurve(t *testing.T) {
	t.Parallel()
	s := robot(0)
	s.Topics = s.Topics[2:3]
	view := &screen.View{Stats: func() (control.Stats, error) { return s, nil }}
	frame := ""
	for s.Elapsed < 90*time.Second {
		s.Elapsed += term.Refresh
		if s.Elapsed <= 50*time.Second || s.Elapsed > 70*time.Second {
			s.Topics[0].Messages += 100
		}
		frame = strings.Join(view.Frame(80, 24, false), "\n")
	}
	if want := "  ▇▇▇▇    ▇▇▇▇"; !strings.Contains(frame, want) {
		t.Errorf("no %q in\n%s", want, frame)
	}
}
