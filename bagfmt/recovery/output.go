package recovery

import (
	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// recoverOutput is the bag that Recover writes. It assigns connection ids and counts what
// was written.
type recoverOutput struct {
	w        *bagfmt.Writer
	report   *Report
	digests  map[rosbag.ConnID]wire.ConnDigest      // of the connections that Recover added
	byDigest map[wire.ConnDigest]*rosbag.Connection // the first of these with each digest
	recorded map[rosbag.ConnID]struct{}             // connections whose records have been written
	used     map[rosbag.ConnID]struct{}             // connections that have messages
}

func newRecoverOutput(w *bagfmt.Writer, report *Report) *recoverOutput {
	return &recoverOutput{
		w: w, report: report,
		digests:  make(map[rosbag.ConnID]wire.ConnDigest),
		byDigest: make(map[wire.ConnDigest]*rosbag.Connection),
		recorded: make(map[rosbag.ConnID]struct{}),
		used:     make(map[rosbag.ConnID]struct{}),
	}
}

// connection returns the connection of the output for c, whose digest is d. It keeps the
// id of c if that is free, and assigns another one if not.
func (o *recoverOutput) connection(c *rosbag.Connection, d wire.ConnDigest) (*rosbag.Connection, error) {
	taken := o.w.Connection(c.ID)
	switch {
	case taken == nil:
		if err := o.w.Adopt(c); err != nil {
			return nil, err
		}
	case o.digests[c.ID] == d:
		return taken, nil
	case o.byDigest[d] != nil:
		return o.byDigest[d], nil
	default:
		var err error
		if c, err = o.w.AddConnection(c.Topic, c.Header); err != nil {
			return nil, err
		}
	}
	o.digests[c.ID] = d
	if o.byDigest[d] == nil {
		o.byDigest[d] = c
	}
	return c, nil
}

// writeMessage adds a message to a new chunk.
func (o *recoverOutput) writeMessage(c *rosbag.Connection, t rosbag.Time, data []byte) error {
	if err := o.w.Write(c, t, data); err != nil {
		return err
	}
	o.count(c, 1)
	return nil
}

// copyChunk writes a chunk as it was stored.
func (o *recoverOutput) copyChunk(c *chunk.Sealed) error {
	if err := o.w.WriteChunk(c); err != nil {
		return err
	}
	for _, n := range c.Counts {
		o.count(n.Conn, n.Count)
	}
	o.report.Copied++
	return nil
}

// count counts messages of a connection that were written.
func (o *recoverOutput) count(c *rosbag.Connection, messages uint32) {
	o.recorded[c.ID] = struct{}{}
	o.used[c.ID] = struct{}{}
	o.report.Connections = len(o.used)
	o.report.Messages += uint64(messages)
}

// setRecorded marks a connection as one whose record was written, in a copied chunk.
func (o *recoverOutput) setRecorded(id rosbag.ConnID) { o.recorded[id] = struct{}{} }

// isRecorded reports whether the record of a connection has been written.
func (o *recoverOutput) isRecorded(id rosbag.ConnID) bool {
	_, ok := o.recorded[id]
	return ok
}
