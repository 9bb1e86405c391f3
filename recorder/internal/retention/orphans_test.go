package retention

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/recorder/internal/disk"
)

// crash leaves the bag that a run writes as the death of a recorder does, and returns the name of the file.
func (r *run) crash() string {
	r.t.Helper()
	b, err := r.s.Create(time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	r.r.Begin(b.Place)
	if err := errors.Join(closeHandle(b), r.r.Close()); err != nil {
		r.t.Fatal(err)
	}
	return filepath.Base(b.Path())
}

// startRepairing begins a run that will repair these files.
func startRepairing(t *testing.T, dir string, limits Limits, orphans ...string) *run {
	t.Helper()
	s := testSeries(t, dir)
	r := New(limits, zap.NewNop(), s.Free, keepNone)
	if err := r.Load(s, orphans); err != nil {
		t.Fatal(err)
	}
	return &run{t, s, r}
}

// repaired makes X.bag of X.bag.active as a repair does.
func (r *run) repaired(bag string) {
	r.t.Helper()
	active, original := bag+".active", bag+".orig.active"
	st, err := os.Stat(filepath.Join(r.s.DirName, active))
	if err != nil {
		r.t.Fatal(err)
	}
	whole := filepath.Join(r.s.DirName, bag)
	if err := errors.Join(os.WriteFile(whole, []byte("recovered"), 0o600), os.Chtimes(whole, time.Time{}, st.ModTime())); err != nil {
		r.t.Fatal(err)
	}
	r.r.Recovered(r.s, bag, active)
	if err := os.Rename(filepath.Join(r.s.DirName, active), filepath.Join(r.s.DirName, original)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.t.Fatal(err)
	}
	r.r.Recovered(r.s, bag, original)
	r.r.Trying(r.s, active)(false)
}

// TestRepairedBagsKeepTheirTurn: a bag is as old as what was recorded, whenever it was repaired, also in later runs.
func TestRepairedBagsKeepTheirTurn(t *testing.T) {
	t.Parallel()
	for _, later := range []bool{false, true} {
		dir := t.TempDir()
		all := Limits{Files: 9}
		orphan := startRun(t, dir, all).crash()
		second := startRun(t, dir, all)
		second.bag()
		second.end()
		r := startRepairing(t, dir, all, orphan)
		r.repaired("robot.bag")
		limits := Limits{Files: 1}
		if later {
			r.end()
			r = startRun(t, dir, limits)
		} else {
			r.r.Limits = limits
			r.r.Enforce(time.Now())
		}
		if got, want := listed(t, dir), []string{"robot_1.bag"}; !slices.Equal(got, want) {
			t.Errorf("in a later run: %v: left %v, want %v, which was recorded last", later, got, want)
		}
		r.end()
	}
}

// TestAgeOfRepairedBags is that of the recording.
func TestAgeOfRepairedBags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	orphan := startRun(t, dir, Limits{Files: 9}).crash()
	hourAgo := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, orphan), time.Time{}, hourAgo); err != nil {
		t.Fatal(err)
	}
	r := startRepairing(t, dir, Limits{Age: 30 * time.Minute}, orphan)
	r.repaired("robot.bag")
	if got := listed(t, dir); len(got) != 0 {
		t.Errorf("left: %v, of an hour ago", got)
	}
	r.end()
}

// TestOrphansOfACrashLoop: a recorder that is killed before it can repair anything leaves a file each time; only the
// latest wait for their repair.
func TestOrphansOfACrashLoop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var orphans []string
	for range waitingOrphans + 3 {
		orphans = append(orphans, startRun(t, dir, Limits{Files: 9}).crash())
	}
	r := startRepairing(t, dir, Limits{Bytes: 1}, orphans...)
	r.bag()
	left := slices.DeleteFunc(listed(t, dir), func(name string) bool { return filepath.Ext(name) != ".active" })
	if want := orphans[3:]; !slices.Equal(left, want) {
		t.Errorf("left: %v, want %v", left, want)
	}
	r.end()
}

// TestOrphansWaitForTheirRepair: no limit deletes what a crashed recorder has left before its repair was tried.
func TestOrphansWaitForTheirRepair(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]Limits{
		"files": {Files: 1}, "bytes": {Bytes: 1}, "age": {Age: time.Nanosecond}, "a full disk": {KeepFree: 1 << 60},
	} {
		dir := t.TempDir()
		first := startRun(t, dir, Limits{Files: 9})
		first.bag()
		orphan := first.crash()
		logs, seen := observer.New(zap.ErrorLevel)
		r := startRepairing(t, dir, limits, orphan)
		r.r.log = zap.New(logs)
		r.bag()
		r.bag()
		if got := listed(t, dir); !slices.Contains(got, orphan) {
			t.Errorf("%s: %s was deleted before its repair was tried: left %v", name, orphan, got)
		}
		if r.r.Unrecovered() != 0 {
			t.Errorf("%s: %d files count as deleted before they were recovered", name, r.r.Unrecovered())
		}
		r.r.Trying(r.s, orphan)(false) // in vain
		r.r.Enforce(time.Now().Add(time.Hour))
		if got := listed(t, dir); slices.Contains(got, orphan) {
			t.Errorf("%s: left after the repair: %v", name, got)
		}
		told := seen.FilterMessage("Removing before it was recovered").Len()
		if want := 1; r.r.Unrecovered() != want || told != want {
			t.Errorf("%s: %d files count as deleted before they were recovered, and the log tells of %d; want %d", name, r.r.Unrecovered(), told, want)
		}
		r.end()
	}
}

