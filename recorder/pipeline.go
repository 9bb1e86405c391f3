package recorder

import (
	"errors"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/tcpros"
)

// recordOverhead is what a message record adds to its frame: the length of its
// header and the header with op, conn and time.
const recordOverhead = 42

// pipeline takes runs of frames from the links and brings them to the file:
//
//	append -> open chunk -> (full or old) -> compressors -> writer, in order
//
// mu guards everything up to the queues. It is held for one copy of a run, never
// during I/O or compression.
type pipeline struct {
	log         *zap.Logger
	chunkBytes  int
	budget      int64 // bytes; negative means no limit
	overflow    Overflow
	flush       time.Duration
	limit       uint64
	compression bagfmt.Compression

	mu      sync.Mutex
	room    sync.Cond // OverflowBlock: memory came back, or the waiting is over
	open    *chunk    // nil until the next message
	born    time.Time // when open got its first message
	pool    pool
	records bagfmt.ConnRecords
	topics  []*topic
	conns   []*connection // by connection id
	ended   bool          // no further intake: the file has failed, or all links are closed

	largeWaits int // links that wait for room for a large message

	sealed  *fifo[*chunk] // to the writer, in file order
	squeeze *fifo[*chunk] // to the compressors; nil without compression
	wg      sync.WaitGroup
	kick    chan struct{} // to the syncer: a sync is due
	syncing sync.WaitGroup

	out     *bagFile
	err     error // why writing ended early; owned by the writer
	halted  sync.Once
	failed  chan struct{} // the file cannot be written, or not be made durable
	limited chan struct{} // a topic reached the limit
	hurry   <-chan struct{}
	warnAt  time.Time // when tick last looked for drops
}

// chunk is a buffer on its way: open, sealed, compressed, written, free again.
type chunk struct {
	builder bagfmt.ChunkBuilder
	out     []byte // the compressed record
	sealed  *bagfmt.SealedChunk
	err     error
	ready   chan struct{} // one token: the compressor is done
	counted int64         // bytes that the pool counts for it
}

// connection is one publisher's header on one topic. Several links may come and
// go on it.
type connection struct {
	conn   *bagfmt.Connection
	topic  *topic
	stored bool // a chunk with its record is in the queue or will be before any later one
}

// topic is the account of one subscription, guarded by pipeline.mu.
type topic struct {
	name     string
	conns    []*connection
	messages uint64 // in a chunk; minus those that were dropped with it
	bytes    uint64 // payload of what went into chunks
	dropped  [dropCauses]uint64
	warned   [dropCauses]uint64 // drops already reported by tick
}

func newPipeline(o Options, out *bagFile) *pipeline {
	p := &pipeline{
		log:         o.Log,
		chunkBytes:  o.ChunkBytes,
		budget:      o.MemoryBytes(),
		overflow:    o.Overflow,
		flush:       o.FlushInterval,
		limit:       uint64(o.Limit),
		compression: o.Compression,
		sealed:      newFIFO[*chunk](),
		out:         out,
		failed:      make(chan struct{}),
		limited:     make(chan struct{}, 1),
		kick:        make(chan struct{}, 1),
		hurry:       o.Hurry,
	}
	p.room.L = &p.mu
	n := workers(o.Compression)
	p.pool.budget, p.pool.twice = p.budget, n > 0
	if n > 0 {
		p.squeeze = newFIFO[*chunk]()
	}
	for range n {
		// owner: close; ends when the squeeze queue is closed and empty.
		p.wg.Go(p.compress)
	}
	// owner: close; ends when the sealed queue is closed and empty.
	p.wg.Go(p.write)
	// owner: close; ends when kick is closed.
	p.syncing.Go(p.keepSynced)
	return p
}

func (p *pipeline) addTopic(name string) *topic {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := &topic{name: name}
	p.topics = append(p.topics, t)
	return t
}

// openLink finds or makes the connection of a publisher. A publisher that comes
// back with the same header gets the same connection, as in stock.
func (p *pipeline) openLink(t *topic, info tcpros.LinkInfo) (*link, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return nil, errors.New("recorder: the recording has ended")
	}
	header := bagfmt.ConnectionHeader(info.Header)
	for _, c := range t.conns {
		if slices.Equal(c.conn.Header, header) {
			return &link{pipe: p, connection: c}, nil
		}
	}
	c := &connection{
		conn:  &bagfmt.Connection{ID: bagfmt.ConnID(len(p.conns)), Topic: t.name, Header: header},
		topic: t,
	}
	p.conns = append(p.conns, c)
	t.conns = append(t.conns, c)
	return &link{pipe: p, connection: c}, nil
}

