// Package msgtypes makes message types of the definitions that recordings and publishers send.
//
// A Cache owns the types that it has parsed, with bounded memory. Everything that decodes messages may
// call it; it knows neither files nor the network.
package msgtypes

import (
	"errors"
	"fmt"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// ErrNoDefinition means that messages cannot be decoded because their definition is not known.
var ErrNoDefinition = errors.New("no message definition")

// Parse makes a type of its name and the definition that came with it. The md5sum tells a missing
// definition from that of a type without fields. Whether the md5sum is that of the definition is not
// checked.
func Parse(name, md5sum, definition string) (*rosmsg.Type, error) {
	if definition == "" && md5sum != rosmsg.EmptyMD5Sum {
		return nil, fmt.Errorf("%w of %s (md5sum %s)", ErrNoDefinition, name, md5sum)
	}
	return rosmsg.Parse(name, definition)
}

const (
	maxTypes = 256     // of a Cache
	maxBytes = 4 << 20 // of the names and definitions of a Cache
)

// Cache parses each definition once, though many connections have it. The zero value is empty. A Cache
// belongs to one goroutine.
type Cache struct {
	types map[key]parsed
	bytes int
}

type key struct{ name, md5sum, definition string }

type parsed struct {
	typ *rosmsg.Type
	err error
}

// Of returns the type of the messages of a connection. Its errors are those of Parse.
func (c *Cache) Of(conn *rosbag.Connection) (*rosmsg.Type, error) {
	k := key{conn.Header.Type(), conn.Header.MD5Sum(), conn.Header.MessageDefinition()}
	if p, ok := c.types[k]; ok {
		return p.typ, p.err
	}
	size := len(k.name) + len(k.md5sum) + len(k.definition)
	if c.types == nil || len(c.types) == maxTypes || c.bytes+size > maxBytes {
		c.types, c.bytes = make(map[key]parsed), 0
	}
	var p parsed
	p.typ, p.err = Parse(k.name, k.md5sum, k.definition)
	c.types[k] = p
	c.bytes += size
	return p.typ, p.err
}
