package rewrite

import (
	"encoding/binary"
	"slices"

	"github.com/gorosbag/gorosbag/rosbag"
)

// conns maps input connections to output connections. Input connections with the same topic
// and header share an output connection.
type conns struct {
	rename     func(*rosbag.Connection) string       // nil to keep topics
	edit       func(*rosbag.Connection) *rosbag.Edit // nil to keep messages
	byInput    map[*rosbag.Connection]*outputConn    // by input connection
	byIdentity map[string]*rosbag.Connection         // by topic and header
	lastInput  *rosbag.Connection                    // input connection of the last message
	last       *outputConn                           // the outputConn of lastInput
	taken      map[rosbag.ConnID]bool                // ids of output connections
	next       rosbag.ConnID                         // the lowest id that may be free
}

// outputConn says which output connection gets the messages of an input connection.
type outputConn struct {
	conn     *rosbag.Connection // the output connection
	edit     *rosbag.Edit       // how messages of the input connection change; nil if they stay
	messages uint64             // messages of the input connection that were written
}

func newConns(rename func(*rosbag.Connection) string, edit func(*rosbag.Connection) *rosbag.Edit) *conns {
	return &conns{
		rename:     rename,
		edit:       edit,
		byInput:    make(map[*rosbag.Connection]*outputConn),
		byIdentity: make(map[string]*rosbag.Connection),
		taken:      make(map[rosbag.ConnID]bool),
		next:       1, // some readers of MCAP take 0 for none
	}
}

// of returns the outputConn of an input connection.
func (c *conns) of(in *rosbag.Connection) *outputConn {
	if in == c.lastInput {
		return c.last
	}
	out := c.byInput[in]
	if out == nil {
		out = &outputConn{}
		out.conn, out.edit = c.add(in)
		c.byInput[in] = out
	}
	c.lastInput, c.last = in, out
	return out
}

// written returns the number of messages written of each input connection.
func (c *conns) written() map[*rosbag.Connection]uint64 {
	all := make(map[*rosbag.Connection]uint64, len(c.byInput))
	for in, out := range c.byInput {
		all[in] = out.messages
	}
	return all
}

func (c *conns) add(in *rosbag.Connection) (*rosbag.Connection, *rosbag.Edit) {
	var edit *rosbag.Edit
	if c.edit != nil {
		edit = c.edit(in)
	}
	header := edit.Connection(in).Header
	out := &rosbag.Connection{ID: in.ID, Topic: in.Topic, Header: slices.Clone(header)}
	if c.rename != nil {
		out.Topic = c.rename(in)
	}
	if out.Topic != in.Topic {
		for i := range out.Header {
			// Stock players publish under this name, not under the one of the record.
			if f := &out.Header[i]; f.Key == "topic" {
				f.Value = out.Topic
			}
		}
	}
	// Old versions have no definitions, and stock readers refuse a connection without
	// this field. Stock's recorder also leaves it empty where it knows none.
	if _, ok := out.Header.Get("message_definition"); !ok {
		out.Header = append(out.Header, rosbag.Field{Key: "message_definition"})
	}
	key := identity(out)
	if known, ok := c.byIdentity[key]; ok {
		return known, edit
	}
	c.byIdentity[key] = out
	for c.taken[out.ID] { // otherwise it keeps its id: chunks can be copied then
		out.ID = c.next
		c.next++
	}
	c.taken[out.ID] = true
	return out, edit
}

// identity returns a key that is equal for connections that differ only in their ID.
func identity(c *rosbag.Connection) string {
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
