package msg

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// block is the text of one type inside a schema.
type block struct {
	name  string // pkg/msg/Type
	line  int    // number of its first line in the whole text, counted from 1
	lines []string
}

func (b *block) pkg() string {
	pkg, _, _ := strings.Cut(b.name, "/")
	return pkg
}

// fail makes the error for a line of the block, counted from 0.
func (b *block) fail(line int, format string, args ...any) error {
	return &DefinitionError{Type: b.name, Line: b.line + line, Reason: fmt.Sprintf(format, args...)}
}

// failLimit is fail for an error that matches ErrLimit.
func (b *block) failLimit(line int, format string, args ...any) error {
	return &DefinitionError{
		Type: b.name, Line: b.line + line, Reason: fmt.Sprintf(format, args...),
		Err: ErrLimit,
	}
}

// FullName returns the name of a type with its three parts: "std_msgs/msg/String" for "std_msgs/String". It
// returns the empty string if name is not of the form package/Type or package/msg/Type.
func FullName(name string) string {
	if len(name) > MaxNameBytes {
		return ""
	}
	parts := strings.Split(name, "/")
	if len(parts) != 2 && len(parts) != 3 {
		return ""
	}
	for _, p := range parts {
		if !isName(p) {
			return ""
		}
	}
	if len(parts) == 2 {
		return parts[0] + "/msg/" + parts[1]
	}
	return name
}

