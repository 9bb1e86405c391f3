package memory

import (
	"fmt"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Chunk is a buffer for one chunk. It is opened, sealed, compressed, written, and then free again.
type Chunk struct {
	builder chunk.Builder
	sealed  *chunk.Sealed // nil before it is sealed
	part    int           // the number of the file that the chunk belongs to
	cost    int64         // about how many bytes the chunk and its index take in the file without compression
	firstAt time.Time     // when its first message came
	lastAt  time.Time     // when its last message came

	out     []byte        // the compressed record
	ready   chan struct{} // gets a token when the compressor is done
	counted int64         // bytes that Memory counts for the chunk
	shared  bool          // the chunk is for messages of all topics, not for one large message
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
	waiting int64 // bytes, as Memory counts them
	entry   struct {
		chunk *Chunk // the shared chunk that the latest message went into
		at    int    // index of the account in Chunk.usage
	}
}

// Builder returns the builder of the chunk.
func (c *Chunk) Builder() *chunk.Builder { return &c.builder }

// Sealed returns the sealed chunk; nil before Seal.
func (c *Chunk) Sealed() *chunk.Sealed { return c.sealed }

// Counted returns how many bytes Memory counts for the chunk.
func (c *Chunk) Counted() int64 { return c.counted }

// Came notes when the first and the last message of the chunk came.
func (c *Chunk) Came(first, last time.Time) { c.firstAt, c.lastAt = first, last }

// FirstAt returns when the first message came.
func (c *Chunk) FirstAt() time.Time { return c.firstAt }

// LastAt returns when the last message came.
func (c *Chunk) LastAt() time.Time { return c.lastAt }

// QueuedFor notes that the chunk belongs to the file with a number, in which the chunk and its index take
// about cost bytes without compression.
func (c *Chunk) QueuedFor(part int, cost int64) { c.part, c.cost = part, cost }

// Part returns the number of the file that the chunk belongs to.
func (c *Chunk) Part() int { return c.part }

// Cost returns about how many bytes the chunk and its index take in the file without compression.
func (c *Chunk) Cost() int64 { return c.cost }

// Waiting returns how many bytes of the topic wait for the disk, as Memory counts them.
func (a *Account) Waiting() int64 { return a.waiting }

// Add adds n bytes of an account to the usage of a shared chunk.
func (c *Chunk) Add(a *Account, n int64) {
	e := &a.entry
	if e.chunk != c {
		e.chunk, e.at = c, len(c.usage)
		c.usage = append(c.usage, chunkUsage{account: a})
	}
	c.usage[e.at].bytes += n
}

// AddAlone sets the usage of a chunk of one message: n bytes of an account.
func (c *Chunk) AddAlone(a *Account, n int64) {
	c.usage = append(c.usage, chunkUsage{a, n})
}

// closeEntry makes the next message of the account get another entry of usage, if the latest message went
// into c.
func (a *Account) closeEntry(c *Chunk) {
	if a.entry.chunk == c {
		a.entry.chunk = nil
	}
}

// Done tells Await that a compressor is done with the chunk.
func (c *Chunk) Done() { c.ready <- struct{}{} }

// Await waits until a compressor is done with the chunk.
func (c *Chunk) Await() { <-c.ready }

// Seal makes the record of a chunk. If z is nil or fails, the record is not compressed: no message is
// lost because a codec fails. Seal then returns why it failed; z must not be used again, because its
// state is not known.
func (c *Chunk) Seal(z *chunk.Compressor) (failed error) {
	if z != nil {
		if failed = c.compress(z); failed == nil {
			return nil
		}
	}
	sealed, err := c.builder.Seal(nil, nil)
	if err != nil {
		// only a chunk without messages cannot be sealed, and it is never queued
		panic("memory: " + err.Error())
	}
	c.sealed = sealed
	return failed
}

// compress makes the record of a chunk with compression.
func (c *Chunk) compress(z *chunk.Compressor) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("compressor: %v", r)
		}
	}()
	sealed, err := c.builder.Seal(z, c.out[:0])
	if err != nil {
		return err
	}
	c.sealed = sealed
	if sealed.Compression != rosbag.CompressionNone {
		c.out = sealed.Record
	}
	return nil
}
