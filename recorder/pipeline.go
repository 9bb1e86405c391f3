package recorder

import (
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
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
	limits      []Limit
	compression bagfmt.Compression

	mu       sync.Mutex
	room     sync.Cond // OverflowBlock: memory came back, or the waiting is over
	open     *chunk    // nil until the next message
	born     time.Time // when open got its first message
	pool     pool
	ladder   ladder
	fill     int                 // seal open when it is longer than this
	records  *bagfmt.ConnRecords // of the file that the intake fills
	parts    parts
	stored   int64 // bytes of chunks written, in all files
	latched  latchedStore
	topics   []*topic
	conns    []*connection // by connection id
	state    State
	begun    time.Time // when the recording was started, by sim; zero while it is stopped
	sim      *simClock // nil for the wall clock
	starting *errand   // opens the file that StateStopped waits for; nil for none
	ended    bool      // no further intake: the file has failed, or all links are closed
	full     bool      // the one file has its size: what comes now nobody asked for

	node     string // our name
	report   Report
	reported *link       // for the account; nil until it is written
	newest   bagfmt.Time // of what is written

	largeWaits int // links that wait for room for a large message

	sealed  *fifo[*chunk] // to the writer, in file order
	squeeze *fifo[*chunk] // to the compressors; nil without compression
	wg      sync.WaitGroup
	kick    chan *bagFile // to the syncer: a sync is due
	syncing sync.WaitGroup
	closing chan *bagFile // to the closer: the next file is open
	closers sync.WaitGroup

	outputs  *outputs   // owned by the writer
	out      *bagFile   // set by the writer with mu held; nil while stopped
	done     []*bagFile // closed, guarded by mu
	faults   []error    // what went wrong with files, guarded by mu
	moved    bool       // the one change of file after a fault is used up; owned by the writer
	err      error      // why writing ended early; owned by the writer
	onOpen   func(target string)
	handover Handover
	onChange func() // the state or the file is another one
	retain   *retainer
	halted   sync.Once
	failed   chan struct{} // the file cannot be written, or not be made durable
	limited  chan struct{} // a topic reached the limit
	filled   chan struct{} // the one file has its size
	hurry    <-chan struct{}
	warnAt   time.Time     // when tick last looked for drops
	snaps    *snapshots    // nil for none
	latest   time.Time     // when the last message came
	doubts   chan struct{} // there are holes in numbers of whom nobody has asked
	clock    wallClock     // owned by tick
	disk     *disk

	abandoned bool // somebody waits for the disk yet, and is not waited for; guarded by mu
}

// chunk is a buffer on its way: open, sealed, compressed, written, free again.
type chunk struct {
	builder bagfmt.ChunkBuilder
	out     []byte // the compressed record
	sealed  *bagfmt.SealedChunk
	err     error
	ready   chan struct{} // one token: the compressor is done
	counted int64         // bytes that the pool counts for it
	part    int           // the file that it belongs to
	cost    int64         // of it, about, before compression
	born    time.Time     // when its first message came
	until   time.Time     // and its last
	errand  *errand       // not a chunk, but something else for the writer to do

	holdings []holding // what is in it of whom
	charged  bool      // it waits for the disk
}

// connection is one publisher's header on one topic. Several links may come and
// go on it.
type connection struct {
	conn     *bagfmt.Connection
	topic    *topic
	stored   int  // one more than the number of the last file that has its record, or will before any later chunk
	bytes    int  // of its record, about
	latching bool // its latest message begins each file
	missed   bool // and came while nothing was recorded
	last     *latched
}

// topic is the account of one subscription, guarded by pipeline.mu.
type topic struct {
	name     string
	conns    []*connection
	messages uint64 // in a chunk; minus those that were dropped with it
	repeated uint64 // latched ones, at the start of a later file or after a pause
	passed   uint64 // while paused or stopped
	bytes    uint64 // payload of what went into chunks
	written  uint64 // of messages, those that are in a file
	share
	stake
	publishers []*publisher
	linked     int           // links that are open
	last       time.Time     // when the last message came
	since      time.Time     // before it was registered, if that is known
	pickup     time.Duration // from then to the first link
	dropped    [dropCauses]uint64
	warned     [dropCauses]said // drops already reported by tick
}

