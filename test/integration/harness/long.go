package harness

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gorosbag/gorosbag/internal/testkit"
)

// fullVar is the variable that makes the long tests run. With the value onlyLong, no other tests of
// test/integration run.
const (
	fullVar  = "GOROSBAG_FULL"
	onlyLong = "long"
)

var (
	longNames  sync.Map // the names of the tests and subtests that are long
	shortNames sync.Map // the names of the cases that LongCase has let run because they are not long
	shortRan   bool     // make test has run all that is not long; set before the first test
)

// Long skips a test, or a case of a test, that make test leaves out; make test-full runs it. The
// reason says why: what the test takes, such as its time, or what kind of test it is, such as a fault.
// Long fails inside a case that is not long: make test-full leaves out such a case with all its parts.
func Long(t *testing.T, reason string) {
	t.Helper()
	if partOf(&shortNames, t.Name()) {
		t.Fatal("neither make test nor make test-full would run this: call Long before LongCase or EachMaster, and no LongCase inside another one")
	}
	testkit.SkipUnlessFull(t, reason)
	longNames.Store(t.Name(), true)
}

// LongCase is Long for the long cases of a test. make test-full leaves out the other cases, unless
// the test itself is long.
func LongCase(t *testing.T, long bool, reason string) {
	t.Helper()
	switch {
	case long:
		Long(t, reason)
	case partOf(&longNames, t.Name()):
	case shortRan:
		t.Skip("make test has run it")
	default:
		shortNames.Store(t.Name(), true)
	}
}

// partOf reports whether a test, or a test that it is a part of, is among names.
func partOf(names *sync.Map, name string) bool {
	for {
		if _, ok := names.Load(name); ok {
			return true
		}
		end := strings.LastIndexByte(name, '/')
		if end < 0 {
			return false
		}
		name = name[:end]
	}
}

// Full reports whether the long tests run, too.
func Full() bool { return testkit.Full() }

// selectLong leaves out the tests of a package that are the same with and without Full: make test
// has run them. dir is the directory of the package, harness the one of this package.
func selectLong(dir, harness string) error {
	if run := flag.Lookup("test.run"); os.Getenv(fullVar) != onlyLong || run.Value.String() != "" {
		return nil
	}
	names, err := longTests(dir, harness)
	if err != nil || len(names) == 0 { // no test calls Full: the go command would take the result for that of all tests
		return err
	}
	shortRan = true
	return flag.Set("test.run", "^("+strings.Join(names, "|")+")$")
}

// longTests returns the names of the tests in dir that call Long or Full, themselves or in a
// function that they mention. It compares names only, and so may return more tests.
func longTests(dir, harness string) ([]string, error) {
	mentions := map[string][]string{} // by the name of a function, method or variable
	for _, d := range []string{dir, harness, filepath.Join(harness, "*")} {
		paths, err := filepath.Glob(filepath.Join(d, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			for name, node := range declarations(file) {
				ast.Inspect(node, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						mentions[name] = append(mentions[name], id.Name)
					}
					return true
				})
			}
		}
	}
	long := map[string]bool{"Long": true, "LongCase": true, "Full": true}
	for before := 0; before != len(long); {
		before = len(long)
		for name, ids := range mentions {
			if slices.ContainsFunc(ids, func(id string) bool { return long[id] }) {
				long[name] = true
			}
		}
	}
	test := regexp.MustCompile(`^(Test|Fuzz|Example)`)
	maps.DeleteFunc(long, func(name string, _ bool) bool { return !test.MatchString(name) })
	return slices.Sorted(maps.Keys(long)), nil
}

// declarations returns the functions, methods and variables of a file.
func declarations(file *ast.File) iter.Seq2[string, ast.Node] {
	return func(yield func(string, ast.Node) bool) {
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if !yield(d.Name.Name, d) {
					return
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					value, ok := spec.(*ast.ValueSpec)
					for i := 0; ok && i < len(value.Names); i++ {
						if !yield(value.Names[i].Name, value) {
							return
						}
					}
				}
			}
		}
	}
}
