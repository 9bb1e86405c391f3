package files

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fill makes files, and the directories that they are in.
func fill(t *testing.T, dir string, paths ...string) {
	t.Helper()
	for _, name := range paths {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#ROSBAG V2.0\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRemoveLeftovers removes what ended processes have left, and nothing else.
func TestRemoveLeftovers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stays := []string{
		"a.bag", "a.bag.ABCDEFGH.tmp", ".a.bag.abcdefgh.tmp", ".a.bag.ABCDEFG.tmp", ".a.bag.ABCDEFGH.old", ".ABCDEFGH.tmp",
		".mine.ABCDEFGH.tmp/notes.txt", ".mine.ABCDEFGH.tmp/a.db3", ".settings.PERSONAL.tmp/settings.yaml", ".run.ABCDEFGH.old/run_0.mcap",
	}
	fill(t, dir, stays...)
	stays = append(stays, ".notes.PERSONAL.tmp")
	if err := os.WriteFile(filepath.Join(dir, ".notes.PERSONAL.tmp"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	fill(t, dir, ".a.bag.ABCDEFGH.tmp", ".a b.mcap.22345677.tmp", ".a.orig.bag.ABCDEFGH.tmp", ".run.ABCDEFGH.tmp/run_0.mcap", ".run.ABCDEFGH.tmp/metadata.yaml", ".db.ABCDEFGH.tmp/db_0.db3-journal")
	live, err := Create(filepath.Join(dir, "live.bag"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer live.Abort()
	liveDir, err := MakeDir(filepath.Join(dir, "live"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer liveDir.Abort()
	want := []string{".a b.mcap.22345677.tmp", ".a.bag.ABCDEFGH.tmp", ".a.orig.bag.ABCDEFGH.tmp", ".db.ABCDEFGH.tmp", ".run.ABCDEFGH.tmp"}
	if d := cmp.Diff(want, RemoveLeftovers(dir)); d != "" {
		t.Errorf("removed (-want +got):\n%s", d)
	}
	var expected []string
	for _, name := range append(stays, filepath.Base(live.Name()), filepath.Base(liveDir.temp)) {
		expected = append(expected, strings.Split(name, "/")[0])
	}
	slices.Sort(expected)
	expected = slices.Compact(expected)
	if _, err := os.Stat(filepath.Join(dir, ".mine.ABCDEFGH.tmp", "a.db3")); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(expected, names(t, dir)); d != "" {
		t.Errorf("there are (-want +got):\n%s", d)
	}
	if err := live.Commit(); err != nil {
		t.Error(err)
	}
	if err := liveDir.Commit(); err != nil {
		t.Error(err)
	}
}

// TestLeftoversMeanwhile: files get their names while others look for leftovers all the time.
func TestLeftoversMeanwhile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	done := make(chan struct{})
	var makers, cleaners sync.WaitGroup
	for range 2 {
		cleaners.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					RemoveLeftovers(dir)
				}
			}
		})
	}
	for n := range 4 {
		makers.Go(func() {
			for i := range 20 {
				f, err := Create(filepath.Join(dir, fmt.Sprintf("%d-%d.bag", n, i)), i%2 == 0)
				if err == nil {
					err = f.Commit()
				}
				if err != nil {
					t.Errorf("%d, %d: %v", n, i, err)
				}
				d, err := MakeDir(filepath.Join(dir, fmt.Sprintf("%d-%d", n, i)), nil)
				if err == nil {
					err = d.Commit()
				}
				if err != nil {
					t.Errorf("%d, %d: %v", n, i, err)
				}
			}
		})
	}
	makers.Wait()
	close(done)
	cleaners.Wait()
	if all := names(t, dir); len(all) != 160 {
		t.Errorf("%d names: %q", len(all), all)
	}
}

// TestTwoRunsReplace: two runs with --force that replace the same bags leave nothing but the bags and their backups.
func TestTwoRunsReplace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.bag")
	fill(t, dir, "a.bag", "a.orig.bag")
	var runs sync.WaitGroup
	for range 4 {
		runs.Go(func() {
			for range 20 {
				p, err := NewPlaces([]string{path}, "", true).Place(path)
				if err != nil {
					continue
				}
				if err := p.Commit(); err != nil && !strings.Contains(err.Error(), "was changed meanwhile") {
					t.Log(err)
				}
				p.Abort()
			}
		})
	}
	runs.Wait()
	if d := cmp.Diff([]string{"a.bag", "a.orig.bag"}, names(t, dir)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
