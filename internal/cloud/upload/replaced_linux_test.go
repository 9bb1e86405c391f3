package upload

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReplaced: what was put in the place of a bag holds nobody up, and does not go.
func TestReplaced(t *testing.T) {
	t.Parallel()
	r := newTestStore(t)
	u, stop := r.start(func(o *Options) { o.Delete = true })
	outside := filepath.Join(t.TempDir(), "secret")
	if err := errors.Join(os.WriteFile(outside, []byte("secret"), 0o600), os.Symlink(outside, filepath.Join(r.dir, "link.bag")), unix.Mkfifo(filepath.Join(r.dir, "fifo.bag"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link.bag", "fifo.bag"} {
		u.Begun(name)
		u.Finished(name, 6)
	}
	b := r.record(u, "b.bag", 1000)
	r.eventually("the bag is uploaded", func() bool { return u.Stats().Uploaded == 1 })
	r.eventually("the others were tried", func() bool { return u.Stats().Failures > 3 })
	r.stored("b.bag", b)
	stop()
	if entries, _ := os.ReadDir(r.to); len(entries) != 2 || !r.exists("link.bag") || !r.exists("fifo.bag") {
		t.Errorf("the store has %v", entries)
	}
}
