package files_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/files"
)

// TestFoundByNumber: the latest bags are listed under the numbers that they keep, the oldest first; what
// goes wrong again and again is remembered in part.
func TestFoundByNumber(t *testing.T) {
	t.Parallel()
	f, _ := bags(t, files.Config{})
	kept := begin(t, f, 0)
	if err := f.Close(kept); err != nil {
		t.Fatal(err)
	}
	l := files.FinishedBags{Retain: f.Retain}
	const all = files.KeptBags + 3
	for i := range all {
		b := &files.Bag{File: kept.File, Snapshot: i%2 == 1}
		l.Add(b, fmt.Errorf("fault %d: %w", i, errInjected), !b.Snapshot)
	}
	listed := l.Bags()
	if len(listed) != files.KeptBags || listed[0].ID != 3 || listed[files.KeptBags-1].ID != all-1 || l.Number() != all {
		t.Errorf("%d bags from %d to %d of %d", len(listed), listed[0].ID, listed[len(listed)-1].ID, l.Number())
	}
	for id, want := range map[int]error{-1: control.ErrNoBag, 2: control.ErrNoBag, 3: nil, all - 1: nil, all: control.ErrNoBag} {
		r, b, err := l.Open(id)
		if !errors.Is(err, want) || err == nil && b.ID != id {
			t.Errorf("bag %d: %v, %v", id, b.ID, err)
		}
		if r != nil {
			r.Close()
		}
	}
	sum := l.Account()
	if want := (control.EarlierFiles{Files: 3, Snapshots: 1, SnapshotBytes: kept.Bytes()}); sum.Earlier != want || sum.Bytes != all*kept.Bytes() || sum.File != kept.Path() {
		t.Errorf("%+v", sum.Earlier)
	}
	more := fmt.Sprintf("\nand %d more faults of files", all-files.KeptFaults)
	if err := l.Err(); !errors.Is(err, errInjected) || strings.Count(err.Error(), "\n") != files.KeptFaults || !strings.HasSuffix(err.Error(), more) {
		t.Errorf("%v", err)
	}
}
