// Package encode compresses chunks on all cores, and with Adaptive chooses a faster compression while
// compression does not keep up. The intake queues chunks, and the sink awaits them in the order of the
// file.
package encode

import (
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/queue"
	"github.com/gorosbag/gorosbag/rosbag"
)

const (
	// A compressionController goes one step down when the queue to the compressors holds 1/downShare of the
	// buffer, and two steps down at twice as much, long before messages are dropped.
	downShare = 4
	// It goes one step up each time that the queue has held less than 1/upShare of the buffer for upAfter.
	upShare = 16
	upAfter = 10 * time.Second
)

// compressionController chooses the compression of the next chunks by the length of the queue to the
// compressors alone: less compression would not help a slow disk. Encoder.mu guards it.
type compressionController struct {
	// from Options.Compression to the fastest
	steps []rosbag.Compression
	// index of the present step
	at int
	// bytes of the whole buffer
	room int64
	// bytes of the chunks in the queue to the compressors
	queued int64
	// since when the queue is short, or since the last step up; zero while the queue is long
	short time.Time

	stored map[rosbag.Compression]uint64 // number of chunks that were written with each compression
}

// Options says how chunks are compressed.
type Options struct {
	Log         *zap.Logger
	Compression rosbag.Compression
	Adaptive    bool  // compress less, from bz2 to lz4 to none, while compression does not keep up
	Room        int64 // bytes of the whole buffer
	Workers     int   // number of goroutines; with zero, Await seals the chunks
}

func newCompressionController(o *Options) compressionController {
	l := compressionController{
		steps: []rosbag.Compression{o.Compression}, room: o.Room,
		stored: map[rosbag.Compression]uint64{},
	}
	if all := []rosbag.Compression{
		rosbag.CompressionBZ2, rosbag.CompressionLZ4,
		rosbag.CompressionNone,
	}; o.Adaptive {
		l.steps = all[slices.Index(all, o.Compression):]
	}
	return l
}

// update goes a step down or up if that is due, and reports whether it did.
func (l *compressionController) update(now time.Time) bool {
	if l.queued >= l.room/upShare {
		l.short = time.Time{}
	} else if l.short.IsZero() {
		l.short = now
	}
	switch {
	case l.at < len(l.steps)-1 && l.queued >= l.room/downShare*int64(l.at+1):
		l.at++
	case l.at > 0 && !l.short.IsZero() && now.Sub(l.short) >= upAfter:
		l.at--
		l.short = now
	default:
		return false
	}
	return true
}

// Encoder compresses chunks with goroutines of its own; it has none without compression.
type Encoder struct {
	log     *zap.Logger
	workers int
	queue   *queue.FIFO[*memory.Chunk] // nil without compression
	wg      sync.WaitGroup

	mu         sync.Mutex
	controller compressionController
}

// New returns an encoder that does not compress yet.
func New(o Options) *Encoder {
	e := &Encoder{log: o.Log, workers: o.Workers, controller: newCompressionController(&o)}
	if o.Workers > 0 {
		e.queue = queue.New[*memory.Chunk]()
	}
	return e
}

// Start begins to compress. skip reports whether queued chunks will be given up, and need no compression.
func (e *Encoder) Start(skip func() bool) {
	for range e.workers {
		// owner: Wait; ends when the queue is closed and empty.
		e.wg.Go(func() { e.compress(skip) })
	}
}

// Wait waits for the compressors to end, after Close.
func (e *Encoder) Wait() { e.wg.Wait() }

// Close ends the queue: Put is not called any more.
func (e *Encoder) Close() {
	if e.queue != nil {
		e.queue.Close()
	}
}

// Compresses reports whether a chunk is compressed before it is written.
func (e *Encoder) Compresses() bool { return e.queue != nil }

// Put queues a chunk, for which Await waits.
func (e *Encoder) Put(c *memory.Chunk) {
	if e.queue == nil {
		return
	}
	e.mu.Lock()
	e.controller.queued += c.Counted()
	e.mu.Unlock()
	e.queue.Put(c)
}

// Await waits until a queued chunk is sealed. It seals a chunk that is not compressed: because there is
// no compression, or because the chunk will be given up, and only its counts are needed.
func (e *Encoder) Await(c *memory.Chunk) {
	if e.queue != nil {
		c.Await()
	}
	if c.Sealed() == nil {
		_ = c.Seal(nil) // has no codec that could fail
	}
}

// NewCompressor returns a compressor, or nil after a warning: chunks are stored without compression then.
func NewCompressor(c rosbag.Compression, log *zap.Logger) *chunk.Compressor {
	z, err := chunk.NewCompressor(c)
	if err != nil {
		WarnUncompressed(log, err)
	}
	return z
}

// WarnUncompressed tells why chunks are stored without compression.
func WarnUncompressed(log *zap.Logger, err error) {
	log.Warn("compression failed: chunks are stored without it", zap.Error(err))
}

// compress is one compression goroutine.
func (e *Encoder) compress(skip func() bool) {
	compressors := map[rosbag.Compression]*chunk.Compressor{} // made when they are first needed
	for {
		c, ok := e.queue.Take()
		if !ok {
			return
		}
		compression := e.nextCompression(c)
		if !skip() {
			z := compressors[compression]
			if z == nil {
				z = NewCompressor(compression, e.log)
				compressors[compression] = z
			}
			if err := c.Seal(z); err != nil {
				delete(compressors, compression)
				WarnUncompressed(e.log, err)
			}
		}
		c.Done()
	}
}

// nextCompression returns the compression for c, which has just left the queue.
func (e *Encoder) nextCompression(c *memory.Chunk) rosbag.Compression {
	e.mu.Lock()
	l := &e.controller
	l.queued -= c.Counted()
	before := l.at
	stepped := l.update(time.Now())
	next, down := l.steps[l.at], l.at > before
	e.mu.Unlock()
	switch {
	case !stepped:
	case down:
		e.log.Warn("compression does not keep up: less of it for the next chunks",
			zap.String("compression", string(next)))
	default:
		e.log.Info("compression keeps up: more of it for the next chunks",
			zap.String("compression", string(next)))
	}
	return next
}

// Written counts a chunk that was written.
func (e *Encoder) Written(c rosbag.Compression) {
	e.mu.Lock()
	e.controller.stored[c]++
	e.mu.Unlock()
}

// Stored returns how many chunks were written with each compression.
func (e *Encoder) Stored() map[rosbag.Compression]uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.controller.stored)
}
