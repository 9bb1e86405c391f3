package mapping

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/internal/ros2/msg"
	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/rosmsg/noetic"
)

// deriver1 makes ROS 1 definitions of the types of one ROS 2 message.
type deriver1 struct {
	mapper *Mapper
	texts  map[string]string // of the types that do not ship with ROS 1, by ROS 1 name
	names  map[string]string // ROS 1 names by ROS 2 name
	taken  map[string]string // ROS 2 names by ROS 1 name
	notes  []Note
}

// derive makes the texts of a type and all types that it is made of.
func (d *deriver1) derive(two *msg.Type) error {
	all := slices.DeleteFunc(two.Dependencies(), func(t *msg.Type) bool {
		return t.Name == msg.TimeType || t.Name == msg.DurationType // time and duration in ROS 1
	})
	all = append(all, two)
	for _, t := range all {
		name, err := d.mapper.name1(t.Name)
		if err != nil {
			return err
		}
		if other := d.taken[name]; other != "" {
			return fmt.Errorf("%s and %s are both %s in ROS 1: %w", other, t.Name, name, ErrType)
		}
		d.taken[name], d.names[t.Name] = t.Name, name
	}
	for _, t := range all {
		name := d.names[t.Name]
		if _, ships := noetic.Text(name); !ships || isApart(name) {
			text, err := d.text(t)
			if err != nil {
				return err
			}
			d.texts[name] = text
		}
	}
	return nil
}

// text is the ROS 1 definition of the type alone.
func (d *deriver1) text(t *msg.Type) (string, error) {
	var b strings.Builder
	for _, c := range t.Constants {
		typ, _, _ := strings.Cut(c.Type, "<=")
		line := typ + " " + c.Name + "=" + constant1(c)
		if one, err := rosmsg.Parse("a/B", line); err != nil || len(one.Constants()) != 1 {
			d.notes = append(d.notes, Note{Change: ConstantDropped, Type: t.Short(), From: c.Name})
			continue
		}
		b.WriteString(line + "\n")
	}
	names := newNumbered()
	for _, f := range t.Fields {
		typ, err := d.value(f)
		if err != nil {
			return "", fmt.Errorf("%s %w", t.Name, err)
		}
		b.WriteString(typ + " " + names.name(strings.TrimLeft(f.Name, "_"), "_") + "\n")
	}
	return b.String(), nil
}

// value is the type of a field in ROS 1.
func (d *deriver1) value(f msg.Field) (string, error) {
	v := f.Value
	typ := v.Kind.String()
	//exhaustive:ignore
	switch v.Kind {
	case msg.WString:
		return "", fmt.Errorf("field %s: wstring has no layout that all of ROS 2 agrees on: %w", f.Name,
			ErrType)
	case msg.Message:
		switch v.Message.Name {
		case msg.TimeType:
			typ = "time"
		case msg.DurationType:
			typ = "duration"
		default:
			typ = d.names[v.Message.Name]
		}
	}
	switch v.Array {
	case msg.Single:
	case msg.Fixed:
		typ += fmt.Sprintf("[%d]", v.Length)
	case msg.Bounded, msg.Unbounded:
		typ += "[]"
	}
	return typ, nil
}

// constant1 is the value of a constant in ROS 1, where strings have no quotes.
func constant1(c msg.Constant) string {
	v := c.Value
	switch {
	case strings.HasPrefix(c.Type, "string"):
		if n := len(v); n >= 2 && (v[0] == '"' || v[0] == '\'') && v[n-1] == v[0] {
			v = strings.ReplaceAll(v[1:n-1], `\`+v[:1], v[:1])
		}
	case c.Type == "bool":
		switch v {
		case "true":
			return "True"
		case "false":
			return "False"
		}
	}
	return v
}