// isName reports whether s is a letter or an underscore, followed by letters, digits and underscores. rosidl
// accepts less, but bags have names that rosidl refuses.
func isName(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// isSeparator reports whether a line separates two blocks. rosbag2 writes 80 characters; other libraries
// write fewer.
func isSeparator(line string) bool {
	return len(line) >= 3 && strings.Trim(line, "=") == ""
}

// isPadding is what means nothing at the ends of a line: space, the NUL that ends a text of C, a byte
// order mark.
func isPadding(r rune) bool { return unicode.IsSpace(r) || r == 0 || r == '\ufeff' }

// blocks splits a schema at its separators. The first block is the definition of the message itself.
func blocks(name, schema string) ([]*block, error) {
	full := FullName(name)
	switch {
	case full == "":
		return nil, &DefinitionError{Type: clip(name), Reason: "the name is not of the form package/msg/Type"}
	case len(schema) > MaxDefinitionBytes:
		return nil, &DefinitionError{
			Type:   name,
			Reason: fmt.Sprintf("%d bytes, at most %d", len(schema), MaxDefinitionBytes), Err: ErrLimit,
		}
	}
	current := &block{name: full, line: 1}
	all := []*block{current}
	after, n, rest := false, 0, schema
	for line := range strings.SplitSeq(schema, "\n") {
		n++
		rest = rest[min(len(line)+1, len(rest)):]
		line = strings.TrimFunc(strings.ReplaceAll(line, "\t", " "), isPadding)
		code, ok := strings.CutSuffix(line, separator)
		// else it is a comment
		if ok && !isSeparator(line) && !after &&
			strings.HasPrefix(strings.TrimLeftFunc(rest, isPadding), "MSG:") {
			current.lines, line = append(current.lines, code), separator // without a line break before it
		}
		switch {
		case isSeparator(line):
			after = true
		case after && line == "":
		case after:
			after = false
			kind, typ, ok := strings.Cut(line, ":")
			if ok && kind == "IDL" {
				return nil, &DefinitionError{
					Type: name, Line: n,
					Reason: "the definition is IDL; only .msg definitions are supported",
				}
			}
			typ = FullName(strings.TrimSpace(typ))
			if !ok || kind != "MSG" || typ == "" {
				return nil, &DefinitionError{
					Type: name, Line: n,
					Reason: fmt.Sprintf("want MSG: and a type, got %q", clip(line)),
				}
			}
			current = &block{name: typ, line: n + 1}
			all = append(all, current)
			if len(all) > 4*MaxTypes {
				return nil, &DefinitionError{
					Type: name, Line: n,
					Reason: fmt.Sprintf("more than %d blocks", 4*MaxTypes), Err: ErrLimit,
				}
			}
		default:
			current.lines = append(current.lines, line)
		}
	}
	return all, nil
}

// Parse makes a type from its name, "pkg/msg/Type" or "pkg/Type", and a schema of encoding "ros2msg". For the
// full name of a type that the schema uses and lacks, missing returns the type, or nil if it does not know
// the type either, which is an error. missing may be nil. Errors are of type [DefinitionError].
func Parse(name, schema string, missing func(name string) *Type) (*Type, error) {
	all, err := blocks(name, schema)
	if err != nil {
		return nil, err
	}
	p := &parser{blocks: make(map[string]*block, len(all)), done: make(map[string]*Type), missing: missing}
	for _, b := range all {
		if _, ok := p.blocks[b.name]; !ok {
			p.blocks[b.name] = b
		}
	}
	return p.parse(all[0], 1)
}

// parser makes a type of each block that is used, once.
type parser struct {
	blocks  map[string]*block  // by full name
	done    map[string]*Type   // by full name; nil while the fields of the type are parsed
	missing func(string) *Type // as in Parse
	fields  int                // fields and constants so far, of all types
}

func (p *parser) parse(b *block, depth int) (*Type, error) {
	switch {
	case depth > MaxDepth:
		return nil, b.failLimit(0, "types nest deeper than %d", MaxDepth)
	case len(p.done) >= MaxTypes:
		return nil, b.failLimit(0, "made of more than %d types", MaxTypes)
	}
	p.done[b.name] = nil
	t := &Type{Name: b.name}
	seen := make(map[string]bool)
	for i, line := range b.lines {
		code, _, _ := strings.Cut(line, "#") // rosidl also cuts inside quotes
		code = strings.TrimSpace(code)
		if code == "" {
			continue
		}
		if p.fields++; p.fields > MaxFields {
			return nil, b.failLimit(i, "made of more than %d fields and constants", MaxFields)
		}
		typ, rest, _ := strings.Cut(code, " ")
		rest = strings.TrimSpace(rest)
		if name, value, ok := strings.Cut(rest, "="); ok {
			name = strings.TrimSpace(name)
			if !isName(name) || len(name) > MaxNameBytes {
				return nil, b.fail(i, "%q is no name for a constant", clip(name))
			}
			if _, ok := kinds[typ]; !ok {
				if base, _, bounded := strings.Cut(typ, "<="); !bounded || kinds[base] != String &&
					kinds[base] != WString {
					return nil, b.fail(i, "%q is no type for a constant", clip(typ))
				}
			}
			t.Constants = append(t.Constants,
				Constant{Type: typ, Name: name, Value: strings.TrimSpace(value)})
			continue
		}
		name, def, _ := strings.Cut(rest, " ")
		if !isName(name) || len(name) > MaxNameBytes {
			return nil, b.fail(i, "%q is no name for a field", clip(name))
		}
		if seen[name] {
			return nil, b.fail(i, "a second field %q", name)
		}
		seen[name] = true
		v, err := p.value(b, i, typ, depth)
		if err != nil {
			return nil, err
		}
		t.Fields = append(t.Fields, Field{Name: name, Value: v, Default: strings.TrimSpace(def)})
	}
	p.done[b.name] = t
	return t, nil
}

// value parses the type of a field, such as "string<=5[<=10]".
func (p *parser) value(b *block, line int, typ string, depth int) (Value, error) {
	var v Value
	base, brackets, array := strings.Cut(typ, "[")
	if array {
		inner, closed := strings.CutSuffix(brackets, "]")
		digits, bounded := strings.CutPrefix(inner, "<=")
		switch n, ok := number(digits); {
		case closed && inner == "":
			v.Array = Unbounded
		case !closed || !ok:
			return Value{}, b.fail(line, "%q is no array", clip(typ))
		case bounded:
			v.Array, v.Length = Bounded, n
		case n > MaxArrayLength:
			return Value{}, b.failLimit(line, "array of %d elements, at most %d", n, MaxArrayLength)
		default:
			v.Array, v.Length = Fixed, n
		}
	}
	base, digits, bounded := strings.Cut(base, "<=")
	kind, primitive := kinds[base]
	if bounded {
		n, ok := number(digits)
		if kind != String && kind != WString || !ok {
			return Value{}, b.fail(line, "%q is no type", clip(typ))
		}
		v.Bound = n
	}
	if primitive {
		v.Kind = kind
		return v, nil
	}
	t, err := p.find(b, line, base, depth)
	v.Kind, v.Message = Message, t
	return v, err
}

// number parses the length of an array, or the bound of a string: a number above 0.
func number(digits string) (int, bool) {
	n, err := strconv.ParseUint(digits, 10, 31)
	return int(n), err == nil && n > 0
}

// find returns the type that a field of block b names base.
func (p *parser) find(b *block, line int, base string, depth int) (*Type, error) {
	candidates := []string{base}
	switch {
	case base == "time":
		candidates[0] = TimeType
	case base == "duration":
		candidates[0] = DurationType
	case !strings.Contains(base, "/"):
		candidates[0] = b.pkg() + "/" + base
		if base == "Header" {
			candidates = append(candidates, "std_msgs/Header") // left over from ROS 1
		}
	}
	for _, name := range candidates {
		if name = FullName(name); name == "" {
			return nil, b.fail(line, "%q is no name for a type", clip(base))
		}
		t, known := p.done[name]
		if known && t == nil {
			return nil, b.fail(line, "%s contains itself", name)
		}
		if sub := p.blocks[name]; sub != nil && !known {
			return p.parse(sub, depth+1)
		}
		if t == nil && p.missing != nil {
			t = p.missing(name)
		}
		if t == nil {
			t = builtin(name)
		}
		if t != nil {
			p.done[name] = t
			return t, nil
		}
	}
	return nil, b.fail(line, "no definition of %q", clip(base))
}

// The types that a definition need not contain.
const (
	TimeType     = "builtin_interfaces/msg/Time"
	DurationType = "builtin_interfaces/msg/Duration"
)

// builtin returns a new TimeType or DurationType, and nil for other names.
func builtin(name string) *Type {
	if name != TimeType && name != DurationType {
		return nil
	}
	return &Type{
		Name: name,
		Fields: []Field{
			{Name: "sec", Value: Value{Kind: Int32}},
			{Name: "nanosec", Value: Value{Kind: Uint32}},
		},
	}
}

// clip shortens what an error quotes from a definition.
func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}