// TestOriginalsGoFirst: the content of an original is in a bag, too. It is no bag for a limit of bags, and its bytes count.
func TestOriginalsGoFirst(t *testing.T) {
	t.Parallel()
	const bag, recovered = 4117, 9
	original := int64(1 << 20) // as long as the room that a bag reserves
	for name, tt := range map[string]struct {
		limits Limits
		want   []string
	}{
		"files":        {Limits{Files: 3}, []string{"robot.bag", "robot_1.bag", "robot_1.bag.orig.active", "robot_2.bag"}},
		"fewer":        {Limits{Files: 2}, []string{"robot_1.bag", "robot_2.bag"}},
		"all bytes":    {Limits{Bytes: 2*bag + recovered + original}, []string{"robot.bag", "robot_1.bag", "robot_1.bag.orig.active", "robot_2.bag"}},
		"fewer bytes":  {Limits{Bytes: 2*bag + recovered + original - 1}, []string{"robot.bag", "robot_1.bag", "robot_2.bag"}},
		"few bytes":    {Limits{Bytes: bag + recovered}, []string{"robot_1.bag", "robot_2.bag"}},
		"a full disk":  {Limits{KeepFree: 1 << 60}, nil},
		"without room": {Limits{Bytes: 1}, nil},
	} {
		dir := t.TempDir()
		first := startRun(t, dir, Limits{Files: 9})
		first.bag()
		orphan := first.crash()
		if err := os.Truncate(filepath.Join(dir, orphan), original); err != nil {
			t.Fatal(err)
		}
		second := startRepairing(t, dir, Limits{Files: 9}, orphan)
		second.repaired("robot_1.bag")
		second.bag()
		second.end()
		r := startRun(t, dir, tt.limits)
		if got := listed(t, dir); !slices.Equal(got, tt.want) {
			t.Errorf("%s: left %v, want %v", name, got, tt.want)
		}
		if r.r.Unrecovered() != 0 {
			t.Errorf("%s: %d files count as deleted before they were recovered", name, r.r.Unrecovered())
		}
		r.end()
	}
}

// TestOldestOriginalGoesFirst: of several originals the one of the oldest recording goes first.
func TestOldestOriginalGoesFirst(t *testing.T) {
	t.Parallel()
	r := New(Limits{Bytes: 1}, zap.NewNop(), nil, keepNone)
	s, now := testSeries(t, t.TempDir()), time.Now()
	bag := func(original bool) *Retained {
		return &Retained{Place: disk.Place{Name: "x.bag", Folder: s.Dir}, original: original, bytes: 10, closed: now}
	}
	for name, tt := range map[string]struct {
		files []*Retained
		want  int
	}{
		"first":       {[]*Retained{bag(true), bag(true), bag(false)}, 0},
		"later":       {[]*Retained{bag(false), bag(true), bag(true)}, 1},
		"no original": {[]*Retained{bag(false), bag(false)}, 0},
	} {
		if r.files = tt.files; r.next(now, false) != tt.want {
			t.Errorf("%s: %d goes first, want %d", name, r.next(now, false), tt.want)
		}
	}
}

// TestPinsPassToTheRepairedBag, and protect its original no longer.
func TestPinsPassToTheRepairedBag(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := startRun(t, dir, Limits{Files: 9})
	orphan := first.crash()
	first = startRun(t, dir, Limits{Files: 9})
	first.r.Pin(time.Time{})
	first.end()
	r := startRepairing(t, dir, Limits{Files: 9}, orphan)
	r.repaired("robot.bag")
	r.end()
	r = startRun(t, dir, Limits{Bytes: 1})
	if got, want := listed(t, dir), []string{"robot.bag"}; !slices.Equal(got, want) {
		t.Errorf("left %v, want the pinned %v", got, want)
	}
	r.end()
}

// TestRepairsThatWereBegun: an orphan waits once. It does not wait if the recorder has died meanwhile, but does if the
// recording ended before the repair.
func TestRepairsThatWereBegun(t *testing.T) {
	t.Parallel()
	for _, later := range []bool{false, true} {
		dir := t.TempDir()
		orphan := startRun(t, dir, Limits{Files: 9}).crash()
		r := startRepairing(t, dir, Limits{Files: 9}, orphan)
		if !r.r.Waits(r.s, orphan) {
			t.Fatalf("%s does not wait for its repair", orphan)
		}
		tried := r.r.Trying(r.s, orphan)
		if later {
			tried(true)
		}
		r.end()
		r = startRepairing(t, dir, Limits{Bytes: 1}, orphan)
		if got := r.r.Waits(r.s, orphan); got != later {
			t.Errorf("the recording ended first: %v: waits: %v", later, got)
		}
		r.end()
	}
}
