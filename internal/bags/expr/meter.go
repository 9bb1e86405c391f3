package expr

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	goruntime "runtime"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/optimizer"
	"github.com/expr-lang/expr/vm"
	"github.com/expr-lang/expr/vm/runtime"
)

// The names of the functions that spend from the budget. The blank keeps expressions from calling
// them.
const (
	loopName = " loop"
	callName = " call"
)

// machine evaluates an expression within the budget. The library checks memory only after it was
// allocated, and counts neither steps nor strings. So the expression is changed before it is compiled:
// each operation that takes more than a constant time becomes a call that spends from the budget first.
type machine struct {
	code  *vm.Program
	vm    vm.VM
	left  budget
	loops []loop
	calls []call
	terms terms
}

// keptMemory is the number of units that an evaluation may leave in memory until the next evaluation.
const keptMemory = maxMemory / 64

// loop is a function with a predicate. It spends for all elements at once, before the predicate sees the
// first.
type loop struct{ steps, memory units } // for each element

// call is a function without a predicate, or an operator.
type call struct {
	price func(b *budget, args []any)
	do    func(args ...any) (any, error)
}

// compile compiles an expression, with the options of the library.
func (m *machine) compile(text string, options ...expr.Option) error {
	if len(text) > maxBytes {
		return &ExpressionError{Reason: fmt.Sprintf("expression of %d bytes, at most %d", len(text),
			maxBytes)}
	}
	config := conf.CreateNew()
	for _, option := range append(options, expr.AsBool(), expr.MaxNodes(maxNodes),
		expr.Function(loopName, m.loop), expr.Function(callName, m.call)) {
		option(config)
	}
	for name := range config.Disabled {
		delete(config.Builtins, name)
	}
	config.Check()
	tree, err := checker.ParseCheck(text, config)
	if err != nil {
		return explain(err)
	}
	if err := checkPython(tree.Node); err != nil {
		return explain(err)
	}
	ast.Walk(&tree.Node, (*ranges)(m))
	ast.Walk(&tree.Node, (*meter)(m))
	if _, err = checker.Check(tree, config); err == nil {
		err = optimizer.Optimize(&tree.Node, config)
	}
	if err == nil {
		m.code, err = compiler.Compile(tree, config)
		m.terms = termsOf(tree, config)
	}
	if err != nil {
		var f *file.Error
		if errors.As(err, &f) {
			err = f.Bind(tree.Source)
		}
		return explain(err)
	}
	return nil
}

// run evaluates the expression. messageBytes is the size of the message that it is about. The result is
// false with an error, and for an index beyond the end of a list.
func (m *machine) run(env any, messageBytes int) (result bool, err error) {
	value, err := m.evaluate(m.code, env, messageBytes)
	if beyondList(err) {
		err = nil
	}
	return value == true, err
}

// evaluate evaluates the expression or a part of it.
func (m *machine) evaluate(code *vm.Program, env any, messageBytes int) (value any, err error) {
	m.left.reset(messageBytes)
	m.vm.MemoryBudget = 2 * maxMemory // never reached: what it counts was spent
	value, err = m.vm.Run(code, env)
	if m.left.memory < maxMemory-keptMemory {
		m.vm = vm.VM{} // its stack refers to values that nobody needs any more
	}
	return value, err
}

// beyondList reports whether an evaluation has failed because of an index beyond the end of a list.
// Errors of fields may quote any text of a definition, and a panic of Go is a fault of this program.
func beyondList(err error) bool {
	var f *file.Error
	var lookup *lookupError
	var fault goruntime.Error
	return errors.As(err, &f) && strings.Contains(f.Message, "index out of range") &&
		!errors.As(err, &lookup) && !errors.As(err, &fault)
}

// loop spends for a list that is about to be looped over, and returns it.
func (m *machine) loop(args ...any) (any, error) {
	i, _ := args[0].(int)
	n := length(args[1])
	m.left.spend(n*m.loops[i].steps, n*m.loops[i].memory)
	return args[1], m.left.err
}

// call spends for a function or operator, and calls it.
func (m *machine) call(args ...any) (any, error) {
	i, _ := args[0].(int)
	c, args := &m.calls[i], args[1:]
	if c.price(&m.left, args); m.left.err != nil {
		return nil, m.left.err
	}
	return c.do(args...)
}

