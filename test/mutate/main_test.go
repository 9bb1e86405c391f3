package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestAreas: each area names a package and files that exist.
func TestAreas(t *testing.T) {
	t.Chdir("../..")
	for _, a := range areas {
		if st, err := os.Stat(a.dir); err != nil || !st.IsDir() {
			t.Errorf("%s: no directory %s", a.name, a.dir)
		}
		if _, err := a.paths(); err != nil {
			t.Error(err)
		}
	}
}

func TestSource(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.go")
	if err := os.WriteFile(path, []byte("package x\n\nvar less, sum = 1 <= 2, -1 + 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind   string
		column int
		want   string
	}{
		{"CONDITIONALS_BOUNDARY", 19, "var less, sum = 1 < 2, -1 + 2"},
		{"CONDITIONALS_NEGATION", 19, "var less, sum = 1 > 2, -1 + 2"},
		{"INVERT_NEGATIVES", 25, "var less, sum = 1 <= 2, +1 + 2"},
		{"ARITHMETIC_BASE", 28, "var less, sum = 1 <= 2, -1 - 2"},
	} {
		got, err := (&mutant{Type: c.kind, Line: 3, Column: c.column, path: path}).source()
		if want := "package x\n\n" + c.want + "\n"; err != nil || string(got) != want {
			t.Errorf("%s at %d: %q, %v; want %q", c.kind, c.column, got, err, want)
		}
	}
	for _, m := range []mutant{{Type: "INVERT_LOGICAL", Line: 3, Column: 19}, {Type: "ARITHMETIC_BASE", Line: 3, Column: 27}, {Type: "ARITHMETIC_BASE", Line: 9, Column: 1}} {
		m.path = path
		if got, err := m.source(); err == nil {
			t.Errorf("%s: %q", &m, got)
		}
	}
}

func TestSample(t *testing.T) {
	list := func(order ...int) (all []*mutant) {
		for _, line := range order {
			all = append(all, &mutant{Type: "ARITHMETIC_BASE", Line: line, path: "a.go"}, &mutant{Type: "ARITHMETIC_BASE", Line: line, path: "b.go"})
		}
		return all
	}
	places := func(ms []*mutant) (places []string) {
		for _, m := range ms {
			places = append(places, m.place())
		}
		return places
	}
	every := regexp.MustCompile("")
	one := places(choose(list(1, 2, 3, 4, 5), every, 2, 7))
	other := places(choose(list(5, 3, 1, 2, 4), every, 2, 7))
	if len(one) != 4 || !slices.Equal(one, other) || !slices.IsSorted(one) {
		t.Errorf("samples with one seed: %v and %v", one, other)
	}
	if got := places(choose(list(2, 1, 3), regexp.MustCompile(`^a\.go:[13]:`), 0, 1)); !slices.Equal(got, []string{"a.go:1:0", "a.go:3:0"}) {
		t.Errorf("chosen by place: %v", got)
	}
}
