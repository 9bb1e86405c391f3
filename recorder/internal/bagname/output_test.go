package bagname

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/files"
)

func TestOutputPath(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 1, 2, 3, 0, time.Local)
	tests := []struct {
		out    Output
		number int
		want   string
	}{
		{Output{}, -1, "2026-11-21-01-02-03.bag"},
		{Output{Prefix: "pre"}, -1, "pre_2026-11-21-01-02-03.bag"},
		{Output{Prefix: "pre.bag"}, -1, "pre_2026-11-21-01-02-03.bag"},
		{Output{Prefix: "dir/pre"}, -1, "dir/pre_2026-11-21-01-02-03.bag"},
		{Output{Name: "x"}, -1, "x.bag"},
		{Output{Name: "x.bag"}, -1, "x.bag"},
		{Output{Name: "x.bag.bag"}, -1, "x.bag.bag"},
		{Output{Name: "x.tar"}, -1, "x.tar.bag"},
		{Output{Name: "x", Prefix: "pre"}, -1, "x.bag"},
		{Output{}, 0, "2026-11-21-01-02-03_0.bag"},
		{Output{Prefix: "dir/pre"}, 10, "dir/pre_2026-11-21-01-02-03_10.bag"},
		{Output{Name: "x.bag"}, 7, "x_7.bag"},
		{Output{Template: "dir/log_%Y%m%d_%H%M%S_{split}.bag"}, 4, "dir/log_20261121_010203_4.bag"},
		{Output{Template: "{time}%%-%j"}, -1, "2026-11-21-01-02-03%-325.bag"},
		{Output{Template: "a{host}b"}, 0, "a" + files.Host() + "b.bag"},
	}
	for _, tc := range tests {
		if got := tc.out.Target(now, tc.number); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.out, got, tc.want)
		}
	}
}

func TestBadTemplates(t *testing.T) {
	t.Parallel()
	for _, template := range []string{"%Y/x", "{host}/x", "x%", "x%Q", "{topic}", "{", "{time"} {
		if err := (Output{Template: template}).Check(); err == nil {
			t.Errorf("%q was accepted", template)
		}
	}
}

// TestGoodTemplates are accepted, and filled in.
func TestGoodTemplates(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for template, want := range map[string]string{
		"%Y-%m":          "2026-03",
		"%%":             "%",
		"at_%s":          fmt.Sprint("at_", at.Unix()),
		"{time}":         "2026-03-04-05-06-07",
		"{split}":        "8",
		"{host}":         host,
		"{host}_{split}": host + "_8",
	} {
		o := Output{Template: template}
		if err := o.Check(); err != nil {
			t.Errorf("%q: %v", template, err)
		}
		if got, err := o.expand(at, 8); err != nil || got != want {
			t.Errorf("%q: %q, want %q", template, got, want)
		}
	}
}

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
		main := &Sequence{Output: tc.out}
		snapshots := main.ForSnapshots(tc.beside)
		if got := snapshots.Next(now); got != tc.want {
			t.Errorf("%+v, beside %v: %s, want %s", tc.out, tc.beside, got, tc.want)
		}
	}
}

// TestChosen: the user has chosen only the name of the first bag of a recording, and only with Name.
func TestChosen(t *testing.T) {
	t.Parallel()
	named := Output{Name: "run1"}
	second := Sequence{Output: named, Numbered: true}
	second.Used()
	recording := Sequence{Output: named}
	for name, tc := range map[string]struct {
		s    Sequence
		want bool
	}{
		"a name":             {Sequence{Output: named}, true},
		"a name with number": {Sequence{Output: named, Numbered: true}, true},
		"the next bag":       {second, false},
		"a prefix":           {Sequence{Output: Output{Prefix: "run"}}, false},
		"a template":         {Sequence{Output: Output{Name: "run1", Template: "run_{time}"}}, false},
		"nothing":            {Sequence{}, false},
		"a snapshot":         {recording.ForSnapshots(false), false},
	} {
		if got := tc.s.Chosen(); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
