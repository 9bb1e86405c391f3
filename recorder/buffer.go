package recorder

import (
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// buffer owns the memory of a recording and decides who gets some. Its size, the -b of the
// command line, bounds all that it holds. It is guarded by intake.mu.
type buffer struct {
	log        *zap.Logger
	chunkBytes int
	budget     int64 // bytes; negative means no limit. pool.budget is that until the links are closed
	overflow   Overflow

	pool    pool
	open    *chunk // the shared chunk that is filled; nil until the next message
	large   largeMessages
	latched latchedStore
	snaps   *snapshots // nil for none

	room    sync.Cond   // OverflowBlock: memory came back, or the waiting is over
	blocked []*blockage // links that wait for room
}

// chunk is a buffer on its way: open, sealed, compressed, written, free again.
type chunk struct {
	builder bagfmt.ChunkBuilder
	out     []byte // the compressed record
	sealed  *bagfmt.SealedChunk
	err     error
	ready   chan struct{} // one token: the compressor is done
	counted int64         // bytes that the pool counts for it
	shared  bool          // it holds the messages of many
	part    int           // the file that it belongs to
	cost    int64         // of it, about, before compression
	firstAt time.Time     // when its first message came
	lastAt  time.Time     // and its last

	usage   []chunkUsage // what is in it of whom
	charged bool         // it waits for the disk
}
