// Package noetic has the definitions of the messages that ship with ROS 1 noetic, and of the packages
// that most robots have beside those.
//
//	twist, err := noetic.Parse("geometry_msgs/Twist")
//
// A definition has no comments. [Compose] makes definitions of .msg files of your own, and of those here.
package noetic

import (
	_ "embed" // the table
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/gorosbag/gorosbag/rosmsg"
)

// noeticText has the fields and constants of the types.
//
//go:embed noetic.txt
var noeticText string

// noetic has them by the name of the type.
var noetic = sync.OnceValue(func() map[string]string {
	all := make(map[string]string)
	for name, text := range Table(noeticText) {
		all[name] = text
	}
	return all
})

// Table yields what follows each "MSG: " at the start of a line of a table of types, and the lines after it.
func Table(table string) iter.Seq2[string, string] {
	return func(yield func(header, body string) bool) {
		for block := range strings.SplitSeq(strings.TrimPrefix(table, "MSG: "), "\nMSG: ") {
			header, body, _ := strings.Cut(block, "\n")
			if body != "" && !strings.HasSuffix(body, "\n") {
				body += "\n"
			}
			if !yield(header, body) {
				return
			}
		}
	}
}

// Text returns the fields and constants of a type of ROS 1 noetic, without those of the types that it is
// made of and without comments.
func Text(name string) (text string, ok bool) {
	text, ok = noetic()[name]
	return text, ok
}

// Definition returns the definition of a type of ROS 1 noetic, without comments, and its md5sum.
func Definition(name string) (definition, md5sum string, ok bool) {
	if _, ok := Text(name); !ok {
		return "", "", false
	}
	definition = Compose(name, Text)
	t, err := rosmsg.Parse(name, definition)
	if err != nil {
		panic("noetic: table: " + err.Error())
	}
	return definition, t.MD5Sum(), true
}

// Parse makes a type of its definition of ROS 1 noetic.
func Parse(name string) (*rosmsg.Type, error) {
	definition, _, ok := Definition(name)
	if !ok {
		return nil, fmt.Errorf("%w %.100q", ErrUnknown, name)
	}
	return rosmsg.Parse(name, definition)
}

// ErrUnknown means that a type does not ship with ROS 1 noetic.
var ErrUnknown = errors.New("noetic has no type")

// separator is the line between the parts of a definition.
var separator = strings.Repeat("=", 80)

// Compose makes the definition of a type from its fields and constants and those of all types that it is
// made of. What text does not know is left out.
func Compose(name string, text func(name string) (string, bool)) string {
	var b strings.Builder
	seen := map[string]bool{name: true}
	var walk func(name, own string)
	walk = func(name, own string) {
		b.WriteString(own + "\n") // as ROS does; its Python needs a line in a part without fields
		for _, used := range uses(name, own) {
			if t, ok := text(used); ok && !seen[used] {
				seen[used] = true
				b.WriteString(separator + "\nMSG: " + used + "\n")
				walk(used, t)
			}
		}
	}
	own, _ := text(name)
	walk(name, own)
	return strings.TrimSuffix(b.String(), "\n")
}

// uses returns the types of those fields that are messages, each once, in order; none if the text has errors.
func uses(name, text string) (all []string) {
	_, err := rosmsg.ParseWith(name, text, func(part string) (string, bool) {
		all = append(all, part)
		return "", true
	})
	if err != nil {
		return nil
	}
	return all
}
