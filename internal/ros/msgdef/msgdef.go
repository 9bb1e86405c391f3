// Package msgdef makes message types of the definitions that recordings and publishers send. It owns the
// rule by which the table of the types that ship with ROS 1 helps out where a definition is missing,
// incomplete or not the one that the md5sum belongs to.
//
// Everything that decodes messages, or passes their definitions on to other readers, may call it; it
// knows neither files nor the network.
package msgdef

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/rosmsg/noetic"
)

// ErrNoDefinition means that messages cannot be decoded because their definition is not known.
var ErrNoDefinition = errors.New("no message definition")

// Type is a message type and where it is from.
type Type struct {
	*rosmsg.Type
	// Definition has all parts and is written as ROS writes it: what came with the connection if possible.
	Definition string
	// Replaced says what is wrong with the definition that came with the connection, and what is used
	// instead. It is empty if that definition is used.
	Replaced string
}

// Parse makes a type of its name, its md5sum and the definition that came with them. Other libraries than
// those of ROS send definitions that are empty, or lack the parts of other types. The md5sum, which
// covers all parts, then says whether the table of ROS helps:
//
//   - a definition that has the md5sum is used as it is;
//   - parts that it lacks are taken from the table, if the md5sum comes out;
//   - the definition in the table is used, if it has the name and the md5sum;
//   - parts of the definition are replaced by those in the table, if the md5sum comes out.
//
// A definition with another md5sum that none of this helps is used as it is; [Type.MD5Sum] shows it.
// Publishers that do not know an md5sum send "*", or that of an empty text: then the table is believed.
func Parse(name, md5sum, definition string) (*Type, error) {
	if strings.Trim(definition, " \t\r\n\x00\ufeff") == "" {
		return ofNothing(name, md5sum, definition)
	}
	unknown := md5sum == "" || md5sum == "*"
	t, lacked, err := complete(name, definition)
	if err == nil && (unknown || t.MD5Sum() == md5sum) {
		return t, nil
	}
	if known, sum, ok := noetic.Definition(name); ok && (sum == md5sum || err != nil && unknown) {
		why := fmt.Sprintf("another md5sum than %s", md5sum)
		if err != nil {
			why = "errors"
			var bad *rosmsg.DefinitionError
			if errors.As(err, &bad) {
				why = fmt.Sprintf("errors (line %d: %s)", bad.Line, bad.Reason)
			}
		}
		return fromTable(name, known, "has "+why)
	}
	if replaced, err := replaceParts(name, md5sum, definition); err == nil {
		return replaced, nil
	}
	if err != nil || lacked {
		_, err = rosmsg.Parse(name, definition)
		return nil, err
	}
	return t, nil
}

// ofNothing makes a type whose definition has no text: that of ROS, or one without fields.
func ofNothing(name, md5sum, definition string) (*Type, error) {
	known, sum, ok := noetic.Definition(name)
	switch {
	case ok && (sum == md5sum || md5sum == "" || md5sum == "*" || md5sum == rosmsg.EmptyMD5Sum):
		if sum == rosmsg.EmptyMD5Sum {
			break
		}
		return fromTable(name, known, "is empty")
	case md5sum != rosmsg.EmptyMD5Sum:
		return nil, fmt.Errorf("%w of %s (md5sum %s)", ErrNoDefinition, name, md5sum)
	}
	t, err := rosmsg.Parse(name, "")
	if err != nil {
		return nil, err
	}
	return &Type{Type: t, Definition: strings.Trim(definition, "\x00\ufeff")}, nil
}

// fromTable makes a type of a definition in the table.
func fromTable(name, known, why string) (*Type, error) {
	t, err := rosmsg.Parse(name, known)
	if err != nil {
		return nil, err
	}
	return &Type{
		Type: t, Definition: known,
		Replaced: fmt.Sprintf("its definition of %s %s: that of ROS noetic is used", name, why),
	}, nil
}