func newPipeline(o Options, outputs *outputs, out *bagFile) *pipeline {
	p := &pipeline{
		log:         o.Log,
		chunkBytes:  o.ChunkBytes,
		budget:      o.MemoryBytes(),
		overflow:    o.Overflow,
		flush:       o.FlushInterval,
		limits:      o.limits(),
		compression: o.Compression,
		ladder:      newLadder(&o),
		node:        o.Node.Name(),
		report:      o.Report,
		sealed:      newFIFO[*chunk](),
		outputs:     outputs,
		out:         out,
		failed:      make(chan struct{}),
		limited:     make(chan struct{}, 1),
		filled:      make(chan struct{}, 1),
		kick:        make(chan *bagFile, 1),
		closing:     make(chan *bagFile),
		doubts:      make(chan struct{}, 1),
		hurry:       o.Hurry,
		records:     new(bagfmt.ConnRecords),
		sim:         o.sim,
		parts:       newParts(o, o.sim.at(time.Now())),
		onOpen:      o.onOpen,
		handover:    o.taker(),
		onChange:    o.Control.notify,
		state:       o.Begin,
		retain:      newRetainer(o.Retain, o.Log, outputs.free, o.taker().Keeps),
	}
	p.room.L = &p.mu
	p.startSnapshots(&o)
	p.disk = newDisk(o, p.retain)
	outputs.stall.log = o.Log
	p.latched.off = o.NoRepeatLatched
	if p.state != StateStopped {
		p.begun = p.sim.at(time.Now())
	}
	n := workers(o.Compression)
	p.pool.budget, p.pool.twice, p.pool.yield = p.budget, n > 0, p.concede
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
	// owner: close; ends when closing is closed.
	p.closers.Go(p.closeFiles)
	return p
}

func (p *pipeline) addTopic(name string) *topic { return p.addTopicOf(name, name) }

// addTopicOf makes an account for a topic that stands under name in the bag.
func (p *pipeline) addTopicOf(name, resolved string) *topic {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := &topic{name: name, share: shareOf(p.limits, resolved)}
	p.topics = append(p.topics, t)
	return t
}

// append copies a run of whole frames into the open chunk.
func (p *pipeline) append(c *connection, run []byte, count int, received time.Time) {
	// The last frame was complete at received; one nanosecond between the frames
	// of a run keeps their order in every tool that sorts by time. With a clock of the
	// graph's own many messages have one stamp, as in stock.
	now, step := p.sim.at(received), p.sim.step()
	stamp := bagfmt.TimeOf(now).Add(-step * time.Duration(count-1))
	p.mu.Lock()
	defer p.mu.Unlock()
	c.topic.last = received
	if p.state != StateRecording {
		p.pass(c, count)
		if c.latching {
			p.remember(c, lastFrame(run))
		}
		return
	}
	p.turn(received)
	p.latest = received
	if !c.topic.thin && step > 0 {
		p.add(c, run, count, stamp, received)
		return
	}
	for count > 0 {
		size := 4 + int(binary.LittleEndian.Uint32(run))
		if !c.topic.thin || c.topic.keep(now) {
			p.add(c, run[:size], 1, stamp, received)
		}
		stamp = stamp.Add(step)
		run, count = run[size:], count-1
	}
}

// turn begins the next file, and ends a snapshot, where that is due. mu is held.
func (p *pipeline) turn(now time.Time) {
	if p.parts.due(p.sim.at(now)) {
		p.nextFile(now)
	}
	if p.snaps.due(now) {
		p.endSnapshot()
	}
}

