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
		r, limit := rooms[name], roomLimits
		if listed, ok := limits[name]; ok {
			limit = listed
		}
		excess := func(what string, is, most int) {
			if is > most {
				t.Errorf("%s: %s are %d, more than %d: is it one idea? If it came from a larger package, list it in %s", name, what, is, most, path)
			}
		}
		excess("the files in a cycle", r.cycle, limit.cycle)
		excess("the lines", r.lines, limit.lines)
		excess("the methods of its largest type", r.methods, limit.methods)
		excess("the fields of its largest type", r.fields, limit.fields)
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
	if got := largestCycle(uses); got != 3 {
		t.Errorf("%d files in a cycle, want 3", got)
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
func measureRooms(t *testing.T) map[string]room {
	t.Helper()
	rooms := make(map[string]room)
	for _, p := range checkedPackages(t).packages {
		rooms[p.name()] = measureRoom(p)
	}
	return rooms
}

func measureRoom(p *checked) (r room) {
	for _, f := range p.files {
		r.lines += p.fset.File(f.Package).LineCount()
	}
	r.cycle = largestCycle(references(p.fset, p.types, p.info))
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
		r.methods = max(r.methods, methods)
		if methods > 0 && !isPlain(p.name()+"."+name) {
			r.fields = max(r.fields, fields)
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
		from, to := fset.Position(id.Pos()).Filename, fset.Position(obj.Pos()).Filename
		if uses[from] == nil {
			uses[from] = make(map[string]bool)
		}
		uses[from][to] = true
	}
	return uses
}

// largestCycle returns how many files are in the largest group whose files all reach each other.
func largestCycle(uses map[string]map[string]bool) int {
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
	largest := 1
	for from := range reached {
		n := 1
		for to := range reached[from] {
			if to != from && reached[to][from] {
				n++
			}
		}
		largest = max(largest, n)
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
