package recorder

import (
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/queue"
)

const (
	// A compressionController goes down where the queue to the compressors takes a quarter of the buffer,
	// and to its second step where it takes half: long before messages are dropped.
	downShare = 4
	// It goes up where the queue takes less than this part, for so long each step.
	upShare = 16
	upAfter = 10 * time.Second
)

// compressionController chooses the compression of the next chunks. Only the queue to the compressors
// counts: a slow disk is no reason to give it more to write. It is guarded by encoder.mu.
type compressionController struct {
	steps  []bagfmt.Compression // from what was asked for down
	at     int                  // the present step
	room   int64                // bytes of the whole buffer
	queued int64                // of it, in the queue to the compressors
	short  time.Time            // since when that is short, or since the last step up; zero: it is not

	stored map[bagfmt.Compression]uint64 // chunks that were written
}

func newCompressionController(o *Options) compressionController {
	l := compressionController{
		steps:  []bagfmt.Compression{o.Compression},
		room:   o.MemoryBytes(),
		stored: map[bagfmt.Compression]uint64{},
	}
	if l.room < 0 {
		l.room = DefaultBufferBytes
	}
	if all := []bagfmt.Compression{bagfmt.CompressionBZ2, bagfmt.CompressionLZ4, bagfmt.CompressionNone}; o.Adaptive {
		l.steps = all[slices.Index(all, o.Compression):]
	}
	return l
}

func (l *compressionController) compression() bagfmt.Compression { return l.steps[l.at] }

// look goes a step down or up where that is due, and reports whether it did.
func (l *compressionController) look(now time.Time) bool {
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

// encoder compresses chunks on all cores, and compresses less where that does not keep up.
// Without compression it does nothing.
type encoder struct {
	log   *zap.Logger
	queue *queue.FIFO[*memory.Chunk] // nil without compression
	wg    sync.WaitGroup

	mu         sync.Mutex
	controller compressionController
}

func newEncoder(o *Options) *encoder {
	e := &encoder{log: o.Log, controller: newCompressionController(o)}
	if workers(o.Compression) > 0 {
		e.queue = queue.New[*memory.Chunk]()
	}
	return e
}

// start begins to compress. skip reports whether chunks will be given up anyway.
func (e *encoder) start(workers int, skip func() bool) {
	for range workers {
		// owner: wait; ends when the queue is closed and empty.
		e.wg.Go(func() { e.compress(skip) })
	}
}

// close ends the queue.
func (e *encoder) close() {
	if e.queue != nil {
		e.queue.Close()
	}
}

// compresses reports whether a chunk is compressed before it is written.
func (e *encoder) compresses() bool { return e.queue != nil }

// put queues a chunk; await waits for it.
func (e *encoder) put(c *memory.Chunk) {
	if e.queue == nil {
		return
	}
	e.mu.Lock()
	e.controller.queued += c.Counted
	e.mu.Unlock()
	e.queue.Put(c)
}

// await waits until a chunk that was queued is sealed, or seals it. One that will be given
// up is not sealed.
func (e *encoder) await(c *memory.Chunk) {
	if e.queue != nil {
		c.Await()
	} else {
		c.Seal(nil)
	}
}

// compress is one compression goroutine.
func (e *encoder) compress(skip func() bool) {
	z := compressors{}
	for {
		c, ok := e.queue.Take()
		if !ok {
			return
		}
		compression := e.nextCompression(c)
		if !skip() {
			z.seal(c, compression)
		}
		c.Done()
	}
}

// nextCompression says how to compress c, which has just left the queue.
func (e *encoder) nextCompression(c *memory.Chunk) bagfmt.Compression {
	e.mu.Lock()
	l := &e.controller
	l.queued -= c.Counted
	before := l.at
	stepped := l.look(time.Now())
	next, down := l.compression(), l.at > before
	e.mu.Unlock()
	switch {
	case !stepped:
	case down:
		e.log.Warn("compression does not keep up: less of it for the next chunks", zap.String("compression", string(next)))
	default:
		e.log.Info("compression keeps up: more of it for the next chunks", zap.String("compression", string(next)))
	}
	return next
}

// count notes that a chunk was written.
func (e *encoder) count(c bagfmt.Compression) {
	e.mu.Lock()
	e.controller.stored[c]++
	e.mu.Unlock()
}

// stored returns how many chunks were written with each compression.
func (e *encoder) stored() map[bagfmt.Compression]uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.controller.stored)
}

// compressors compresses chunks in any of the compressions of a compressionController. One goroutine owns it.
type compressors map[bagfmt.Compression]*bagfmt.Compressor

// seal makes the record of a chunk.
func (z compressors) seal(c *memory.Chunk, compression bagfmt.Compression) {
	if compression == bagfmt.CompressionNone {
		c.Seal(nil)
		return
	}
	if z[compression] == nil {
		made, err := bagfmt.NewCompressor(compression)
		if err != nil {
			c.Err = err
			return
		}
		z[compression] = made
	}
	c.Seal(z[compression])
}
