package recorder

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/encode"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/queue"
	"github.com/gorosbag/gorosbag/recorder/internal/rotation"
	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
)

// recordOverhead is what a message record adds to its frame: the length of its
// header and the header with op, conn and time.
const recordOverhead = 42

// intake takes runs of frames from the links, decides what is recorded and in which file,
// and queues chunks and commands for the sink. It owns the memory budget and the accounts
// of topics, publishers and connections.
//
// mu guards all of it. It is held for one copy of a run, never during I/O or compression.
type intake struct {
	log      *zap.Logger
	flush    time.Duration
	limits   []Limit
	node     string       // our name
	sim      *simtime.Sim // nil for the wall clock
	onChange func()       // the state is another one

	encoder *encode.Encoder
	sealed  *queue.FIFO[queued] // to the sink, in file order

	mu sync.Mutex
	buffer
	openedAt    time.Time           // when open got its first message
	sealAt      int                 // seal open when it is longer than this
	latest      time.Time           // when the latest message came
	records     *bagfmt.ConnRecords // of the file that the intake fills
	rotation    rotation.Rotation
	topics      []*topic
	ownTopics   []*topic // those of topics on which the recorder itself publishes: a few
	connections connections
	reported    *link  // for the account of losses; nil until it is written
	unread      unread // what could not be read of the master's replies

	state       State
	begun       time.Time // when the recording was started, by sim.steady; zero while it is stopped
	starting    *command  // opens the file that StateStopped waits for; nil for none
	ended       bool      // no further intake: the file has failed, or all links are closed
	atSizeLimit bool      // the one file has reached its size: what comes now is not wanted
	warnAt      time.Time // when tick last looked for drops

	closedParts   atomic.Int64  // the files of parts below this number are closed
	limited       chan struct{} // a topic reached its limit
	filled        chan struct{} // the one file has its size
	verifications chan struct{} // there are sequence gaps that were not verified
}

func newIntake(o *Options, encoder *encode.Encoder) *intake {
	in := &intake{
		log:           o.Log,
		buffer:        buffer{log: o.Log, overflow: o.Overflow},
		flush:         o.FlushInterval,
		limits:        o.limits(),
		node:          o.Node.Name(),
		sim:           o.sim,
		onChange:      o.Control.notify,
		encoder:       encoder,
		sealed:        queue.New[queued](),
		records:       new(bagfmt.ConnRecords),
		rotation:      rotation.New(rotation.Options{Split: o.Split, MaxBytes: o.MaxBytes, Every: o.Duration, At: o.SplitAt, Stopped: o.Begin == StateStopped}, o.sim.Steady(time.Now()), o.sim.GoneBack()),
		state:         o.Begin,
		limited:       make(chan struct{}, 1),
		filled:        make(chan struct{}, 1),
		verifications: make(chan struct{}, 1),
	}
	in.room.L = &in.mu
	if in.state != StateStopped {
		in.begun = in.sim.Steady(time.Now())
	}
	in.pool = memory.New(memory.Options{Limit: o.MemoryBytes(), ChunkBytes: o.ChunkBytes, Twice: encoder.Compresses(), Blocks: o.Overflow == OverflowBlock, Freed: in.room.Broadcast})
	in.latched = latchStore{mem: &in.pool, off: o.NoRepeatLatched}
	if o.Snapshot.Mode != SnapshotOff {
		in.ring = newRing(o.Snapshot.ring(), &in.pool, &in.latched)
	}
	return in
}

// append copies a run of whole frames into the open chunk.
func (in *intake) append(c *connection, run []byte, count int, received time.Time) {
	// The last frame was complete at received; one nanosecond between the frames
	// of a run keeps their order in every tool that sorts by time. With a clock of the
	// graph's own many messages have one stamp, as in stock.
	step := in.sim.Step()
	stamp := bagfmt.TimeOf(in.sim.At(received)).Add(-step * time.Duration(count-1))
	in.mu.Lock()
	defer in.mu.Unlock()
	c.topic.last, c.latest = received, received
	if in.state != StateRecording {
		c.countUnrecorded(count)
		if c.latching {
			in.latched.rememberLatched(&c.source, lastFrame(run))
		}
		return
	}
	in.rotateIfDue(received)
	in.latest = later(in.latest, received)
	if !c.topic.thin && step > 0 {
		in.add(c, run, count, stamp, received)
		return
	}
	for count > 0 {
		size := 4 + int(binary.LittleEndian.Uint32(run))
		if !c.topic.thin || c.topic.keep(in.sim.Steady(received)) {
			in.add(c, run[:size], 1, stamp, received)
		}
		stamp = stamp.Add(step)
		run, count = run[size:], count-1
	}
}

