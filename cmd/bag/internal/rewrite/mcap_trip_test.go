package rewrite_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/rewrite"
	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/rosbag"
)

// fullMessage is all that is known of a message.
type fullMessage struct {
	Topic, Type, MD5, Definition, CallerID string
	Latching                               bool
	Time                                   rosbag.Time
	Data                                   string
}

// fullMessages reads all of a recording.
func fullMessages(r *bagfmt.Reader) (list []fullMessage) {
	for m, err := range rosbag.Messages(r, rosbag.Query{}) {
		if err != nil {
			continue // both ways lose the same
		}
		h := m.Conn.Header
		list = append(list, fullMessage{m.Conn.Topic, h.Type(), h.MD5Sum(), h.MessageDefinition(), h.CallerID(), h.Latching(), m.Time, string(m.Data())})
	}
	return list
}

// TestMCAPTrip sends bags of all versions to MCAP and back. With GOROSBAG_BAGS it takes those of that
// directory, too.
func TestMCAPTrip(t *testing.T) {
	t.Parallel()
	var names []string
	for _, pattern := range []string{"../../../../bagfmt/testdata/*.bag", "../../../../bagfmt/testdata/old/*.bag", filepath.Join(os.Getenv("GOROSBAG_BAGS"), "*.bag")} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	for i, name := range names {
		compression := []string{"none", "lz4", "zstd"}[i%3]
		t.Run(filepath.Base(name)+"/"+compression, func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			in, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
			if errors.Is(err, rosbag.ErrCorrupt) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			lenient := rewrite.Options{Damaged: func(string, error) error { return nil }}
			var asMCAP, back file
			sink, err := rewrite.NewMCAP(&asMCAP, rewrite.MCAPOptions{Compression: compression, ChunkBytes: 50_000, Workers: 2})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := rewrite.Copy([]rewrite.Input{{Source: in}}, lenient, sink); err != nil {
				t.Fatal(err)
			}
			again := open(t, asMCAP.b)
			if !again.Info().Indexed || len(again.Info().Damage) > 0 {
				t.Errorf("indexed %t, damage %v", again.Info().Indexed, again.Info().Damage)
			}
			toBag, err := rewrite.NewBag(&back, bagfmt.WriterOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := rewrite.Copy([]rewrite.Input{{Source: again}}, rewrite.Options{}, toBag); err != nil {
				t.Fatal(err)
			}
			want := fullMessages(in)
			for i := range want { // MCAP gets definitions that its readers can use
				want[i].Definition = msgdef.Complete(want[i].Type, want[i].MD5, want[i].Definition)
			}
			if d := cmp.Diff(want, fullMessages(again)); d != "" {
				t.Errorf("as MCAP (-want +got):\n%.2000s", d)
			}
			if d := cmp.Diff(want, fullMessages(open(t, back.b))); d != "" {
				t.Errorf("back as bag (-want +got):\n%.2000s", d)
			}
		})
	}
}
