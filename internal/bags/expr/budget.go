package expr

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// ErrBudget is matched by the errors of an evaluation that would take too much memory or too many
// steps. The evaluation ends before it takes them.
var ErrBudget = errors.New("the evaluation takes too much")

// Limits of one evaluation. A unit is one step, and in memory the 16 bytes that a value takes in a
// list; a string has a unit for each 16 of its bytes.
const (
	unitBytes = 16
	// units that an evaluation creates, garbage included.
	maxMemory = 4 << 20 / unitBytes
	// below a second; more for messages of more than 128 KiB:.
	maxSteps = 1 << 24
	// for each byte of the message, so that a pass over all of it is possible.
	stepsAByte = 128
	// of lists and maps in each other.
	maxNesting = 100

	// maxPattern bounds regular expressions that are no constants. Their programs take up to 6 KiB
	// of memory and 150 instructions for each byte.
	maxPattern          = 512
	instructionsPerByte = 150
)

var (
	errMemory = fmt.Errorf("%w: more than %d MiB of memory for one message", ErrBudget,
		maxMemory*unitBytes>>20)
	errSteps   = fmt.Errorf("%w: too many steps for one message", ErrBudget)
	errNesting = fmt.Errorf("%w: lists are nested more than %d deep", ErrBudget, maxNesting)
	errPattern = fmt.Errorf("%w: a regular expression of more than %d bytes that is no constant", ErrBudget,
		maxPattern)
)

// units is a number of units. Products of sizes cannot overflow it.
type units float64

// budget is what is left to the present evaluation.
type budget struct {
	steps, memory units
	err           error // why it ended
}

// reset begins the evaluation for a message.
func (b *budget) reset(messageBytes int) {
	*b = budget{steps: units(max(maxSteps, stepsAByte*messageBytes)), memory: maxMemory}
}

// spend takes the steps and the memory that the next operation needs.
func (b *budget) spend(steps, memory units) {
	switch {
	case b.err != nil:
	case memory > b.memory:
		b.err = errMemory
	case steps > b.steps:
		b.err = errSteps
	default:
		b.steps -= steps
		b.memory -= memory
	}
}

// size returns the size of a value with all that is in it. It stops when the value is larger than the
// steps that are left.
func (b *budget) size(x any) units {
	s := sizer{left: b.steps}
	s.measure(x, 0)
	if s.deep && b.err == nil {
		b.err = errNesting
	}
	return b.steps - s.left
}

// stringUnits is the size of a string of n bytes.
func stringUnits(n int) units { return 1 + units(n)/unitBytes }

// sizer measures a value. left is negative once the value is larger than the steps that were left.
type sizer struct {
	left units
	deep bool // nested too deeply
}

func (s *sizer) measure(x any, depth int) {
	s.left--
	if depth > maxNesting {
		s.deep = true
	}
	if s.deep || s.left < 0 {
		return
	}
	switch x := x.(type) {
	case string:
		s.left -= units(len(x)) / unitBytes
	case []any:
		for i := 0; i < len(x) && s.left >= 0 && !s.deep; i++ {
			s.measure(x[i], depth+1)
		}
	case []string:
		for i := 0; i < len(x) && s.left >= 0; i++ {
			s.left -= stringUnits(len(x[i]))
		}
	case map[string]any:
		for key, value := range x {
			s.left -= stringUnits(len(key))
			if s.measure(value, depth+1); s.left < 0 || s.deep {
				return
			}
		}
	default:
		s.reflect(reflect.ValueOf(x), depth)
	}
}

// reflect is measure for values of other types.
func (s *sizer) reflect(v reflect.Value, depth int) {
	switch v.Kind() { //nolint:exhaustive // others have no elements
	case reflect.Slice, reflect.Array:
		if of := v.Type().Elem().Kind(); of != reflect.Interface && !slices.Contains(lists, of) {
			s.left -= units(v.Len())
			return
		}
		for i := 0; i < v.Len() && s.left >= 0 && !s.deep; i++ {
			s.measure(v.Index(i).Interface(), depth+1)
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next() && s.left >= 0 && !s.deep; {
			s.measure(entries.Key().Interface(), depth+1)
			s.measure(entries.Value().Interface(), depth+1)
		}
	}
}

// length returns the number of elements of a list or map, or the bytes of a string.
func length(x any) units {
	if v := reflect.ValueOf(x); v.Kind() == reflect.String || slices.Contains(lists, v.Kind()) {
		return units(v.Len())
	}
	return 0
}

// lists are the kinds of values that hold others.
var lists = []reflect.Kind{reflect.Slice, reflect.Array, reflect.Map}
