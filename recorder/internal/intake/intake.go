// Package intake makes a run of frames part of the right chunk. It has the one lock that a message meets.
// The pure packages account, filling, memory, mode, latch, ring and rotation decide under that lock. The
// intake queues chunks and commands for the sink, knows nothing of files, and answers with values.
// Each caller declares what it needs as an interface: subscribe.Intake, annotations.Intake, sink.Intake, snapshot.Intake,
// graph.Accounts and health.Accounts.
//
// Decisions: ADR 0098.
package intake

import (
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
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
// mu guards the fields from room to closedParts. It is held while one run is copied, never during I/O or compression.
type Intake struct {
	cfg   Config
	queue *queue.FIFO[queue.Item] // to the sink, in file order

	mu       sync.Mutex
	room     sync.Cond // wakes links that wait for room: memory was freed, or they need not wait any more
	pool     *memory.Memory
	latched  latch.Store
	ring     *ring.Ring // nil without snapshots
	rotation rotation.Rotation
	accounts account.Accounts
	filling  Filling
	mode     Mode
	newsAt   time.Time           // when Tick last looked for news of topics and publishers
	reported *account.Connection // connection of the account of losses; nil until that is written

	closedParts int // the files of all parts below this number are closed

	limited chan struct{} // gets a token when a topic has reached its limit
	filled  chan struct{} // gets a token when the only file has reached its maximum size
	gaps    chan struct{} // gets a token when there are sequence gaps that are not verified
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
		accounts: account.New(o.Limits, o.Ring != nil && o.Ring.Only),
		rotation: rotation.New(o.Rotation, o.Sim.Steady(o.Begun), o.Sim.GoneBack()),
		filling:  newFilling(),
		mode:     Mode{State: o.Begin},
		limited:  make(chan struct{}, 1),
		filled:   make(chan struct{}, 1),
		gaps:     make(chan struct{}, 1),
	}
	in.room.L = &in.mu
	if in.mode.State != control.StateStopped {
		in.mode.Begun = o.Sim.Steady(o.Begun)
	}
	o.Memory.Twice, o.Memory.Freed = o.Encoder.Compresses(), in.room.Broadcast
	in.pool = memory.New(o.Memory)
	in.latched = latch.New(in.pool, o.NoRepeat, func(c *latch.Chunk) { in.ring.Free(c) })
	if o.Ring != nil {
		in.keepRing(*o.Ring)
	}
	return in
}

// keepRing makes the intake keep chunks for snapshots.
func (in *Intake) keepRing(o ring.Options) {
	in.ring = ring.New(o, in.pool, &in.latched)
	in.pool.KeepReserve(in.ring)
}

// Release takes back the buffer of a chunk that was written or given up.
func (in *Intake) Release(c *memory.Chunk) {
	in.mu.Lock()
	in.pool.Put(c)
	in.mu.Unlock()
}

// claim counts n bytes for latched messages on their way to a file, if that many bytes are free.
func (in *Intake) claim(n int64) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.latched.Claim(n)
}

// Lose counts as lost the messages of a chunk that will not be written.
func (in *Intake) Lose(c *chunk.Sealed, cause control.DropCause) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.accounts.Lost(c, cause)
}

// Stamp returns the time of the recording at now.
func (in *Intake) Stamp(now time.Time) time.Time { return in.cfg.Sim.At(now) }
