package migration

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/rosmsg"
)

// maxInserted bounds the bytes that a plan inserts into each message with values of Options.Set.
const maxInserted = 1 << 20

// received is the text of a time that stands for the time of receipt.
const received = "received"

// insert adds the steps of a field that old messages do not have: zeros, empty strings and empty arrays,
// which are zero bytes, too, or what Options.Set says, at any depth.
func (c *comparison) insert(s *steps, typ string, m member) {
	if err := c.inserted(s, typ, m); err != nil && c.plan.err == nil {
		c.plan.err = err
	}
}

func (c *comparison) inserted(s *steps, typ string, m member) error {
	v := m.value
	if text, ok := c.o.value(typ, m.name); ok {
		if err := s.literal(v, text); err != nil {
			return fmt.Errorf("%s %s.%s=%s: %w", OptionSet, typ, m.name, text, err)
		}
		return nil
	}
	zero := c.to.value(v)
	if v.class != message || v.array && v.length == variable || !c.sets(v.msg) {
		s.zero(zero.least)
		return nil
	}
	n := 1
	if v.array {
		n = v.length
	}
	if zero.least > maxInserted {
		return fmt.Errorf("%s is too large for values of %s", v.typed(), OptionSet)
	}
	for range n {
		for _, f := range members(v.msg, c.to.parts) {
			if err := c.inserted(s, v.msg.Name(), f); err != nil {
				return err
			}
		}
	}
	return nil
}

// sets reports whether Options.Set has a value for something in messages of a type.
func (c *comparison) sets(t *rosmsg.Type) bool {
	if known, ok := c.set[t]; ok {
		return known
	}
	found := false
	for _, f := range members(t, c.to.parts) {
		_, ok := c.o.set[Field{t.Name(), f.name}]
		found = found || ok || f.value.class == message && c.sets(f.value.msg)
	}
	c.set[t] = found
	return found
}

// literal adds the steps of a value that is written as a text.
func (s *steps) literal(v value, text string) error {
	if v.class == message {
		return fmt.Errorf("%s is a message; set its fields", v.name)
	}
	if v.name == "time" && !v.array && text == received {
		s.list = append(s.list, step{op: opReceived})
		return nil
	}
	x, err := v.parse(text)
	if err != nil {
		return err
	}
	typ, err := rosmsg.Parse(OptionSet, v.typed()+" value")
	if err != nil {
		return err
	}
	b, err := typ.Encode(map[string]any{"value": x})
	switch {
	case err != nil:
		return v.wrong()
	case len(b) > maxInserted:
		return fmt.Errorf("is longer than %d bytes", maxInserted)
	}
	s.write(b)
	return nil
}

// parse returns a value that is written as a text, as rosmsg encodes it.
func (v value) parse(text string) (any, error) {
	if !v.array {
		return v.element.parse(text)
	}
	inner, ok := strings.CutPrefix(strings.TrimSpace(text), "[")
	inner, ok2 := strings.CutSuffix(inner, "]")
	if !ok || !ok2 {
		return nil, fmt.Errorf("%s is an array: write [a, b, c]", v.typed())
	}
	var texts []string
	if strings.TrimSpace(inner) != "" {
		texts = strings.Split(inner, ",")
	}
	if v.length != variable && len(texts) != v.length {
		return nil, fmt.Errorf("has %d elements, and %s has %d", len(texts), v.typed(), v.length)
	}
	all := make([]any, len(texts))
	for i, one := range texts {
		var err error
		if all[i], err = v.element.parse(strings.TrimSpace(one)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// wrong says that a text is no value of the type.
func (e element) wrong() error { return fmt.Errorf("is no %s", e.name) }

// parse returns a value, or one element of an array.
func (e element) parse(text string) (x any, err error) {
	switch e.class {
	case signed:
		x, err = strconv.ParseInt(text, 10, 64)
	case unsigned:
		x, err = strconv.ParseUint(text, 10, 64)
	case boolean:
		x, err = strconv.ParseBool(strings.ToLower(text))
	case floating:
		x, err = strconv.ParseFloat(text, 8*e.bytes)
	case chars:
		x = text
	case moment:
		return e.parseMoment(text)
	case message:
		return nil, e.wrong()
	}
	if err != nil {
		return nil, e.wrong()
	}
	return x, nil
}

// parseMoment returns a time or a duration that is written in seconds.
func (e element) parseMoment(text string) (any, error) {
	wrong := fmt.Errorf("is no %s in seconds", e.name)
	digits, negative := strings.CutPrefix(text, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	if len(fraction) > 9 || fraction != "" && strings.Trim(fraction, "0123456789") != "" {
		return nil, wrong
	}
	secs, err := strconv.ParseUint(whole, 10, 32)
	nsecs, _ := strconv.ParseUint(fraction+strings.Repeat("0", 9-len(fraction)), 10, 32)
	switch {
	case err != nil, negative && e.name == "time", e.name == "duration" && secs > math.MaxInt32:
		return nil, wrong
	case e.name == "time":
		return rosmsg.Stamp{Secs: uint32(secs), Nsecs: uint32(nsecs)}, nil
	}
	d := time.Duration(secs)*time.Second + time.Duration(nsecs)
	if negative {
		d = -d
	}
	return d, nil
}
