// Package intake makes a run of frames part of the right chunk: it has the one lock that a message
// meets. The pure rooms memory, latch, ring and rotation decide under that lock. The intake queues
// chunks and commands for the sink, knows nothing of files, and answers with plain figures.
package intake

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/encode"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/queue"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
	"github.com/gorosbag/gorosbag/recorder/internal/rotation"
	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
	"github.com/gorosbag/gorosbag/rosbag"
)

// RecordOverhead is what a message record adds to its frame: the length of its
// header and the header with op, conn and time.
const RecordOverhead = 42

// Intake takes runs of frames from the links, decides what is recorded and in which file,
// and queues chunks and commands for the sink. It owns the memory budget and the accounts
// of topics, publishers and connections.
//
// mu guards all of it. It is held for one copy of a run, never during I/O or compression.
type Intake struct {
	log      *zap.Logger
	Flush    time.Duration
	node     string       // our name
	Sim      *simtime.Sim // nil for the wall clock
	onChange func()       // the state is another one

	encoder *encode.Encoder
	Sealed  *queue.FIFO[Item] // to the sink, in file order

	Mu       sync.Mutex
	Pool     *memory.Memory // all bytes of -b
	Latched  latch.Store
	Ring     *ring.Ring     // nil without snapshots
	Room     sync.Cond      // where links wait: memory came back, or the waiting is over
	Open     *memory.Chunk  // the shared chunk that is filled; nil until the next message
	openedAt time.Time      // when open got its first message
	sealAt   int            // seal open when it is longer than this
	latest   time.Time      // when the latest message came
	records  *chunk.Records // of the file that the intake fills
	Rotation rotation.Rotation
	Account  account.Accounts // of topics, connections and publishers
	reported *Link            // for the account of losses; nil until it is written
	unread   unread           // what could not be read of the master's replies

	State       State
	Begun       time.Time // when the recording was started, by sim.steady; zero while it is stopped
	starting    *Command  // opens the file that StateStopped waits for; nil for none
	Ended       bool      // no further intake: the file has failed, or all links are closed
	AtSizeLimit bool      // the one file has reached its size: what comes now is not wanted
	warnAt      time.Time // when tick last looked for drops

	closedParts   atomic.Int64  // the files of parts below this number are closed
	Limited       chan struct{} // a topic reached its limit
	Filled        chan struct{} // the one file has its size
	Verifications chan struct{} // there are sequence gaps that were not verified
}

// Config is what an intake is made of.
type Config struct {
	Log      *zap.Logger
	Node     string // our name
	Flush    time.Duration
	Limits   []account.Limit
	Memory   memory.Options
	Rotation rotation.Options
	Ring     *ring.Options // nil without snapshots
	NoRepeat bool          // files do not begin with latched messages
	Begin    State
	Sim      *simtime.Sim // nil for the wall clock
	OnChange func()       // called after the recording state changed; must not wait
	Encoder  *encode.Encoder
}

// New returns an intake that records as soon as there are links.
func New(o Config) *Intake {
	in := &Intake{
		log:           o.Log,
		Flush:         o.Flush,
		node:          o.Node,
		Account:       account.New(o.Limits),
		Sim:           o.Sim,
		onChange:      o.OnChange,
		encoder:       o.Encoder,
		Sealed:        queue.New[Item](),
		records:       new(chunk.Records),
		Rotation:      rotation.New(o.Rotation, o.Sim.Steady(time.Now()), o.Sim.GoneBack()),
		State:         o.Begin,
		Limited:       make(chan struct{}, 1),
		Filled:        make(chan struct{}, 1),
		Verifications: make(chan struct{}, 1),
	}
	in.Room.L = &in.Mu
	if in.State != StateStopped {
		in.Begun = in.Sim.Steady(time.Now())
	}
	o.Memory.Twice, o.Memory.Freed = o.Encoder.Compresses(), in.Room.Broadcast
	in.Pool = memory.New(o.Memory)
	in.Latched = latch.New(in.Pool, o.NoRepeat)
	if o.Ring != nil {
		in.Ring = ring.New(*o.Ring, in.Pool, &in.Latched)
	}
	return in
}