// add is append for frames that are wanted. mu is held.
func (in *intake) add(c *connection, run []byte, count int, stamp bagfmt.Time, received time.Time) {
	for count > 0 {
		switch {
		case c.topic.atLimit() || in.atSizeLimit:
			return
		case in.ended: // the file failed: the links go on until they are closed
			c.topic.drop(dropDisk, uint64(count))
			return
		case in.state != StateRecording: // since it waits for room
			c.countUnrecorded(count)
			return
		case !in.pool.Admits(&c.topic.account, in.pool.Weight(len(run)+count*recordOverhead+in.newRecordBytes(c)), true):
			c.topic.drop(dropBufferFull, uint64(count))
			return
		case in.open == nil && !in.waitForChunk(c.topic):
			if !in.accepts(c.topic) {
				continue
			}
			c.topic.drop(dropBufferFull, uint64(count))
			return
		}
		n, size := in.fit(c.topic, run, count)
		if in.open.Builder.Messages() == 0 {
			in.openedAt = received
		}
		in.open.Builder.AppendRun(c.conn, stamp, run[:size], n)
		in.open.Add(&c.topic.account, in.pool.Weight(size+n*recordOverhead))
		c.stored = in.rotation.Part() + 1
		in.account(c.topic, uint64(n), uint64(size-4*n))
		if c.latching {
			in.latched.rememberLatched(&c.source, lastFrame(run[:size]))
		}
		stamp = stamp.Add(time.Duration(n))
		run, count = run[size:], count-n
		if in.open.Builder.Len() > in.sealAt {
			in.sealOpen()
			in.checkSize(received)
		}
	}
}

// newRecordBytes returns what the connection record of c takes, if its file does not have
// that yet. mu is held.
func (in *intake) newRecordBytes(c *connection) int {
	if c.stored == in.rotation.Part()+1 {
		return 0
	}
	return c.bytes
}

// fit returns how many frames of run, and how many bytes, go into the open chunk:
// as in stock a chunk is closed after the message that takes it past its size.
func (in *intake) fit(t *topic, run []byte, count int) (n, size int) {
	if t.limit > 0 {
		count = min(count, int(t.limit-t.messages))
	}
	free := in.sealAt - in.open.Builder.Len()
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

// sealOpen hands the open chunk on. mu is held.
func (in *intake) sealOpen() {
	if in.open != nil && in.open.Builder.Messages() > 0 {
		in.pool.Settle(in.open)
		in.open.FirstAt, in.open.LastAt = in.openedAt, in.latest
		in.submit(in.open)
		in.open = nil
	}
}

// submit gives a chunk to the encoder and the sink. mu is held, so that the
// order of the queue is the order of the file.
func (in *intake) submit(c *memory.Chunk) {
	in.pool.Count(c)
	in.pool.Charge(c)
	c.Part, c.Cost = in.rotation.Part(), rotation.ChunkCost(&c.Builder)
	in.rotation.Queue(c.Cost)
	in.encoder.Put(c)
	in.sealed.Put(queued{chunk: c})
}

// release takes a chunk back after it was written or given up.
func (in *intake) release(c *memory.Chunk) {
	in.mu.Lock()
	in.pool.Put(c)
	in.mu.Unlock()
}

// tick seals an old chunk, begins a new file when it is time and reports new drops.
func (in *intake) tick(now time.Time) {
	in.mu.Lock()
	in.rotation.Schedule(in.passed(now))
	in.rotateIfDue(now)
	if in.open != nil && now.Sub(in.openedAt) >= in.flush {
		in.sealOpen()
	}
	var lost []drop
	var news []publisherNews
	in.pool.ExpireTurns(now)
	held := in.blockageNews(now)
	if now.Sub(in.warnAt) >= time.Second {
		in.warnAt = now
		lost = in.newDrops(now)
		news = in.publisherNews(now)
		in.releaseGone(now)
	}
	in.mu.Unlock()
	in.warnShort(now)
	in.warnShortage()
	in.logPublishers(news)
	in.logBlockages(held)
	for _, d := range lost {
		in.log.Warn("messages dropped", zap.String("topic", d.topic), zap.Stringer("cause", d.cause), zap.Uint64("messages", d.messages))
	}
}

// unblockLinks lets the links that wait for room go on at once, budget or not: they are
// about to be closed, and what they hold was received.
func (in *intake) unblockLinks() {
	in.mu.Lock()
	in.sealOpen()
	in.pool.SetBudget(-1)
	in.mu.Unlock()
}

// end ends the intake: the file has failed.
func (in *intake) end() {
	in.mu.Lock()
	in.ended = true
	in.mu.Unlock()
	in.room.Broadcast()
}

// close ends the intake and queues the rest of it.
func (in *intake) close() {
	in.mu.Lock()
	in.sealOpen()
	in.endSnapshot()
	in.ended = true
	in.enqueue(&command{kind: commandReport})
	in.mu.Unlock()
	in.room.Broadcast()
	in.warnShortage()
	in.encoder.Close()
	in.sealed.Close()
}

// abandon ends the intake and counts as lost what is not in a file.
func (in *intake) abandon() {
	in.mu.Lock()
	in.ended = true
	for _, t := range in.topics {
		if !in.ring.isOnly() { // otherwise it is not known what was to be written
			t.dropped[dropDisk] += t.messages - t.written.messages
			t.tally = t.written
		}
	}
	in.mu.Unlock()
	in.room.Broadcast()
}
