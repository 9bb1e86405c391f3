package wording_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	other := errors.New("exists")
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"missing":    {&fs.PathError{Op: "open", Path: "/a", Err: syscall.ENOENT}, "no such file"},
		"permission": {&fs.PathError{Op: "open", Path: "/a", Err: syscall.EACCES}, "permission denied"},
		"disk":       {&fs.PathError{Op: "write", Path: "/a", Err: syscall.ENOSPC}, "no space left on device"},
		"link":       {&os.LinkError{Op: "link", Old: "/a", New: "/b", Err: syscall.EXDEV}, "invalid cross-device link"},
		"truncated":  {fmt.Errorf("chunk at 7: %w", io.ErrUnexpectedEOF), "truncated: chunk at 7"},
		"damaged":    {&rosbag.CorruptError{Offset: 7, Reason: "no op"}, "damaged: " + (&rosbag.CorruptError{Offset: 7, Reason: "no op"}).Error()},
		"limit":      {&rosbag.LimitError{Op: rosbag.OpChunk}, (&rosbag.LimitError{Op: rosbag.OpChunk}).Error() + "; a larger --max-chunk unpacks it"},
		"other":      {other, "exists"},
	} {
		once := wording.Explain(tc.err)
		if once.Error() != tc.want {
			t.Errorf("%s: %q, want %q", name, once, tc.want)
		}
		if twice := wording.Explain(once); twice.Error() != tc.want {
			t.Errorf("%s: twice %q, want %q", name, twice, tc.want)
		}
	}
	for _, err := range []error{other, context.Canceled} {
		if got := wording.Explain(fmt.Errorf("a: %w", err)); !errors.Is(got, err) {
			t.Errorf("%v is no longer %v", got, err)
		}
	}
}

func TestShown(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a b.bag": "a b.bag", "": `""`, "a\x1bb": `"a\x1bb"`, "/ü": "/ü",
	} {
		if got := wording.Shown(in); got != want {
			t.Errorf("%q is shown as %s, want %s", in, got, want)
		}
	}
}
