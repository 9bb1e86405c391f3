package rebag

import (
	"encoding/binary"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// conns makes the connections of the output. Those of several inputs, or of an input
// that repeats one under another id, with the same topic and header share one.
type conns struct {
	rename map[string]string
	known  map[*bagfmt.Connection]*bagfmt.Connection // by connection of an input
	same   map[string]*bagfmt.Connection             // by topic and header
	last   *bagfmt.Connection                        // of the last message, and
	as     *bagfmt.Connection                        // what it is in the output
}

func newConns(rename map[string]string) *conns {
	return &conns{
		rename: rename,
		known:  make(map[*bagfmt.Connection]*bagfmt.Connection),
		same:   make(map[string]*bagfmt.Connection),
	}
}

// of returns the connection of the output for one of an input.
func (c *conns) of(in *bagfmt.Connection) *bagfmt.Connection {
	if in == c.last {
		return c.as
	}
	out := c.known[in]
	if out == nil {
		out = c.learn(in)
		c.known[in] = out
	}
	c.last, c.as = in, out
	return out
}

func (c *conns) learn(in *bagfmt.Connection) *bagfmt.Connection {
	out := &bagfmt.Connection{ID: bagfmt.ConnID(len(c.same)), Topic: in.Topic, Header: slices.Clone(in.Header)}
	if to, ok := c.rename[in.Topic]; ok {
		out.Topic = to
		for i := range out.Header {
			// Stock players go by this name where a topic was recorded under another one.
			if f := &out.Header[i]; f.Key == "topic" {
				f.Value = to
			}
		}
	}
	// Old versions have no definitions, and stock readers refuse a connection without
	// this field. Stock's recorder also leaves it empty where it knows none.
	if _, ok := out.Header.Get("message_definition"); !ok {
		out.Header = append(out.Header, bagfmt.Field{Key: "message_definition"})
	}
	key := identity(out)
	if known, ok := c.same[key]; ok {
		return known
	}
	c.same[key] = out
	return out
}

// identity tells apart connections that differ in anything but their id.
func identity(c *bagfmt.Connection) string {
	var b []byte
	add := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	add(c.Topic)
	for _, f := range c.Header {
		add(f.Key)
		add(f.Value)
	}
	return string(b)
}
