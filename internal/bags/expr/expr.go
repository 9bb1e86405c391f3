// Package expr evaluates filter expressions over the messages of a bag.
//
// An expression is written in the language of github.com/expr-lang/expr and is true or
// false for a message. It may use
//
//	topic      the topic's name, which always has a leading slash here
//	type       the message's type, as "sensor_msgs/Imu"
//	md5sum     of that type
//	callerid   the publisher's name
//	t          when the message was recorded, in seconds as a number
//	ns         the same in nanoseconds, exact (where int has 64 bits)
//	m or msg   the message's fields: m.pose.position.x, m.ranges[0], len(m.transforms)
//
// Integers, floats, strings and arrays have the usual types; times and durations are
// seconds as a number, and have the parts secs and nsecs; uint8[] and char[] are lists
// of bytes. The elements of arrays of messages are maps, where times are numbers only.
//
// A message is decoded only as far as the expression asks: fields that are named with
// a path are looked up alone, and only when the evaluation comes to them, once.
//
// A message whose type lacks a field that the evaluation comes to is not kept, whatever
// the rest of the expression says: stock's rosbag filter ends with an error there, but
// an expression about /odom should not need to guard itself against /tf. The same holds
// for an index beyond the end of an array. [Program.Missing] names fields that no type
// had, so that a typing error does not go unnoticed. m?.field is nil instead for a type
// without that field, and m?.field ?? 0 a number for all.
package expr

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"

	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/internal/ros/topicmatch"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

const (
	maxBytes = 16 << 10 // of the text of an expression
	maxNodes = 2000     // of its syntax tree

	// maxTypes and maxTypeBytes bound the message types that are remembered, and the text of
	// their definitions: each publisher of a live graph may bring another type.
	maxTypes     = 256
	maxTypeBytes = 2 << 20

	// maxLiveMessages bounds the messages within one field of a live message. Each becomes a map,
	// which takes some hundred times the memory of the smallest message.
	maxLiveMessages = 1 << 14

	// maxElements bounds the maps for the elements of lists that are kept from message to message.
	maxElements = 1 << 10
)

// Program is a compiled expression. It is not for concurrent use.
type Program struct {
	machine     machine
	env         environment
	paths       []path
	message     uint64 // number of calls of Keep; path.message is compared with it
	elements    []element
	types       map[typeKey]*typeState
	typeBytes   int      // bytes of the keys of types
	topics      []string // that the expression names
	maxMessages int      // messages within one field; zero for as many as there are
	replaced    []string // see Replaced

	conn  *rosbag.Connection // connection of the last message, whose state is cached
	state *typeState
	m     *rosbag.Message // current message
}

// environment holds the variables of an expression.
type environment struct {
	Topic    string  `expr:"topic"`
	Type     string  `expr:"type"`
	MD5Sum   string  `expr:"md5sum"`
	CallerID string  `expr:"callerid"`
	T        float64 `expr:"t"`
	NS       int64   `expr:"ns"`
	M        any     `expr:"m"` // m and msg are replaced by lookups
	Msg      any     `expr:"msg"`
}

// environmentOf returns what is the same for all messages of a connection.
func environmentOf(c *rosbag.Connection) environment {
	return environment{
		Topic: topicmatch.Rooted(c.Topic), Type: c.Header.Type(), MD5Sum: c.Header.MD5Sum(),
		CallerID: c.Header.CallerID(),
	}
}

type typeKey struct{ name, md5sum, definition string }

func (k *typeKey) bytes() int { return len(k.name) + len(k.md5sum) + len(k.definition) }

// typeState is a message type with the paths of the expression in it.
type typeState struct {
	typ      *rosmsg.Type
	err      error
	paths    []*rosmsg.Path
	pathErrs []error
}

// Compile compiles an expression. Errors are an [ExpressionError].
// See ADR 0021.
func Compile(text string) (*Program, error) {
	names := &topicNames{resolve: rooted}
	p, err := compile(text, expr.Patch(names))
	if err != nil {
		return nil, err
	}
	p.topics = names.all()
	return p, nil
}

// rooted resolves the name of a topic in an expression about bags: /chatter and chatter mean the same topic.
func rooted(name string) (string, error) { return topicmatch.Rooted(name), nil }

