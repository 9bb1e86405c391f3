package recordface_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/command"
	"github.com/gorosbag/gorosbag/internal/recordface"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// ending is a recording that ends right after a split.
type ending struct{ control.Recording }

// Split implements control.Recording.
func (ending) Split(context.Context) (string, error) { return "/bags/a_0.bag", nil }

// Stats implements control.Recording.
func (ending) Stats() (control.Stats, error) { return control.Stats{}, control.ErrNotRecording }

// TestSplitAtTheEnd: a split that was carried out is no failure because the recording has ended since.
func TestSplitAtTheEnd(t *testing.T) {
	t.Parallel()
	f := recordface.New(ending{}, time.Minute)
	got, err := command.ByService(f.Commands(), "split").Run(t.Context(), nil)
	want := command.Result{Text: "closed /bags/a_0.bag", Brief: "closed a_0.bag", Fields: []command.Field{{Name: "file", Value: "a_0.bag"}}}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}
