package recorder

import (
	"fmt"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// chunk is a buffer on its way: open, sealed, compressed, written, free again.
type chunk struct {
	builder bagfmt.ChunkBuilder
	sealed  *bagfmt.SealedChunk // nil before it is sealed, or if that failed
	err     error               // why it could not be sealed
	part    int                 // the file that it belongs to
	cost    int64               // of it, about, before compression
	firstAt time.Time           // when its first message came
	lastAt  time.Time           // when its last message came

	out     []byte        // the compressed record
	ready   chan struct{} // one token: the compressor is done
	counted int64         // bytes that the pool counts for the chunk
	shared  bool          // the chunk holds the messages of many
	usage   []chunkUsage  // what is in the chunk of whom
	charged bool          // the chunk waits for the disk
}

// chunkUsage is what one account has in one chunk.
type chunkUsage struct {
	account *account
	bytes   int64
}

// account is how much of the buffer the messages of one topic take while they wait for the disk.
type account struct {
	waiting int64 // bytes, as the pool counts them
	fill    struct {
		chunk *chunk // the shared chunk that the latest message went into
		at    int    // the place of the account among the usage of that chunk
	}
}

// add notes that n bytes in the chunk, which is shared with others, are of an account.
func (c *chunk) add(a *account, n int64) {
	f := &a.fill
	if f.chunk != c {
		f.chunk, f.at = c, len(c.usage)
		c.usage = append(c.usage, chunkUsage{account: a})
	}
	c.usage[f.at].bytes += n
}

// addAlone notes that the n bytes in the chunk are all of one account.
func (c *chunk) addAlone(a *account, n int64) {
	c.usage = append(c.usage, chunkUsage{a, n})
}

// sealFill makes the next message of the account begin anew, if it has not gone on in another
// chunk than c.
func (a *account) sealFill(c *chunk) {
	if a.fill.chunk == c {
		a.fill.chunk = nil
	}
}

// done tells await that a compressor is done with the chunk.
func (c *chunk) done() { c.ready <- struct{}{} }

// await waits until a compressor is done with the chunk.
func (c *chunk) await() { <-c.ready }

// seal makes the record of a chunk. A codec that panics costs this chunk, which is
// counted, not the recording.
func (c *chunk) seal(z *bagfmt.Compressor) {
	defer func() {
		if r := recover(); r != nil {
			c.err = fmt.Errorf("compressor: %v", r)
		}
	}()
	c.sealed, c.err = c.builder.Seal(z, c.out[:0])
	if z != nil && c.err == nil {
		c.out = c.sealed.Record
	}
}
