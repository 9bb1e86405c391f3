package disk

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestFolderThatMoves is found again, and its moves are news once.
func TestFolderThatMoves(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	first, second, third := filepath.Join(parent, "1"), filepath.Join(parent, "2"), filepath.Join(parent, "3")
	if err := os.Mkdir(first, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFolder(first)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	check := func(when, path string, changed bool) {
		t.Helper()
		if p, c := f.Follow(); p != path || c != changed {
			t.Errorf("%s: %q, %v; want %q, %v", when, p, c, path, changed)
		}
	}
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	check("in its place", first, false)
	move(first, second)
	check("moved", second, true)
	check("later", second, false)
	if err := os.Mkdir(first, 0o700); err != nil {
		t.Fatal(err)
	}
	check("replaced", second, false)
	move(second, third)
	check("moved again", third, true)
	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	move(third, first)
	check("back", first, true)
	check("back, later", first, false)
	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	check("deleted", "", false)
}

// TestIdentify: files are told from each other wherever the kernel can.
func TestIdentify(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	changed := time.Date(2020, 1, 2, 3, 4, 5, 6, time.UTC)
	if err := os.Chtimes(filepath.Join(dir, "a"), changed, changed); err != nil {
		t.Fatal(err)
	}
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, filepath.Join(dir, "a"), 0, unix.STATX_BTIME|unix.STATX_BASIC_STATS, &st); err != nil || st.Mask&unix.STATX_BTIME == 0 {
		t.Skip("the system, or the file system of " + dir + ", does not tell when a file was created")
	}
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	born := time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)).UnixNano()
	if id, size, at, ok := Identify(f, "a"); !ok || id != (Identity{st.Ino, born}) || size != 7 || !at.Equal(changed) {
		t.Errorf("%+v, %d bytes, changed %v, %v", id, size, at, ok)
	}
	for _, name := range []string{"link", ".", "missing"} {
		if _, _, _, ok := Identify(f, name); ok {
			t.Errorf("%s is identified as a file", name)
		}
	}
	a, _, _, _ := Identify(f, "a")
	if b, _, _, ok := Identify(f, "b"); !ok || a == b {
		t.Errorf("two files are %+v", b)
	}
}

// TestReserveFromTheMiddle takes the room that was asked for.
func TestReserveFromTheMiddle(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := (OSFile{f}).Reserve(8<<20, 9<<20); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	if room := st.Blocks * 512; room > 2<<20 || st.Size != 0 {
		t.Errorf("1 MiB takes %d bytes of the disk, and the file has %d", room, st.Size)
	}
}

// TestNoInodes: a file system that has no numbered inodes, as /proc, can hold files.
func TestNoInodes(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{t.TempDir(), "/proc", "/nowhere"} {
		if NoInodes(dir) {
			t.Errorf("%s has no inodes left", dir)
		}
	}
}
