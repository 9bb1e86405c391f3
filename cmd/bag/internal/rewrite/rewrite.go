// Package rewrite rewrites bags: it merges the messages of one or many inputs, of any version, by time,
// selects some of them, and writes them into one bag, into several, or into an MCAP file.
//
// Payloads, times, their order and the connection headers of publishers stay as they are. The package
// opens no files: it reads from readers and writes to sinks that its caller opens.
//
// Decisions: ADR 0023.
package rewrite

import (
	"errors"
	"io"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// repeater is a Sink that marks messages which repeat what was latched where a file begins: the output,
// or an input.
type repeater interface {
	rosbag.Sink
	// WriteRepeated is Write for a message that repeats a latched one.
	WriteRepeated(c *rosbag.Connection, t rosbag.Time, data []byte) error
}

// chunkSink is a Sink that takes chunks as they are stored.
type chunkSink interface {
	rosbag.Sink
	// CopyChunk writes a chunk, and reports false if its messages have to be written instead. as maps its
	// connections.
	CopyChunk(c rosbag.Chunk, as func(*rosbag.Connection) *rosbag.Connection) (bool, error)
}

// write writes a message to a sink. A sink that is no repeater gets a repeated message like any other.
func write(sink rosbag.Sink, c *rosbag.Connection, t rosbag.Time, data []byte, repeated bool) error {
	if repeated {
		if r, ok := sink.(repeater); ok {
			return r.WriteRepeated(c, t, data)
		}
	}
	return sink.Write(c, t, data)
}

// Input is a recording to read, through its index or from front to back.
type Input struct {
	Name    string // for Options.Damaged
	Source  rosbag.Source
	Scanner *bagfmt.Scanner // if Source is nil; its messages come in file order
}

// Options says what to read. The zero value of each field selects everything.
type Options struct {
	Start, End rosbag.Time // inclusive
	// Latched begins the output with the latest message before Start of each latching publisher that Keep
	// admits, at the time Start and on its own connection: what a subscriber receives that comes at
	// Start. Match selects among these messages, too. There are none if no input reaches Start. Of a
	// Scanner, only messages before the first message of the output count.
	Latched bool
	// Keep selects connections by their original names.
	Keep func(*rosbag.Connection) bool
	// Match selects messages. Its error ends the copy.
	Match func(*rosbag.Connection, *rosbag.Message) (bool, error)
	// Within, if not nil, limits what is read to what Match may select: it is called with the query that
	// reads the messages.
	Within func(*rosbag.Query)
	// Rename returns the topic of a connection in the output.
	Rename func(*rosbag.Connection) string
	// Edit returns how the messages of a connection change, by its original name; nil if they stay. It is
	// called once for each connection. Match selects messages as they were.
	Edit func(*rosbag.Connection) *rosbag.Edit
	// Damaged is called for each place that could not be read. Copying continues after the place, unless
	// Damaged returns an error.
	Damaged func(input string, err error) error
	Workers int // goroutines that unpack chunks of each input
}

// Summary counts what was copied.
type Summary struct {
	Messages uint64
	Bytes    uint64 // payload
	Repeated uint64 // latched messages from before Options.Start, not counted in Messages
	LeftOut  uint64 // repeated messages of inputs that were left out, because other inputs have them
	// Written has the number of messages written of each input connection. It is nil if Copy has not
	// reached the end of the inputs.
	Written map[*rosbag.Connection]uint64
}

// Copy reads inputs, merged by time, into sink, and closes sink. Repeated messages at the start of an
// input are left out if another input has them: a recording has them in many files, its copy has them
// once. Repeated messages whose originals are in none of the inputs stay, and are marked in the output,
// too.
func Copy(inputs []Input, o Options, sink rosbag.Sink) (Summary, error) {
	done := false
	defer func() {
		if !done {
			sink.Abort()
		}
	}()
	c := copier{o: &o, sink: sink, conns: newConns(o.Rename, o.Edit), sent: newSentLatched(inputs)}
	if o.Match == nil && o.Edit == nil && c.sent == nil { // what looks at each message needs them one by one
		c.chunks, _ = sink.(chunkSink)
	}
	c.src = newMerge(inputs, &o, c.chunks != nil)
	defer c.src.close()
	m, input, err := c.src.next()
	if err == nil || errors.Is(err, io.EOF) {
		if err := c.repeat(inputs, m); err != nil {
			return c.sum, err
		}
	}
	for ; err == nil; m, input, err = c.src.next() {
		if copied, err := c.copyChunk(m, input); err != nil {
			return c.sum, err
		} else if copied {
			continue
		}
		if c.sent != nil && c.src.repeated[input] && c.sent.has(m, input) {
			c.sum.LeftOut++
			continue
		}
		if err := c.write(m, input, c.src.repeated[input]); err != nil {
			return c.sum, err
		}
	}
	if errors.Is(err, io.EOF) {
		c.sum.Written = c.conns.written()
		err = sink.Close()
		done = err == nil
	}
	return c.sum, err
}

// copier is the state of Copy.
type copier struct {
	o      *Options
	sink   rosbag.Sink
	src    *merge
	conns  *conns
	sent   *sentLatched // nil: not needed
	chunks chunkSink    // nil: messages are written one by one
	sum    Summary

	payload []byte // memory for edited messages
}

// repeat writes the latched messages from before the start. first is the first message of the
// inputs, nil if there is none.
func (c *copier) repeat(inputs []Input, first *rosbag.Message) error {
	all, err := c.src.start.begin(inputs, first, c.src.damaged)
	if err != nil {
		return err
	}
	for _, l := range all {
		if err := c.write(&rosbag.Message{Conn: l.conn, Time: c.o.Start, Frame: l.frame()}, -1,
			true); err != nil {
			return err
		}
	}
	c.sum = Summary{Repeated: c.sum.Messages}
	return nil
}

// copyChunk writes the chunk that begins with m as it is stored, if that is possible.
func (c *copier) copyChunk(m *rosbag.Message, input int) (bool, error) {
	if m.Chunk == nil || c.src.repeated[input] || !c.src.messages.Alone(m.Chunk.End()) {
		return false, nil
	}
	counts, payload := m.Chunk.Counts()
	copied, err := c.chunks.CopyChunk(m.Chunk,
		func(in *rosbag.Connection) *rosbag.Connection { return c.conns.of(in).conn })
	if err != nil || !copied {
		return false, err
	}
	for _, n := range counts {
		c.conns.of(n.Conn).messages += uint64(n.Count)
		c.sum.Messages += uint64(n.Count)
	}
	c.sum.Bytes += payload
	m.Chunk.Pass()
	return true, nil
}

// write writes a message of an input, if Match admits it. Latched messages from before the start have the
// input -1.
func (c *copier) write(m *rosbag.Message, input int, repeated bool) error {
	if c.o.Match != nil {
		ok, err := c.o.Match(m.Conn, m)
		if err != nil || !ok {
			return err
		}
	}
	out := c.conns.of(m.Conn)
	data, keep, err := out.edit.Apply(&c.payload, m.Data(), m.Time)
	if err != nil || !keep {
		return err
	}
	at := m.Time.Add(0) // carries a second and more of nanoseconds
	if err := write(c.sink, out.conn, at, data, repeated); err != nil {
		return err
	}
	out.messages++
	if c.sent != nil {
		c.sent.note(m, input)
	}
	c.sum.Messages++
	c.sum.Bytes += uint64(len(data))
	return nil
}
