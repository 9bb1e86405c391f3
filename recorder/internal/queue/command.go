// This file has what the intake queues for the sink: chunks, and commands between them. Only the sink
// touches files, so what users or limits ask for goes through the same queue as the messages before it. The
// intake makes commands, the sink executes them, and any goroutine may wait for one.

package queue

import (
	"context"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Item is a chunk or a command.
type Item struct {
	Chunk   *memory.Chunk
	Command *Command
}

// Kind says what a command is.
type Kind int

// The kinds of commands.
const (
	Rotate      Kind = iota // go on in the next file, which begins as Start says
	Repeat                  // write the latched messages of Start into the file
	Open                    // begin a file after a stop
	Close                   // end the file
	Report                  // write the account of losses
	Pin                     // protect the files since Since from the retention
	Snapshot                // give the ring, and then the chunks that follow, to Command.Snapshot
	EndSnapshot             // end Command.Snapshot
)

// Command is executed when everything that was queued before it is written.
type Command struct {
	Kind     Kind
	Start    *FileStart
	Snapshot *ring.Snapshot
	Since    time.Time

	Done   chan struct{} // closed when the command has been executed; then the following fields are final
	File   File          // the file that was opened, or that is being closed; nil for none
	Pinned []string      // names of the files that Pin protects
	Err    error
}

// FileStart is how a file begins at its place in the queue.
type FileStart struct {
	At      time.Time
	Stamp   rosbag.Time // the stamp that the latched messages get
	Part    int         // the number of the file in the recording
	Latched []*latch.Message
	Missed  []*latch.Message // those of Latched that came while nothing was recorded
	Resumed bool             // no file begins: recording goes on, and Missed is all of Latched
}

// File is a file that a command has opened or closed.
type File interface {
	Target() string                             // returns the final name of the file
	Closed(ctx context.Context) (string, error) // waits until the file is closed, and returns its name
}

// Wait waits until the command has been executed, and returns its error. A nil Command stands for one
// that was not necessary.
func (c *Command) Wait(ctx context.Context) error {
	if c == nil {
		return nil
	}
	select {
	case <-c.Done:
		return c.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ClosedFile waits until the command has been executed and its file is closed, and returns the name of the
// file.
func (c *Command) ClosedFile(ctx context.Context) (string, error) {
	if err := c.Wait(ctx); err != nil || c == nil || c.File == nil {
		return "", err
	}
	return c.File.Closed(ctx)
}
