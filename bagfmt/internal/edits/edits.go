// Package edits applies a rosbag.Edit to the messages of each connection that has one.
package edits

import "github.com/gorosbag/gorosbag/rosbag"

// Edits knows how the messages of connections change. It is not for concurrent use.
type Edits struct {
	choose  func(*rosbag.Connection) *rosbag.Edit
	of      map[*rosbag.Connection]*rosbag.Edit // by connection of the output
	last    *rosbag.Connection                  // of the last message
	current *rosbag.Edit                        // that of last
	memory  []byte
}

// New returns Edits that choose chooses. Nil changes nothing.
func New(choose func(*rosbag.Connection) *rosbag.Edit) *Edits {
	if choose == nil {
		choose = func(*rosbag.Connection) *rosbag.Edit { return nil }
	}
	return &Edits{choose: choose, of: make(map[*rosbag.Connection]*rosbag.Edit)}
}

// Begin returns what a connection of the input becomes. use is called with the connection of the output.
func (e *Edits) Begin(c *rosbag.Connection) (edited *rosbag.Connection, use func(out *rosbag.Connection)) {
	edit := e.choose(c)
	return edit.Connection(c), func(out *rosbag.Connection) {
		if edit != nil {
			e.of[out] = edit
		}
	}
}

// Has reports whether the messages of a connection of the output change.
func (e *Edits) Has(out *rosbag.Connection) bool { return e.of[out] != nil }

// Apply returns what a message for a connection of the output becomes, in memory that the next call uses
// again.
func (e *Edits) Apply(
	out *rosbag.Connection, payload []byte, t rosbag.Time,
) (data []byte, keep bool, err error) {
	if out != e.last {
		e.last, e.current = out, e.of[out]
	}
	return e.current.Apply(&e.memory, payload, t)
}
