package source_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/source"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestMarks: marks of all bags come by time.
func TestMarks(t *testing.T) {
	t.Parallel()
	var bags []*source.Recording
	for _, marks := range [][]note.Mark{
		{{Time: rosbag.Time{Sec: 10}, Text: "a"}, {Time: rosbag.Time{Sec: 30}, Text: "c"}}, nil, {{Time: rosbag.Time{Sec: 20}, Text: "b"}},
	} {
		var b bytes.Buffer
		w, err := bagfmt.NewWriter(&b, bagfmt.WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := w.AddConnection(note.MarksTopic, rosbag.Header{{Key: "type", Value: note.Type}, {Key: "md5sum", Value: note.MD5Sum}})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range marks {
			if err := w.Write(c, m.Time, note.Encode(m.Text)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		bag := testplay.Open(t, "x.bag", bytes.NewReader(b.Bytes()), int64(b.Len()), bagfmt.ReaderOptions{})
		bags = append(bags, bag)
	}
	want := []note.Mark{{Time: rosbag.Time{Sec: 10}, Text: "a"}, {Time: rosbag.Time{Sec: 20}, Text: "b"}, {Time: rosbag.Time{Sec: 30}, Text: "c"}}
	if d := cmp.Diff(want, source.Marks(bags)); d != "" {
		t.Error(d)
	}
	s := control.Status{Position: 3 * time.Second, BagTime: rosbag.Time{Sec: 13}}
	if got := s.PositionOf(rosbag.Time{Sec: 30}); got != 20*time.Second {
		t.Errorf("position %v", got)
	}
}
