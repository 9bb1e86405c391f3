package repair

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/disk"
)

// writeFile makes a file with something in it.
func writeFile(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestOneSignOfLifeIsEnough: a lock without a writer, as on a file system without leases,
// and a writer without a lock, which is how stock records.
func TestOneSignOfLifeIsEnough(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"dead", "locked", "written"} {
		orphan(t, dir, name, 200_000)
	}
	orphan(t, dir, "a", 200_000)
	r, _ := repairing(t, dir)
	locked, err := os.Open(dir + "/locked.bag.active")
	if err != nil {
		t.Fatal(err)
	}
	defer locked.Close()
	disk.Lock(locked)
	written, err := os.OpenFile(dir+"/written.bag.active", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer written.Close()
	if got := Orphans(r.dir); !slices.Equal(got, []string{"a.bag.active", "dead.bag.active"}) {
		t.Errorf("orphans %v", got)
	}
}

// TestNoRoomToRepair: a repair leaves the recording the space that has to stay free, and 64 MiB.
func TestNoRoomToRepair(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const size = 200_000
	orphan(t, dir, "a", size)
	r, logs := repairing(t, dir)
	r.MinSpace = 1 << 60
	var free, needed int64
	err := r.repairFile(t.Context(), "a.bag.active")
	if err == nil {
		t.Fatal("repaired without room")
	}
	if _, scan := fmt.Sscanf(err.Error(), "no room: %d bytes are free, %d are needed", &free, &needed); scan != nil {
		t.Fatal(err)
	}
	if want := int64(size + 1<<60 + 64<<20); needed != want || free <= 0 {
		t.Errorf("%v, want %d", err, want)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"a.bag.active"}) || logs.Len() != 0 {
		t.Errorf("in the directory: %v, logged %v", got, logs.All())
	}
}

// TestResultOfAnother: a bag is only taken for the result of a repair that died if it is the
// very file that this repair made.
func TestResultOfAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	orphan(t, dir, "a", 200_000)
	writeFile(t, dir+"/a.bag")
	writeFile(t, dir+"/.a.bag.recovering")
	r, logs := repairing(t, dir)
	r.repairAll(t.Context(), Orphans(r.dir))
	if logs.FilterMessageSnippet("not recovered").Len() != 1 {
		t.Errorf("logged %v", logs.All())
	}
	if got := names(t, dir); !slices.Contains(got, "a.bag") || !slices.Contains(got, "a.bag.active") || slices.Contains(got, "a.bag.orig.active") {
		t.Errorf("in the directory: %v", got)
	}
}

// TestOrphanThatIsReplaced: another file of the name is not that which was looked at.
func TestOrphanThatIsReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, in, st := openOrphan(t, dir)
	if err := os.Rename(dir+"/a.bag.active", dir+"/b.bag.active"); err != nil {
		t.Fatal(err)
	}
	if err := r.checkUnchanged(in, st); err == nil {
		t.Error("not noticed without a file of that name")
	}
	orphan(t, dir, "a", 200_000)
	if err := r.checkUnchanged(in, st); err == nil {
		t.Error("not noticed with another file of that name")
	}
}

// TestWhatARepairTells: the recording learns of the bag and of its size, and which names
// there are, before and after the original gets another: it keeps its own if that is taken.
func TestWhatARepairTells(t *testing.T) {
	t.Parallel()
	for taken, want := range map[bool][]string{false: {"a.bag.active", "a.bag.orig.active"}, true: {"a.bag.active"}} {
		dir := t.TempDir()
		orphan(t, dir, "a", 200_000)
		if taken {
			writeFile(t, dir+"/a.bag.orig.active")
		}
		r, logs := repairing(t, dir)
		finished := map[string]int64{}
		var kept []string
		r.Finished = func(path string, bytes int64) { finished[path] = bytes }
		r.Kept = func(bag, original string) {
			kept = append(kept, original)
			for _, name := range []string{bag, original} {
				if !slices.Contains(names(t, dir), name) {
					t.Errorf("told of %s, which is not there", name)
				}
			}
		}
		r.repairAll(t.Context(), []string{"a.bag.active"})
		st, err := os.Stat(dir + "/a.bag")
		if err != nil {
			t.Fatalf("%v, logged %v", err, logs.All())
		}
		if len(finished) != 1 || finished[r.Series.Path("a.bag")] != st.Size() {
			t.Errorf("finished: %v, want a.bag of %d bytes", finished, st.Size())
		}
		if !slices.Equal(kept, want) {
			t.Errorf("kept: %v, want %v", kept, want)
		}
	}
}

// TestSweep removes what a repair of ours has left without its original, and nothing else.
func TestSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	orphan(t, dir, "a", 200_000)
	r, _ := repairing(t, dir)
	if err := os.Mkdir(dir+"/.c.bag.recovering", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".a.bag.recovering", ".b", ".d.bag.recovering", ".z.bag.recovering", "b.bag.recovering"} {
		writeFile(t, dir+"/"+name)
	}
	r.sweep()
	if got, want := names(t, dir), []string{".a.bag.recovering", ".b", ".c.bag.recovering", "a.bag.active", "b.bag.recovering"}; !slices.Equal(got, want) {
		t.Errorf("in the directory: %v, want %v", got, want)
	}
}

// TestRepairThatCannotSync: what is not on the disk is no result.
func TestRepairThatCannotSync(t *testing.T) {
	t.Parallel()
	f, err := os.Create(t.TempDir() + "/x")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	r := &repair{Options: Options{Crowded: func() bool { return false }}, began: time.Now()}
	if err := r.step(t.Context(), disk.OSFile{File: f}, syncBytes-1); err != nil {
		t.Errorf("synced before there is much to sync: %v", err)
	}
	if err := r.step(t.Context(), disk.OSFile{File: f}, syncBytes); err == nil {
		t.Error("a sync that fails is not noticed")
	}
}
