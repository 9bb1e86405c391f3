package retention

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// TestDeletion: when limits begin to delete, by what is kept and what each file takes.
func TestDeletion(t *testing.T) {
	t.Parallel()
	const never, bag, least = math.MaxInt64, 4117, 1000
	for name, tc := range map[string]struct {
		limits Limits
		each   Each
		waits  int // of the two bags, the oldest
		want   control.Deletion
	}{
		"no limits":         {Limits{}, Each{}, 0, control.Deletion{}},
		"bytes":             {Limits{Bytes: 10_000}, Each{}, 0, control.Deletion{Limited: true, Bytes: 10_000 - 2*bag, Time: never}},
		"bytes, all there":  {Limits{Bytes: 2*bag - 1}, Each{}, 0, control.Deletion{Limited: true, Bytes: 0, Time: never}},
		"some wait":         {Limits{Bytes: 10_000}, Each{}, 1, control.Deletion{Limited: true, Bytes: 10_000 - bag, Time: never}},
		"all wait":          {Limits{Bytes: 10_000}, Each{}, 2, control.Deletion{}},
		"all wait, of disk": {Limits{Bytes: 10_000, KeepFree: 2000}, Each{}, 2, control.Deletion{Floor: 2000}},
		"files":             {Limits{Files: 5}, Each{}, 0, control.Deletion{Limited: true, Bytes: never, Time: never}},
		"files of a size":   {Limits{Files: 5}, Each{Bytes: 100}, 0, control.Deletion{Limited: true, Bytes: 300, Time: never}},
		"files of a time":   {Limits{Files: 5}, Each{Time: time.Hour}, 0, control.Deletion{Limited: true, Bytes: never, Time: 3 * time.Hour}},
		"files, all there":  {Limits{Files: 2}, Each{Bytes: 100}, 0, control.Deletion{Limited: true, Time: never}},
		"files without end": {Limits{Files: math.MaxInt}, Each{Bytes: 1 << 50}, 0, control.Deletion{Limited: true, Bytes: never, Time: never}},
		"age":               {Limits{Age: 3 * time.Hour}, Each{}, 0, control.Deletion{Limited: true, Bytes: never, Time: time.Hour}},
		"keep free":         {Limits{KeepFree: 1001, Bytes: 1 << 40}, Each{}, 0, control.Deletion{Limited: true}},
		"keeps too little":  {Limits{KeepFree: 1000, Bytes: 10_000}, Each{}, 0, control.Deletion{Limited: true, Bytes: 10_000 - 2*bag, Time: never}},
	} {
		bags := closedBags(t, 2)
		needed := map[string]bool{}
		for _, b := range bags[:tc.waits] {
			needed[b.Target()] = true
		}
		r := New(tc.limits, zap.NewNop(), nil, func(path string) bool { return needed[path] })
		now := time.Now()
		for i, b := range bags { // without Add: nothing is deleted
			f := r.Begin(b.Place)
			f.bytes, f.closed = b.Bytes(), now.Add(time.Duration(i-2)*time.Hour)
		}
		if got := r.Deletion(now, least, tc.each); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// TestLook counts the bags of earlier runs, and leaves their list as it is.
func TestLook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	look := func() (d control.Deletion) {
		s := testSeries(t, dir)
		r := New(Limits{Bytes: 10_000}, zap.NewNop(), s.Free, keepNone)
		if err := r.Look(s); err != nil {
			t.Error(err)
		}
		return r.Deletion(time.Now(), 0, Each{})
	}
	if d := look(); d.Bytes != 10_000 || len(listed(t, dir)) != 0 {
		t.Errorf("before the first run: %+v, %v", d, listed(t, dir))
	}
	if _, err := os.Lstat(filepath.Join(dir, ".robot.gorecord")); err == nil {
		t.Error("a list was begun")
	}
	r := startRun(t, dir, Limits{Files: 9})
	r.bag()
	if d := look(); d.Bytes != 10_000-4117 { // beside a recorder
		t.Errorf("with a bag: %+v", d)
	}
	r.end()
}
