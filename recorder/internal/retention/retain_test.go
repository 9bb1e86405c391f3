package retention

import (
	"os"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/bagname"
)

// closedBags returns finished bags in a directory of the test.
func closedBags(t *testing.T, n int) []*bagfile.File {
	t.Helper()
	s, err := bagfile.OpenSeries(bagname.Output{Name: t.TempDir() + "/x"}, bagfile.SyncNone, true, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	var all []*bagfile.File
	for len(all) < n {
		b, err := s.Create(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Finish(); err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	return all
}

// retain gives closed files to a retainer.
func retain(r *Retainer, now time.Time, bags ...*bagfile.File) (retained []*Retained) {
	for _, b := range bags {
		f := r.Begin(b.Place)
		r.Add(f, b.Bytes(), false, now)
		retained = append(retained, f)
	}
	return retained
}

func wasDeleted(r *Retainer, f *Retained) bool {
	_, deleted := r.Status(f)
	return deleted
}

// keepNone needs no file.
func keepNone(string) bool { return false }

// TestRetentionWaitsForHandover: what somebody needs neither goes nor counts, until the
// disk is too full.
func TestRetentionWaitsForHandover(t *testing.T) {
	t.Parallel()
	bags := closedBags(t, 4)
	needed := map[string]bool{}
	for _, b := range bags[:3] {
		needed[b.Target()] = true
	}
	logs, seen := observer.New(zap.InfoLevel)
	r := New(Limits{Files: 1, KeepFree: 50}, zap.New(logs), func() (int64, error) { return 100, nil }, func(path string) bool { return needed[path] })
	retained := retain(r, time.Now(), bags...)
	gone := func() (n int) {
		for _, b := range bags {
			if _, err := os.Lstat(b.Target()); err != nil {
				n++
			}
		}
		return n
	}
	if gone() != 0 {
		t.Fatal("a file went that is needed, or the only other one")
	}
	delete(needed, bags[0].Target())
	r.Enforce(time.Now())
	if gone() != 1 || !wasDeleted(r, retained[0]) {
		t.Errorf("%d files went, want the oldest of the two that nobody needs", gone())
	}
	for i, want := range []int{3, 1} { // the one that nobody needs first
		r.Free = func() (int64, error) { // there is space when one more is gone
			if gone() == i+2 {
				return 100, nil
			}
			return 10, nil
		}
		r.Enforce(time.Now())
		if gone() != i+2 || !wasDeleted(r, retained[want]) {
			t.Errorf("%d files went; %s should have", gone(), bags[want].Target())
		}
		if n := seen.FilterMessageSnippet("before it was uploaded").Len(); n != i {
			t.Errorf("log: %v", seen.All())
		}
	}
}

// TestRetentionOfGoneFiles: a file that its taker has deleted is no failure.
func TestRetentionOfGoneFiles(t *testing.T) {
	t.Parallel()
	bags := closedBags(t, 2)
	logs, seen := observer.New(zap.InfoLevel)
	r := New(Limits{Files: 1}, zap.New(logs), nil, keepNone)
	if err := os.Remove(bags[0].Target()); err != nil {
		t.Fatal(err)
	}
	retained := retain(r, time.Now(), bags...)
	if _, err := os.Lstat(bags[1].Target()); err != nil || !wasDeleted(r, retained[0]) {
		t.Errorf("%v, deleted: %v", err, wasDeleted(r, retained[0]))
	}
	if seen.Len() != 0 {
		t.Errorf("log: %v", seen.All())
	}
	if deleted, gone := r.Deletions(); deleted != 0 || gone != 1 {
		t.Errorf("%d deletions, %d gone; it was deleted by another", deleted, gone)
	}
}

// TestRetentionKnowsItsFiles: another file under the name of one of ours stays.
func TestRetentionKnowsItsFiles(t *testing.T) {
	t.Parallel()
	b := closedBags(t, 1)[0]
	if err := os.Rename(b.Target(), b.Target()+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.Target(), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := New(Limits{Age: time.Nanosecond}, zap.NewNop(), nil, keepNone)
	retained := retain(r, time.Now().Add(-time.Hour), b)
	r.Enforce(time.Now())
	if got, err := os.ReadFile(b.Target()); err != nil || string(got) != "precious" || wasDeleted(r, retained[0]) {
		t.Errorf("the other file holds %q, %v", got, err)
	}
}

// TestRetention: each limit alone, and all together; the oldest files go first.
func TestRetention(t *testing.T) {
	t.Parallel()
	free := int64(100)
	tests := map[string]struct {
		keep Limits
		left int
	}{
		"nothing": {Limits{}, 6},
		"count":   {Limits{Files: 2}, 2},
		"bytes":   {Limits{Bytes: 3 * 4117}, 3},
		"age":     {Limits{Age: 2500 * time.Millisecond}, 3},
		"free":    {Limits{KeepFree: 104}, 2},
		"all":     {Limits{Files: 5, Bytes: 1 << 30, Age: 1500 * time.Millisecond}, 2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bags := closedBags(t, 6)
			left := func() (n int) {
				for _, b := range bags {
					if _, err := os.Lstat(b.Target()); err == nil {
						n++
					}
				}
				return n
			}
			r := New(tc.keep, zap.NewNop(), func() (int64, error) { return free + int64(6-left()), nil }, keepNone)
			start := time.Now()
			var retained []*Retained
			for i, b := range bags { // one each second; none is deleted before all are there
				f := r.Begin(b.Place)
				f.bytes, f.closed = b.Bytes(), start.Add(time.Duration(i)*time.Second)
				retained = append(retained, f)
			}
			r.Enforce(start.Add(5 * time.Second))
			if n := left(); n != tc.left {
				t.Errorf("%d files left, want %d", n, tc.left)
			}
			for i, f := range retained {
				if wasDeleted(r, f) != (i < len(bags)-tc.left) {
					t.Errorf("file %d: deleted is %v; the oldest go first", i, wasDeleted(r, f))
				}
			}
		})
	}
}

// TestLastFile: the last file of a recording counts for the limits, so that they hold when the recording has ended, and is
// never the one that goes.
func TestLastFile(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		limits Limits
		free   int64
		need   bool   // all wait for their upload
		want   []bool // deleted, the oldest first
	}{
		"files":                       {Limits{Files: 2}, 0, false, []bool{true, false, false}},
		"one file":                    {Limits{Files: 1}, 0, false, []bool{true, true, false}},
		"bytes":                       {Limits{Bytes: 10_000}, 0, false, []bool{true, false, false}},
		"fewer bytes than it has":     {Limits{Bytes: 1}, 0, false, []bool{true, true, false}},
		"age":                         {Limits{Age: 90 * time.Minute}, 0, false, []bool{true, false, false}},
		"a crowded disk":              {Limits{KeepFree: 1}, 0, false, []bool{true, true, false}},
		"a crowded disk, and uploads": {Limits{KeepFree: 1}, 0, true, []bool{false, false, false}},
		"room enough":                 {Limits{KeepFree: 1}, 1, false, []bool{false, false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			free := int64(1)
			r := New(tt.limits, zap.NewNop(), func() (int64, error) { return free, nil }, func(string) bool { return tt.need })
			now := time.Now()
			var all []*Retained
			for i, b := range closedBags(t, len(tt.want)) {
				f := r.Begin(b.Place)
				all = append(all, f)
				if i < len(tt.want)-1 {
					f.bytes, f.closed = 5_000, now.Add(time.Duration(i-2)*time.Hour) // without Add: only the last file enforces the limits
					continue
				}
				free = tt.free
				r.AddLast(f, 5_000, false, now)
			}
			for i, f := range all {
				if got := wasDeleted(r, f); got != tt.want[i] {
					t.Errorf("file %d of %d: deleted: %v", i, len(all), got)
				}
			}
		})
	}
}