// append copies a run of whole frames into the open chunk.
func (p *pipeline) append(c *connection, run []byte, count int, received time.Time) {
	// The last frame was complete at received; one nanosecond between the frames
	// of a run keeps their order in every tool that sorts by time.
	stamp := bagfmt.TimeOf(received).Add(-time.Duration(count - 1))
	p.mu.Lock()
	defer p.mu.Unlock()
	for count > 0 {
		switch {
		case p.atLimit(c.topic):
			return
		case p.ended: // the file failed: the links go on until they are closed
			p.drop(c.topic, dropDisk, uint64(count))
			return
		case p.open == nil && !p.waitForChunk(c.topic):
			if p.ended || p.atLimit(c.topic) {
				continue
			}
			p.drop(c.topic, dropBufferFull, uint64(count))
			return
		}
		n, size := p.fit(c.topic, run, count)
		if p.open.builder.Messages() == 0 {
			p.born = received
		}
		p.open.builder.AppendRun(c.conn, stamp, run[:size], n)
		c.stored = true
		p.account(c.topic, uint64(n), uint64(size-4*n))
		stamp = stamp.Add(time.Duration(n))
		run, count = run[size:], count-n
		if p.open.builder.Len() > p.chunkBytes {
			p.sealOpen()
		}
	}
}

// fit returns how many frames of run, and how many bytes, go into the open chunk:
// as in stock a chunk is closed after the message that takes it past its size.
func (p *pipeline) fit(t *topic, run []byte, count int) (n, size int) {
	if p.limit > 0 {
		count = min(count, int(p.limit-t.messages))
	}
	free := p.chunkBytes - p.open.builder.Len()
	if p.limit == 0 && len(run)+count*recordOverhead <= free {
		return count, len(run)
	}
	for n < count && free >= 0 {
		frame := 4 + int(uint32(run[size])|uint32(run[size+1])<<8|uint32(run[size+2])<<16|uint32(run[size+3])<<24)
		size += frame
		free -= frame + recordOverhead
		n++
	}
	return n, size
}

// waitForChunk gets a buffer for the open chunk. false means that there is no room,
// or that the waiting for some is over.
func (p *pipeline) waitForChunk(t *topic) bool {
	for p.open == nil && !p.ended && !p.atLimit(t) { // another link may open one while we wait
		if p.largeWaits == 0 {
			if c := p.pool.get(p.chunkBytes, p.chunkBytes); c != nil {
				c.builder.Reset(&p.records)
				p.open = c
				return true
			}
		}
		if p.overflow == OverflowDrop {
			return false
		}
		p.room.Wait()
	}
	return p.open != nil && !p.ended && !p.atLimit(t)
}

// account counts messages that are in a chunk now.
func (p *pipeline) account(t *topic, messages, bytes uint64) {
	t.messages += messages
	t.bytes += bytes
	if p.atLimit(t) {
		p.room.Broadcast() // links of t need not wait any more
		select {
		case p.limited <- struct{}{}:
		default: // the owner has not looked yet and will see this topic too
		}
	}
}

func (p *pipeline) atLimit(t *topic) bool { return p.limit > 0 && t.messages >= p.limit }

func (p *pipeline) reachedLimit(t *topic) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.atLimit(t)
}

// sealOpen hands the open chunk on. mu is held.
func (p *pipeline) sealOpen() {
	if p.open != nil && p.open.builder.Messages() > 0 {
		p.hand(p.open)
		p.open = nil
	}
}

// hand gives a chunk to the compressors and the writer. mu is held, so that the
// order of the queue is the order of the file.
func (p *pipeline) hand(c *chunk) {
	p.pool.count(c)
	if p.squeeze != nil {
		p.squeeze.put(c)
	}
	p.sealed.put(c)
}

// release takes a chunk back after it was written or given up.
func (p *pipeline) release(c *chunk) {
	p.mu.Lock()
	p.pool.put(c)
	p.mu.Unlock()
	p.room.Broadcast()
}

// tick seals an old chunk, keeps the sync interval and reports new drops.
func (p *pipeline) tick(now time.Time) {
	p.mu.Lock()
	if p.open != nil && now.Sub(p.born) >= p.flush {
		p.sealOpen()
	}
	var lost []drop
	if now.Sub(p.warnAt) >= time.Second {
		p.warnAt = now
		lost = p.newDrops()
	}
	p.mu.Unlock()
	p.wakeSyncer(now)
	for _, d := range lost {
		p.log.Warn("messages dropped", zap.String("topic", d.topic), zap.Stringer("cause", d.cause), zap.Uint64("messages", d.messages))
	}
}

// lastCall lets the links that wait for room go on at once, budget or not: they are
// about to be closed, and what they hold was received.
func (p *pipeline) lastCall() {
	p.mu.Lock()
	p.sealOpen()
	p.pool.budget = -1
	p.mu.Unlock()
	p.room.Broadcast()
}

// close ends the intake, writes what is queued and closes the file. Once
// Options.Hurry is closed it counts the rest of the queue as dropped instead.
func (p *pipeline) close() error {
	p.mu.Lock()
	p.sealOpen()
	p.ended = true
	p.mu.Unlock()
	p.room.Broadcast()
	if p.squeeze != nil {
		p.squeeze.close()
	}
	p.sealed.close()
	p.wg.Wait()
	close(p.kick)
	p.syncing.Wait()
	return errors.Join(p.err, p.out.finish())
}