// compile is Compile with further options of the library.
func compile(text string, more ...expr.Option) (*Program, error) {
	p := &Program{types: make(map[typeKey]*typeState)}
	err := p.machine.compile(text, append([]expr.Option{
		expr.Env(environment{}),
		expr.Function(lookupName, p.lookup, new(func(int) any)),
		expr.Patch(&patcher{
			program: p, calls: make(map[ast.Node]int), members: make(map[ast.Node]string),
			fields: make(map[ast.Node]string),
		}),
	}, more...)...)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Keep evaluates the expression for a message of conn. Its errors are about this
// message: [msgdef.ErrNoDefinition], a definition or payload that does not fit (see rosmsg),
// or an [ExpressionError], which matches [ErrBudget] if the evaluation would take too much.
func (p *Program) Keep(conn *rosbag.Connection, m *rosbag.Message) (bool, error) {
	if conn != p.conn {
		p.conn, p.state, p.env = conn, nil, environmentOf(conn)
	}
	p.env.NS = int64(m.Time.Sec)*1e9 + int64(m.Time.Nsec)
	p.env.T = float64(m.Time.Sec) + float64(m.Time.Nsec)/1e9
	p.m = m
	p.message++
	defer func() { p.m = nil }()
	result, err := p.machine.run(&p.env, len(m.Data()))
	var lookup *lookupError
	switch {
	case err == nil || errors.Is(err, rosmsg.ErrNoField):
		return result, nil
	case errors.As(err, &lookup):
		return false, fmt.Errorf("%s: %w", conn.Topic, lookup.err)
	}
	return false, explain(err)
}

// Missing lists the evaluated fields that no message type had: most likely they are misspelled.
func (p *Program) Missing() []Lack {
	var all []Lack
	for _, path := range p.paths {
		if path.missing != nil && !path.found {
			all = append(all, Lack{"m." + path.text, path.missing.Reason, path.optional})
		}
	}
	for _, e := range p.elements {
		if e.missing != nil && !e.found {
			all = append(all, e.lack(e.missing))
		}
	}
	return all
}

// lookupError carries an error through the evaluation.
type lookupError struct{ err error }

func (e *lookupError) Error() string { return e.err.Error() }
func (e *lookupError) Unwrap() error { return e.err }

// lookup is the function that replaces the members of m: it finds path i in the current message.
func (p *Program) lookup(args ...any) (any, error) {
	i, _ := args[0].(int)
	s, err := p.stateOf(p.conn)
	if err != nil {
		return nil, &lookupError{err}
	}
	path := &p.paths[i]
	if s.pathErrs[i] != nil {
		errors.As(s.pathErrs[i], &path.missing)
		return path.orNil(s.pathErrs[i])
	}
	path.found = true
	if path.message != p.message {
		path.message = p.message
		path.value, path.err = p.find(s.paths[i], path)
	}
	if errors.Is(path.err, rosmsg.ErrNoField) {
		return path.orNil(path.err)
	}
	return path.value, path.err
}

// find returns a field of the current message as a value for expressions.
func (p *Program) find(path *rosmsg.Path, at *path) (x any, err error) {
	v, err := path.Lookup(p.m.Data())
	if errors.Is(err, rosmsg.ErrNoField) {
		return nil, err
	}
	if err != nil {
		return nil, &lookupError{err}
	}
	if at.partly() && v.OfMessages() {
		x, err = p.elementsOf(v, at)
	} else {
		x, err = exprValue(v, p.maxMessages)
	}
	if err == nil || errors.Is(err, rosmsg.ErrTrailing) {
		return x, nil
	}
	return nil, &lookupError{fmt.Errorf("m.%s: %w", path, err)} // err has the rest of the path
}

// elementsOf returns the elements of a list of messages as maps with the needed fields only, or
// with all if there are messages in those: what these unfold into is bounded for the whole list.
func (p *Program) elementsOf(v rosmsg.Value, at *path) ([]any, error) {
	n := 0
	for e, err := range v.Elements() {
		if err != nil {
			return nil, err
		}
		if p.maxMessages > 0 && n == p.maxMessages {
			return nil, tooManyMessages(p.maxMessages)
		}
		if n == len(at.elements) {
			at.elements = append(at.elements, make(map[string]any, len(at.fields)))
		}
		fields, _ := at.elements[n].(map[string]any)
		n++
		clear(fields)
		for _, name := range at.fields {
			f, err := e.Field(name)
			if errors.Is(err, rosmsg.ErrNoField) {
				continue // Missing reports it
			}
			if err != nil {
				return nil, err
			}
			if f.Kind() == rosmsg.Struct || f.OfMessages() {
				all, err := exprValue(v, p.maxMessages)
				elements, _ := all.([]any)
				return elements, err
			}
			if fields[name], err = exprValue(f, p.maxMessages); err != nil {
				return nil, err
			}
		}
	}
	all := at.elements[:n:n]
	for _, e := range at.elements[n:] { // they would keep what the longest list held
		fields, _ := e.(map[string]any)
		clear(fields)
	}
	if n > maxElements {
		at.elements = nil
	}
	return all, nil
}

// tooManyMessages is the error of a field with more than most messages in it.
func tooManyMessages(most int) error {
	return fmt.Errorf("more than %d messages in one field: %w", most, rosmsg.ErrLimit)
}

// stateOf returns the state of a connection's message type.
func (p *Program) stateOf(conn *rosbag.Connection) (*typeState, error) {
	if p.state != nil {
		return p.state, p.state.err
	}
	key := typeKey{conn.Header.Type(), conn.Header.MD5Sum(), conn.Header.MessageDefinition()}
	s, ok := p.types[key]
	if !ok {
		if len(p.types) >= maxTypes || p.typeBytes+key.bytes() > maxTypeBytes {
			clear(p.types)
			p.typeBytes = 0
		}
		s = p.newState(key)
		p.types[key] = s
		p.typeBytes += key.bytes()
	}
	p.state = s
	return s, s.err
}

// Replaced returns what is wrong with definitions of messages that the expression was asked about, and
// what is used instead: each text once.
func (p *Program) Replaced() []string { return p.replaced }

func (p *Program) newState(key typeKey) *typeState {
	s := &typeState{paths: make([]*rosmsg.Path, len(p.paths)), pathErrs: make([]error, len(p.paths))}
	t, err := msgdef.Parse(key.name, key.md5sum, key.definition)
	if s.err = err; err != nil {
		return s
	}
	s.typ = t.Type
	if t.Replaced != "" && len(p.replaced) < maxTypes && !slices.Contains(p.replaced, t.Replaced) {
		p.replaced = append(p.replaced, t.Replaced)
	}
	for i, path := range p.paths {
		s.paths[i], s.pathErrs[i] = s.typ.Path(path.text)
	}
	for i := range p.elements {
		e := &p.elements[i]
		found, missing := e.in(s.typ)
		e.found, e.missing = e.found || found, cmp.Or(missing, e.missing)
	}
	return s
}

// exprValue converts a value to a type of the expression language. most bounds the messages in
// it; zero for no bound.
func exprValue(v rosmsg.Value, most int) (any, error) {
	switch v.Kind() {
	case rosmsg.Bool:
		return v.Bool(), nil
	case rosmsg.Uint64:
		if n := v.Uint(); n > math.MaxInt64 {
			return n, nil
		}
		return number(v.Int()), nil
	case rosmsg.Int8, rosmsg.Uint8, rosmsg.Int16, rosmsg.Uint16, rosmsg.Int32, rosmsg.Uint32, rosmsg.Int64:
		return number(v.Int()), nil
	case rosmsg.Float32, rosmsg.Float64, rosmsg.Time, rosmsg.Duration:
		return v.Float(), nil
	case rosmsg.String:
		return v.Text(), nil
	case rosmsg.Array, rosmsg.Struct:
	}
	x, err := v.Decode()
	if most > 0 && countMessages(x, most) > most {
		return nil, tooManyMessages(most)
	}
	return exprMaps(x), err
}

// countMessages counts the messages within a decoded value, up to one more than most.
func countMessages(x any, most int) (n int) {
	switch x := x.(type) {
	case *rosmsg.Message:
		n = 1
		for i := 0; x != nil && i < len(x.Values) && n <= most; i++ {
			n += countMessages(x.Values[i], most-n)
		}
	case []*rosmsg.Message:
		for i := 0; i < len(x) && n <= most; i++ {
			n += countMessages(x[i], most-n)
		}
	}
	return n
}

// number returns n as int, the integer type of expressions, if it fits.
func number(n int64) any {
	if i := int(n); int64(i) == n {
		return i
	}
	return n
}

// exprMaps converts decoded messages to maps, and times to seconds.
func exprMaps(x any) any {
	switch x := x.(type) {
	case *rosmsg.Message:
		if x == nil {
			return nil
		}
		m := make(map[string]any, len(x.Values))
		for i, f := range x.Type.Fields() {
			m[f.Name] = exprMaps(x.Values[i])
		}
		return m
	case []*rosmsg.Message:
		all := make([]any, len(x))
		for i, e := range x {
			all[i] = exprMaps(e)
		}
		return all
	case rosmsg.Stamp:
		return x.Seconds()
	case rosmsg.Span:
		return x.Seconds()
	case []rosmsg.Stamp:
		return seconds(x)
	case []rosmsg.Span:
		return seconds(x)
	default:
		return x
	}
}

func seconds[T interface{ Seconds() float64 }](x []T) []float64 {
	all := make([]float64, len(x))
	for i, e := range x {
		all[i] = e.Seconds()
	}
	return all
}
