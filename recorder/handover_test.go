package recorder

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// wanting is a Handover that needs files by their names.
type wanting map[string]bool

func (wanting) Begun(string)             {}
func (wanting) Finished(string, int64)   {}
func (wanting) Handed() *HandoverStats   { return nil }
func (w wanting) Keeps(path string) bool { return w[filepath.Base(path)] }

// closedBags returns finished bags in a directory of the test.
func closedBags(t *testing.T, n int) []*bagFile {
	t.Helper()
	p := testPipeline(t, Options{Split: true}, nil)
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	all := p.done
	for len(all) < n {
		b, err := p.outputs.create(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if err := b.finish(); err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	return all
}

// TestRetentionWaitsForHandover: what somebody needs neither goes nor counts, until the
// disk is too full.
func TestRetentionWaitsForHandover(t *testing.T) {
	t.Parallel()
	bags := closedBags(t, 4)
	names := wanting{}
	for _, b := range bags[:3] {
		names[filepath.Base(b.target)] = true
	}
	logs, seen := observer.New(zap.InfoLevel)
	r := newRetainer(Retention{Files: 1, KeepFree: 50}, zap.New(logs), func() (int64, error) { return 100, nil }, names.Keeps)
	for _, b := range bags {
		r.begin(b)
		r.add(b, time.Now())
	}
	gone := func() (n int) {
		for _, b := range bags {
			if _, err := os.Lstat(b.target); err != nil {
				n++
			}
		}
		return n
	}
	if gone() != 0 {
		t.Fatal("a file went that is needed, or the only other one")
	}
	delete(names, filepath.Base(bags[0].target))
	r.enforce(time.Now())
	if gone() != 1 || !r.deleted(bags[0]) {
		t.Errorf("%d files went, want the oldest of the two that nobody needs", gone())
	}
	for i, want := range []*bagFile{bags[3], bags[1]} { // the one that nobody needs first
		r.free = func() (int64, error) { // there is space when one more is gone
			if gone() == i+2 {
				return 100, nil
			}
			return 10, nil
		}
		r.enforce(time.Now())
		if gone() != i+2 || !r.deleted(want) {
			t.Errorf("%d files went; %s should have", gone(), want.target)
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
	r := newRetainer(Retention{Files: 1}, zap.New(logs), nil, nobody{}.Keeps)
	if err := os.Remove(bags[0].target); err != nil {
		t.Fatal(err)
	}
	for _, b := range bags {
		r.begin(b)
		r.add(b, time.Now())
	}
	if _, err := os.Lstat(bags[1].target); err != nil || !r.deleted(bags[0]) {
		t.Errorf("%v, deleted: %v", err, r.deleted(bags[0]))
	}
	if seen.Len() != 0 {
		t.Errorf("log: %v", seen.All())
	}
}
