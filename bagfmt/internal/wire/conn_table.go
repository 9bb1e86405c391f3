package wire

import (
	"cmp"
	"slices"

	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/rosbag"
)

// denseTable bounds the slice of a ConnTable whose number of connections is not known: ids
// beyond it cost a map lookup.
const denseTable = 4096

// ConnTable finds the connections of a bag by id.
type ConnTable struct {
	Most   int // connections to come, if that is known beforehand
	dense  []*rosbag.Connection
	sparse map[rosbag.ConnID]*rosbag.Connection
}

// Get returns the connection with an id, nil if there is none.
func (t *ConnTable) Get(id rosbag.ConnID) *rosbag.Connection {
	if int64(id) < int64(len(t.dense)) {
		return t.dense[id]
	}
	return t.sparse[id]
}

// Add learns the connection of the record at offset at. A record that repeats a
// known connection changes nothing, as in stock readers; one that contradicts it
// is an error.
func (t *ConnTable) Add(h *RecordHeader, data []byte, at int64) error {
	if old := t.Get(h.Conn); old != nil && sameConnection(old, h.topic, data) {
		return nil // as in each second chunk of many bags
	}
	c, err := ParseConnection(h, data)
	if err != nil {
		return Corrupt(at, rosbag.OpConnection, "%v", err)
	}
	if old := t.Get(c.ID); old != nil {
		if old.Topic != c.Topic || old.Header.Type() != c.Header.Type() ||
			old.Header.MD5Sum() != c.Header.MD5Sum() {
			return Corrupt(at, rosbag.OpConnection, "id %d is %q and %q", c.ID, old.Topic, c.Topic)
		}
		return nil
	}
	switch {
	case int64(c.ID) >= int64(max(denseTable, t.Most)):
		if t.sparse == nil {
			t.sparse = make(map[rosbag.ConnID]*rosbag.Connection)
		}
		t.sparse[c.ID] = c
		return nil
	case int(c.ID) >= len(t.dense):
		t.dense = append(t.dense, make([]*rosbag.Connection, int(c.ID)+1-len(t.dense))...)
	}
	t.dense[c.ID] = c
	return nil
}

// sameConnection reports whether topic and data, a connection header, say what c says.
func sameConnection(c *rosbag.Connection, topic, data []byte) bool {
	if string(topic) != c.Topic {
		return false
	}
	for _, f := range c.Header {
		key, value, rest, err := fields.Next(data)
		if err != nil || string(key) != f.Key || string(value) != f.Value {
			return false
		}
		data = rest
	}
	return len(data) == 0
}

// All returns the connections by ascending id.
func (t *ConnTable) All() []*rosbag.Connection {
	list := make([]*rosbag.Connection, 0, len(t.sparse))
	for _, c := range t.dense {
		if c != nil {
			list = append(list, c)
		}
	}
	n := len(list)
	for _, c := range t.sparse {
		list = append(list, c)
	}
	slices.SortFunc(list[n:], func(a, b *rosbag.Connection) int { return cmp.Compare(a.ID, b.ID) })
	return list
}
