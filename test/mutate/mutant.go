package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"math/rand/v2"
	"regexp"
	"slices"
)

// mutant is one changed operator.
type mutant struct {
	path string
	node ast.Node       // the expression or statement of the operator
	pos  token.Position // of the operator
	from string         // the operator
	to   string         // what takes its place

	id     int    // of its switch, from 1; 0 for none
	status string // what became of the mutant; empty until the tests ran
}

// The statuses of a mutant.
const (
	notViable = "NOT VIABLE" // does not compile
	killed    = "KILLED"
	timedOut  = "TIMED OUT"
	lived     = "LIVED"
	unreached = "NOT REACHED" // no test executes the operator
)

func (m *mutant) String() string {
	return fmt.Sprintf("%s: %s: %s becomes %s", m.status, m.place(), m.from, m.to)
}

// unnoticed reports whether no test has noticed the mutant.
func (m *mutant) unnoticed() bool { return m.status == lived || m.status == unreached }

func (m *mutant) place() string {
	return fmt.Sprintf("%s:%d:%d", m.path, m.pos.Line, m.pos.Column)
}

// apply returns the text of the file with the operator changed.
func (m *mutant) apply(src []byte) []byte {
	return slices.Concat(src[:m.pos.Offset], []byte(m.to), src[m.pos.Offset+len(m.from):])
}

// changes says what takes the place of an operator: each text makes a mutant.
var changes = map[token.Token][]string{
	token.ADD: {"-"}, token.SUB: {"+"}, token.MUL: {"/"}, token.QUO: {"*"}, token.REM: {"*"},
	token.EQL: {"!="}, token.NEQ: {"=="},
	token.GEQ: {">", "<"}, token.GTR: {">=", "<="}, token.LEQ: {"<", ">"}, token.LSS: {"<=", ">="},
	token.LAND: {"||"}, token.LOR: {"&&"},
	token.AND: {"|"}, token.OR: {"&"}, token.XOR: {"&"}, token.AND_NOT: {"&"}, token.SHL: {">>"}, token.SHR: {"<<"},
	token.INC: {"--"}, token.DEC: {"++"},
	token.ADD_ASSIGN: {"-="}, token.SUB_ASSIGN: {"+="}, token.MUL_ASSIGN: {"/="}, token.QUO_ASSIGN: {"*="}, token.REM_ASSIGN: {"*="},
	token.AND_ASSIGN: {"|="}, token.OR_ASSIGN: {"&="}, token.XOR_ASSIGN: {"&="}, token.AND_NOT_ASSIGN: {"&="},
	token.SHL_ASSIGN: {">>="}, token.SHR_ASSIGN: {"<<="},
	token.BREAK: {"continue"}, token.CONTINUE: {"break"},
}

// mutantsOf returns the mutants of a file, in the order of its text.
func mutantsOf(path string, files *token.FileSet, file *ast.File) []*mutant {
	var mutants []*mutant
	change := func(n ast.Node, at token.Pos, operator token.Token) {
		for _, to := range changes[operator] {
			mutants = append(mutants, &mutant{path: path, pos: files.Position(at), node: n, from: operator.String(), to: to})
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			change(n, n.OpPos, n.Op)
		case *ast.UnaryExpr:
			if n.Op == token.SUB { // the others take an address, receive or invert
				change(n, n.OpPos, n.Op)
			}
		case *ast.IncDecStmt:
			change(n, n.TokPos, n.Tok)
		case *ast.AssignStmt:
			change(n, n.TokPos, n.Tok)
		case *ast.BranchStmt:
			change(n, n.TokPos, n.Tok)
		}
		return true
	})
	slices.SortStableFunc(mutants, inSource)
	return mutants
}

// inSource compares the places of two mutants.
func inSource(a, b *mutant) int {
	return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.pos.Offset, b.pos.Offset), cmp.Compare(a.to, b.to))
}

// choose returns the mutants whose place matches only, in the order of the source: at most n
// of each file, chosen at random, or all with n 0.
func choose(all []*mutant, only *regexp.Regexp, n int, seed uint64) []*mutant {
	files := map[string][]*mutant{}
	for _, m := range all {
		if only.MatchString(m.place()) {
			files[m.path] = append(files[m.path], m)
		}
	}
	var chosen []*mutant
	for _, ms := range files {
		if n > 0 && len(ms) > n {
			r := rand.New(rand.NewPCG(seed, 0))
			r.Shuffle(len(ms), func(i, j int) { ms[i], ms[j] = ms[j], ms[i] })
			ms = ms[:n]
		}
		chosen = append(chosen, ms...)
	}
	slices.SortFunc(chosen, inSource)
	return chosen
}
