package mismatch

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// Definition is what a connection header says about its messages.
type Definition struct {
	Type   string
	MD5Sum string // "*" or empty if it is not known
	Text   string // the full text with all dependencies; empty if it is not known
}

// Known finds definitions.
type Known interface {
	// Find returns the definitions of a type, the best one first; none if the type is not known. The
	// error says why a type that is there has no usable definition.
	Find(typ string) ([]Definition, error)
}

// Resolved is the definition that messages really have.
type Resolved struct {
	Definition              // complete
	Parsed     *rosmsg.Type // of Text
	// Fault says what is wrong with the definition that came with the messages; empty if it is right.
	Fault string
	// Unproven: nothing but the length of messages shows that they have this definition.
	Unproven bool
}

// Resolve finds out which definition messages have. What came with them counts if its text has its
// md5sum, perhaps with the help of the table of ROS; if not, a known text of that md5sum; and else the
// text, unproven. An error says what is missing.
func Resolve(d Definition, known Known) (Resolved, error) {
	stated := strings.ToLower(d.MD5Sum)
	noSum := stated == "" || stated == "*"
	var parsed *rosmsg.Type
	var fault, text string
	t, err := msgdef.Parse(d.Type, stated, d.Text)
	switch {
	case errors.Is(err, msgdef.ErrNoDefinition):
		fault = "it has no definition"
	case err != nil:
		fault = fmt.Sprintf("its %v", err)
	case t.MD5Sum() == stated:
		return Resolved{
			Definition: Definition{d.Type, stated, t.Definition}, Parsed: t.Type,
			Fault: t.Replaced,
		}, nil
	case noSum:
		return Resolved{
			Definition: Definition{d.Type, t.MD5Sum(), t.Definition}, Parsed: t.Type,
			Fault: "it has no md5sum", Unproven: true,
		}, nil
	default:
		parsed, text = t.Type, t.Definition
		fault = cmp.Or(t.Replaced,
			fmt.Sprintf("the md5sum of its definition is %s, and it says %.40q", t.MD5Sum(), d.MD5Sum))
	}
	all, err := find(known, d.Type)
	for _, k := range all {
		if t, err := rosmsg.Parse(k.Type, k.Text); err == nil && t.MD5Sum() == stated {
			return Resolved{Definition: Definition{d.Type, stated, k.Text}, Parsed: t, Fault: fault}, nil
		}
	}
	switch {
	case parsed != nil:
		return Resolved{
			Definition: Definition{d.Type, parsed.MD5Sum(), text}, Parsed: parsed, Fault: fault,
			Unproven: true,
		}, nil
	case err != nil:
		return Resolved{}, fmt.Errorf("%s, and another one is not usable: %w", fault, err)
	case noSum:
		return Resolved{}, fmt.Errorf("%s, and no md5sum that tells which one it is", fault)
	}
	return Resolved{},
		fmt.Errorf("%s, and none of the known ones of %s has its md5sum %.40s", fault, d.Type, d.MD5Sum)
}

func find(known Known, typ string) ([]Definition, error) {
	if known == nil {
		return nil, nil
	}
	return known.Find(typ)
}
