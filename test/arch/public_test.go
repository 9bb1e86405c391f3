package arch_test

import (
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"
)

// isPublic reports whether programs of others can import a package of the module.
func isPublic(name string) bool {
	return !isInternal(name) && !slices.ContainsFunc([]string{"cmd", "test", "packaging"}, func(folder string) bool { return within(name, folder) })
}

func isInternal(path string) bool { return slices.Contains(strings.Split(path, "/"), "internal") }

// TestPublicTypes checks that what a public package declares names no type of an internal package of ours: it names an
// alias in a public package instead, of which go doc says what it is. The fields of a type with such an alias, and the
// methods if it is an interface, lead to types that have an alias, too.
func TestPublicTypes(t *testing.T) {
	t.Parallel()
	m := checkedPackages(t)
	s := &shown{aliased: make(map[string]bool), found: make(map[string]bool)}
	public := 0
	var objects []types.Object
	for _, p := range m.packages {
		if !isPublic(p.name()) {
			continue
		}
		public++
		for _, name := range p.types.Scope().Names() {
			obj := p.types.Scope().Lookup(name)
			if !obj.Exported() {
				continue
			}
			objects = append(objects, obj)
			if a, ok := obj.Type().(*types.Alias); ok {
				if named, ok := types.Unalias(a).(*types.Named); ok {
					s.aliased[typeKey(named.Obj())] = true
				}
			}
		}
	}
	for _, obj := range objects {
		s.object(obj)
	}
	for _, complaint := range slices.Sorted(maps.Keys(s.found)) {
		t.Errorf("%s: declare an alias in a public package, and name that", complaint)
	}
	if public < 10 || len(s.aliased) < 20 {
		t.Errorf("%d packages, %d aliases seen", public, len(s.aliased))
	}
}

func typeKey(obj *types.TypeName) string { return obj.Pkg().Path() + "." + obj.Name() }

// shown walks through what public packages show.
type shown struct {
	aliased map[string]bool // internal types with an alias in a public package
	found   map[string]bool
}

// object looks at what is declared in a public package.
func (s *shown) object(obj types.Object) {
	place := strings.TrimPrefix(obj.Pkg().Path(), module) + "." + obj.Name()
	switch o := obj.(type) {
	case *types.Const: // the type of a constant is an alias, too, if it is one of a group
	case *types.TypeName:
		alias, deep := o.Type().(*types.Alias)
		named, ok := types.Unalias(o.Type()).(*types.Named)
		if deep && ok && !isInternal(named.Obj().Pkg().Path()) {
			return // the package of that type is looked at
		}
		if deep && !ok {
			s.typ(alias.Rhs(), place, false)
			return
		}
		s.typ(named.Underlying(), place, deep)
		for f := range named.Methods() {
			if f.Exported() && !deep {
				s.typ(f.Type(), place+"."+f.Name(), false)
			}
		}
	default:
		s.typ(obj.Type(), place, false)
	}
}

// typ looks at a type that is shown. deep says that it is part of an internal type, which has an alias.
func (s *shown) typ(typ types.Type, place string, deep bool) {
	switch x := typ.(type) {
	case *types.Alias:
		if obj := x.Obj(); obj.Pkg() != nil && isInternal(obj.Pkg().Path()) {
			s.typ(types.Unalias(x), place, deep)
		}
	case *types.Named:
		obj := x.Obj()
		ours := obj.Pkg() != nil && strings.HasPrefix(obj.Pkg().Path(), module)
		if ours && isInternal(obj.Pkg().Path()) && (!deep || !s.aliased[typeKey(obj)]) {
			s.found[place+" shows "+strings.TrimPrefix(typeKey(obj), module)] = true
		}
		for a := range x.TypeArgs().Types() {
			s.typ(a, place, deep)
		}
	case *types.Struct:
		for v := range x.Fields() {
			if v.Exported() {
				s.typ(v.Type(), place+"."+v.Name(), deep)
			}
		}
	case *types.Interface:
		for f := range x.Methods() {
			if f.Exported() {
				s.typ(f.Type(), place+"."+f.Name(), deep)
			}
		}
	case *types.Signature:
		for v := range x.Params().Variables() {
			s.typ(v.Type(), place, deep)
		}
		for v := range x.Results().Variables() {
			s.typ(v.Type(), place, deep)
		}
	case *types.Map:
		s.typ(x.Key(), place, deep)
		s.typ(x.Elem(), place, deep)
	case interface{ Elem() types.Type }: // a pointer, a slice, an array, a channel
		s.typ(x.Elem(), place, deep)
	}
}
