package bagexpr

import (
	"errors"
	"reflect"
	"regexp"
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

// machine evaluates an expression within the budget. The library looks at memory only after it was
// taken, and at neither steps nor strings. So the expression is changed before it is compiled:
// what takes more than a constant time becomes a call that spends from the budget first.
type machine struct {
	code  *vm.Program
	vm    vm.VM
	left  budget
	loops []loop
	calls []call
}

// keptMemory is how much of what an evaluation created may stay in memory until the next one.
const keptMemory = maxMemory / 64

// loop is a function with a predicate. It spends for all elements at once, before the first.
type loop struct{ steps, memory units } // for each element

// call is another function or operator.
type call struct {
	price func(b *budget, args []any)
	do    func(args ...any) (any, error)
}

// compile compiles an expression, with the options of the library.
func (m *machine) compile(text string, options ...expr.Option) error {
	if err := checkLength(text); err != nil {
		return err
	}
	config := conf.CreateNew()
	for _, option := range append(options, expr.AsBool(), expr.MaxNodes(maxNodes), expr.Function(loopName, m.loop), expr.Function(callName, m.call)) {
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
	ast.Walk(&tree.Node, (*meter)(m))
	if _, err = checker.Check(tree, config); err == nil {
		err = optimizer.Optimize(&tree.Node, config)
	}
	if err == nil {
		m.code, err = compiler.Compile(tree, config)
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

// run evaluates the expression. messageBytes is the size of the message that it is about.
func (m *machine) run(env any, messageBytes int) (result bool, err error) {
	m.left.reset(messageBytes)
	m.vm.MemoryBudget = 2 * maxMemory // never reached: what it counts was spent
	value, err := m.vm.Run(m.code, env)
	if m.left.memory < maxMemory-keptMemory {
		m.vm = vm.VM{} // its stack refers to values that nobody needs any more
	}
	return value == true, err
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

// meter makes calls of what takes more than a constant time.
type meter machine

// Visit implements ast.Visitor.
func (v *meter) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.BuiltinNode:
		f := builtin.Builtins[builtin.Index[n.Name]]
		switch price := prices[n.Name]; {
		case f.Predicate:
			v.loop(n)
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

// createdByElement is the memory that functions with a predicate take for each element.
var createdByElement = map[string]units{"filter": 1, "map": 1, "sortBy": 3, "groupBy": 4}

// prices are those of the library's functions. nil is for those that take a constant time, and for
// those with a predicate.
var prices = map[string]func(b *budget, args []any){
	"all": nil, "none": nil, "any": nil, "one": nil, "filter": nil, "map": nil, "find": nil, "findIndex": nil, "findLast": nil,
	"findLastIndex": nil, "count": nil, "sum": nil, "groupBy": nil, "sortBy": nil, "reduce": nil,

	"type": nil, "abs": nil, "ceil": nil, "floor": nil, "round": nil, "now": nil, "first": nil, "last": nil, "get": nil, "take": nil,
	"bitand": nil, "bitor": nil, "bitxor": nil, "bitnand": nil, "bitshl": nil, "bitshr": nil, "bitushr": nil, "bitnot": nil,

	"len": func(b *budget, args []any) {
		if s, ok := args[0].(string); ok { // it counts runes
			b.spend(stringUnits(len(s)), 0)
		}
	},
	"int": linear(1, 2), "float": linear(1, 2), "duration": linear(1, 2), "date": linear(1, 2), "timezone": linear(1, 2), // their errors quote the text
	"string":     linear(2, 2),
	"trim":       func(b *budget, args []any) { b.spend(b.product(args), 0) },
	"trimPrefix": linear(1, 0), "trimSuffix": linear(1, 0),
	"upper": linear(1, 2), "lower": linear(1, 2),
	"split": splitting, "splitAfter": splitting,
	"replace": func(b *budget, args []any) {
		b.spend(b.sizes(args), 0)
		if len(args) < 3 || b.err != nil {
			return
		}
		s, _ := args[0].(string)
		old, _ := args[1].(string)
		fresh, _ := args[2].(string)
		n := strings.Count(s, old)
		b.spend(0, stringUnits(len(s)))
		b.spend(0, units(n)*units(max(len(fresh)-len(old), 0))/unitBytes)
	},
	"repeat": func(b *budget, args []any) {
		s, _ := args[0].(string)
		size := 1 + units(len(s))*units(max(runtime.ToInt(args[1]), 0))/unitBytes
		b.spend(size, size)
	},
	"join": func(b *budget, args []any) {
		size := b.sizes(args)
		if len(args) > 1 {
			glue, _ := args[1].(string)
			size += length(args[0]) * units(len(glue)) / unitBytes
		}
		b.spend(size, size)
	},
	"indexOf": linear(1, 0), "lastIndexOf": linear(1, 0), "hasPrefix": linear(1, 0), "hasSuffix": linear(1, 0),
	"max": linear(1, 0), "min": linear(1, 0), "mean": linear(1, 0), "median": linear(sorting, 1),
	"toJSON": linear(16, 32), // indented, and twice
	"fromJSON": func(b *budget, args []any) {
		b.spend(4*length(args[0]), 4*length(args[0])) // an empty map takes 3 bytes of the text
	},
	"toBase64": linear(1, 2), "fromBase64": linear(1, 2),
	"keys": copying(1), "values": copying(1), "toPairs": copying(3), "fromPairs": copying(6), "reverse": copying(1), "concat": copying(1),
	"uniq": func(b *budget, args []any) {
		n := length(args[0])
		b.spend(max(n, 1)*b.sizes(args), n)
	},
	"flatten": linear(4, 2),
	"sort":    linear(sorting, 2),
}

// sorting is the steps that a list takes to be sorted, for each element: the logarithm of the most.
const sorting = 20

// linear is the price of what takes so much for each unit of its arguments.
func linear(steps, memory units) func(*budget, []any) {
	return func(b *budget, args []any) {
		size := b.sizes(args)
		b.spend(steps*size, memory*size)
	}
}

// copying is the price of what makes so many values of each element of its arguments.
func copying(memory units) func(*budget, []any) {
	return func(b *budget, args []any) {
		for _, arg := range args {
			b.spend(length(arg), memory*length(arg))
		}
	}
}

// splitting is the price of split and splitAfter.
func splitting(b *budget, args []any) {
	b.spend(b.sizes(args), 0)
	if len(args) < 2 || b.err != nil {
		return
	}
	s, _ := args[0].(string)
	separator, _ := args[1].(string)
	n := units(strings.Count(s, separator) + 1)
	b.spend(n, n)
}

// sizes sums up the sizes of arguments.
func (b *budget) sizes(args []any) (sum units) {
	for _, arg := range args {
		sum += b.size(arg)
	}
	return sum
}

// product is the price of what looks at all of the second argument for each byte of the first one.
func (b *budget) product(args []any) units {
	product := 1 + length(args[0])
	if len(args) > 1 {
		product *= b.size(args[1])
	}
	return product
}

// operator returns the call for an operator. ok is false for one that takes a constant time.
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
	case "contains":
		return boolean(text(strings.Contains))
	case "startsWith":
		return boolean(text(strings.HasPrefix))
	case "endsWith":
		return boolean(text(strings.HasSuffix))
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
		return call{}, false // it is short
	}
	switch n.Operator {
	case "==":
		return boolean(runtime.Equal)
	case "!=":
		return boolean(func(a, b any) bool { return !runtime.Equal(a, b) })
	case "<":
		return boolean(runtime.Less)
	case "<=":
		return boolean(runtime.LessOrEqual)
	case ">":
		return boolean(runtime.More)
	case ">=":
		return boolean(runtime.MoreOrEqual)
	}
	return call{}, false
}

// literal reports whether an operand is a string in the text of the expression.
func literal(n ast.Node) bool {
	_, ok := n.(*ast.StringNode)
	return ok
}

// fixed reports whether an operand is nil, a number or a bool, whatever the message: what is
// compared with it, or added to it, is as small.
func fixed(n ast.Node) bool {
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NilNode:
		return true
	}
	switch t := n.Type(); t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
		return true
	}
	return false
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

// lookup is the price of in.
func lookup(b *budget, args []any) {
	if reflect.ValueOf(args[1]).Kind() == reflect.Map {
		return
	}
	b.spend(b.sizes(args), 0)
}

// adding is the price of +. Of numbers and times it is nothing.
func adding(b *budget, args []any) {
	left, _ := args[0].(string)
	right, ok := args[1].(string)
	if ok {
		size := stringUnits(len(left) + len(right))
		b.spend(size, size)
	}
}

// text returns an operator on strings, which does not hold for nil.
func text(holds func(s, part string) bool) func(a, b any) bool {
	return func(a, b any) bool {
		if runtime.IsNil(a) || runtime.IsNil(b) {
			return false
		}
		return holds(a.(string), b.(string)) //nolint:forcetypeassert // the library reports the panic, as it does of its own operators
	}
}

// matching returns the operator matches. The pattern is compiled once if it is a constant.
func matching(pattern ast.Node) call {
	if constant, ok := pattern.(*ast.StringNode); ok {
		if re, err := regexp.Compile(constant.Value); err == nil { // otherwise the library has said so
			return call{
				func(b *budget, args []any) { b.spend(b.product(args)*stringUnits(len(constant.Value)), 0) },
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
			re, err := regexp.Compile(args[1].(string)) //nolint:forcetypeassert // as in text
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
	return re.Match(x.([]byte)) //nolint:forcetypeassert // as in text
}
