package main

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// code is a package with its types.
type code struct {
	name  string
	files []*sourceFile
	set   *token.FileSet
	types *types.Package
	info  *types.Info
}

// sourceFile is a file of a package, without its tests.
type sourceFile struct {
	path string
	text []byte
	tree *ast.File
}

// load reads the package in dir. The go command compiles what the package imports.
func load(ctx context.Context, dir string) (*code, error) {
	p, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(p.GoFiles))
	for i, name := range p.GoFiles {
		paths[i] = filepath.Join(dir, name)
	}
	list := exec.CommandContext(ctx, "go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", "./"+dir)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, export, _ := strings.Cut(strings.TrimSpace(line), "\t")
		exports[path] = export
	}
	return check(p.Name, paths, os.ReadFile, func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
}

// check parses a package and finds its types.
func check(name string, paths []string, read func(path string) ([]byte, error), export importer.Lookup) (*code, error) {
	c := &code{
		name: name,
		set:  token.NewFileSet(),
		info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}},
	}
	trees := make([]*ast.File, 0, len(paths))
	for _, path := range paths {
		text, err := read(path)
		if err != nil {
			return nil, err
		}
		tree, err := parser.ParseFile(c.set, path, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		trees = append(trees, tree)
		c.files = append(c.files, &sourceFile{path, text, tree})
	}
	var err error
	c.types, err = (&types.Config{Importer: importer.ForCompiler(c.set, "gc", export)}).Check(name, c.set, trees, c.info)
	return c, err
}

// mutants returns the mutants of a file. Strings can be added, but nothing else, and the types in
// a constraint have no other operator than |.
func (c *code) mutants(f *sourceFile) []*mutant {
	return slices.DeleteFunc(mutantsOf(f.path, c.set, f.tree), func(m *mutant) bool {
		var operand ast.Expr
		switch n := m.node.(type) {
		case *ast.BinaryExpr:
			operand = n
		case *ast.AssignStmt:
			operand = n.Lhs[0]
		default:
			return false
		}
		if c.info.Types[operand].IsType() {
			return true
		}
		t, ok := c.info.Types[operand].Type.Underlying().(*types.Basic)
		return ok && t.Info()&types.IsString != 0
	})
}

// withSwitches returns the text of a file that has, beside each original operator, those of its
// mutants that can have a switch. It numbers these mutants from last+1, and returns the last number.
// The mutants are all of this file.
func (c *code) withSwitches(f *sourceFile, mutants []*mutant, last int) (text []byte, newLast int) {
	w := &switches{c: c, f: f}
	for _, m := range mutants {
		kind, ok := w.kind(m.node)
		if !ok {
			continue
		}
		last++
		m.id = last
		if n := len(w.sites); n > 0 && w.sites[n-1].node == m.node { // mutants are in the order of the text
			w.sites[n-1].mutants = append(w.sites[n-1].mutants, m)
			continue
		}
		w.sites = append(w.sites, &site{node: m.node, kind: kind, mutants: []*mutant{m}})
	}
	// The outermost of the nodes that begin at a place comes first.
	slices.SortFunc(w.sites, func(a, b *site) int {
		if a.node.Pos() != b.node.Pos() {
			return int(a.node.Pos() - b.node.Pos())
		}
		return int(b.node.End() - a.node.End())
	})
	return []byte(w.between(f.tree.FileStart, f.tree.FileEnd)), last
}

// switches writes a file with switches.
type switches struct {
	c     *code
	f     *sourceFile
	sites []*site
}

// site is an expression or statement that has mutants.
type site struct {
	node    ast.Node
	kind    string // the type of an expression
	mutants []*mutant
}

// between returns the text between two places, with switches.
func (w *switches) between(from, to token.Pos) string {
	var b strings.Builder
	for _, s := range w.sites {
		if s.node.Pos() < from || s.node.End() > to {
			continue
		}
		b.Write(w.source(from, s.node.Pos()))
		b.WriteString(w.at(s))
		from = s.node.End()
	}
	b.Write(w.source(from, to))
	return b.String()
}

// source returns the text between two places as it is.
func (w *switches) source(from, to token.Pos) []byte {
	start := w.f.tree.FileStart
	return w.f.text[from-start : to-start]
}

