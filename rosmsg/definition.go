package rosmsg

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// block is the text of one type inside a definition.
type block struct {
	name string // pkg/Type
	line int    // of its first line in the whole text
	text string
}

// pkg is the package that names without one belong to.
func (b *block) pkg() string {
	pkg, _, found := strings.Cut(b.name, "/")
	if !found {
		return ""
	}
	return pkg
}

// fail makes the error for a line of the block, counted from 0.
func (b *block) fail(line int, format string, args ...any) error {
	return &DefinitionError{Type: b.name, Line: b.line + line, Reason: fmt.Sprintf(format, args...)}
}

// spec is a block taken apart.
type spec struct {
	constants []Constant
	fields    []fieldSpec
}

type fieldSpec struct {
	name   string
	typ    string // as written, with the array's brackets
	base   string // without them, with its package
	array  bool
	length int // of a fixed array; -1 otherwise
	line   int
}

// Constant is a constant of a definition.
type Constant struct {
	Type  string
	Name  string
	Value string // as written, without the space around it
}

// separator is the line between two blocks as ROS writes it.
var separator = strings.Repeat("=", 80)

// blocks cuts a definition at its separators. The first block is the message itself. strict says that all
// separators are as ROS writes them. Other libraries write fewer characters, an empty line after a separator,
// or no line break before it.
func blocks(name, text string) (all []*block, strict bool, err error) {
	if len(text) > maxDefinitionBytes {
		return nil, false,
			&DefinitionError{
				Type:   name,
				Reason: fmt.Sprintf("%d bytes, at most %d", len(text), maxDefinitionBytes), err: ErrLimit,
			}
	}
	if err := checkType(name, name, 0); err != nil {
		return nil, false, err
	}
	current := &block{name: name, line: 1}
	all, strict = []*block{current}, !strings.ContainsAny(text, "\x00\ufeff")
	begin, at, i, start := 0, 0, -1, false // start: a separator was read, and the name after it was not
	for line := range strings.SplitSeq(text, "\n") {
		here := at
		at, i = at+len(line)+1, i+1
		trimmed := strings.TrimFunc(line, isPadding)
		switch {
		case len(trimmed) >= 3 && strings.Trim(trimmed, "=") == "":
			if !start {
				current.text = text[begin:here]
			}
			start, strict = true, strict && trimmed == separator
		case start && trimmed == "":
			strict = false
		case start:
			start = false
			typ, ok := strings.CutPrefix(trimmed, "MSG:")
			if !ok {
				return nil, false,
					&DefinitionError{
						Type: name, Line: i + 1,
						Reason: fmt.Sprintf("want MSG: and a type, got %q", clip(trimmed)),
					}
			}
			typ = strings.TrimFunc(typ, isSpace)
			if err := checkType(name, typ, i+1); err != nil {
				return nil, false, err
			}
			if len(all) > 4*maxTypes {
				return nil, false,
					&DefinitionError{
						Type: name, Line: i + 1,
						Reason: fmt.Sprintf("more than %d blocks", 4*maxTypes), err: ErrLimit,
					}
			}
			current = &block{name: modern(typ), line: i + 2}
			all = append(all, current)
			begin = min(at, len(text))
		case strings.HasSuffix(trimmed, separator) &&
			strings.HasPrefix(strings.TrimLeftFunc(text[min(at, len(text)):], isPadding), "MSG:"):
			current.text = text[begin : here+strings.LastIndex(line, separator)]
			start, strict = true, false
		}
	}
	if !start {
		current.text = text[begin:]
	}
	return all, strict, nil
}

// Straight returns a definition as ROS writes it, for readers that accept less than this package does.
// One that is so already stays as it is.
func Straight(name, definition string) (string, error) {
	all, strict, err := blocks(name, definition)
	if err != nil || strict {
		return definition, err
	}
	var b strings.Builder
	for i, part := range all {
		if i > 0 {
			b.WriteString("\n" + separator + "\nMSG: " + part.name + "\n")
		}
		b.WriteString(strings.Trim(part.text, "\r\n\x00\ufeff")) // a space before a constant counts
	}
	return b.String(), nil
}

// modern is today's name of a type: definitions of before ROS 1.2 say roslib/Header.
func modern(name string) string {
	if name == "roslib/Header" {
		return headerType
	}
	return name
}

// headerType is what a field of type Header means in every package.
const headerType = "std_msgs/Header"

// checkType checks the name of a block. It accepts the odd names that bags have, such as
// none and "*", but none that is very long or not printable: errors print names, and each
// field has a copy of that of its type.
func checkType(root, name string, line int) error {
	switch {
	case len(name) > maxNameBytes:
		return &DefinitionError{
			Type: clip(root), Line: line,
			Reason: fmt.Sprintf("name %q of %d bytes, at most %d", clip(name), len(name), maxNameBytes),
			err:    ErrLimit,
		}
	case strings.ContainsFunc(name,
		func(r rune) bool { return !unicode.IsGraphic(r) || r == utf8.RuneError }):
		return &DefinitionError{
			Type: clip(root), Line: line,
			Reason: fmt.Sprintf("%q is no name for a type", name),
		}
	}
	return nil
}

// notOfFields are characters that no field can have in the name of its type. A block with such a name is no
// type of a field: "p/U[]" as the name of a message could not be told from an array.
const notOfFields = "[]#= \t"

