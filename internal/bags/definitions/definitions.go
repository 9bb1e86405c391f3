// Package definitions finds message definitions of ROS 1 where users have them: in folders of .msg files,
// in recordings, at nodes that are running, in installed packages, and in the table of the types that
// ship with noetic.
//
// A Set is what one of these places knows; a List asks several. The package compares nothing: package
// mismatch does.
package definitions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/internal/ros/mismatch"
	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg/noetic"
)

// Set knows definitions. It is for one goroutine at a time.
type Set interface {
	mismatch.Known
	// own returns the text of one type, without those that it is made of.
	own(typ string) (text string, ok bool, err error)
}

// List asks several sets, one after the other: the first one that knows a type counts.
type List []Set

// Find implements mismatch.Known. It also returns what the other sets know.
func (l List) Find(typ string) ([]mismatch.Definition, error) {
	var all []mismatch.Definition
	var failed error
	for _, s := range l {
		found, err := s.Find(typ)
		if err != nil && failed == nil && len(all) == 0 {
			failed = err
		}
		all = append(all, found...)
	}
	return all, failed
}

func (l List) own(typ string) (text string, ok bool, err error) {
	for _, s := range l {
		if text, ok, err = s.own(typ); ok || err != nil {
			return text, ok, err
		}
	}
	return "", false, nil
}

// firstOf returns the text of the type itself in full definitions of it.
func firstOf(all []mismatch.Definition, err error) (text string, ok bool, _ error) {
	if err != nil || len(all) == 0 {
		return "", false, err
	}
	text, _, more := strings.Cut(all[0].Text, separator)
	if more {
		text = strings.TrimSuffix(text, "\n") // which comes after each text
	}
	return text, true, nil
}

// ros1 has the types that ship with ROS 1 noetic.
type ros1 struct{}

// Noetic returns the table of the types that ship with ROS 1 noetic. Its texts have no comments.
func Noetic() Set { return ros1{} }

// Find implements mismatch.Known.
func (ros1) Find(typ string) ([]mismatch.Definition, error) {
	text, sum, ok := noetic.Definition(typ)
	if !ok {
		return nil, nil
	}
	return []mismatch.Definition{{Type: typ, MD5Sum: sum, Text: text}}, nil
}

func (ros1) own(typ string) (text string, ok bool, err error) {
	text, ok = noetic.Text(typ)
	return text, ok, nil
}

// recorded has the definitions of connections.
type recorded map[string][]mismatch.Definition

// OfConnections returns the definitions that connections have. Those whose text does not have their
// md5sum are left out.
func OfConnections(conns []*rosbag.Connection) Set {
	all := make(recorded)
	for _, c := range conns {
		all.add(mismatch.Definition{
			Type: c.Header.Type(), MD5Sum: strings.ToLower(c.Header.MD5Sum()),
			Text: c.Header.MessageDefinition(),
		})
	}
	return all
}

func (r recorded) add(d mismatch.Definition) {
	t, err := msgdef.Parse(d.Type, d.MD5Sum, d.Text)
	if err != nil || t.MD5Sum() != d.MD5Sum {
		return
	}
	if d.Text = t.Definition; !slices.Contains(r[d.Type], d) {
		r[d.Type] = append(r[d.Type], d)
	}
}

// Find implements mismatch.Known.
func (r recorded) Find(typ string) ([]mismatch.Definition, error) { return r[typ], nil }

func (r recorded) own(typ string) (text string, ok bool, err error) { return firstOf(r.Find(typ)) }

// Wanted returns the definition that a set wants a type to have. It is an error if it wants two.
func Wanted(s Set, typ string) (d mismatch.Definition, ok bool, err error) {
	if l, isList := s.(List); isList {
		for _, one := range l {
			if d, ok, err = Wanted(one, typ); ok || err != nil {
				return d, ok, err
			}
		}
		return d, false, nil
	}
	all, err := s.Find(typ)
	switch {
	case err != nil || len(all) == 0:
		return d, false, err
	case slices.ContainsFunc(all, func(k mismatch.Definition) bool { return k.MD5Sum != all[0].MD5Sum }):
		return d, false,
			fmt.Errorf("two versions of %s are there, with the md5sums %s and %s; name a place with one", typ,
				all[0].MD5Sum, all[len(all)-1].MD5Sum)
	}
	return all[0], true, nil
}

// separator is the line between the parts of a definition.
var separator = strings.Repeat("=", 80)
