// Package command is what the intake hands to the goroutine that writes: chunks, and commands about files,
// each at its place between the chunks. Files are touched by that goroutine only, so whatever users or limits ask for
// travels in the same queue as the messages before it. The intake makes commands, the sink executes
// them, and anybody may wait for one.
package command

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
	Snapshot                // give the ring, and then the chunks that follow, to Taking
	EndSnapshot             // end Taking
)

// Command is to be executed when all that was queued before is written.
type Command struct {
	Kind   Kind
	Start  *FileStart
	Taking *ring.Taking
	Since  time.Time

	Done   chan struct{} // closed when the command is executed; then the following fields are final
	File   File          // the file that was closed or opened; nil for none
	Pinned []string      // names of files
	Err    error
}

// FileStart is where in the queue a file begins, and with what.
type FileStart struct {
	At      time.Time
	Stamp   rosbag.Time // the time that the latched messages get
	Part    int         // the number of the file
	Latched []*latch.Message
	Missed  []*latch.Message // those of Latched that came while nothing was recorded
	Resumed bool             // no file begins: recording goes on, and Missed is all of Latched
}

// File is a file that a command has opened or closed.
type File interface {
	Target() string                             // returns the final name of the file
	Closed(ctx context.Context) (string, error) // waits until the file is closed, and returns its name
}

// Wait waits until the command is executed, and returns its error. nil stands for a command that was not
// necessary.
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

// ClosedFile waits for the command and for the end of the file that the command closes.
func (c *Command) ClosedFile(ctx context.Context) (string, error) {
	if err := c.Wait(ctx); err != nil || c == nil || c.File == nil {
		return "", err
	}
	return c.File.Closed(ctx)
}