// append copies a run of whole frames into the open chunk.
func (in *Intake) append(c *account.Connection, run []byte, count int, received time.Time) {
	// The last frame was complete at received; one nanosecond between the frames
	// of a run keeps their order in every tool that sorts by time. With a clock of the
	// graph's own many messages have one stamp, as in stock.
	step := in.Sim.Step()
	stamp := rosbag.TimeOf(in.Sim.At(received)).Add(-step * time.Duration(count-1))
	in.Mu.Lock()
	defer in.Mu.Unlock()
	c.Topic.Last, c.Latest = received, received
	if in.State != StateRecording {
		c.NoteUnrecorded(count)
		if c.Latching {
			in.Latched.Remember(&c.Source, latch.LastFrame(run))
		}
		return
	}
	in.rotateIfDue(received)
	in.latest = later(in.latest, received)
	if !c.Topic.Sampler.Thin && step > 0 {
		in.add(c, run, count, stamp, received)
		return
	}
	for count > 0 {
		size := 4 + int(binary.LittleEndian.Uint32(run))
		if !c.Topic.Sampler.Thin || c.Topic.Sampler.Keep(in.Sim.Steady(received)) {
			in.add(c, run[:size], 1, stamp, received)
		}
		stamp = stamp.Add(step)
		run, count = run[size:], count-1
	}
}

// add is append for frames that are wanted. mu is held.
func (in *Intake) add(c *account.Connection, run []byte, count int, stamp rosbag.Time, received time.Time) {
	for count > 0 {
		switch {
		case c.Topic.AtLimit() || in.AtSizeLimit:
			return
		case in.Ended: // the file failed: the links go on until they are closed
			c.Topic.Drop(account.DropDisk, uint64(count))
			return
		case in.State != StateRecording: // since it waits for room
			c.NoteUnrecorded(count)
			return
		case !in.Pool.Admits(&c.Topic.Memory, in.Pool.Weight(len(run)+count*RecordOverhead+in.newRecordBytes(c)), true):
			c.Topic.Drop(account.DropBufferFull, uint64(count))
			return
		case in.Open == nil && !in.WaitForChunk(c.Topic):
			if !in.accepts(c.Topic) {
				continue
			}
			c.Topic.Drop(account.DropBufferFull, uint64(count))
			return
		}
		n, size := in.fit(c.Topic, run, count)
		if in.Open.Builder.Messages() == 0 {
			in.openedAt = received
		}
		in.Open.Builder.AppendRun(c.Conn, stamp, run[:size], n)
		in.Open.Add(&c.Topic.Memory, in.Pool.Weight(size+n*RecordOverhead))
		c.NoteRecord(in.Rotation.Part())
		in.took(c.Topic, uint64(n), uint64(size-4*n))
		if c.Latching {
			in.Latched.Remember(&c.Source, latch.LastFrame(run[:size]))
		}
		stamp = stamp.Add(time.Duration(n))
		run, count = run[size:], count-n
		if in.Open.Builder.Len() > in.sealAt {
			in.SealOpen()
			in.checkSize(received)
		}
	}
}

// newRecordBytes returns what the connection record of c takes, if its file does not have
// that yet. mu is held.
func (in *Intake) newRecordBytes(c *account.Connection) int {
	if c.HasRecord(in.Rotation.Part()) {
		return 0
	}
	return c.Bytes
}

// fit returns how many frames of run, and how many bytes, go into the open chunk:
// as in stock a chunk is closed after the message that takes it past its size.
func (in *Intake) fit(t *account.Topic, run []byte, count int) (n, size int) {
	if limit := t.Sampler.Limit; limit > 0 {
		count = min(count, int(limit-t.Messages))
	}
	free := in.sealAt - in.Open.Builder.Len()
	if t.Sampler.Limit == 0 && len(run)+count*RecordOverhead <= free {
		return count, len(run)
	}
	for n < count && (n == 0 || free >= 0) {
		frame := 4 + int(binary.LittleEndian.Uint32(run[size:]))
		size += frame
		free -= frame + RecordOverhead
		n++
	}
	return n, size
}

// SealOpen hands the open chunk on. mu is held.
func (in *Intake) SealOpen() {
	if in.Open != nil && in.Open.Builder.Messages() > 0 {
		in.Pool.Settle(in.Open)
		in.Open.FirstAt, in.Open.LastAt = in.openedAt, in.latest
		in.submit(in.Open)
		in.Open = nil
	}
}

