// Package intake makes a run of frames part of the right chunk. It has the one lock that a message meets.
// The pure packages account, filling, memory, mode, latch, ring and rotation decide under that lock. The
// intake queues chunks and commands for the sink, knows nothing of files, and answers with values.
// Accounts and Buffers are behind the same lock, with methods of their own for what needs no decision of
// the intake. Each caller declares what it needs as an interface, such as sink.Intake and graph.Accounts.
//
// Decisions: ADR 0098.
package intake

import (
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/encode"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/queue"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
	"github.com/gorosbag/gorosbag/recorder/internal/rotation"
	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
)

// Intake takes runs of frames from the links, decides what is recorded and in which file, and queues
// chunks and commands for the sink.
//
// mu guards the fields from Accounts to reported. It is held while one run is copied, never during I/O or
// compression.
type Intake struct {
	cfg   Config
	queue *queue.FIFO[queue.Item] // to the sink, in file order

	mu       sync.Mutex
	Accounts *Accounts // who has no lock calls their exported methods, which take mu
	Buffers  Buffers
	room     sync.Cond // wakes links that wait for room: memory was freed, or they need not wait any more
	rotation rotation.Rotation
	filling  Filling
	mode     Mode
	newsAt   time.Time           // when Tick last looked for news of topics and publishers
	reported *account.Connection // connection of the account of losses; nil until that is written

	limited chan struct{} // gets a token when a topic has reached its limit
	filled  chan struct{} // gets a token when the only file has reached its maximum size
}

// Config configures an Intake.
type Config struct {
	Log      *zap.Logger
	Node     string        // our name
	Flush    time.Duration // seal an open chunk at this age
	Limits   []account.Limit
	Memory   memory.Options
	Rotation rotation.Options
	Ring     *ring.Options // nil without snapshots
	NoRepeat bool          // files do not begin with latched messages
	Begin    control.State
	Sim      *simtime.Sim // nil for the wall clock
	Begun    time.Time    // when the recording begins, by the local clock
	OnChange func()       // called after the recording state changed; must not wait
	Encoder  *encode.Encoder
}

// New returns an intake that records as soon as there are links.
func New(o Config) *Intake {
	in := &Intake{
		cfg:      o,
		queue:    queue.New[queue.Item](),
		rotation: rotation.New(o.Rotation, o.Sim.Steady(o.Begun), o.Sim.GoneBack()),
		filling:  newFilling(),
		mode:     Mode{State: o.Begin},
		limited:  make(chan struct{}, 1),
		filled:   make(chan struct{}, 1),
	}
	in.room.L = &in.mu
	in.Accounts = &Accounts{
		mu: &in.mu, all: account.New(o.Limits, o.Ring != nil && o.Ring.Only), gaps: make(chan struct{}, 1),
		recorded: in.mode.Accepts,
	}
	if in.mode.State != control.StateStopped {
		in.mode.Begun = o.Sim.Steady(o.Begun)
	}
	o.Memory.Twice, o.Memory.Freed = o.Encoder.Compresses(), in.room.Broadcast
	in.Buffers.mu, in.Buffers.pool = &in.mu, memory.New(o.Memory)
	in.Buffers.latched = latch.New(in.Buffers.pool, o.NoRepeat,
		func(c *latch.Chunk) { in.Buffers.ring.Free(c) })
	if o.Ring != nil {
		in.Buffers.keepRing(*o.Ring)
	}
	return in
}

// Tick seals an old chunk, begins the next file and ends a post-roll if that is due, and logs news.
func (in *Intake) Tick(now time.Time) {
	in.mu.Lock()
	in.rotation.Schedule(in.rotationTimeLocked(now))
	in.rotateIfDueLocked(now)
	if in.filling.Old(now, in.cfg.Flush) {
		in.sealOpenLocked()
	}
	in.Buffers.pool.Turns().Expire(now)
	found := News{Ring: in.Buffers.ring.TakeShortage(now), Latched: in.Buffers.latched.TakeShortage()}
	if in.Buffers.pool.Blocks() {
		found.Waits = in.Accounts.all.WaitNews(now)
	}
	if now.Sub(in.newsAt) >= time.Second {
		in.newsAt = now
		found.Drops = in.Accounts.all.NewDrops(now)
		found.Publishers = in.Accounts.all.PublisherNews(now)
		in.Accounts.all.ReleaseGone(&in.Buffers.latched, in.neededLocked, now)
	}
	in.mu.Unlock()
	found.Log(in.cfg.Log)
}

// Close ends the intake: it queues the open chunk, the end of a post-roll and the account of losses.
func (in *Intake) Close() {
	in.mu.Lock()
	in.endSnapshotLocked()
	in.endFileLocked(true)
	in.mode.Ended = true
	last := News{Latched: in.Buffers.latched.TakeShortage()}
	in.mu.Unlock()
	in.room.Broadcast()
	last.Log(in.cfg.Log)
	in.cfg.Encoder.Close()
	in.queue.Close()
}

// Abandon ends the intake and counts messages as lost that are not in a file.
func (in *Intake) Abandon() {
	in.mu.Lock()
	in.mode.Ended = true
	in.Accounts.all.Abandon()
	in.mu.Unlock()
	in.room.Broadcast()
}

// neededLocked reports whether a file that is not closed, a chunk or a latched message needs the connection.
func (in *Intake) neededLocked(c *account.Connection) bool {
	switch {
	case in.Buffers.ring.Writing(): // the file of a snapshot has connections, too
		return true
	case in.Buffers.latched.Holds(c.Source()), c.Topic().Memory().Waiting() > 0, in.filling.Has(c.Conn().ID),
		in.Buffers.ring.Needs(c.Source().Latest()):
		return true
	}
	return !in.Buffers.ring.IsOnly() && in.Accounts.needsLocked(c)
}
