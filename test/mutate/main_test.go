package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestAreas: each area names a package and files that exist, and has tests. Each pattern of
// slow tests is that of a folder that areas use.
func TestAreas(t *testing.T) {
	t.Chdir("../..")
	used := map[string]bool{}
	for _, a := range areas {
		if _, err := a.paths(); err != nil {
			t.Error(err)
		}
		stages := a.stages(t.TempDir())
		if len(stages) == 0 {
			t.Errorf("%s: no tests", a.name)
		}
		for _, s := range stages {
			used[s.folder] = true
		}
		for folder := range strings.FieldsSeq(a.tests) {
			if !used[folder] {
				t.Errorf("%s: no tests in %s", a.name, folder)
			}
		}
	}
	for folder := range slow {
		if !used[folder] {
			t.Errorf("no area uses the tests of %s", folder)
		}
	}
}

// TestStages: the tests of the package itself come first, the slow ones of a folder last.
func TestStages(t *testing.T) {
	t.Chdir("../..")
	var got []string
	for _, s := range (&area{dir: "bagfmt/chunk", tests: "bagfmt"}).stages(t.TempDir()) {
		got = append(got, s.folder+" "+s.which)
	}
	want := []string{"bagfmt/chunk -test.skip=", "bagfmt -test.skip=" + slow["bagfmt"], "bagfmt -test.run=" + slow["bagfmt"]}
	if !slices.Equal(got, want) {
		t.Errorf("stages %q, want %q", got, want)
	}
}

func TestMutants(t *testing.T) {
	for _, c := range []struct {
		src  string
		want []string
	}{
		{"var less = 1 <= 2", []string{"var less = 1 < 2", "var less = 1 > 2"}},
		{"var sum = -1 + 2", []string{"var sum = +1 + 2", "var sum = -1 - 2"}},
		{"var é, p = 4 &^ 1, &x", []string{"var é, p = 4 & 1, &x"}},
		{"func f() { for { n++; n -= 2; break } }", []string{
			"func f() { for { n--; n -= 2; break } }",
			"func f() { for { n++; n += 2; break } }",
			"func f() { for { n++; n -= 2; continue } }",
		}},
		{"func f(p *int) bool { return !ok && *p == <-c }", []string{
			"func f(p *int) bool { return !ok || *p == <-c }",
			"func f(p *int) bool { return !ok && *p != <-c }",
		}},
	} {
		src := []byte("package x\n\n" + c.src)
		mutants, err := mutantsOf("x.go", src)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range mutants {
			got = append(got, string(m.apply(src))[len("package x\n\n"):])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.src, got, c.want)
		}
	}
	if _, err := mutantsOf("x.go", []byte("package x; var a = 1 +")); err == nil {
		t.Error("a file that cannot be parsed has mutants")
	}
}

func TestSample(t *testing.T) {
	list := func(order ...int) (all []*mutant) {
		for _, line := range order {
			for _, path := range []string{"a.go", "b.go"} {
				m := &mutant{path: path}
				m.pos.Line, m.pos.Offset = line, 10*line
				all = append(all, m)
			}
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
	if len(one) != 4 || !slices.IsSorted(one) {
		t.Errorf("a sample of two of each file: %v", one)
	}
	if again := places(choose(list(1, 2, 3, 4, 5), every, 2, 7)); !slices.Equal(one, again) {
		t.Errorf("samples with one seed: %v and %v", one, again)
	}
	if got := places(choose(list(1, 2, 3), regexp.MustCompile(`^a\.go:[13]:`), 0, 1)); !slices.Equal(got, []string{"a.go:1:0", "a.go:3:0"}) {
		t.Errorf("chosen by place: %v", got)
	}
}
