package ros2_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/gorosbag/gorosbag/internal/files"
	"github.com/gorosbag/gorosbag/internal/ros2/mapping"
	"github.com/gorosbag/gorosbag/internal/ros2/sink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// endsAfter is a context that ends when it was asked so many times.
type endsAfter struct {
	context.Context
	left int
}

func (c *endsAfter) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestInterruptedStartAndEnd: an interrupt ends the start of a recording, and its completion, wherever it comes: with tens
// of thousands of topics both take long.
func TestInterruptedStartAndEnd(t *testing.T) {
	t.Parallel()
	const topics = 1000
	var announced []sink.Announced
	for i := range topics {
		name := fmt.Sprintf("/t%d", i)
		announced = append(announced, sink.Announced{Count: 1, Conn: &rosbag.Connection{ID: rosbag.ConnID(i), Topic: name, Header: rosbag.Header{
			{Key: "topic", Value: name}, {Key: "type", Value: "std_msgs/String"}, {Key: "md5sum", Value: "992ce8a1687cec8c8bd883ec73ca41d1"}, {Key: "message_definition", Value: "string data\n"},
		}}})
	}
	for _, storage := range []string{"mcap", "sqlite3"} {
		record := func(ctx *endsAfter, end int) (err error) {
			dir, err := files.MakeDir(filepath.Join(t.TempDir(), "run"), nil)
			if err != nil {
				return err
			}
			defer dir.Abort()
			out, err := sink.New(ctx, dir, "run", sink.Options{Distro: mapping.Jazzy, Storage: storage, Announced: announced, Compression: "none"})
			if err != nil {
				return err
			}
			for _, a := range announced {
				if err := out.Write(a.Conn, rosbag.Time{Sec: 1}, []byte("\x01\x00\x00\x00x")); err != nil {
					out.Abort()
					return err
				}
			}
			ctx.left = end
			if err := out.Close(); err != nil {
				out.Abort()
				return err
			}
			return nil
		}
		if err := record(&endsAfter{t.Context(), 10 * topics}, 10*topics); err != nil {
			t.Fatalf("%s: %v", storage, err)
		}
		for _, starts := range []int{0, topics / 2, topics - 1} { // each route asks
			if err := record(&endsAfter{t.Context(), starts}, 0); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: after %d routes: %v", storage, starts, err)
			}
		}
		for asks := range 2 { // the end asks at its beginning, while it writes, and before metadata.yaml
			if err := record(&endsAfter{t.Context(), 10 * topics}, asks); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: the end goes on after %d questions: %v", storage, asks, err)
			}
		}
	}
}
