package bagfmt

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// connSet is the connections of a bag that is being written.
type connSet struct {
	byID  map[rosbag.ConnID]*rosbag.Connection
	next  rosbag.ConnID
	bytes int64                                     // of the records of all
	byArg map[*rosbag.Connection]*rosbag.Connection // results of own, by its argument

	// recent holds entries of byArg by the lower bits of the argument's id: for a small message a look
	// into the map costs as much as the rest of Write.
	recent [64]ownConn
}

// ownConn is an argument of connSet.own and its result.
type ownConn struct{ arg, own *rosbag.Connection }

func newConnSet() connSet { return connSet{byID: make(map[rosbag.ConnID]*rosbag.Connection)} }

// keptIDs: connections of other recordings keep ids below, if these are free. Larger ones would use the
// ids up.
const keptIDs = 1 << 16

var errNoID = errors.New("the bag has no connection id left")

// add makes a connection under the next id.
func (s *connSet) add(topic string, h rosbag.Header) (*rosbag.Connection, error) {
	if s.byID[s.next] != nil { // the last one
		return nil, errNoID
	}
	c := &rosbag.Connection{ID: s.next, Topic: topic, Header: slices.Clone(h)}
	return c, s.adopt(c)
}

// adopt adds c under the id that it has.
func (s *connSet) adopt(c *rosbag.Connection) error {
	if old, ok := s.byID[c.ID]; ok {
		if old == c || old.Topic == c.Topic && slices.Equal(old.Header, c.Header) {
			return nil
		}
		return fmt.Errorf("connection id %d is used for %s and for %s", c.ID, old.Topic, c.Topic)
	}
	if err := wire.CheckConnection(c); err != nil {
		return err
	}
	s.byID[c.ID] = c
	delete(s.byArg, c) // another connection may have stood for c
	s.recent = [len(s.recent)]ownConn{}
	s.bytes += int64(wire.ConnectionBytes(c))
	if c.ID >= s.next && c.ID < math.MaxUint32 {
		s.next = c.ID + 1
	}
	return nil
}

// own returns c, if it is a connection of the bag, otherwise the connection that stands for it.
func (s *connSet) own(c *rosbag.Connection) (*rosbag.Connection, error) {
	latest := &s.recent[c.ID%rosbag.ConnID(len(s.recent))]
	if c == latest.arg {
		return latest.own, nil
	}
	own := s.byArg[c]
	if own == nil {
		var err error
		if own, err = s.resolve(c); err != nil {
			return nil, err
		}
	}
	*latest = ownConn{c, own}
	return own, nil
}

// resolve finds or adds what own returns for a connection that was not given before.
func (s *connSet) resolve(c *rosbag.Connection) (own *rosbag.Connection, err error) {
	own = c
	switch {
	case s.byID[c.ID] == c:
	case s.byID[c.ID] == nil && c.ID < keptIDs:
		own = &rosbag.Connection{ID: c.ID, Topic: c.Topic, Header: slices.Clone(c.Header)}
		err = s.adopt(own)
	default:
		own, err = s.add(c.Topic, c.Header)
	}
	if err != nil {
		return nil, err
	}
	if s.byArg == nil {
		s.byArg = make(map[*rosbag.Connection]*rosbag.Connection)
	}
	s.byArg[c] = own
	return own, nil
}

// AddConnection makes a connection for Write. The messages are stored under topic; h is kept as it is.
// The connection is written with its first message. A header that no Reader would accept is refused.
// Tools of ROS need rosbag.KeyType, KeyMD5Sum and KeyMessageDefinition in h; AddConnection does not, as
// there are bags without them.
func (w *Writer) AddConnection(topic string, h rosbag.Header) (*rosbag.Connection, error) {
	if w.closed {
		return nil, rosbag.ErrClosed
	}
	c, err := w.conns.add(topic, h)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Connection returns the connection of the bag with an id, nil if there is none.
func (w *Writer) Connection(id rosbag.ConnID) *rosbag.Connection { return w.conns.byID[id] }

// Connections returns the connections of the bag so far, by ascending id: those of AddConnection, of
// Write, of chunks, and of the bag that Append continues.
func (w *Writer) Connections() []*rosbag.Connection {
	return slices.SortedFunc(maps.Values(w.conns.byID),
		func(a, b *rosbag.Connection) int { return cmp.Compare(a.ID, b.ID) })
}

// Adopt makes c, which may come from another bag, a connection of this one under the id that it
// has. It is an error if that is taken by a different one.
func (w *Writer) Adopt(c *rosbag.Connection) error { return w.conns.adopt(c) }
