package arch_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var updateSizes = flag.Bool("update-sizes", false, "lower the limits in testdata/sizes.txt to what the packages are")

// size is how large a package is, or may be.
type size struct {
	cycle int // files that all refer to each other, directly or not
	lines int
	files int
}

// measured is a size with the names of the files in the cycle.
type measured struct {
	size
	cycleOf []string
}

// tooLarge returns what in the package is larger than a limit, and how a change that adds to it can fit.
func (m *measured) tooLarge(limit size) (complaints []string) {
	check := func(is, most int, what, advice string) {
		if is > most {
			complaints = append(complaints, fmt.Sprintf("%s are %d, more than %d: %s", what, is, most, advice))
		}
	}
	check(m.cycle, limit.cycle, "the files that all refer to each other, directly or not,", strings.Join(m.cycleOf, ", ")+
		". Put what you add where it needs no declaration of another of these files, or pass it what it needs")
	check(m.lines, limit.lines, "the lines", "is it one idea? A part that can do without the rest becomes a package")
	check(m.files, limit.files, "the files", "is it one idea? A part that can do without the rest becomes a package")
	return complaints
}

// sizeLimits are for packages that are not in testdata/sizes.txt.
var sizeLimits = size{cycle: 6, lines: 1900, files: 16}

const sizeFormat = "cycle=%d lines=%d files=%d"

// TestSizes checks that packages are not larger than what somebody reads as a whole, and that those which are do not
// grow: the limits in testdata/sizes.txt only fall. -update-sizes lowers them.
func TestSizes(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "sizes.txt")
	limits := readSizes(t, path)
	left := make(map[string]size)
	for _, p := range checkedPackages(t).packages {
		m, limit := measure(p), sizeLimits
		listed, isListed := limits[p.name()]
		if isListed {
			limit = listed
		}
		for _, complaint := range m.tooLarge(limit) {
			if !isListed {
				complaint += ". If it came from a larger package, list it in " + path
			}
			t.Errorf("%s: %s", p.name(), complaint)
		}
		lines := (m.lines + 49) / 50 * 50 // so that a bug fix of a few lines needs no new limit
		lower := size{
			cycle: max(min(m.cycle, limit.cycle), sizeLimits.cycle),
			lines: max(min(lines, limit.lines), sizeLimits.lines),
			files: max(min(m.files, limit.files), sizeLimits.files),
		}
		if lower != sizeLimits {
			left[p.name()] = lower
		}
	}
	if *updateSizes {
		writeSizes(t, path, left)
	}
}

func TestLargestCycle(t *testing.T) {
	t.Parallel()
	uses := map[string]map[string]bool{
		"a": {"b": true, "a": true}, "b": {"c": true}, "c": {"a": true, "d": true}, // a cycle, which uses the others
		"d": {"e": true}, "e": {"d": true, "f": true},
	}
	if got, want := largestCycle(uses), []string{"a", "b", "c"}; !slices.Equal(got, want) {
		t.Errorf("files in a cycle: %q, want %q", got, want)
	}
	if got := largestCycle(map[string]map[string]bool{"a": {"a": true, "b": true}}); len(got) != 0 {
		t.Errorf("files in a cycle: %q, want none", got)
	}
}

// TestTooLarge: somebody who adds a helper to a full package learns what is full, and what to do.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	full := measured{size{cycle: 2, lines: 100, files: 5}, []string{"a.go", "b.go"}}
	for _, tc := range []struct {
		limit size
		want  []string // parts of the complaint
	}{
		{full.size, nil},
		{size{1, 100, 5}, []string{"are 2, more than 1: a.go, b.go. Put what"}},
		{size{2, 99, 5}, []string{"the lines are 100, more than 99: is it one idea?"}},
		{size{2, 100, 4}, []string{"the files are 5, more than 4: is it one idea?"}},
	} {
		got := full.tooLarge(tc.limit)
		if !slices.EqualFunc(got, tc.want, strings.Contains) {
			t.Errorf("limit %+v: %q, want parts %q", tc.limit, got, tc.want)
		}
	}
}

func readSizes(t *testing.T, path string) map[string]size {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]size)
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var name string
		var s size
		if _, err := fmt.Sscanf(line, "%s "+sizeFormat, &name, &s.cycle, &s.lines, &s.files); err != nil {
			t.Fatalf("%s: %q: %v", path, line, err)
		}
		all[name] = s
	}
	return all
}

func writeSizes(t *testing.T, path string, all map[string]size) {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("# Packages that are larger than others may be. Written by go test ./test/arch -update-sizes, which only lowers limits.\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%s "+sizeFormat+"\n", name, all[name].cycle, all[name].lines, all[name].files)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// measure measures a package without its tests.
func measure(p *checked) (m measured) {
	for _, f := range p.files {
		m.lines += p.fset.File(f.Package).LineCount()
	}
	m.files = len(p.files)
	m.cycleOf = largestCycle(references(p.fset, p.types, p.info))
	m.cycle = max(1, len(m.cycleOf))
	return m
}

// references returns which files use what others declare: names of the package, methods, fields.
func references(fset *token.FileSet, pkg *types.Package, info *types.Info) map[string]map[string]bool {
	uses := make(map[string]map[string]bool)
	for id, obj := range info.Uses {
		v, isVar := obj.(*types.Var)
		_, isFunc := obj.(*types.Func)
		member := isFunc || isVar && v.IsField()
		if obj.Pkg() != pkg || !member && obj.Parent() != pkg.Scope() {
			continue
		}
		from, to := filepath.Base(fset.Position(id.Pos()).Filename), filepath.Base(fset.Position(obj.Pos()).Filename)
		if uses[from] == nil {
			uses[from] = make(map[string]bool)
		}
		uses[from][to] = true
	}
	return uses
}

// largestCycle returns the largest group of files that all reach each other, in order; nil if no two files do.
func largestCycle(uses map[string]map[string]bool) (largest []string) {
	reached := make(map[string]map[string]bool)
	for from := range uses {
		seen := make(map[string]bool)
		for todo := []string{from}; len(todo) > 0; {
			f := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			for to := range uses[f] {
				if !seen[to] {
					seen[to] = true
					todo = append(todo, to)
				}
			}
		}
		reached[from] = seen
	}
	for _, from := range slices.Sorted(maps.Keys(reached)) {
		cycle := []string{from}
		for to := range reached[from] {
			if to != from && reached[to][from] {
				cycle = append(cycle, to)
			}
		}
		if len(cycle) > max(1, len(largest)) {
			slices.Sort(cycle)
			largest = cycle
		}
	}
	return largest
}
