package arch_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// compiled is a package as go list describes it.
type compiled struct {
	ImportPath, Dir, Export string
	GoFiles, XTestGoFiles   []string
}

// name is the path of the package within the module.
func (c *compiled) name() string { return strings.TrimPrefix(c.ImportPath, module) }

// checked is a package of the module whose types were checked, without its tests.
type checked struct {
	compiled
	fset  *token.FileSet
	files []*ast.File
	types *types.Package
	info  *types.Info // Uses, and Types
}

// checkedModule is all packages of the module.
type checkedModule struct {
	fset     *token.FileSet
	imports  types.Importer
	packages []*checked
}

var (
	checkOnce sync.Once
	theModule *checkedModule // of checkedPackages; nil if the checks have failed
)

// checkedPackages checks the types of the packages of the module, once for all tests.
func checkedPackages(t *testing.T) *checkedModule {
	t.Helper()
	checkOnce.Do(func() { theModule = checkModule(t) })
	if theModule == nil {
		t.Fatal("the types of the module could not be checked, as another test says")
	}
	return theModule
}

func checkModule(t *testing.T) *checkedModule {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,XTestGoFiles", "./...")
	cmd.Dir, cmd.Stderr = root(t), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports := make(map[string]string)
	m := &checkedModule{fset: token.NewFileSet()}
	m.imports = importer.ForCompiler(m.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p compiled
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, module) {
			m.packages = append(m.packages, &checked{compiled: p, fset: m.fset})
		}
	}
	for _, p := range m.packages {
		p.files = m.parse(t, p.Dir, p.GoFiles)
		p.info = newInfo()
		if p.types, err = (&types.Config{Importer: m.imports}).Check(p.ImportPath, m.fset, p.files, p.info); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func newInfo() *types.Info {
	return &types.Info{Uses: make(map[*ast.Ident]types.Object), Types: make(map[ast.Expr]types.TypeAndValue)}
}

func (m *checkedModule) parse(t *testing.T, dir string, names []string) (files []*ast.File) {
	t.Helper()
	for _, name := range names {
		f, err := parser.ParseFile(m.fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}