// complete makes a type of a definition and of parts in the table that it lacks. lacked reports whether
// it lacks any.
func complete(name, definition string) (t *Type, lacked bool, err error) {
	var names []string
	var parts strings.Builder
	typ, err := rosmsg.ParseWith(name, definition, func(part string) (string, bool) {
		text, ok := noetic.Text(part)
		if ok {
			names = append(names, part)
			parts.WriteString("\n" + separator + "\nMSG: " + part + "\n" + strings.TrimSuffix(text, "\n"))
		}
		return text, ok
	})
	if err != nil {
		return nil, len(names) > 0, err
	}
	t = &Type{Type: typ}
	if t.Definition, err = rosmsg.Straight(name, definition); err != nil {
		return nil, false, err
	}
	if len(names) > 0 {
		t.Definition = strings.TrimRight(t.Definition, "\r\n") + parts.String()
		t.Replaced = fmt.Sprintf("its definition of %s lacks %s: those of ROS noetic are used", name,
			strings.Join(names, ", "))
		if len(names) == 1 {
			t.Replaced = fmt.Sprintf("its definition of %s lacks %s: that of ROS noetic is used", name,
				names[0])
		}
	}
	return t, len(names) > 0, nil
}

// replaceParts makes a type of the fields in a definition and of parts in the table, which go before
// those in the definition. It fails unless that type has the md5sum.
func replaceParts(name, md5sum, definition string) (*Type, error) {
	straight, err := rosmsg.Straight(name, definition)
	if err != nil {
		return nil, err
	}
	own, rest, _ := strings.Cut(straight, "\n"+separator)
	parts := map[string]string{name: own}
	for part := range strings.SplitSeq(rest, separator) {
		if header, text, ok := strings.Cut(strings.TrimLeft(part, "\r\n"), "\n"); ok {
			parts[strings.TrimSpace(strings.TrimPrefix(header, "MSG:"))] = text
		}
	}
	text := func(part string) (string, bool) {
		if text, ok := noetic.Text(part); ok && part != name {
			return text, true
		}
		text, ok := parts[part]
		return text, ok
	}
	whole := noetic.Compose(name, text)
	t, err := rosmsg.Parse(name, whole)
	if err != nil {
		return nil, err
	}
	if t.MD5Sum() != md5sum {
		return nil, fmt.Errorf("%w of %s (md5sum %s)", ErrNoDefinition, name, md5sum)
	}
	return &Type{
		Type: t, Definition: whole,
		Replaced: fmt.Sprintf("parts of its definition of %s do not have its md5sum: those of ROS noetic are used", name),
	}, nil
}

// DefinitionOf returns the definition in a connection header, or that of ROS if the header has none and
// Parse would use that of ROS. It is for those who look at the text only, and need no Type.
func DefinitionOf(h rosbag.Header) string {
	text := h.MessageDefinition()
	if strings.TrimSpace(text) != "" {
		return text
	}
	return Complete(h.Type(), h.MD5Sum(), text)
}

// Complete returns the definition of a type for readers that have no table of their own: with all parts,
// and as ROS writes it. A definition that is of no use stays as it is.
func Complete(name, md5sum, definition string) string {
	if t, err := Parse(name, md5sum, definition); err == nil {
		return t.Definition
	}
	return definition
}

// separator is the line between the parts of a definition.
var separator = strings.Repeat("=", 80)

const (
	maxCachedTypes = 256     // of a Cache
	maxCachedBytes = 4 << 20 // of the names and definitions of a Cache
)

// Cache parses each definition once, though many connections send it. The zero value is empty. Its memory
// is bounded: a Cache that is full starts again. A Cache belongs to one goroutine; the types that it
// returns do not.
type Cache struct {
	types map[cacheKey]cached
	bytes int // of the keys
}

type cacheKey struct{ name, md5sum, definition string }

type cached struct {
	typ *Type
	err error
}

// Of returns the type of the messages of a connection. Its errors are those of Parse.
func (c *Cache) Of(conn *rosbag.Connection) (*Type, error) {
	k := cacheKey{conn.Header.Type(), conn.Header.MD5Sum(), conn.Header.MessageDefinition()}
	if p, ok := c.types[k]; ok {
		return p.typ, p.err
	}
	size := len(k.name) + len(k.md5sum) + len(k.definition)
	if c.types == nil || len(c.types) == maxCachedTypes || c.bytes+size > maxCachedBytes {
		c.types, c.bytes = make(map[cacheKey]cached), 0
	}
	var p cached
	p.typ, p.err = Parse(k.name, k.md5sum, k.definition)
	c.types[k] = p
	c.bytes += size
	return p.typ, p.err
}
