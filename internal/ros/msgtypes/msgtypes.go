// Package msgtypes makes message types of the definitions that recordings and publishers send, and tells
// a missing definition from an empty one.
//
// It adds that to rosmsg, and owns nothing else. Everything that decodes messages may call it; it knows
// neither files nor the network.
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
	if err := check(name, md5sum, definition); err != nil {
		return nil, err
	}
	return rosmsg.Parse(name, definition)
}

// check returns an error if the definition is missing.
func check(name, md5sum, definition string) error {
	if definition == "" && md5sum != rosmsg.EmptyMD5Sum {
		return fmt.Errorf("%w of %s (md5sum %s)", ErrNoDefinition, name, md5sum)
	}
	return nil
}

// Cache is a rosmsg.Cache with the check of Parse. The zero value is empty.
type Cache struct{ types rosmsg.Cache }

// Of returns the type of the messages of a connection. Its errors are those of Parse.
func (c *Cache) Of(conn *rosbag.Connection) (*rosmsg.Type, error) {
	h := conn.Header
	if err := check(h.Type(), h.MD5Sum(), h.MessageDefinition()); err != nil {
		return nil, err
	}
	return c.types.Type(h.Type(), h.MessageDefinition())
}
