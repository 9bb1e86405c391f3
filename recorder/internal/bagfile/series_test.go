package bagfile

import (
	"testing"
	"time"
)

func TestSnapshotNames(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 8, 15, 30, 0, time.Local)
	tests := []struct {
		out    Output
		beside bool
		want   string
	}{
		{Output{}, false, "2026-11-21-08-15-30.bag"},
		{Output{Prefix: "run"}, false, "run_2026-11-21-08-15-30.bag"},
		{Output{Name: "run.bag"}, false, "run.bag"},
		{Output{}, true, "snapshot_2026-11-21-08-15-30.bag"},
		{Output{Prefix: "dir/"}, true, "dir/snapshot_2026-11-21-08-15-30.bag"},
		{Output{Prefix: "run"}, true, "run_snapshot_2026-11-21-08-15-30.bag"},
		{Output{Name: "run.bag"}, true, "run_snapshot_2026-11-21-08-15-30.bag"},
		{Output{Template: "day_%Y.bag"}, true, "day_2026_snapshot.bag"},
	}
	for _, tc := range tests {
		main := &Series{Output: tc.out}
		if got := main.ForSnapshots(tc.beside).NextPath(now); got != tc.want {
			t.Errorf("%+v, beside %v: %s, want %s", tc.out, tc.beside, got, tc.want)
		}
	}
}
