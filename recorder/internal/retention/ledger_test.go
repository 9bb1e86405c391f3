package retention

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/bagname"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
)

// needIdentity skips a test where files cannot be told from each other.
func needIdentity(t *testing.T, s *bagfile.Series) {
	t.Helper()
	if err := os.WriteFile(s.DirName+"probe", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(s.DirName + "probe")
	if _, _, _, ok := disk.Identify(s.Dir, "probe"); !ok {
		t.Skip("the system, or the file system of " + s.DirName + ", does not tell when a file was created")
	}
}

// testSeries makes the files of one run in dir.
func testSeries(t *testing.T, dir string) *bagfile.Series {
	t.Helper()
	s, err := bagfile.OpenSeries(bagname.Output{Name: filepath.Join(dir, "robot")}, bagfile.SyncNone, true, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.SnapshotSeries(false) // a name that is taken gets a number appended
}

// run is one run of a recorder.
type run struct {
	t *testing.T
	s *bagfile.Series
	r *Retainer
}

// startRun begins a run with these limits.
func startRun(t *testing.T, dir string, limits Limits) *run {
	t.Helper()
	s := testSeries(t, dir)
	needIdentity(t, s)
	r := New(limits, zap.NewNop(), s.Free, keepNone)
	if err := r.Load(s, nil); err != nil {
		t.Fatal(err)
	}
	r.Enforce(time.Now())
	return &run{t, s, r}
}

// bag records a bag.
func (r *run) bag() *Retained {
	r.t.Helper()
	b, err := r.s.Create(time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	f := r.r.Begin(b.Place)
	if err := b.Finish(); err != nil {
		r.t.Fatal(err)
	}
	r.r.Add(f, b.Bytes(), false, time.Now())
	return f
}

func (r *run) end() {
	r.t.Helper()
	if err := r.r.Close(); err != nil {
		r.t.Fatal(err)
	}
}

// listed returns the files of a directory but for the ledger.
func listed(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != ".robot.gorecord" {
			names = append(names, e.Name())
		}
	}
	return names
}

// TestRetentionOfEarlierRuns: the limits hold for all runs together, and for nothing else in
// the directory.
func TestRetentionOfEarlierRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	foreign := []string{"robot_old.bag", "robot.bag.orig", "other.bag"}
	for _, name := range foreign {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		r := startRun(t, dir, Limits{Files: 3})
		r.bag()
		r.bag()
		r.end()
	}
	got := slices.DeleteFunc(listed(t, dir), func(n string) bool { return slices.Contains(foreign, n) })
	if len(got) != 3 || len(listed(t, dir)) != 3+len(foreign) {
		t.Errorf("left: %v", listed(t, dir))
	}
}

// TestReplacedFilesAreForeign: a file that has the name of a bag of ours is not deleted.
func TestReplacedFilesAreForeign(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := startRun(t, dir, Limits{Files: 3})
	for range 3 {
		r.bag()
	}
	r.end()
	for _, name := range []string{"robot.bag", "robot_1.bag"} { // the number of the file may be used again
		if err := errors.Join(os.Remove(filepath.Join(dir, name)), os.WriteFile(filepath.Join(dir, name), []byte("precious"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	next := startRun(t, dir, Limits{Files: 1})
	next.bag()
	next.end()
	got := listed(t, dir)
	if !slices.Equal(got, []string{"robot.bag", "robot_1.bag", "robot_3.bag"}) {
		t.Errorf("left: %v", got)
	}
}

// closeHandle closes the file of a bag as the death of a recorder does.
func closeHandle(b *bagfile.File) (err error) {
	b.Wrap(func(h disk.Handle) disk.Handle {
		err = h.Close()
		return h
	})
	return err
}

// TestRetentionAfterACrash: what a crashed recorder was writing counts as well, and so do the
// bag that a repair makes of it and the original.
func TestRetentionAfterACrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := startRun(t, dir, Limits{Files: 3})
	b, err := r.s.Create(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	r.r.Begin(b.Place)
	if err := errors.Join(closeHandle(b), r.r.Close()); err != nil { // as a death does
		t.Fatal(err)
	}
	next := startRun(t, dir, Limits{Files: 3})
	if len(next.r.files) != 1 || next.r.files[0].Target() != filepath.Join(dir, "robot.bag.active") {
		t.Fatalf("%d files are known", len(next.r.files))
	}
	// The repair.
	if err := os.WriteFile(filepath.Join(dir, "robot.bag"), []byte("recovered"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "robot.bag.active"), filepath.Join(dir, "robot.bag.orig.active")); err != nil {
		t.Fatal(err)
	}
	next.r.Recovered(next.s, "robot.bag", "robot.bag.orig.active")
	next.bag()
	next.end()
	last := startRun(t, dir, Limits{Files: 3})
	if n := len(last.r.files); n != 3 {
		t.Errorf("%d files are known, want the bag, the original and the recovered bag", n)
	}
	last.bag()
	if got, want := listed(t, dir), []string{"robot.bag", "robot.bag.orig.active", "robot_1.bag", "robot_2.bag"}; !slices.Equal(got, want) {
		t.Errorf("an original counts as a bag: left %v, want %v", got, want)
	}
	last.bag()
	last.end()
	if got, want := listed(t, dir), []string{"robot_1.bag", "robot_2.bag", "robot_3.bag"}; !slices.Equal(got, want) {
		t.Errorf("left: %v, want %v", got, want)
	}
}

// TestDeathDuringARepair: whether the process dies before or after the original gets its new name,
// the next one knows that and the bag, and takes the repair up.
func TestDeathDuringARepair(t *testing.T) {
	t.Parallel()
	for _, renamed := range []bool{false, true} {
		dir := t.TempDir()
		r := startRun(t, dir, Limits{Files: 9})
		b, err := r.s.Create(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		r.r.Begin(b.Place)
		if err := errors.Join(closeHandle(b), r.r.Close()); err != nil {
			t.Fatal(err)
		}
		original := "robot.bag.active"
		next := startRun(t, dir, Limits{Files: 9})
		if err := os.WriteFile(filepath.Join(dir, "robot.bag"), []byte("recovered"), 0o600); err != nil {
			t.Fatal(err)
		}
		next.r.Recovered(next.s, "robot.bag", original)
		rename := func() {
			if err := os.Rename(filepath.Join(dir, original), filepath.Join(dir, "robot.bag.orig.active")); err != nil {
				t.Fatal(err)
			}
			original = "robot.bag.orig.active"
		}
		if renamed {
			rename()
		}
		if err := next.r.Close(); err != nil {
			t.Fatal(err)
		}
		last := startRun(t, dir, Limits{Files: 9})
		known := func() (names []string) {
			for _, f := range last.r.files {
				names = append(names, filepath.Base(f.Target()))
			}
			slices.Sort(names)
			return names
		}
		if got := known(); !slices.Equal(got, []string{"robot.bag", original}) {
			t.Errorf("renamed %v: known: %v", renamed, got)
		}
		if !renamed {
			last.r.Recovered(last.s, "robot.bag", original)
			rename()
		}
		last.r.Recovered(last.s, "robot.bag", original)
		if got := known(); !slices.Equal(got, []string{"robot.bag", original}) {
			t.Errorf("renamed %v: known after the repair: %v", renamed, got)
		}
		last.end()
	}
}

// TestOriginalsAreFound also where the recorder crashed before it noted what the repair did.
func TestOriginalsAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := startRun(t, dir, Limits{Files: 3})
	r.bag()
	r.end()
	if err := os.Rename(filepath.Join(dir, "robot.bag"), filepath.Join(dir, "robot.bag.orig.active")); err != nil {
		t.Fatal(err)
	}
	next := startRun(t, dir, Limits{Files: 3})
	if len(next.r.files) != 1 || filepath.Base(next.r.files[0].Target()) != "robot.bag.orig.active" {
		t.Errorf("%d files are known", len(next.r.files))
	}
	next.end()
}

// TestPinsOutliveTheRun.
func TestPinsOutliveTheRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := startRun(t, dir, Limits{Files: 5})
	first := r.bag()
	r.r.Pin(time.Time{})
	r.bag()
	r.end()
	next := startRun(t, dir, Limits{Files: 1})
	next.bag()
	next.end()
	if got := listed(t, dir); len(got) != 2 || got[0] != filepath.Base(first.Target()) {
		t.Errorf("left: %v", got)
	}
}

// TestLedgerOfTheLiving: two recorders with the same output do not delete each other's bags.
func TestLedgerOfTheLiving(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := startRun(t, dir, Limits{Files: 1})
	r.bag()
	s := testSeries(t, dir)
	other := New(Limits{Files: 1}, zap.NewNop(), s.Free, keepNone)
	if err := other.Load(s, nil); !errors.Is(err, errLedgerInUse) || len(other.files) != 0 {
		t.Errorf("%v, %d files", err, len(other.files))
	}
	r.end()
}

// TestDamagedLedger: lines that a crash cut off, or that are none of ours, cost themselves
// only; a file that is something else is not touched.
func TestDamagedLedger(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ledger := filepath.Join(dir, ".robot.gorecord")
	r := startRun(t, dir, Limits{Files: 9})
	r.bag()
	r.bag()
	r.end()
	text, err := os.ReadFile(ledger)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	damaged := "garbage\n" + lines[0] + strings.Repeat("x", 3*longestLine) + "\n" + strings.Replace(lines[1], "robot", "rabot", 1) + lines[1][:len(lines[1])-5]
	if err := os.WriteFile(ledger, []byte(damaged), 0o600); err != nil {
		t.Fatal(err)
	}
	next := startRun(t, dir, Limits{Files: 9})
	if len(next.r.files) != 1 {
		t.Errorf("%d files are known, want 1", len(next.r.files))
	}
	next.bag()
	next.end()
	last := startRun(t, dir, Limits{Files: 9})
	if len(last.r.files) != 2 {
		t.Errorf("%d files are known after a line that was cut off, want 2", len(last.r.files))
	}
	last.end()

	const other = "a file of mine\n"
	for name, prepare := range map[string]func(path string) error{
		"something else": func(path string) error { return os.WriteFile(path, []byte(other), 0o600) },
		"symlink": func(path string) error {
			return errors.Join(os.WriteFile(path+".target", []byte(other), 0o600), os.Symlink(filepath.Base(path)+".target", path))
		},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, ".robot.gorecord")
		if err := prepare(path); err != nil {
			t.Fatal(err)
		}
		s := testSeries(t, dir)
		r := New(Limits{Files: 1}, zap.NewNop(), s.Free, keepNone)
		if err := r.Load(s, nil); err == nil {
			t.Errorf("%s: taken for a ledger", name)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != other {
			t.Errorf("%s: holds %q, %v", name, got, err)
		}
	}
}

// testLedger opens the ledger of a directory until the test ends.
func testLedger(t *testing.T, dir string) (*ledger, listing) {
	t.Helper()
	folder, err := disk.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Close() })
	l, list, err := openLedger(folder, "ledger")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.close() })
	return l, list
}