// add is append for frames that are wanted. mu is held.
func (p *pipeline) add(c *connection, run []byte, count int, stamp bagfmt.Time, received time.Time) {
	for count > 0 {
		switch {
		case p.atLimit(c.topic) || p.full:
			return
		case p.ended: // the file failed: the links go on until they are closed
			p.drop(c.topic, dropDisk, uint64(count))
			return
		case p.state != StateRecording: // since it waits for room
			p.pass(c, count)
			return
		case !p.admits(c.topic, p.pool.weight(len(run)+count*recordOverhead), true):
			p.drop(c.topic, dropBufferFull, uint64(count))
			return
		case p.open == nil && !p.waitForChunk(c.topic):
			if !p.wants(c.topic) {
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
		p.open.share(c.topic, p.pool.weight(size+n*recordOverhead))
		c.stored = p.parts.number + 1
		p.account(c.topic, uint64(n), uint64(size-4*n))
		if c.latching {
			p.remember(c, lastFrame(run[:size]))
		}
		stamp = stamp.Add(time.Duration(n))
		run, count = run[size:], count-n
		if p.open.builder.Len() > p.fill {
			p.sealOpen()
			p.checkSize(received)
		}
	}
}

// fit returns how many frames of run, and how many bytes, go into the open chunk:
// as in stock a chunk is closed after the message that takes it past its size.
func (p *pipeline) fit(t *topic, run []byte, count int) (n, size int) {
	if t.limit > 0 {
		count = min(count, int(t.limit-t.messages))
	}
	free := p.fill - p.open.builder.Len()
	if t.limit == 0 && len(run)+count*recordOverhead <= free {
		return count, len(run)
	}
	for n < count && (n == 0 || free >= 0) {
		frame := 4 + int(binary.LittleEndian.Uint32(run[size:]))
		size += frame
		free -= frame + recordOverhead
		n++
	}
	return n, size
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

func (p *pipeline) atLimit(t *topic) bool { return t.limit > 0 && t.messages >= t.limit }

func (p *pipeline) reachedLimit(t *topic) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.atLimit(t)
}

// sealOpen hands the open chunk on. mu is held.
func (p *pipeline) sealOpen() {
	if p.open != nil && p.open.builder.Messages() > 0 {
		p.pool.settle(p.open)
		p.open.born, p.open.until = p.born, p.latest
		p.hand(p.open)
		p.open = nil
	}
}

// hand gives a chunk to the compressors and the writer. mu is held, so that the
// order of the queue is the order of the file.
func (p *pipeline) hand(c *chunk) {
	p.pool.count(c)
	p.pool.charge(c)
	c.part, c.cost = p.parts.number, chunkCost(&c.builder)
	p.parts.flying += c.cost
	if p.squeeze != nil {
		p.ladder.queued += c.counted
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

// tick seals an old chunk, begins a new file when it is time, keeps the sync interval
// and reports new drops.
func (p *pipeline) tick(now time.Time) {
	p.clock.look(now, p.log)
	p.mu.Lock()
	p.parts.schedule(p.sim.at(now))
	p.turn(now)
	if p.open != nil && now.Sub(p.born) >= p.flush {
		p.sealOpen()
	}
	var lost []drop
	var news []publisherNews
	if now.Sub(p.warnAt) >= time.Second {
		p.warnAt = now
		lost = p.newDrops(now)
		news = p.newOfPublishers(now)
	}
	out := p.out
	p.mu.Unlock()
	p.warnShort(now)
	if out != nil {
		p.wakeSyncer(out, now)
	}
	p.sayOfPublishers(news)
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
	p.endSnapshot()
	p.ended = true
	p.send(p.writeReport)
	p.mu.Unlock()
	p.room.Broadcast()
	if p.squeeze != nil {
		p.squeeze.close()
	}
	p.sealed.close()
	p.wg.Wait()
	p.snaps.close()
	close(p.kick)
	p.syncing.Wait()
	if p.out != nil {
		p.out.last = true
		p.closing <- p.out
	}
	close(p.closing)
	p.closers.Wait()
	return errors.Join(append([]error{p.err}, p.faults...)...)
}
