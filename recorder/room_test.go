package recorder

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/bagname"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/recorder/internal/retention"
)

// TestRoomToBegin: a recording begins with a bag only if that bag will not end it at once. Otherwise each start by a
// supervisor leaves a bag without messages.
func TestRoomToBegin(t *testing.T) {
	t.Parallel()
	const least = 20 << 20
	for _, tt := range []struct {
		free    int64
		refused bool
	}{{least - 1, true}, {least + 400<<10, true}, {least + 2*disk.LeastRoom - 1, true}, {least + 2*disk.LeastRoom, false}} {
		r, outputs := session{o: Options{MinSpace: least, MinSpaceText: "20M", Log: zap.NewNop()}}, testOutputs(t, t.TempDir())
		retain := retention.New(retention.Limits{}, zap.NewNop(), func() (int64, error) { return tt.free, nil }, nil)
		if err := r.makeRoom(outputs, retain, nil); errors.Is(err, ErrMinSpace) != tt.refused || (err != nil) != tt.refused {
			t.Errorf("with %d bytes free: %v, want a refusal: %v", tt.free, err, tt.refused)
		}
	}
}

// TestRoomOfOrphans: a recording that could not begin otherwise gives up what waits for its repair, and no more of that than
// it has to.
func TestRoomOfOrphans(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outputs := testOutputs(t, dir)
	limits := retention.Limits{KeepFree: 2 << 30}
	retain := retention.New(retention.Limits{Files: 9}, zap.NewNop(), outputs.Free, func(string) bool { return false })
	if err := retain.Load(outputs, nil); err != nil {
		t.Skip(err)
	}
	var orphans []string
	for range 2 {
		b, err := outputs.Create(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		retain.Begin(b.Place)
		orphans = append(orphans, filepath.Base(b.Path()))
		b.Wrap(func(h disk.Handle) disk.Handle { // as the death of a recorder does
			if err := h.Close(); err != nil {
				t.Error(err)
			}
			return h
		})
	}
	if err := retain.Close(); err != nil {
		t.Fatal(err)
	}
	left := func() (n int64) {
		for _, name := range orphans {
			if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
				n++
			}
		}
		return n
	}
	retain = retention.New(limits, zap.NewNop(), func() (int64, error) { return (3 - left()) << 30, nil }, func(string) bool { return false })
	if err := retain.Load(outputs, orphans); err != nil {
		t.Fatal(err)
	}
	r := session{o: Options{MinSpace: 3 << 29, MinSpaceText: "1.5G", Log: zap.NewNop()}}
	if err := r.makeRoom(outputs, retain, orphans); err != nil || left() != 1 || retain.Unrecovered() != 1 {
		t.Errorf("%v, %d orphans are left, and %d count as deleted; want one of two", err, left(), retain.Unrecovered())
	}
	if err := retain.Close(); err != nil {
		t.Error(err)
	}
}

// testOutputs opens a series in a directory.
func testOutputs(t *testing.T, dir string) *bagfile.Series {
	t.Helper()
	s, err := bagfile.OpenSeries(bagname.Output{Name: filepath.Join(dir, "x")}, SyncNone, true, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
