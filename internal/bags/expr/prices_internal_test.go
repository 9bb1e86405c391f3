package expr

import (
	"errors"
	"strings"
	"testing"

	"github.com/expr-lang/expr/ast"
)

// TestSpend: all of the budget can be spent, and nothing after that or after an error.
func TestSpend(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps, memory units
		err           error
	}{
		"nothing":         {0, 0, nil},
		"all":             {10, 5, nil},
		"a step too many": {11, 5, errSteps},
		"too much memory": {10, 6, errMemory},
		"both":            {11, 6, errMemory},
	} {
		b := budget{steps: 10, memory: 5}
		b.spend(c.steps, c.memory)
		want := budget{steps: 10 - c.steps, memory: 5 - c.memory}
		if c.err != nil {
			want = budget{steps: 10, memory: 5, err: c.err}
			b.spend(1, 1)
		}
		if b != want {
			t.Errorf("%s: %+v, want %+v", name, b, want)
		}
	}
	var b budget
	if b.reset(128 << 10); b.steps != maxSteps || b.memory != maxMemory {
		t.Errorf("a message of 128 KiB has %+v", b)
	}
	if b.reset(128<<10 + 1); b.steps != maxSteps+stepsAByte {
		t.Errorf("a message that is a byte longer has %+v", b)
	}
}

// TestSizes: each value has a unit, and a string one more for each 16 bytes.
func TestSizes(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 16)
	for name, c := range map[string]struct {
		value any
		want  units
	}{
		"nil":              {nil, 1},
		"number":           {7, 1},
		"empty string":     {"", 1},
		"string":           {text + text, 3},
		"list":             {[]any{1, text, nil}, 5},
		"list of strings":  {[]string{"", text}, 4},
		"list of bytes":    {make([]byte, 100), 101},
		"list of numbers":  {make([]float64, 10), 11},
		"list of lists":    {[][]float64{{1, 2}, {3}}, 6},
		"list of arrays":   {[][2]any{{text, 1}}, 5},
		"list of maps":     {[]map[string]any{{text: 1}}, 5},
		"map":              {map[string]any{text: 1, "": text}, 7},
		"map of lists":     {map[any][]any{text: {2, 3}}, 6},
		"map of strings":   {map[string]string{text: text}, 5},
		"empty list":       {[]any{}, 1},
		"list in the list": {[]any{[]any{[]any{}}}, 3},
	} {
		b := budget{steps: 1000, memory: 1000}
		if got := b.size(c.value); got != c.want || b.err != nil || b.steps != 1000 || b.memory != 1000 {
			t.Errorf("%s: %v, want %v; %+v", name, got, c.want, b)
		}
		b = budget{steps: c.want - 1}
		if got := b.size(c.value); got <= b.steps {
			t.Errorf("%s: fits into %v steps", name, b.steps)
		}
	}
}

// TestSizesEnd: a value is measured no further than there are steps left, whatever holds it, and
// not as deep as it may be.
func TestSizesEnd(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(a, b any) any{
		"list":       func(a, b any) any { return []any{a, b} },
		"map":        func(a, b any) any { return map[string]any{"a": a, "b": b} },
		"array":      func(a, b any) any { return [2]any{a, b} },
		"map of any": func(a, b any) any { return map[any]any{"a": a, "b": b} },
	} {
		var x any
		for range maxNesting {
			x = wrap(x, x)
		}
		b := budget{steps: 1000}
		if got := b.size(x); got <= 1000 || got > 1100 || b.err != nil { // all of it is 2^100
			t.Errorf("%s: %v of 1000, %v", name, got, b.err)
		}
		x = nil
		for range maxNesting {
			x = wrap(x, nil)
		}
		b = budget{steps: 1000}
		if b.size(x); b.err != nil {
			t.Errorf("%s: %d deep: %v", name, maxNesting, b.err)
		}
		if b.size(wrap(x, nil)); !errors.Is(b.err, errNesting) {
			t.Errorf("%s: %d deep: %v", name, maxNesting+1, b.err)
		}
	}
}

