package expr

import (
	"math"
	"slices"
	"time"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/gorosbag/gorosbag/rosbag"
)

// terms is what the terms of an expression that is a conjunction say of many messages at once: those that
// do not hold for a connection, or before and after a time, need not be read.
type terms struct {
	ofConnection []*vm.Program // depend on nothing but the connection
	others       bool          // there are others
	start, end   rosbag.Time   // zero: unbounded. Inclusive, and not exact: the expression decides
}

// ofConnections are the variables that are the same for all messages of a connection.
var ofConnections = []string{"topic", "type", "md5sum", "callerid"}

// termsOf returns the terms of an expression that is compiled.
func termsOf(tree *parser.Tree, config *conf.Config) (t terms) {
	for _, n := range conjuncts(tree.Node) {
		code, err := compiler.Compile(&parser.Tree{Node: n, Source: tree.Source}, config)
		if isOfConnection(n) && err == nil {
			t.ofConnection = append(t.ofConnection, code)
			continue
		}
		t.others = true
		if compared, ok := n.(*ast.BinaryNode); ok {
			t.compared(compared)
		}
	}
	return t
}

// conjuncts returns the terms that are all true where an expression is.
func conjuncts(n ast.Node) []ast.Node {
	if both, ok := n.(*ast.BinaryNode); ok && (both.Operator == "and" || both.Operator == "&&") {
		return append(conjuncts(both.Left), conjuncts(both.Right)...)
	}
	return []ast.Node{n}
}

// isOfConnection reports whether a term is the same for all messages of a connection.
func isOfConnection(term ast.Node) bool {
	return ast.Find(term, func(n ast.Node) bool {
		id, ok := n.(*ast.IdentifierNode)
		return ok && !slices.Contains(ofConnections, id.Value) && id.Value != callName && id.Value != loopName
	}) == nil
}

// mirrored are the operators of comparisons, from the other side.
var mirrored = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}

// compared notes what the comparison of t or ns with a number says of the times that are needed.
func (t *terms) compared(n *ast.BinaryNode) {
	operator, name, number := n.Operator, n.Left, n.Right
	if _, ok := name.(*ast.IdentifierNode); !ok {
		operator, name, number = mirrored[operator], number, name
	}
	seconds, ok := constant(number)
	switch {
	case !ok || mirrored[operator] == "":
		return
	case isNamed(name, "ns"):
		seconds /= 1e9
	case !isNamed(name, "t"):
		return
	}
	const margin = 5.0 // numbers are rounded, and bags have times with more than 4 s of nanoseconds
	if from := timeOf(seconds - margin); seconds > margin && operator[0] != '<' && t.start.Before(from) {
		t.start = from // messages may have the time 0, as before the first /clock
	}
	if to := timeOf(seconds + margin); operator[0] != '>' && (t.end.IsZero() || to.Before(t.end)) {
		t.end = to
	}
}

// timeOf returns a time of a bag. It is never zero, which would mean that there is no bound.
func timeOf(seconds float64) rosbag.Time {
	return rosbag.Time{}.Add(time.Duration(min(max(seconds, 1e-9), 1+math.MaxUint32) * 1e9))
}

// constant returns the value of a number in the text of an expression.
func constant(n ast.Node) (value float64, ok bool) {
	if f, ok := n.(*ast.FloatNode); ok {
		return f.Value, true
	}
	i, ok := integer(n)
	return float64(i), ok
}

// Admits reports whether the expression may be true for a message of a connection, and whether it is true
// for all.
func (p *Program) Admits(conn *rosbag.Connection) (some, all bool) {
	all = !p.machine.terms.others
	env := environmentOf(conn)
	for _, code := range p.machine.terms.ofConnection {
		value, err := p.machine.evaluate(code, &env, 0)
		if err == nil && value == false {
			return false, false
		}
		all = all && err == nil && value == true
	}
	return true, all
}

// Window returns times before and after which the expression is true for no message. The zero Time means
// that there is no such bound.
func (p *Program) Window() (start, end rosbag.Time) {
	return p.machine.terms.start, p.machine.terms.end
}
