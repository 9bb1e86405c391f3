// Package rebag rewrites bags: messages of one or many, of any version, merged by
// time and selected, go into one bag, into several, or into an MCAP file.
//
// Payloads, times, their order and what publishers said about themselves stay as
// they are. It opens no files: it reads from bagfmt readers and writes to what its
// caller makes.
package rebag

import (
	"errors"
	"io"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// Message is a message on its way to a Sink. It is valid until the call returns.
type Message struct {
	Conn *bagfmt.Connection // of the output: one for each topic and header
	Time bagfmt.Time
	Data []byte
}

// Sink takes messages in the order of the output.
type Sink interface {
	Write(m *Message) error
	// Close completes the output.
	Close() error
	// Abort ends the work on an output that will not be used. It is called instead
	// of Close, or after it failed.
	Abort()
}

// Input is a bag to read, through its index or from front to back.
type Input struct {
	Name    string // for Options.Damaged
	Reader  *bagfmt.Reader
	Scanner *bagfmt.Scanner // if Reader is nil; its messages come in file order
}

// Options says what to read. The zero value of each field selects everything.
type Options struct {
	Start, End bagfmt.Time // inclusive
	// Keep selects connections by their original names.
	Keep func(*bagfmt.Connection) bool
	// Match selects messages. Its error ends the copy.
	Match func(*bagfmt.Connection, *bagfmt.Message) (bool, error)
	// Rename maps topics to new ones.
	Rename map[string]string
	// Damaged is told each thing that could not be read. Copying goes on behind it;
	// an error that it returns ends that.
	Damaged func(input string, err error) error
	Workers int // goroutines that unpack chunks of each input
}

// Summary counts what was copied.
type Summary struct {
	Messages uint64
	Bytes    uint64 // payload
}

// Copy reads inputs, merged by time, into sink, and closes it.
func Copy(inputs []Input, o Options, sink Sink) (Summary, error) {
	var sum Summary
	done := false
	defer func() {
		if !done {
			sink.Abort()
		}
	}()
	src := newMerge(inputs, &o)
	defer src.close()
	conns := newConns(o.Rename)
	var out Message
	for {
		m, err := src.next()
		if errors.Is(err, io.EOF) {
			err := sink.Close()
			done = err == nil
			return sum, err
		}
		if err != nil {
			return sum, err
		}
		if o.Match != nil {
			ok, err := o.Match(m.Conn, m)
			if err != nil {
				return sum, err
			}
			if !ok {
				continue
			}
		}
		out = Message{Conn: conns.of(m.Conn), Time: m.Time, Data: m.Data()}
		if err := sink.Write(&out); err != nil {
			return sum, err
		}
		sum.Messages++
		sum.Bytes += uint64(len(out.Data))
	}
}