// ranges turns x in FROM..TO, where both are constants, into a comparison. The library does so only if it
// knows the type of x, which it never does for a field; otherwise it makes a list of the range.
type ranges machine

// Visit implements ast.Visitor.
func (v *ranges) Visit(node *ast.Node) {
	in, ok := (*node).(*ast.BinaryNode)
	if !ok || in.Operator != "in" {
		return
	}
	list, ok := in.Right.(*ast.BinaryNode)
	if !ok || list.Operator != ".." {
		return
	}
	from, ok := integer(list.Left)
	to, also := integer(list.Right)
	if ok && also {
		free := func(*budget, []any) {}
		do := func(args ...any) (any, error) { return inRange(args[0], from, to), nil }
		(*meter)(v).call(node, call{free, do}, in.Left)
	}
}

// integer returns the value of a constant, which may have a sign.
func integer(n ast.Node) (value int, ok bool) {
	switch n := n.(type) {
	case *ast.IntegerNode:
		return n.Value, true
	case *ast.UnaryNode:
		value, ok = integer(n.Node)
		switch n.Operator {
		case "-":
			return -value, ok
		case "+":
			return value, ok
		}
	}
	return 0, false
}

// inRange reports whether one of the numbers from..to is equal to x.
func inRange(x any, from, to int) bool {
	var n int // the only number of the range that can be equal to x
	switch v := reflect.ValueOf(x); {
	case v.CanInt():
		n = int(v.Int())
	case v.CanUint():
		n = int(v.Uint()) // as the library compares it
	case v.CanFloat():
		n = int(v.Float())
	default:
		return false
	}
	return from <= n && n <= to && runtime.Equal(n, x)
}

// meter turns operations that take more than a constant time into calls that spend from the budget.
type meter machine

// Visit implements ast.Visitor.
func (v *meter) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.BuiltinNode:
		f := builtin.Builtins[builtin.Index[n.Name]]
		switch price, do := prices[n.Name], pythonic[n.Name]; {
		case f.Predicate:
			v.loop(n)
		case do != nil:
			if price == nil {
				price = func(*budget, []any) {}
			}
			v.call(node, call{price, do}, n.Arguments...)
		case price != nil:
			v.call(node, call{price, implementation(f)}, n.Arguments...)
		}
	case *ast.BinaryNode:
		if c, ok := operator(n); ok {
			v.call(node, c, n.Left, n.Right)
		}
	}
}

// loop makes a function with a predicate spend for its list.
func (v *meter) loop(n *ast.BuiltinNode) {
	l := loop{steps: 1, memory: createdByElement[n.Name]}
	for _, argument := range n.Arguments[1:] {
		ast.Find(argument, func(inner ast.Node) bool {
			l.steps++
			switch inner := inner.(type) {
			case *ast.ArrayNode:
				l.memory += units(len(inner.Nodes))
			case *ast.MapNode:
				l.memory += 4 * units(len(inner.Pairs))
			}
			return false
		})
	}
	list := n.Arguments[0]
	patch(&n.Arguments[0], loopName, len(v.loops), list)
	v.loops = append(v.loops, l)
}

// call replaces a node by a call.
func (v *meter) call(node *ast.Node, c call, arguments ...ast.Node) {
	patch(node, callName, len(v.calls), arguments...)
	v.calls = append(v.calls, c)
}

// patch replaces a node by a call of a function of ours.
func patch(node *ast.Node, function string, number int, arguments ...ast.Node) {
	ast.Patch(node, &ast.CallNode{
		Callee:    &ast.IdentifierNode{Value: function},
		Arguments: append([]ast.Node{&ast.IntegerNode{Value: number}}, arguments...),
	})
}

// implementation returns the library's function.
func implementation(f *builtin.Function) func(...any) (any, error) {
	switch {
	case f.Fast != nil:
		return func(args ...any) (any, error) { return f.Fast(args[0]), nil }
	case f.Safe != nil:
		return func(args ...any) (any, error) {
			result, _, err := f.Safe(args...)
			return result, err
		}
	}
	return f.Func
}

