// Package lazyre compiles regular expressions when they are needed: all of a program together take
// milliseconds of its start.
package lazyre

import (
	"regexp"
	"sync"
)

// New returns a function that returns the regular expression, which it compiles once. An expression that
// is none panics then: a test has to call the function.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