func (b *block) parse() (*spec, error) {
	s := &spec{}
	seen := make(map[string]bool)
	n := -1
	for line := range strings.SplitSeq(b.text, "\n") {
		n++
		code, _, _ := strings.Cut(line, "#")
		code = strings.TrimFunc(code, isPadding)
		switch {
		case code == "":
		case strings.Contains(code, "="):
			c, err := b.constant(n, line, code)
			if err != nil {
				return nil, err
			}
			s.constants = append(s.constants, c)
		default:
			f, err := b.field(n, code)
			if err != nil {
				return nil, err
			}
			if seen[f.name] {
				return nil, b.fail(n, "a second field %q", clip(f.name))
			}
			seen[f.name] = true
			s.fields = append(s.fields, f)
		}
	}
	return s, nil
}

func (b *block) constant(n int, line, code string) (Constant, error) {
	words := strings.FieldsFunc(code, isSpace)
	c := Constant{Type: words[0]}
	if kind, ok := kinds[c.Type]; !ok || kind == Time || kind == Duration {
		return c, b.fail(n, "%q is no type for a constant", clip(c.Type))
	}
	if c.Type == "string" {
		// A string is all that is right of the '=', a '#' included. What is left of it
		// starts after the line's first space, indented or not: the md5sum is made of
		// what genmsg takes for the name.
		equals := strings.IndexByte(line, '=')
		c.Name = strings.TrimFunc(line[firstSpace(line[:equals]):equals], isSpace)
		c.Value = strings.TrimFunc(line[equals+1:], isPadding)
		return c, nil
	}
	parts := strings.Split(strings.Join(words[1:], " "), "=")
	if len(parts) != 2 {
		return c, b.fail(n, "want TYPE NAME=VALUE, got %q", clip(code))
	}
	c.Name, c.Value = strings.TrimFunc(parts[0], isSpace), strings.TrimFunc(parts[1], isSpace)
	if !fitsKind(c.Value, kinds[c.Type]) {
		return c, b.fail(n, "%q is no value for a %s", clip(c.Value), c.Type)
	}
	return c, nil
}

// firstSpace is where the text after the first space starts, or after the first tab
// if there is no space.
func firstSpace(s string) int {
	if i := strings.IndexByte(s, ' '); i >= 0 {
		return i + 1
	}
	return strings.IndexByte(s, '\t') + 1
}

func (b *block) field(n int, code string) (fieldSpec, error) {
	words := strings.FieldsFunc(code, isSpace)
	f := fieldSpec{length: -1, line: b.line + n}
	if len(words) != 2 {
		return f, b.fail(n, "want TYPE NAME, got %q", clip(code))
	}
	f.typ, f.name = words[0], words[1]
	if len(f.name) > maxNameBytes {
		return f, &DefinitionError{
			Type: b.name, Line: f.line,
			Reason: fmt.Sprintf("name of %d bytes, at most %d", len(f.name), maxNameBytes), err: ErrLimit,
		}
	}
	if !legalName(f.name, false) {
		return f, b.fail(n, "%q is no name for a field", clip(f.name))
	}
	base, brackets, array := strings.Cut(f.typ, "[")
	if !legalName(base, true) {
		return f, b.fail(n, "%q is no name for a type", clip(f.typ))
	}
	f.base, f.array = b.resolve(base, array), array
	if !array || brackets == "]" {
		return f, nil
	}
	digits, closed := strings.CutSuffix(brackets, "]")
	if !closed || strings.Trim(digits, "0123456789") != "" {
		return f, b.fail(n, "%q is no array", clip(f.typ))
	}
	length, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || length > maxArrayLength {
		return f, &DefinitionError{
			Type: b.name, Line: f.line,
			Reason: fmt.Sprintf("array of %s elements, at most %d", clip(digits), maxArrayLength),
			err:    ErrLimit,
		}
	}
	f.length = int(length)
	return f, nil
}

// resolve gives a type without a package the block's own; Header is everyone's.
func (b *block) resolve(base string, array bool) string {
	if _, builtin := kinds[base]; builtin || strings.Contains(base, "/") {
		return modern(base)
	}
	if pkg := b.pkg(); pkg != "" && (base != "Header" || array) {
		return pkg + "/" + base
	}
	if base == "Header" {
		return headerType
	}
	return base
}

func legalName(s string, slash bool) bool {
	for i, r := range s {
		switch {
		case r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z':
		case i == 0:
			return false
		case r == '_', unicode.IsLetter(r), unicode.IsNumber(r):
		case r == '/' && slash:
		default:
			return false
		}
	}
	return s != "" && !strings.Contains(s, "//")
}

// fitsKind checks a constant's value as Python does when it converts it.
func fitsKind(value string, k Kind) bool {
	plain := strings.ReplaceAll(value, "_", "")
	//exhaustive:ignore
	switch k {
	case Bool:
		_, err := strconv.ParseFloat(plain, 64)
		if err != nil {
			_, err = strconv.ParseInt(value, 0, 64) // 0x1
		}
		return value == "True" || value == "False" || err == nil
	case Float32, Float64:
		_, err := strconv.ParseFloat(plain, 64)
		return err == nil || errors.Is(err, strconv.ErrRange)
	}
	bits := 8 * int(k.size())
	n, err := strconv.ParseInt(plain, 10, bits)
	if k.unsigned() && n != 0 { // -0 is a number, too
		_, err = strconv.ParseUint(strings.TrimPrefix(plain, "+"), 10, bits)
	}
	return err == nil
}

// isSpace is what Python strips from a line.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// isPadding is what means nothing at the ends of a line: space, the NUL that ends a text of C, a byte
// order mark.
func isPadding(r rune) bool { return isSpace(r) || r == 0 || r == '\ufeff' }

// clip shortens what an error quotes from a definition.
func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}