// operator returns the call for an operator. ok is false for an operator that takes a constant time.
func operator(n *ast.BinaryNode) (c call, ok bool) {
	binary := func(price func(*budget, []any), do func(a, b any) any) (call, bool) {
		return call{price, func(args ...any) (any, error) { return do(args[0], args[1]), nil }}, true
	}
	boolean := func(do func(a, b any) bool) (call, bool) {
		return binary(linear(1, 0), func(a, b any) any { return do(a, b) })
	}
	switch n.Operator {
	case "..":
		return binary(func(b *budget, args []any) {
			n := max(units(runtime.ToInt(args[1]))-units(runtime.ToInt(args[0]))+1, 0)
			b.spend(n, n)
		}, func(a, b any) any { return runtime.MakeRange(runtime.ToInt(a), runtime.ToInt(b)) })
	case "in":
		if !constants(n.Right) {
			return binary(lookup, func(a, b any) any { return runtime.In(a, b) })
		}
	case "contains", "startsWith", "endsWith":
		return boolean(text(textOperators[n.Operator]))
	case "matches":
		return matching(n.Right), true
	}
	if fixed(n.Left) || fixed(n.Right) {
		return call{}, false
	}
	if n.Operator == "+" {
		return binary(adding, runtime.Add)
	}
	if literal(n.Left) || literal(n.Right) {
		return call{}, false // the text is as short as the expression
	}
	if compare := comparisons[n.Operator]; compare != nil {
		return boolean(compare)
	}
	return call{}, false
}

// textOperators are the operators on two strings, but for matches.
var textOperators = map[string]func(s, part string) bool{
	"contains": strings.Contains, "startsWith": strings.HasPrefix, "endsWith": strings.HasSuffix,
}

// comparisons are the operators that compare two values.
var comparisons = map[string]func(a, b any) bool{
	"==": runtime.Equal, "!=": func(a, b any) bool { return !runtime.Equal(a, b) },
	"<": runtime.Less, "<=": runtime.LessOrEqual, ">": runtime.More, ">=": runtime.MoreOrEqual,
}

// literal reports whether an operand is a string in the text of the expression.
func literal(n ast.Node) bool {
	_, ok := n.(*ast.StringNode)
	return ok
}

// fixed reports whether an operand is nil, a number or a bool for every message. An operand that is
// compared with it, or added to it, is then as small.
func fixed(n ast.Node) bool {
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NilNode:
		return true
	}
	return slices.Contains([]reflect.Kind{reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64},
		n.Type().Kind())
}

// constants reports whether an operand is a list of constants, which the library makes a set of.
func constants(n ast.Node) bool {
	list, ok := n.(*ast.ArrayNode)
	if !ok {
		return false
	}
	for _, element := range list.Nodes {
		switch element.(type) {
		case *ast.IntegerNode, *ast.StringNode:
		default:
			return false
		}
	}
	return true
}

// text returns an operator on strings, which does not hold for nil.
func text(holds func(s, part string) bool) func(a, b any) bool {
	return func(a, b any) bool {
		if runtime.IsNil(a) || runtime.IsNil(b) {
			return false
		}
		return holds(a.(string), b.(string)) // the library reports the panic, as it does of its own operators
	}
}

// matching returns the operator matches. The pattern is compiled once if it is a constant.
func matching(pattern ast.Node) call {
	if constant, ok := pattern.(*ast.StringNode); ok {
		if re, err := regexp.Compile(constant.Value); err == nil { // otherwise the library reports the error
			return call{
				func(b *budget, args []any) {
					b.spend(b.product(args[:1])*stringUnits(len(constant.Value)), 0)
				},
				func(args ...any) (any, error) { return matches(re, args[0]), nil },
			}
		}
	}
	return call{
		func(b *budget, args []any) {
			text, ok := args[1].(string)
			if ok && len(text) > maxPattern {
				b.err = errPattern
				return
			}
			b.spend(stringUnits(int(length(args[0])))*units(1+len(text))*instructionsPerByte, 0)
		},
		func(args ...any) (any, error) {
			if runtime.IsNil(args[0]) || runtime.IsNil(args[1]) {
				return false, nil
			}
			re, err := regexp.Compile(args[1].(string)) // as in text
			if err != nil {
				return nil, err
			}
			return matches(re, args[0]), nil
		},
	}
}

// matches reports whether a string, or a list of bytes, matches. nil does not.
func matches(re *regexp.Regexp, x any) bool {
	if runtime.IsNil(x) {
		return false
	}
	if s, ok := x.(string); ok {
		return re.MatchString(s)
	}
	return re.Match(x.([]byte)) // as in text
}
