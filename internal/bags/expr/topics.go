package expr

import (
	"errors"
	"slices"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// CompileTopics is Compile for an expression about live topics that it names: each name that topic
// is compared with, by ==, != or in, is replaced by resolve(name), so that Keep is to be called
// with connections that have resolved names. [Program.Topics] lists the names. An expression
// without any is an [ExpressionError], and so is a name for which resolve returns an error.
// A field that holds more than 16384 messages is an error of Keep that matches [rosmsg.ErrLimit]:
// it would take too much memory.
func CompileTopics(text string, resolve func(name string) (string, error)) (*Program, error) {
	names := &topicNames{resolve: resolve}
	p, err := compile(text, expr.Patch(names))
	if err != nil {
		return nil, err
	}
	p.maxMessages = maxLiveMessages
	if names.err != nil {
		return nil, &ExpressionError{Reason: names.err.Error(), Err: names.err}
	}
	if p.topics = names.all(); len(p.topics) == 0 {
		return nil, &ExpressionError{Reason: `the expression names no topic: begin with topic == "/NAME" && …, or topic in ["/A", "/B"] && …`}
	}
	return p, nil
}

// Topics returns the names of the topics that the expression names, sorted: those that topic is
// compared with, by == or in. The names are resolved if the expression was compiled by CompileTopics;
// otherwise they have a leading slash.
// The expression can be true for these topics only.
func (p *Program) Topics() []string { return p.topics }

// topicNames finds the names of topics in an expression and resolves them.
type topicNames struct {
	resolve func(string) (string, error)
	named   map[ast.Node][]string // resolved names, by the comparison that names them
	err     error                 // of the first name that has one
}

// Visit sees the innermost nodes first.
func (v *topicNames) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.BinaryNode:
		switch {
		case n.Operator == "==" && isTopic(n.Left), n.Operator == "in" && isTopic(n.Left):
			v.name(n, v.resolveAll(n.Right))
		case n.Operator == "==" && isTopic(n.Right):
			v.name(n, v.resolveAll(n.Left))
		case n.Operator == "!=" && isTopic(n.Left):
			v.resolveAll(n.Right)
		case n.Operator == "!=" && isTopic(n.Right):
			v.resolveAll(n.Left)
		case n.Operator == "in" && isTopics(n.Right): // of an expression about bags
			v.resolveAll(n.Left)
		}
	case *ast.BuiltinNode:
		if len(n.Arguments) > 1 && isTopics(n.Arguments[0]) {
			ast.Find(n.Arguments[1], func(inner ast.Node) bool {
				v.element(inner)
				return false
			})
		}
	case *ast.UnaryNode:
		if n.Operator == "not" || n.Operator == "!" { // what is excluded is not named
			ast.Find(n.Node, func(inner ast.Node) bool {
				delete(v.named, inner)
				return false
			})
		}
	}
}

// all returns the named topics, sorted.
func (v *topicNames) all() []string {
	var all []string
	for _, named := range v.named {
		all = append(all, named...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (v *topicNames) name(n ast.Node, names []string) {
	if v.named == nil {
		v.named = make(map[ast.Node][]string)
	}
	v.named[n] = names
}

// resolveAll resolves a string or the strings of a list in place, and returns them.
func (v *topicNames) resolveAll(n ast.Node) (names []string) {
	switch n := n.(type) {
	case *ast.StringNode:
		resolved, err := v.resolve(n.Value)
		if err != nil {
			if v.err == nil {
				v.err = err
			}
			return nil
		}
		n.Value = resolved
		return []string{resolved}
	case *ast.ArrayNode:
		for _, e := range n.Nodes {
			names = append(names, v.resolveAll(e)...)
		}
	}
	return names
}

// element resolves what an element of the list topics is compared with.
func (v *topicNames) element(n ast.Node) {
	compared, ok := n.(*ast.BinaryNode)
	if !ok || !slices.Contains([]string{"==", "!=", "in"}, compared.Operator) {
		return
	}
	_, left := compared.Left.(*ast.PointerNode)
	_, right := compared.Right.(*ast.PointerNode)
	switch {
	case left:
		v.resolveAll(compared.Right)
	case right:
		v.resolveAll(compared.Left)
	}
}

func isTopic(n ast.Node) bool { return isNamed(n, "topic") }

func isTopics(n ast.Node) bool { return isNamed(n, "topics") }

func isNamed(n ast.Node, name string) bool {
	id, ok := n.(*ast.IdentifierNode)
	return ok && id.Value == name
}

// Lack is a field of an expression that a message type does not have.
type Lack struct {
	Field    string // "m.pose.positoin"
	Reason   string // names the type and its fields
	Optional bool   // it has a ?. before it: the expression allows for types without the field
}

// String returns the field and the reason.
func (l Lack) String() string { return l.Field + ": " + l.Reason }

// Lacking returns the fields of the expression that the message type of a connection does not have,
// whether or not an evaluation would reach them, except fields with a ?. before them. The error is that
// of Keep about a definition.
func (p *Program) Lacking(conn *rosbag.Connection) ([]Lack, error) {
	p.conn, p.state = nil, nil
	s, err := p.stateOf(conn)
	p.state = nil // it belongs to conn
	if err != nil {
		return nil, err
	}
	var all []Lack
	for i := range p.paths {
		var missing *rosmsg.FieldError
		if path := &p.paths[i]; path.uses > 0 && !path.optional && errors.As(s.pathErrs[i], &missing) {
			all = append(all, Lack{"m." + path.text, missing.Reason, false})
		}
	}
	for _, e := range p.elements {
		if _, missing := e.in(s.typ); missing != nil {
			all = append(all, e.lack(missing))
		}
	}
	return all, nil
}