// TestPrices: what functions and operators spend.
func TestPrices(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("ab", 80) // 11 units
	list := []any{1, text, nil}      // 14 units
	of := func(operator string, left, right ast.Node) func(*budget, []any) {
		c, ok := meterOperator(operator, left, right)
		if !ok {
			t.Fatalf("%s has no price", operator)
		}
		return c.price
	}
	unknown := &ast.IdentifierNode{Value: "x"}
	for name, c := range map[string]struct {
		price         func(*budget, []any)
		args          []any
		steps, memory units
	}{
		"len of text":         {prices["len"], []any{text}, 11, 0},
		"len of a list":       {prices["len"], []any{list}, 0, 0},
		"string":              {prices["string"], []any{list}, 28, 28},
		"trim":                {prices["trim"], []any{text}, 161, 0},
		"trim of":             {prices["trim"], []any{text, "abc            "}, 161 * (1 + 15./16), 0},
		"upper":               {prices["upper"], []any{text}, 11, 22},
		"split":               {prices["split"], []any{text, "a"}, 11 + 1 + 1./16 + 81, 81},
		"split into letters":  {prices["split"], []any{text, ""}, 12 + 162, 162},
		"replace":             {prices["replace"], []any{text, "a", "abc"}, 11 + 1 + 1./16 + 1 + 3./16, 11 + 80*2/16},
		"replace by less":     {prices["replace"], []any{text, "ab", ""}, 11 + 1 + 2./16 + 1, 11},
		"repeat":              {prices["repeat"], []any{text, 4}, 41, 41},
		"repeat never":        {prices["repeat"], []any{text, -4}, 1, 1},
		"join":                {prices["join"], []any{[]string{"", "", ""}}, 4, 4},
		"join with":           {prices["join"], []any{[]string{"", "", ""}, text}, 15 + 30, 15 + 30},
		"fromJSON":            {prices["fromJSON"], []any{text}, 640, 640},
		"uniq":                {prices["uniq"], []any{list}, 3 * 14, 3},
		"uniq of nothing":     {prices["uniq"], []any{[]any{}}, 1, 0},
		"keys":                {prices["keys"], []any{list}, 3, 3},
		"toPairs":             {prices["toPairs"], []any{list}, 3, 9},
		"concat":              {prices["concat"], []any{list, []string{"x"}}, 4, 4},
		"range":               {of("..", unknown, unknown), []any{3, 7}, 5, 5},
		"empty range":         {of("..", unknown, unknown), []any{7, 3}, 0, 0},
		"range of one":        {of("..", unknown, unknown), []any{7, 7}, 1, 1},
		"in a list":           {of("in", unknown, unknown), []any{1, list}, 15, 0},
		"in a map":            {of("in", unknown, unknown), []any{"x", map[string]any{text: 1}}, 0, 0},
		"+ of texts":          {of("+", unknown, unknown), []any{text, text}, 21, 21},
		"+ of numbers":        {of("+", unknown, unknown), []any{1, 2.5}, 0, 0},
		"== of lists":         {of("==", unknown, unknown), []any{list, list}, 28, 0},
		"matches a constant":  {of("matches", unknown, &ast.StringNode{Value: text}), []any{text, text}, 161 * 11, 0},
		"matches":             {of("matches", unknown, unknown), []any{text, "abc"}, 11 * 4 * 150, 0},
		"matches the longest": {of("matches", unknown, unknown), []any{"", strings.Repeat("x", maxPattern)}, (maxPattern + 1) * 150, 0},
	} {
		const most = 1e6
		b := budget{steps: most, memory: most}
		c.price(&b, c.args)
		if steps, memory := most-b.steps, most-b.memory; steps != c.steps || memory != c.memory || b.err != nil {
			t.Errorf("%s: %v steps and %v units of memory, want %v and %v; %v", name, steps, memory, c.steps, c.memory, b.err)
		}
	}
	var b budget
	of("matches", unknown, unknown)(&b, []any{"", strings.Repeat("x", maxPattern+1)})
	if !errors.Is(b.err, errPattern) {
		t.Errorf("a long pattern: %v", b.err)
	}
}

// meterOperator returns the call for an operator between two operands.
func meterOperator(name string, left, right ast.Node) (call, bool) {
	return operator(&ast.BinaryNode{Operator: name, Left: left, Right: right})
}

// TestConstantTime: comparisons with what is small by itself stay as they are.
func TestConstantTime(t *testing.T) {
	t.Parallel()
	unknown, number, text := &ast.IdentifierNode{Value: "x"}, &ast.IntegerNode{Value: 1}, &ast.StringNode{Value: "x"}
	list := func(nodes ...ast.Node) ast.Node { return &ast.ArrayNode{Nodes: nodes} }
	for _, c := range []struct {
		operator    string
		left, right ast.Node
		metered     bool
	}{
		{"==", unknown, number, false},
		{"==", number, unknown, false},
		{"<", unknown, &ast.FloatNode{}, false},
		{"!=", unknown, &ast.NilNode{}, false},
		{"==", unknown, &ast.BoolNode{}, false},
		{"==", unknown, text, false},
		{">=", text, unknown, false},
		{">", unknown, unknown, true},
		{"<=", unknown, unknown, true},
		{"+", unknown, number, false},
		{"+", unknown, text, true},
		{"+", text, unknown, true},
		{"-", unknown, unknown, false},
		{"and", unknown, unknown, false},
		{"in", unknown, list(number, text), false},
		{"in", unknown, list(number, unknown), true},
		{"in", number, unknown, true},
		{"contains", unknown, text, true},
		{"startsWith", text, text, true},
		{"endsWith", unknown, text, true},
	} {
		if _, metered := meterOperator(c.operator, c.left, c.right); metered != c.metered {
			t.Errorf("%T %s %T: metered %v", c.left, c.operator, c.right, metered)
		}
	}
}

// TestLoopsSpend for each element the nodes of the predicate, and what is created for it.
func TestLoopsSpend(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]loop{
		`any(m.a, # == 1)`:                           {5, 0}, // the predicate, ==, # and 1
		`len(map(m.a, #)) > 0`:                       {3, 1},
		`len(map(m.a, [#, 1, 2])) > 0`:               {6, 4},
		`len(map(m.a, ({"x": #}))) > 0`:              {6, 5},
		`len(sortBy(m.a, #)) > 0`:                    {3, 3},
		`len(groupBy(m.a, #)) > 0`:                   {3, 4},
		`sum(m.a) == 3`:                              {1, 0},
		`len(filter(m.a, # in [m.b, m.c, "x"])) > 0`: {14, 4}, // a lookup is three nodes, as is the call in the place of in
	} {
		p, err := Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.machine.loops) != 1 || p.machine.loops[0] != want {
			t.Errorf("%s: %+v, want %+v", text, p.machine.loops, want)
		}
	}
}
