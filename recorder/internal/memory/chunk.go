package memory

import (
	"fmt"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
)

// Chunk is a buffer on its way: open, sealed, compressed, written, free again.
type Chunk struct {
	Builder chunk.Builder
	Sealed  *chunk.Sealed // nil before it is sealed, or if that failed
	Err     error         // why it could not be sealed
	Part    int           // the number of the file that the chunk belongs to
	Cost    int64         // bytes of the chunk and its index in the file, about, before compression
	FirstAt time.Time     // when its first message came
	LastAt  time.Time     // when its last message came

	out     []byte        // the compressed record
	ready   chan struct{} // one token: the compressor is done
	Counted int64         // bytes that the pool counts for the chunk
	shared  bool          // the chunk holds the messages of many
	usage   []chunkUsage  // how many bytes of each account are in the chunk
	charged bool          // the chunk waits for the disk
}

// chunkUsage is what one account has in one chunk.
type chunkUsage struct {
	account *Account
	bytes   int64
}

// Account is how much of the buffer the messages of one topic take while they wait for the disk.
type Account struct {
	Waiting int64 // bytes, as the pool counts them
	fill    struct {
		chunk *Chunk // the shared chunk that the latest message went into
		at    int    // the place of the account among the usage of that chunk
	}
}

// Add notes that n bytes in the chunk, which is shared with others, are of an account.
func (c *Chunk) Add(a *Account, n int64) {
	f := &a.fill
	if f.chunk != c {
		f.chunk, f.at = c, len(c.usage)
		c.usage = append(c.usage, chunkUsage{account: a})
	}
	c.usage[f.at].bytes += n
}

// AddAlone notes that the n bytes in the chunk are all of one account.
func (c *Chunk) AddAlone(a *Account, n int64) {
	c.usage = append(c.usage, chunkUsage{a, n})
}

// sealFill makes the next message of the account get another entry of usage, if the latest message went into c.
func (a *Account) sealFill(c *Chunk) {
	if a.fill.chunk == c {
		a.fill.chunk = nil
	}
}

// Done tells Await that a compressor is done with the chunk.
func (c *Chunk) Done() { c.ready <- struct{}{} }

// Await waits until a compressor is done with the chunk.
func (c *Chunk) Await() { <-c.ready }

// Seal makes the record of a chunk. A codec that panics costs this chunk, which is
// counted, not the recording.
func (c *Chunk) Seal(z *chunk.Compressor) {
	defer func() {
		if r := recover(); r != nil {
			c.Err = fmt.Errorf("compressor: %v", r)
		}
	}()
	c.Sealed, c.Err = c.Builder.Seal(z, c.out[:0])
	if z != nil && c.Err == nil {
		c.out = c.Sealed.Record
	}
}