// at returns a site with its switches.
func (w *switches) at(s *site) string {
	of := func(n ast.Node) string { return w.between(n.Pos(), n.End()) }
	switch n := s.node.(type) {
	case *ast.BinaryExpr:
		if n.Op == token.LAND || n.Op == token.LOR {
			return shortCircuit(of(n.X), of(n.Y), n.Op, s.mutants[0])
		}
		return s.expression(of(n.X), of(n.Y), n.Op)
	case *ast.UnaryExpr:
		return s.expression("", of(n.X), n.Op)
	case *ast.IncDecStmt:
		return s.statement(of(n.X), "", n.Tok)
	case *ast.AssignStmt:
		return s.statement(of(n.Lhs[0]), of(n.Rhs[0]), n.Tok)
	case *ast.BranchStmt:
		return fmt.Sprintf("if mutantIs(%d) { %s }; %s", s.mutants[0].id, s.mutants[0].to, n.Tok)
	}
	panic(fmt.Sprintf("mutate: a site of type %T", s.node)) // kind knows these
}

// shortCircuit writes each operand once: a copy for the mutant would double the text with each
// operand of nested conditions.
func shortCircuit(x, y string, operator token.Token, m *mutant) string {
	return fmt.Sprintf("(func() bool { mutantOr := mutantIs(%d) != %t; if mutantLeft := bool(%s); mutantLeft == mutantOr { return mutantOr }; return %s }())",
		m.id, operator == token.LOR, x, y)
}

func (s *site) expression(x, y string, operator token.Token) string {
	var b strings.Builder
	fmt.Fprintf(&b, "(func() %s { ", s.kind)
	for _, m := range s.mutants {
		fmt.Fprintf(&b, "if mutantIs(%d) { return %s %s %s }; ", m.id, x, m.to, y)
	}
	fmt.Fprintf(&b, "return %s %s %s }())", x, operator, y)
	return b.String()
}

func (s *site) statement(x, y string, operator token.Token) string {
	var b strings.Builder
	b.WriteString("func() { ")
	for _, m := range s.mutants {
		fmt.Fprintf(&b, "if mutantIs(%d) { %s %s %s; return }; ", m.id, x, m.to, y)
	}
	fmt.Fprintf(&b, "%s %s %s }()", x, operator, y)
	return b.String()
}

// kind returns the type of an expression, as the file can write it, and whether the node can
// have switches. A constant cannot.
func (w *switches) kind(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.IncDecStmt, *ast.AssignStmt:
		return "", true
	case *ast.BranchStmt:
		return "", n.Label == nil && w.inFiniteLoop(n)
	case ast.Expr:
		t := w.c.info.Types[n]
		if t.Value != nil {
			return "", false
		}
		return w.typeName(types.Default(t.Type))
	}
	return "", false
}

// inFiniteLoop reports whether the innermost loop around a statement has a condition: both
// break and continue compile there. After an endless loop, a break needs a return.
func (w *switches) inFiniteLoop(of ast.Node) bool {
	finite := false
	ast.Inspect(w.f.tree, func(n ast.Node) bool {
		if n == nil || n.Pos() > of.Pos() || n.End() < of.End() {
			return false
		}
		switch n := n.(type) { // the innermost comes last
		case *ast.ForStmt:
			finite = n.Cond != nil
		case *ast.RangeStmt:
			finite = true
		case *ast.FuncLit:
			finite = false
		}
		return true
	})
	return finite
}

// typeName returns the name of a type in the file, if the file can name it.
func (w *switches) typeName(t types.Type) (name string, ok bool) {
	if n, is := types.Unalias(t).(*types.Named); is && !n.Obj().Exported() && n.Obj().Pkg() != nil && n.Obj().Pkg() != w.c.types {
		return "", false
	}
	ok = true
	name = types.TypeString(t, func(p *types.Package) string {
		if p == w.c.types {
			return ""
		}
		for _, s := range w.f.tree.Imports {
			if strings.Trim(s.Path.Value, `"`) == p.Path() {
				if s.Name != nil {
					return s.Name.Name
				}
				return p.Name()
			}
		}
		ok = false
		return p.Name()
	})
	return name, ok
}

// The environment of a test program with switches.
const (
	switchOn = "GOROSBAG_MUTANT"          // the id of the mutant that is on
	reached  = "GOROSBAG_MUTANTS_REACHED" // the file into which the ids of reached switches are written
)

// switchFile returns a file for the package of the mutants, with n switches.
func switchFile(name string, n int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `package %s

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
)

var (
	mutantOn, _   = strconv.Atoi(os.Getenv(%q))
	mutantReached = os.Getenv(%q)
	mutantSeen    [%d]atomic.Bool
)

func mutantIs(id int) bool {
	if mutantReached != "" {
		mutantNote(id)
	}
	return id == mutantOn
}

func mutantNote(id int) {
	if mutantSeen[id].Swap(true) {
		return
	}
	f, err := os.OpenFile(mutantReached, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(f, id)
	f.Close()
}
`, name, switchOn, reached, n+1)
	return b.Bytes()
}