// submit gives a chunk to the encoder and the sink. mu is held, so that the
// order of the queue is the order of the file.
func (in *Intake) submit(c *memory.Chunk) {
	in.Pool.Count(c)
	in.Pool.Charge(c)
	c.Part, c.Cost = in.Rotation.Part(), rotation.ChunkCost(&c.Builder)
	in.Rotation.Queue(c.Cost)
	in.encoder.Put(c)
	in.Sealed.Put(Item{Chunk: c})
}

// release takes a chunk back after it was written or given up.
func (in *Intake) release(c *memory.Chunk) {
	in.Mu.Lock()
	in.Pool.Put(c)
	in.Mu.Unlock()
}

// Tick seals an old chunk, begins a new file when it is time and reports new drops.
func (in *Intake) Tick(now time.Time) {
	in.Mu.Lock()
	in.Rotation.Schedule(in.passed(now))
	in.rotateIfDue(now)
	if in.Open != nil && now.Sub(in.openedAt) >= in.Flush {
		in.SealOpen()
	}
	var lost []account.Drops
	var news []account.PublisherNews
	in.Pool.Turns.Expire(now)
	var held []account.WaitNews
	if in.Pool.Blocks {
		held = in.Account.WaitNews(now)
	}
	if now.Sub(in.warnAt) >= time.Second {
		in.warnAt = now
		lost = in.Account.NewDrops(now)
		news = in.Account.PublisherNews(now)
		in.ReleaseGone(now)
	}
	in.Mu.Unlock()
	in.warnShort(now)
	in.warnShortage()
	in.logPublishers(news)
	in.logWaits(held)
	for _, d := range lost {
		fields := []zap.Field{zap.String("topic", d.Topic), zap.Stringer("cause", d.Cause), zap.Uint64("messages", d.Messages)}
		if d.BufferNeeded > 0 {
			const mib = 1 << 20 // the unit of -b
			fields = append(fields, zap.String("needed", fmt.Sprintf("-b %d", (d.BufferNeeded+mib-1)/mib)))
		}
		in.log.Warn("messages dropped", fields...)
	}
}

// End ends the intake: the file has failed.
func (d Files) End() {
	in := d.in
	in.Mu.Lock()
	in.Ended = true
	in.Mu.Unlock()
	in.Room.Broadcast()
}

// Close ends the intake and queues the rest of it.
func (in *Intake) Close() {
	in.Mu.Lock()
	in.SealOpen()
	in.endSnapshot()
	in.Ended = true
	in.Enqueue(&Command{Kind: CommandReport})
	in.Mu.Unlock()
	in.Room.Broadcast()
	in.warnShortage()
	in.encoder.Close()
	in.Sealed.Close()
}

// Abandon ends the intake and counts as lost what is not in a file.
func (in *Intake) Abandon() {
	in.Mu.Lock()
	in.Ended = true
	if !in.Ring.IsOnly() { // otherwise it is not known what was to be written
		in.Account.Abandon()
	}
	in.Mu.Unlock()
	in.Room.Broadcast()
}

// ReleaseGone forgets what is not needed of publishers that are gone: the oldest latched
// messages, connections and accounts. mu is held.
func (in *Intake) ReleaseGone(now time.Time) {
	needed := in.needed
	if in.Ring.Writing() { // the file of a snapshot has connections, too
		needed = nil
	}
	in.Account.ReleaseGone(&in.Latched, needed, now)
}

// needed reports whether a file that is not closed, a chunk or a latched message has
// the connection. mu is held.
func (in *Intake) needed(c *account.Connection) bool {
	switch {
	case in.Latched.Holds(&c.Source), c.Topic.Memory.Waiting > 0, in.Open != nil && in.Open.Builder.HasConn(c.Conn.ID), in.Ring.Needs(c.Latest):
		return true
	}
	return !in.Ring.IsOnly() && !c.Within(in.closedParts.Load())
}

// took counts messages of t that were put into a chunk.
func (in *Intake) took(t *account.Topic, messages, bytes uint64) {
	t.Add(account.Tally{Messages: messages, Bytes: bytes})
	if t.AtLimit() {
		in.Room.Broadcast() // links of t need not wait any more
		select {
		case in.Limited <- struct{}{}:
		default: // the owner has not looked yet and will see this topic too
		}
	}
}
