package recorder

import (
	"context"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// commandKind says what the writer is to do. It alone touches the file, so whatever is
// done to files comes to it in this way.
type commandKind int

const (
	commandRotate      commandKind = iota // go on in the next file, which begins as start says
	commandRepeat                         // write the latched messages of start into the file
	commandOpen                           // begin a file after a stop
	commandClose                          // end the file
	commandReport                         // write the account of losses
	commandPin                            // protect the files since then from the retention
	commandSnapshot                       // give the ring, and then what follows, to snapshot
	commandEndSnapshot                    // end snapshot
)

// command is what the writer does when it has written what was queued before.
type command struct {
	kind     commandKind
	start    *fileStart
	snapshot *taking
	since    time.Time

	done   chan struct{} // closed when it is done; then the following are final
	file   *bagFile      // that was closed or opened; nil if none was
	pinned []string      // names
	err    error
}

// queued is what the intake hands to the writer: a chunk or a command.
type queued struct {
	chunk   *memory.Chunk
	command *command
}

// enqueue gives a command its place among the chunks. mu is held.
func (in *intake) enqueue(c *command) *command {
	c.done = make(chan struct{})
	in.sealed.Put(queued{command: c})
	return c
}

// wait waits for a command. There may be none.
func (c *command) wait(ctx context.Context) error {
	if c == nil {
		return nil
	}
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// closedFile waits for a command and for the end of the file that it closes.
func (c *command) closedFile(ctx context.Context) (string, error) {
	if err := c.wait(ctx); err != nil || c == nil || c.file == nil {
		return "", err
	}
	select {
	case <-c.file.finished:
		return c.file.Path(), c.file.fault
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
