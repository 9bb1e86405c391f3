package expr

import (
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
)

// Expressions look like those of stock, which are Python. A function of the library that has the name of
// one of Python has the meaning of that, too, or is an error: abs, all, any, count, filter, float, len,
// map, max, min, reduce, split and replace have it where the library accepts the arguments; the others
// are here.

// pythonic are the functions that the library would evaluate to something else than Python.
var pythonic = map[string]func(args ...any) (any, error){
	"round":  round,
	"int":    whole,
	"mean":   ofSome("mean"),
	"median": ofSome("median"),
}

// round rounds halves to the even number, as Python does; the library rounds them away from zero.
func round(args ...any) (any, error) {
	if v := reflect.ValueOf(args[0]); v.CanFloat() {
		return math.RoundToEven(v.Float()), nil
	}
	return library("round", args)
}

// whole converts to a whole number. Of NaN, of infinity, and beyond 64 bits there is none.
func whole(args ...any) (any, error) {
	if v := reflect.ValueOf(args[0]); v.CanFloat() {
		if f := v.Float(); !(f >= math.MinInt && f < -float64(math.MinInt)) {
			return nil, fmt.Errorf("int(%v): no whole number of 64 bits", f)
		}
	}
	return library("int", args)
}

// ofSome returns a function of numbers that has no value if there are none; the library's is 0.
func ofSome(name string) func(args ...any) (any, error) {
	return func(args ...any) (any, error) {
		for _, arg := range args {
			if v := reflect.ValueOf(arg); v.Kind() != reflect.Slice || v.Len() > 0 {
				return library(name, args)
			}
		}
		return nil, errors.New(name + " of an empty list")
	}
}

// library calls a function of the library.
func library(name string, args []any) (any, error) {
	return implementation(builtin.Builtins[builtin.Index[name]])(args...)
}

// checkPython returns an error for a call that means something else in Python: sum(list, start) would be
// the sum of as many times start as the list has elements.
func checkPython(tree ast.Node) error {
	wrong := ast.Find(tree, func(n ast.Node) bool {
		call, ok := n.(*ast.BuiltinNode)
		return ok && call.Name == "sum" && len(call.Arguments) == 2 &&
			ast.Find(call.Arguments[1], isElement) == nil
	})
	if wrong != nil {
		return errors.New("sum(list, start) is not known: write start + sum(list), or sum(list, #.field) for the sum of a field")
	}
	return nil
}

func isElement(n ast.Node) bool {
	_, ok := n.(*ast.PointerNode)
	return ok
}
