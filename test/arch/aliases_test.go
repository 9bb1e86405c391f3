package arch_test

import (
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"testing"
)

// TestAliasesSayWhatTheyHave checks that the comment of an alias in a public package names each exported field of
// the internal struct that it stands for, or each method of the interface: go doc shows that comment, and nothing of the
// type.
func TestAliasesSayWhatTheyHave(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, p := range checkedPackages(t).packages {
		if !isPublic(p.name()) {
			continue
		}
		for name, doc := range typeComments(p.files) {
			alias, ok := p.types.Scope().Lookup(name).Type().(*types.Alias)
			if !ok || !ast.IsExported(name) {
				continue
			}
			named, ok := types.Unalias(alias).(*types.Named)
			if !ok || !isInternal(named.Obj().Pkg().Path()) {
				continue
			}
			seen++
			for _, member := range members(named) {
				if !regexp.MustCompile(`\b` + member + `\b`).MatchString(doc) {
					t.Errorf("%s.%s: the comment does not say that there is %s", p.name(), name, member)
				}
			}
		}
	}
	if seen < 40 {
		t.Errorf("%d aliases seen", seen)
	}
}

// typeComments returns the comments of the types that files declare, by name.
func typeComments(files []*ast.File) map[string]string {
	all := make(map[string]string)
	for _, f := range files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				if s, ok := s.(*ast.TypeSpec); ok {
					all[s.Name.Name] = g.Doc.Text() + s.Doc.Text()
				}
			}
		}
	}
	return all
}

// members returns the names of the exported fields of a struct, or of the methods of an interface without those of the
// interfaces that it embeds.
func members(named *types.Named) (names []string) {
	switch x := named.Underlying().(type) {
	case *types.Struct:
		for v := range x.Fields() {
			names = append(names, v.Name())
		}
	case *types.Interface:
		for f := range x.ExplicitMethods() {
			names = append(names, f.Name())
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return !ast.IsExported(name) })
}
