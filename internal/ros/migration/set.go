package migration

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// maxInserted bounds the bytes that a plan inserts into each message with values of Options.Set.
const maxInserted = 1 << 20

// received is the text of a time that stands for the time of receipt.
const received = "received"

// insert adds the steps of a field that old messages do not have: zeros, empty strings and empty arrays, which are
// zero bytes, too, or what Options.Set says, at any depth.
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
	if !v.array {
		if v.name == "time" && text == received {
			s.list = append(s.list, step{op: opReceived})
			return nil
		}
		b, err := v.encode(nil, text)
		if err == nil {
			s.write(b)
		}
		return err
	}
	inner, ok := strings.CutPrefix(strings.TrimSpace(text), "[")
	inner, ok2 := strings.CutSuffix(inner, "]")
	if !ok || !ok2 {
		return fmt.Errorf("%s is an array: write [a, b, c]", v.typed())
	}
	var all []string
	if strings.TrimSpace(inner) != "" {
		all = strings.Split(inner, ",")
	}
	if v.length != variable && len(all) != v.length {
		return fmt.Errorf("has %d elements, and %s has %d", len(all), v.typed(), v.length)
	}
	var b []byte
	if v.length == variable {
		b = le.AppendUint32(b, uint32(len(all)))
	}
	for _, one := range all {
		var err error
		if b, err = v.encode(b, strings.TrimSpace(one)); err != nil {
			return err
		}
	}
	if len(b) > maxInserted {
		return fmt.Errorf("is longer than %d bytes", maxInserted)
	}
	s.write(b)
	return nil
}

// encode appends a value that is written as a text.
func (e element) encode(dst []byte, text string) ([]byte, error) {
	wrong := fmt.Errorf("is no %s", e.name)
	switch e.class {
	case signed:
		n, err := strconv.ParseInt(text, 10, 8*e.bytes)
		if err != nil {
			return dst, wrong
		}
		return appendInteger(dst, uint64(n), e.bytes), nil
	case unsigned:
		n, err := strconv.ParseUint(text, 10, 8*e.bytes)
		if err != nil {
			return dst, wrong
		}
		return appendInteger(dst, n, e.bytes), nil
	case boolean:
		b, err := strconv.ParseBool(strings.ToLower(text))
		if err != nil {
			return dst, wrong
		}
		if b {
			return append(dst, 1), nil
		}
		return append(dst, 0), nil
	case floating:
		f, err := strconv.ParseFloat(text, 8*e.bytes)
		if err != nil {
			return dst, wrong
		}
		return appendFloat(dst, f, e.bytes), nil
	case chars:
		return append(le.AppendUint32(dst, uint32(len(text))), text...), nil
	case moment:
		return e.encodeMoment(dst, text)
	case message:
	}
	return dst, wrong
}

// encodeMoment appends a time or a duration that is written in seconds.
func (e element) encodeMoment(dst []byte, text string) ([]byte, error) {
	wrong := fmt.Errorf("is no %s in seconds", e.name)
	digits, negative := strings.CutPrefix(text, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	if len(fraction) > 9 || fraction != "" && strings.Trim(fraction, "0123456789") != "" {
		return dst, wrong
	}
	secs, err := strconv.ParseUint(whole, 10, 32)
	if err != nil {
		return dst, wrong
	}
	nsecs, _ := strconv.ParseUint(fraction+strings.Repeat("0", 9-len(fraction)), 10, 32)
	t := rosbag.Time{Sec: uint32(secs), Nsec: uint32(nsecs)}
	if e.name == "duration" {
		if secs > math.MaxInt32 {
			return dst, wrong
		}
		if negative { // as genpy has it: seconds rounded down, and nanoseconds after them
			t.Sec = -t.Sec
			if nsecs > 0 {
				t.Sec, t.Nsec = t.Sec-1, 1_000_000_000-t.Nsec
			}
		}
	} else if negative {
		return dst, wrong
	}
	return le.AppendUint32(le.AppendUint32(dst, t.Sec), t.Nsec), nil
}
