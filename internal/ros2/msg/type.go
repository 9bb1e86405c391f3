// Package msg reads and writes message definitions of ROS 2 in the form that MCAP and rosbag2 call
// "ros2msg", and computes the hash of a type (RIHS01).
//
// It owns the grammar of definitions and the rules for names. The types that ship with ROS are in package
// package mapping, the only caller. Definitions may come from anywhere; the constants below bound them.
//
// It reads no file, starts no goroutine and logs nothing, and does not modify a Type that it has returned.
package msg

import (
	"errors"
	"fmt"
	"strings"
)

const (
	// MaxDefinitionBytes bounds a schema with all its blocks.
	MaxDefinitionBytes = 1 << 20
	// MaxTypes bounds the types that one message is made of.
	MaxTypes = 1024
	// MaxFields bounds the fields of all these types together.
	MaxFields = 1 << 15
	// MaxDepth bounds how deep types nest.
	MaxDepth = 64
	// MaxNameBytes bounds the name of a field, a constant or a type.
	MaxNameBytes = 256
	// MaxArrayLength bounds the length of a fixed array.
	MaxArrayLength = 1 << 24
)

var (
	// ErrDefinition is matched by every [DefinitionError].
	ErrDefinition = errors.New("unusable message definition")
	// ErrLimit is matched by errors about definitions that exceed a limit.
	ErrLimit = errors.New("limit exceeded")
)

// DefinitionError says why a definition cannot be used. It matches [ErrDefinition], and
// [ErrLimit] if a limit is the reason.
type DefinitionError struct {
	Type   string // the type in whose block the error is
	Line   int    // from 1, in the whole text; 0 if the error is about no single line
	Reason string
	Err    error
}

func (e *DefinitionError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("definition of %s: %s", e.Type, e.Reason)
	}
	return fmt.Sprintf("definition of %s, line %d: %s", e.Type, e.Line, e.Reason)
}

// Is matches ErrDefinition.
func (e *DefinitionError) Is(target error) bool { return target == ErrDefinition }

func (e *DefinitionError) Unwrap() error { return e.Err }

// Kind is the kind of a value, or of each element if the value is an array.
type Kind uint8

// The kinds of values. The type char is a Uint8, as in rosidl.
const (
	Bool Kind = iota + 1
	Byte
	Int8
	Uint8
	Int16
	Uint16
	Int32
	Uint32
	Int64
	Uint64
	Float32
	Float64
	String
	WString
	Message
)

var kinds = map[string]Kind{
	"bool": Bool, "byte": Byte, "char": Uint8, "int8": Int8, "uint8": Uint8, "int16": Int16, "uint16": Uint16,
	"int32": Int32, "uint32": Uint32, "int64": Int64, "uint64": Uint64, "float32": Float32,
	"float64": Float64,
	"string":  String, "wstring": WString,
}

var kindNames = [...]string{
	Bool: "bool", Byte: "byte", Int8: "int8", Uint8: "uint8", Int16: "int16", Uint16: "uint16",
	Int32:  "int32",
	Uint32: "uint32", Int64: "int64", Uint64: "uint64", Float32: "float32", Float64: "float64",
	String:  "string",
	WString: "wstring", Message: "message",
}

// String returns the name of the kind in definitions.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", k)
}

// Array says how many elements a value has.
type Array uint8

// The kinds of arrays.
const (
	Single    Array = iota // no array
	Fixed                  // T[n]
	Bounded                // T[<=n]
	Unbounded              // T[]
)

// Value is the type of a field.
type Value struct {
	Kind    Kind
	Message *Type // of a Message
	Bound   int   // the most bytes of a String or WString; 0 means no bound
	Array   Array
	Length  int // of a Fixed array; the bound of a Bounded one
}

// String returns the type of a field as definitions write it, for example "geometry_msgs/Point[<=4]".
func (v Value) String() string {
	s := v.Kind.String()
	if v.Kind == Message {
		s = v.Message.Short()
	} else if v.Bound > 0 {
		s = fmt.Sprintf("%s<=%d", s, v.Bound)
	}
	switch v.Array {
	case Single:
	case Fixed:
		return fmt.Sprintf("%s[%d]", s, v.Length)
	case Bounded:
		return fmt.Sprintf("%s[<=%d]", s, v.Length)
	case Unbounded:
		return s + "[]"
	}
	return s
}

// Field is one field of a type.
type Field struct {
	Name    string
	Value   Value
	Default string // as written; empty if there is none
}

// Constant is a constant of a type.
type Constant struct {
	Type  string
	Name  string
	Value string // as written, quotes included
}

// Type is a message type.
type Type struct {
	Name      string // for example "geometry_msgs/msg/Point"
	Fields    []Field
	Constants []Constant
}

// Short returns the name as definitions write it, for example "geometry_msgs/Point". Names of types of
// services and actions have three parts there, too.
func (t *Type) Short() string {
	if pkg, name, ok := strings.Cut(t.Name, "/msg/"); ok {
		return pkg + "/" + name
	}
	return t.Name
}

// Dependencies returns the types of the fields of t, of their fields, and so on: each type once, in the order
// of the first use, without t.
func (t *Type) Dependencies() []*Type {
	var all []*Type
	seen := map[string]bool{t.Name: true}
	var walk func(t *Type)
	walk = func(t *Type) {
		for _, f := range t.Fields {
			if m := f.Value.Message; m != nil && !seen[m.Name] {
				seen[m.Name] = true
				all = append(all, m)
				walk(m)
			}
		}
	}
	walk(t)
	return all
}

// separator is the line between the blocks of a schema.
var separator = strings.Repeat("=", 80)

// Schema returns the definitions of t and of its Dependencies: what MCAP calls a schema of encoding
// "ros2msg".
func (t *Type) Schema() string {
	var b strings.Builder
	t.text(&b)
	for _, m := range t.Dependencies() {
		fmt.Fprintf(&b, "%s\nMSG: %s\n", separator, m.Short())
		m.text(&b)
	}
	return b.String()
}

// text writes the definition of t without those of other types.
func (t *Type) text(b *strings.Builder) {
	for _, c := range t.Constants {
		fmt.Fprintf(b, "%s %s=%s\n", c.Type, c.Name, c.Value)
	}
	for _, f := range t.Fields {
		fmt.Fprintf(b, "%s %s", f.Value, f.Name)
		if f.Default != "" {
			b.WriteByte(' ')
			b.WriteString(f.Default)
		}
		b.WriteByte('\n')
	}
	if len(t.Fields)+len(t.Constants) == 0 {
		b.WriteString("# no fields\n") // some readers take an empty schema for a missing one
	}
}
