package recovery

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/bagfmt/internal/edits"
	"github.com/gorosbag/gorosbag/bagfmt/internal/identity"
	"github.com/gorosbag/gorosbag/rosbag"
)

// recoverOutput is the bag that Recover writes. It assigns connection ids and counts what
// was written.
type recoverOutput struct {
	w        *bagfmt.Writer
	report   *Report
	digests  map[rosbag.ConnID]identity.Digest      // of the connections that Recover added
	byDigest map[identity.Digest]*rosbag.Connection // the first of these with each digest
	recorded map[rosbag.ConnID]struct{}             // connections whose records have been written
	used     map[rosbag.ConnID]struct{}             // connections that have messages
	oddTimes map[string]oddTimes                    // by topic
	edits    *edits.Edits                           // of Options.Edit
}

// oddTimes are messages whose time has the nanoseconds of a second or more.
type oddTimes struct {
	count uint64
	at    int64 // offset of the record with the first one
}

func newRecoverOutput(w *bagfmt.Writer, report *Report,
	edit func(*rosbag.Connection) *rosbag.Edit,
) *recoverOutput {
	return &recoverOutput{
		w: w, report: report, edits: edits.New(edit),
		digests:  make(map[rosbag.ConnID]identity.Digest),
		byDigest: make(map[identity.Digest]*rosbag.Connection),
		recorded: make(map[rosbag.ConnID]struct{}),
		used:     make(map[rosbag.ConnID]struct{}),
		oddTimes: make(map[string]oddTimes),
	}
}

// connection returns the connection of the output for c, whose digest is d. It keeps the
// id of c if that is free, and assigns another one if not.
func (o *recoverOutput) connection(c *rosbag.Connection, d identity.Digest) (*rosbag.Connection, error) {
	taken := o.w.Connection(c.ID)
	c, use := o.edits.Begin(c)
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
	use(c)
	o.digests[c.ID] = d
	if o.byDigest[d] == nil {
		o.byDigest[d] = c
	}
	return c, nil
}

// writeMessage adds a message, which the input has in the record at offset at, to a new chunk. A time
// with the nanoseconds of a second or more, which programs take for different times, becomes the time
// that it stands for.
func (o *recoverOutput) writeMessage(c *rosbag.Connection, t rosbag.Time, data []byte, at int64) error {
	if isOdd(t) {
		odd, ok := o.oddTimes[c.Topic]
		if !ok {
			odd.at = at
		}
		odd.count++
		o.oddTimes[c.Topic] = odd
		t = t.Add(0)
	}
	data, keep, err := o.edits.Apply(c, data, t)
	if err != nil || !keep {
		return err
	}
	if err := o.w.Write(c, t, data); err != nil {
		return err
	}
	o.count(c, 1)
	return nil
}

// isOdd reports whether a time has the nanoseconds of a second or more.
func isOdd(t rosbag.Time) bool { return t.Nsec >= 1e9 }

// reportOddTimes reports, once for each topic, the times that were written in another way.
func (o *recoverOutput) reportOddTimes() {
	for _, topic := range slices.Sorted(maps.Keys(o.oddTimes)) {
		odd := o.oddTimes[topic]
		bad := &rosbag.CorruptError{Offset: odd.at, Op: rosbag.OpMessage, Recovered: true}
		bad.Reason = fmt.Sprintf("the nanoseconds of %d messages of %.80s are a second or more; their times are written with more seconds", odd.count, topic)
		o.report.repair(bad)
	}
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
