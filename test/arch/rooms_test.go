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

var updateRooms = flag.Bool("update-rooms", false, "lower the limits in testdata/rooms.txt to what the packages are")

// room is how large a package is, or may be.
type room struct {
	cycle   int // files that all refer to each other, directly or not
	lines   int
	methods int // of the type that has most, with those of the types that it embeds
	fields  int // of the type with methods that has most, but for plainStructs
}

// measured is a room with what its figures are about.
type measured struct {
	room
	cycleOf   []string // names of the files
	methodsOf string   // name of the type
	fieldsOf  string   // name of the type
}

// tooLarge returns what in the package is larger than a limit, and how a change that adds to it can fit.
func (m *measured) tooLarge(limit room) (complaints []string) {
	check := func(is, most int, what, advice string) {
		if is > most {
			complaints = append(complaints, fmt.Sprintf("%s are %d, more than %d: %s", what, is, most, advice))
		}
	}
	check(m.cycle, limit.cycle, "the files that all refer to each other, directly or not,", strings.Join(m.cycleOf, ", ")+
		". Put what you add where it needs no declaration of another of these files, or pass it what it needs")
	check(m.lines, limit.lines, "the lines", "is it one idea? A part that can do without the rest becomes a package")
	check(m.methods, limit.methods, "the methods of "+m.methodsOf, "make a function of what needs few of its fields, or a type of these fields with the methods on them")
	check(m.fields, limit.fields, "the fields of "+m.fieldsOf, "make a type of fields that change together, with the methods on them")
	return complaints
}

// roomLimits are for packages that are not in testdata/rooms.txt.
var roomLimits = room{cycle: 6, lines: 1800, methods: 30, fields: 18}

const roomFormat = "cycle=%d lines=%d methods=%d fields=%d"

// plainStructs are types that may have many fields: options, and figures that are only put
// together. They are named with their package, or by the end of their name.
var plainStructs = []string{
	"bagfmt/internal/wire.RecordHeader", // one field for each of the format
	"Flags", "Info", "Options", "Stats", "Status", "Summary",
}

func isPlain(name string) bool {
	return slices.ContainsFunc(plainStructs, func(s string) bool { return strings.HasSuffix(name, s) })
}

// TestRooms checks that packages are not larger than a room, and that those which are do not
// grow: the limits in testdata/rooms.txt only fall. -update-rooms lowers them.
func TestRooms(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "rooms.txt")
	limits := readRooms(t, path)
	rooms := measureRooms(t)
	left := make(map[string]room)
	for _, name := range slices.Sorted(maps.Keys(rooms)) {
		m, limit := rooms[name], roomLimits
		listed, isListed := limits[name]
		if isListed {
			limit = listed
		}
		for _, complaint := range m.tooLarge(limit) {
			if !isListed {
				complaint += ". If it came from a larger package, list it in " + path
			}
			t.Errorf("%s: %s", name, complaint)
		}
		r := m.room
		r.lines = (r.lines + 49) / 50 * 50 // so that a bug fix of a few lines needs no new limit
		lower := room{
			max(min(r.cycle, limit.cycle), roomLimits.cycle), max(min(r.lines, limit.lines), roomLimits.lines),
			max(min(r.methods, limit.methods), roomLimits.methods), max(min(r.fields, limit.fields), roomLimits.fields),
		}
		if lower != roomLimits {
			left[name] = lower
		}
	}
	if *updateRooms {
		writeRooms(t, path, left)
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
	full := measured{room{cycle: 2, lines: 100, methods: 5, fields: 5}, []string{"a.go", "b.go"}, "Player", "Clock"}
	for _, tc := range []struct {
		limit room
		want  []string // parts of the complaint
	}{
		{full.room, nil},
		{room{1, 100, 5, 5}, []string{"are 2, more than 1: a.go, b.go. Put what"}},
		{room{2, 99, 5, 5}, []string{"the lines are 100, more than 99: is it one idea?"}},
		{room{2, 100, 4, 5}, []string{"the methods of Player are 5, more than 4: make a function"}},
		{room{2, 100, 5, 4}, []string{"the fields of Clock are 5, more than 4: make a type"}},
	} {
		got := full.tooLarge(tc.limit)
		if !slices.EqualFunc(got, tc.want, strings.Contains) {
			t.Errorf("limit %+v: %q, want parts %q", tc.limit, got, tc.want)
		}
	}
}

func readRooms(t *testing.T, path string) map[string]room {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]room)
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var name string
		var r room
		if _, err := fmt.Sscanf(line, "%s "+roomFormat, &name, &r.cycle, &r.lines, &r.methods, &r.fields); err != nil {
			t.Fatalf("%s: %q: %v", path, line, err)
		}
		all[name] = r
	}
	return all
}

func writeRooms(t *testing.T, path string, all map[string]room) {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("# Packages that are larger than a room. Written by go test ./test/arch -update-rooms, which only lowers limits.\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		r := all[name]
		fmt.Fprintf(&b, "%s "+roomFormat+"\n", name, r.cycle, r.lines, r.methods, r.fields)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// measureRooms measures the packages of the module without their tests.
func measureRooms(t *testing.T) map[string]measured {
	t.Helper()
	rooms := make(map[string]measured)
	for _, p := range checkedPackages(t).packages {
		rooms[p.name()] = measureRoom(p)
	}
	return rooms
}

func measureRoom(p *checked) (r measured) {
	for _, f := range p.files {
		r.lines += p.fset.File(f.Package).LineCount()
	}
	r.cycleOf = largestCycle(references(p.fset, p.types, p.info))
	r.cycle = max(1, len(r.cycleOf))
	for _, name := range p.types.Scope().Names() {
		obj, ok := p.types.Scope().Lookup(name).(*types.TypeName)
		if !ok || obj.IsAlias() {
			continue
		}
		named, ok := obj.Type().(*types.Named)
		if !ok {
			continue
		}
		methods, fields := sizeOf(named, make(map[*types.Named]bool))
		if methods > r.methods {
			r.methods, r.methodsOf = methods, name
		}
		if methods > 0 && fields > r.fields && !isPlain(p.name()+"."+name) {
			r.fields, r.fieldsOf = fields, name
		}
	}
	return r
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

// sizeOf counts the methods and fields of a type and of the structs of its package that it embeds.
func sizeOf(n *types.Named, seen map[*types.Named]bool) (methods, fields int) {
	if seen[n] {
		return 0, 0
	}
	seen[n] = true
	methods = n.NumMethods()
	s, ok := n.Underlying().(*types.Struct)
	if !ok {
		return methods, 0
	}
	for f := range s.Fields() {
		typ := f.Type()
		if p, ok := typ.(*types.Pointer); ok {
			typ = p.Elem()
		}
		embedded, ok := typ.(*types.Named)
		if f.Embedded() && ok && embedded.Obj().Pkg() == n.Obj().Pkg() {
			if _, ok := embedded.Underlying().(*types.Struct); ok {
				m, k := sizeOf(embedded, seen)
				methods, fields = methods+m, fields+k
				continue
			}
		}
		fields++
	}
	return methods, fields
}
