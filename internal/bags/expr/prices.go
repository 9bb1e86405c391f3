package expr

import (
	"reflect"
	"strings"

	"github.com/expr-lang/expr/vm/runtime"
)

// createdByElement is the memory that functions with a predicate take for each element.
var createdByElement = map[string]units{"filter": 1, "map": 1, "sortBy": 3, "groupBy": 4}

// prices has the price of each function of the library; nil for a function that takes a constant time,
// and for a function with a predicate, of which meter.loop knows the price. See ADR 0083.
var prices = map[string]func(b *budget, args []any){
	"all": nil, "none": nil, "any": nil, "one": nil, "filter": nil, "map": nil, "find": nil, "findIndex": nil,
	"findLast":      nil,
	"findLastIndex": nil, "count": nil, "sum": nil, "groupBy": nil, "sortBy": nil, "reduce": nil,

	"type": nil, "abs": nil, "ceil": nil, "floor": nil, "round": nil, "now": nil, "first": nil, "last": nil,
	"get": nil, "take": nil,
	"bitand": nil, "bitor": nil, "bitxor": nil, "bitnand": nil, "bitshl": nil, "bitshr": nil, "bitushr": nil,
	"bitnot": nil,

	"len": func(b *budget, args []any) {
		if s, ok := args[0].(string); ok { // it counts runes
			b.spend(stringUnits(len(s)), 0)
		}
	},
	// their errors quote the text
	"int": linear(1, 2), "float": linear(1, 2), "duration": linear(1, 2), "date": linear(1, 2),
	"timezone":   linear(1, 2),
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
	"indexOf": linear(1, 0), "lastIndexOf": linear(1, 0), "hasPrefix": linear(1, 0),
	"hasSuffix": linear(1, 0),
	"max":       linear(1, 0), "min": linear(1, 0), "mean": linear(1, 0), "median": linear(sorting, 1),
	"toJSON": linear(16, 32), // indented, and twice
	"fromJSON": func(b *budget, args []any) {
		b.spend(4*length(args[0]), 4*length(args[0])) // an empty map takes 3 bytes of the text
	},
	"toBase64": linear(1, 2), "fromBase64": linear(1, 2),
	"keys": copying(1), "values": copying(1), "toPairs": copying(3), "fromPairs": copying(6),
	"reverse": copying(1), "concat": copying(1),
	"uniq": func(b *budget, args []any) {
		n := length(args[0])
		b.spend(max(n, 1)*b.sizes(args), n)
	},
	"flatten": linear(4, 2),
	"sort":    linear(sorting, 2),
}

// sorting is the number of steps for each element of a list that is sorted: the logarithm of the largest
// length.
const sorting = 20

// linear is the price of a function that takes so many steps, and so much memory, for each unit of its
// arguments.
func linear(steps, memory units) func(*budget, []any) {
	return func(b *budget, args []any) {
		size := b.sizes(args)
		b.spend(steps*size, memory*size)
	}
}

// copying is the price of a function that makes so many values of each element of its arguments.
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

// product is the price of a function that reads all of its second argument for each byte of its first
// argument.
func (b *budget) product(args []any) units {
	product := 1 + length(args[0])
	if len(args) > 1 {
		product *= b.size(args[1])
	}
	return product
}

// lookup is the price of the operator in.
func lookup(b *budget, args []any) {
	if reflect.ValueOf(args[1]).Kind() == reflect.Map {
		return
	}
	b.spend(b.sizes(args), 0)
}

// adding is the price of the operator +, which is zero for numbers and times.
func adding(b *budget, args []any) {
	left, _ := args[0].(string)
	right, ok := args[1].(string)
	if ok {
		size := stringUnits(len(left) + len(right))
		b.spend(size, size)
	}
}
