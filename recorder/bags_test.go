package recorder

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// TestFinishedBags: bags that are closed are listed and can be read, but only as what
// was recorded, and not once they are gone.
func TestFinishedBags(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{})
	l := open(t, p, "/t", "/p")
	for n := range 3 {
		l.Frames(testlink.Frame(1, uint32(n), 20), 1, time.Now())
		if _, err := c.Split(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	bags, err := c.Bags()
	if err != nil || len(bags) != 3 {
		t.Fatalf("%v, %v", bags, err)
	}
	for i, b := range bags {
		if b.ID != i || b.Messages != 1 || b.Deleted || b.Snapshot || b.Ended.Before(b.Begun) {
			t.Errorf("bag %d: %+v", i, b)
		}
		f, same, err := c.OpenBag(b.ID)
		if err != nil {
			t.Fatal(err)
		}
		size, err := io.Copy(io.Discard, f)
		if err != nil || size != b.Bytes || same != b {
			t.Errorf("%d of %d bytes, %v, %+v", size, b.Bytes, err, same)
		}
		if r, err := bagfmt.NewReader(f, b.Bytes, bagfmt.ReaderOptions{IndexOnly: true}); err != nil || r.Info().Messages != 1 {
			t.Errorf("the bag cannot be read: %v", err)
		}
		f.Close()
	}
	replace(t, bags[0].Name)
	if err := os.Remove(bags[1].Name); err != nil {
		t.Fatal(err)
	}
	for _, id := range []int{0, 1, 3, -1} {
		if f, _, err := c.OpenBag(id); !errors.Is(err, control.ErrNoBag) {
			t.Errorf("bag %d: %v, %v", id, f, err)
		}
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
	c.attach(nil)
	if _, _, err := c.OpenBag(2); !errors.Is(err, control.ErrNotRecording) {
		t.Errorf("after the end: %v", err)
	}
}

// replace puts another file in the place of a bag.
func replace(t *testing.T, name string) {
	t.Helper()
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(name), os.Symlink(other, name)); err != nil {
		t.Fatal(err)
	}
}

// TestDiskTimes: each write and each change of the file is in the account, once.
func TestDiskTimes(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{Sync: SyncChunk})
	l := open(t, p, "/t", "/p")
	const splits = 2
	for n := range splits {
		l.Frames(testlink.Frame(1, uint32(n), 20), 1, time.Now())
		if _, err := c.Split(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if s.Disk.Splits.Count != splits || s.Disk.Writes.Count < splits || s.Disk.Syncs.Count < splits || s.Finished != splits {
		t.Errorf("%+v, %d files", s.Disk, s.Finished)
	}
	for _, times := range []control.Times{s.Disk.Splits, s.Disk.Writes, s.Disk.Syncs} {
		var n uint64
		for _, class := range times.Classes {
			n += class
		}
		if n > times.Count || times.Sum <= 0 {
			t.Errorf("%+v", times)
		}
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
}
