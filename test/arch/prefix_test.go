package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestErrorsWithoutPackages checks that no text begins with the name of a package of ours, as
// errors of libraries do: users see these texts, and know programs and options (ADR 0066).
// A panic is for developers and names its package.
func TestErrorsWithoutPackages(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, p := range list(t) {
		names[filepath.Base(p.ImportPath)] = true
	}
	delete(names, "gpg") // the program gpg is what its errors are about
	seen := 0
	err := filepath.WalkDir(root(t), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "test"):
			return filepath.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			return err
		}
		seen++
		for _, text := range textsOf(f) {
			value, err := strconv.Unquote(text.Value)
			if err != nil {
				return err
			}
			if name, _, ok := strings.Cut(value, ": "); ok && names[name] {
				t.Errorf("%s: %s begins with the name of a package", fset.Position(text.Pos()), text.Value)
			}
		}
		return nil
	})
	if err != nil || seen < 100 {
		t.Errorf("%d files read: %v", seen, err)
	}
}

// textsOf returns the string literals of f that are not arguments of a panic.
func textsOf(f *ast.File) (texts []*ast.BasicLit) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if fun, ok := n.Fun.(*ast.Ident); ok && fun.Name == "panic" {
				return false
			}
		case *ast.ImportSpec, *ast.Field: // paths and tags
			return false
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				texts = append(texts, n)
			}
		}
		return true
	})
	return texts
}
