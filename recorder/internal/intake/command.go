package intake

import (
	"context"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
)

// commandKind says what the writer is to do. It alone touches the file, so whatever is
// done to files comes to it in this way.
type commandKind int

// What the writer can be told to do.
const (
	CommandRotate      commandKind = iota // go on in the next file, which begins as start says
	CommandRepeat                         // write the latched messages of start into the file
	CommandOpen                           // begin a file after a stop
	CommandClose                          // end the file
	CommandReport                         // write the account of losses
	CommandPin                            // protect the files since then from the retention
	CommandSnapshot                       // give the ring, and then what follows, to snapshot
	CommandEndSnapshot                    // end snapshot
)

// Command is what the writer does when it has written what was queued before.
type Command struct {
	Kind     commandKind
	Start    *FileStart
	Snapshot *ring.Taking
	Since    time.Time

	Done   chan struct{} // closed when it is done; then the following are final
	File   File          // that was closed or opened; nil if none was
	Pinned []string      // names
	Err    error
}

// Item is what the intake hands to the writer: a chunk or a command.
type Item struct {
	Chunk   *memory.Chunk
	Command *Command
}

// Enqueue gives a command its place among the chunks. mu is held.
func (in *Intake) Enqueue(c *Command) *Command {
	c.Done = make(chan struct{})
	in.Sealed.Put(Item{Command: c})
	return c
}

// Wait waits for a command. There may be none.
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

// ClosedFile waits for a command and for the end of the file that it closes.
func (c *Command) ClosedFile(ctx context.Context) (string, error) {
	if err := c.Wait(ctx); err != nil || c == nil || c.File == nil {
		return "", err
	}
	return c.File.Closed(ctx)
}

// File is a file that a command has opened or closed.
type File interface {
	Target() string                             // its final name
	Closed(ctx context.Context) (string, error) // waits until it is closed, and returns its name
}
