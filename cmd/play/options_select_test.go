package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestStartAtMark: --start and --until take the text of a mark, or how it begins.
func TestStartAtMark(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w, err := bagfmt.NewWriter(&b, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []struct {
		topic, text string
		at          uint32
	}{{"/chatter", "x", 100}, {note.MarksTopic, "door opened", 110}, {note.MarksTopic, "door", 130}, {"/chatter", "x", 160}} {
		c, err := w.AddConnection(m.topic, rosbag.Header{{Key: "type", Value: note.Type}, {Key: "md5sum", Value: note.MD5Sum}})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(c, rosbag.Time{Sec: m.at}, note.Encode(m.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	opened, err := bagfmt.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bag, err := player.NewBag(t.Context(), "x.bag", opened)
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string][2]time.Duration{
		"--start mark=door": {30 * time.Second, 0}, "--start=mark=door_o": {}, "-s mark=doo --until mark=door": {10 * time.Second, 20 * time.Second},
	} {
		s, err := parse(append(strings.Fields(args), "x.bag"))
		if err != nil {
			t.Fatal(args, err)
		}
		o, err := s.options([]*player.Bag{bag}, zap.NewNop())
		if want == [2]time.Duration{} {
			if err == nil || !strings.Contains(err.Error(), `--start: no mark begins with "door_o"; there are "door opened", "door"`) {
				t.Errorf("%s: %v", args, err)
			}
			continue
		}
		if err != nil || o.Start != want[0] || o.Duration != want[1] {
			t.Errorf("%s: %v, %v, %v", args, o.Start, o.Duration, err)
		}
	}
}