// TestLedgerIsCompactedAtTheStart of a run, if most of its bags were deleted.
func TestLedgerIsCompactedAtTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := startRun(t, dir, Limits{Files: 2})
	const bags = 600
	for n := range bags {
		name := fmt.Sprint(n, ".bag")
		for _, e := range []entry{{Bag: name, ID: disk.Identity{Inode: uint64(n), Born: 1}, Begun: true}, {Bag: name, ID: disk.Identity{Inode: uint64(n), Born: 1}, Deleted: true}} {
			if err := r.r.ledger.add(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.bag()
	r.end()
	ledger := filepath.Join(dir, ".robot.gorecord")
	before, err := os.Stat(ledger)
	if err != nil {
		t.Fatal(err)
	}
	next := startRun(t, dir, Limits{Files: 2})
	if len(next.r.files) != 1 {
		t.Errorf("%d files are known, want 1", len(next.r.files))
	}
	next.bag()
	next.end()
	after, err := os.Stat(ledger)
	if err != nil {
		t.Fatal(err)
	}
	if after.Size() > before.Size()/100 {
		t.Errorf("%d bytes, then %d", before.Size(), after.Size())
	}
	last := startRun(t, dir, Limits{Files: 2})
	if len(last.r.files) != 2 {
		t.Errorf("%d files are known, want 2", len(last.r.files))
	}
	last.end()
}

// TestLedgerAfterAFailedWrite: what could not be written is written later, after what is left
// of the attempt.
func TestLedgerAfterAFailedWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, _ := testLedger(t, dir)
	good := l.file
	if _, err := good.WriteString("half a li"); err != nil {
		t.Fatal(err)
	}
	bad, err := os.Open(filepath.Join(dir, "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	l.file = bad // cannot be written to
	if err := l.add(entry{Bag: "a.bag", ID: disk.Identity{Inode: 1, Born: 1}, Begun: true}); err == nil {
		t.Error("a write to a file that is read only")
	}
	l.file = good
	if err := l.add(entry{Bag: "b.bag", ID: disk.Identity{Inode: 2, Born: 1}, Begun: true}); err != nil {
		t.Error(err)
	}
	if err := errors.Join(l.close(), bad.Close()); err != nil {
		t.Fatal(err)
	}
	_, list := testLedger(t, dir)
	if alive := list.alive(); len(alive) != 2 || alive[0].Bag != "a.bag" {
		t.Errorf("%v", alive)
	}
}

// died leaves a bag of a recorder that was killed, and begins the next run.
func died(t *testing.T, dir string, limits Limits, need func(string) bool) *run {
	t.Helper()
	r := startRun(t, dir, limits)
	b, err := r.s.Create(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	r.r.Begin(b.Place)
	if err := errors.Join(closeHandle(b), r.r.Close()); err != nil {
		t.Fatal(err)
	}
	s := testSeries(t, dir)
	next := New(limits, zap.NewNop(), s.Free, need)
	if err := next.Load(s, nil); err != nil {
		t.Fatal(err)
	}
	return &run{t, s, next}
}

// TestOrphansWaitForTheirUpload under the name that they have when they are repaired.
func TestOrphansWaitForTheirUpload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := died(t, dir, Limits{Files: 1}, func(path string) bool { return path == filepath.Join(dir, "robot.bag") })
	r.bag()
	r.bag()
	r.end()
	if got := listed(t, dir); !slices.Contains(got, "robot.bag.active") {
		t.Errorf("left: %v", got)
	}
}

// TestOrphansInRepair are left alone for as long as that goes on.
func TestOrphansInRepair(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := died(t, dir, Limits{Age: time.Nanosecond}, keepNone)
	f, err := os.Open(filepath.Join(dir, "robot.bag.active"))
	if err != nil {
		t.Fatal(err)
	}
	if !disk.Claim(f) {
		t.Fatal("not claimed")
	}
	r.r.Enforce(time.Now().Add(time.Hour))
	if got := listed(t, dir); !slices.Contains(got, "robot.bag.active") {
		t.Errorf("while it is repaired: %v", got)
	}
	if err := f.Close(); err != nil { // it has failed
		t.Fatal(err)
	}
	r.r.Enforce(time.Now().Add(time.Hour))
	if got := listed(t, dir); len(got) != 0 {
		t.Errorf("afterwards: %v", got)
	}
	r.end()
}

// TestOrphanToldThenRenamed: between the new name of an original that a repair has told of and
// its next word, that is not forgotten.
func TestOrphanToldThenRenamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := died(t, dir, Limits{Age: time.Nanosecond}, keepNone)
	repaired, err := os.Open(filepath.Join(dir, "robot.bag.active"))
	if err != nil {
		t.Fatal(err)
	}
	if !disk.Claim(repaired) {
		t.Fatal("the file is in use")
	}
	if err := os.WriteFile(filepath.Join(dir, "robot.bag"), []byte("recovered"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.r.Recovered(r.s, "robot.bag", "robot.bag.active")
	if err := os.Rename(filepath.Join(dir, "robot.bag.active"), filepath.Join(dir, "robot.bag.orig.active")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r.r.Enforce(time.Now().Add(time.Hour))
	}
	if got, want := listed(t, dir), []string{"robot.bag.orig.active"}; !slices.Equal(got, want) {
		t.Fatalf("before the repair has told: %v, want %v", got, want)
	}
	if err := repaired.Close(); err != nil {
		t.Fatal(err)
	}
	r.r.Recovered(r.s, "robot.bag", "robot.bag.orig.active")
	r.r.Enforce(time.Now().Add(time.Hour))
	deleted, _ := r.r.Deletions()
	if got := listed(t, dir); len(got) != 0 || deleted != 2 {
		t.Errorf("afterwards: %v, and %d were deleted", got, deleted)
	}
	r.end()
}

// TestOrphanJustRenamed: a repair renames the original, waits for the disk, and only then tells
// what has become of it. Until then neither is forgotten.
func TestOrphanJustRenamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := died(t, dir, Limits{Age: time.Nanosecond}, keepNone)
	err := errors.Join(
		os.WriteFile(filepath.Join(dir, "robot.bag"), []byte("recovered"), 0o600),
		os.Rename(filepath.Join(dir, "robot.bag.active"), filepath.Join(dir, "robot.bag.orig.active")),
	)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r.r.Enforce(time.Now().Add(time.Hour))
	}
	if got, want := listed(t, dir), []string{"robot.bag", "robot.bag.orig.active"}; !slices.Equal(got, want) {
		t.Fatalf("before the repair has told: %v, want %v", got, want)
	}
	r.r.Recovered(r.s, "robot.bag", "robot.bag.orig.active")
	r.r.Enforce(time.Now().Add(time.Hour))
	deleted, _ := r.r.Deletions()
	if got := listed(t, dir); len(got) != 0 || deleted != 2 {
		t.Errorf("afterwards: %v, and %d were deleted", got, deleted)
	}
	r.end()
}

// TestReplacedWhileItRuns: also in the run that has recorded the bag.
func TestReplacedWhileItRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := startRun(t, dir, Limits{Files: 1})
	f := r.bag()
	if err := errors.Join(os.Remove(f.Target()), os.WriteFile(f.Target(), []byte("precious"), 0o600)); err != nil { // its number is free again
		t.Fatal(err)
	}
	r.bag()
	r.end()
	if got, err := os.ReadFile(f.Target()); err != nil || string(got) != "precious" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestLedgerNames: by what the user has chosen, not by the date.
func TestLedgerNames(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]bagname.Output{
		".gorecord":          {},
		".robot.gorecord":    {Name: "dir/robot.bag"},
		".pre.gorecord":      {Prefix: "dir/pre"},
		".day_%d.gorecord":   {Template: "dir/day_%d"},
		".both.gorecord":     {Name: "both", Prefix: "pre"},
		".template.gorecord": {Name: "both", Template: "template"},
	} {
		if got := ledgerName(o); got != want {
			t.Errorf("%+v: %s, want %s", o, got, want)
		}
	}
}

// FuzzLedger: whatever a file holds, what was read of it is read again after it was
// compacted.
func FuzzLedger(f *testing.F) {
	for _, e := range []entry{{Bag: "x.bag", ID: disk.Identity{Inode: 1, Born: 2}, Begun: true}, {Bag: "x.bag", ID: disk.Identity{Inode: 1, Born: 2}, Pinned: true}, {Bag: "x.bag", ID: disk.Identity{Inode: 1, Born: 2}, Name: "y"}, {Bag: "x.bag", ID: disk.Identity{Inode: 1, Born: 2}, Deleted: true}} {
		line, err := e.line()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		first := entry{Bag: "first.bag", ID: disk.Identity{Inode: 3, Born: 4}, Begun: true}
		head, err := first.line()
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "ledger"), append(head, line...), 0o600); err != nil {
			t.Fatal(err)
		}
		l, before := testLedger(t, dir)
		if err := errors.Join(l.compact(before.alive()), l.close()); err != nil {
			t.Fatal(err)
		}
		if _, after := testLedger(t, dir); !slices.EqualFunc(after.alive(), before.alive(), func(a, b listedBag) bool { return a.entry == b.entry }) {
			t.Errorf("%+v, then %+v", before.alive(), after.alive())
		}
	})
}
