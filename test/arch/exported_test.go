package arch_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// libraries are the packages for programs of others.
var libraries = []string{"bagfmt", "bagfmt/chunk", "bagfmt/recovery", "rosbag", "rosmsg", "rosmsg/noetic"}

// calledByGo are methods that the standard library calls.
var calledByGo = []string{"Error", "Is", "Unwrap", "String"}

// TestExportedNamesAreUsed checks that each exported name of the libraries, with fields and methods,
// has a use outside its package and the tests, or in an example. A method that implements an interface
// of the module counts as used, and a type that a name which is used has or returns.
func TestExportedNamesAreUsed(t *testing.T) {
	t.Parallel()
	m := checkedPackages(t)
	used := make(map[string]bool)
	var interfaces []*types.Interface
	for _, p := range m.packages {
		m.addUses(used, p.ImportPath, p.files, p.info)
		for _, name := range p.types.Scope().Names() {
			if obj, ok := p.types.Scope().Lookup(name).(*types.TypeName); ok {
				if i, ok := obj.Type().Underlying().(*types.Interface); ok && i.NumMethods() > 0 {
					interfaces = append(interfaces, i)
				}
			}
		}
		if slices.Contains(libraries, p.name()) {
			examples := slices.DeleteFunc(slices.Clone(p.XTestGoFiles), func(name string) bool { return !strings.HasPrefix(name, "example") })
			files, info := m.parse(t, p.Dir, examples), newInfo()
			config := types.Config{Importer: m.imports, Error: func(error) {}} // helpers of other tests are missing
			_, _ = config.Check(p.ImportPath+"_test", m.fset, files, info)
			m.addUses(used, p.ImportPath+"_test", files, info)
		}
	}
	for _, p := range m.packages {
		if !slices.Contains(libraries, p.name()) {
			continue
		}
		declared := m.exported(p.types, interfaces)
		for _, key := range slices.Sorted(maps.Keys(declared)) {
			if !used[key] {
				t.Errorf("%s has no use outside its package, and in no example", declared[key])
			}
		}
	}
}

// key tells where an object is declared. It is the same for an object that comes from export data.
func (m *checkedModule) key(obj types.Object) string {
	at := m.fset.Position(obj.Pos())
	return fmt.Sprintf("%s/%s:%d %s", obj.Pkg().Path(), filepath.Base(at.Filename), at.Line, obj.Name())
}

// addUses adds what files of the package at path use of the libraries.
func (m *checkedModule) addUses(used map[string]bool, path string, files []*ast.File, info *types.Info) {
	add := func(obj types.Object) {
		switch o := obj.(type) {
		case *types.Var:
			obj = o.Origin()
		case *types.Func:
			obj = o.Origin()
		}
		if obj.Pkg() != nil && obj.Pkg().Path() != path && obj.Exported() && slices.Contains(libraries, strings.TrimPrefix(obj.Pkg().Path(), module)) {
			used[m.key(obj)] = true
			m.addTypes(used, obj.Type())
		}
	}
	for _, obj := range info.Uses {
		add(obj)
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok || len(lit.Elts) == 0 {
				return true
			}
			if _, named := lit.Elts[0].(*ast.KeyValueExpr); named || info.Types[lit].Type == nil {
				return true
			}
			if s, ok := info.Types[lit].Type.Underlying().(*types.Struct); ok {
				for v := range s.Fields() {
					add(v)
				}
			}
			return true
		})
	}
}

// addTypes adds the named types that are part of the type of a function or a variable.
func (m *checkedModule) addTypes(used map[string]bool, typ types.Type) {
	switch x := typ.(type) {
	case *types.Named:
		if obj := x.Origin().Obj(); obj.Pkg() != nil {
			used[m.key(obj)] = true
		}
		for a := range x.TypeArgs().Types() {
			m.addTypes(used, a)
		}
	case *types.Signature:
		for v := range x.Params().Variables() {
			m.addTypes(used, v.Type())
		}
		for v := range x.Results().Variables() {
			m.addTypes(used, v.Type())
		}
	case *types.Map:
		m.addTypes(used, x.Key())
		m.addTypes(used, x.Elem())
	case interface{ Elem() types.Type }: // a pointer, a slice, an array, a channel
		m.addTypes(used, x.Elem())
	}
}

// exported returns the exported names of a package that need a use, by their key.
func (m *checkedModule) exported(p *types.Package, interfaces []*types.Interface) map[string]string {
	all := make(map[string]string)
	add := func(obj types.Object, name string) {
		if token.IsExported(obj.Name()) {
			all[m.key(obj)] = strings.TrimPrefix(p.Path(), module) + "." + name
		}
	}
	for _, name := range p.Scope().Names() {
		obj := p.Scope().Lookup(name)
		add(obj, name)
		typ, ok := obj.(*types.TypeName)
		if !ok || !obj.Exported() {
			continue
		}
		if s, ok := typ.Type().Underlying().(*types.Struct); ok {
			for v := range s.Fields() {
				add(v, name+"."+v.Name())
			}
		}
		if named, ok := typ.Type().(*types.Named); ok {
			for f := range named.Methods() {
				if !slices.Contains(calledByGo, f.Name()) && !implements(named, f.Name(), interfaces) {
					add(f, name+"."+f.Name())
				}
			}
		}
	}
	return all
}

// implements reports whether a method makes a type implement one of the interfaces.
func implements(typ *types.Named, method string, interfaces []*types.Interface) bool {
	return slices.ContainsFunc(interfaces, func(i *types.Interface) bool {
		obj, _, _ := types.LookupFieldOrMethod(i, false, typ.Obj().Pkg(), method)
		return obj != nil && types.Implements(types.NewPointer(typ), i)
	})
}
