// Package intake makes a run of frames part of the right chunk. It has the one lock that a message meets.
// The pure rooms account, filling, memory, mode, latch, ring and rotation decide under that lock. The
// intake queues chunks and commands for the sink, knows nothing of files, and answers with values.
// Callers have one of five doors: Links, Commands, Files, Snapshots and Accounts.
package intake

import (
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/command"
	"github.com/gorosbag/gorosbag/recorder/internal/encode"
	"github.com/gorosbag/gorosbag/recorder/internal/filling"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/mode"
	"github.com/gorosbag/gorosbag/recorder/internal/queue"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
	"github.com/gorosbag/gorosbag/recorder/internal/rotation"
	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
)

// Intake takes runs of frames from the links, decides what is recorded and in which file, and queues
// chunks and commands for the sink.
//
// Mu guards all fields below it. It is held while one run is copied, never during I/O or compression.
type Intake struct {
	cfg   Config
	queue *queue.FIFO[command.Item] // to the sink, in file order

	Mu       sync.Mutex
	room     sync.Cond // links that wait for room are woken: memory came back, or the wait is over
	Pool     *memory.Memory
	Latched  latch.Store
	Ring     *ring.Ring // nil without snapshots
	Rotation rotation.Rotation
	Account  account.Accounts
	Filling  filling.Filling
	Mode     mode.Mode
	warnAt   time.Time           // when Tick last looked for news
	reported *account.Connection // of the account of losses; nil until that is written

	closedParts   atomic.Int64  // the files of all parts below this number are closed
	limited       chan struct{} // gets a token when a topic has reached its limit
	filled        chan struct{} // gets a token when the only file has its size
	verifications chan struct{} // gets a token when there are sequence gaps that were not verified
}

// Config is what an intake is made of.
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
		cfg:           o,
		queue:         queue.New[command.Item](),
		Account:       account.New(o.Limits),
		Rotation:      rotation.New(o.Rotation, o.Sim.Steady(o.Begun), o.Sim.GoneBack()),
		Filling:       filling.New(),
		Mode:          mode.Mode{State: o.Begin},
		limited:       make(chan struct{}, 1),
		filled:        make(chan struct{}, 1),
		verifications: make(chan struct{}, 1),
	}
	in.room.L = &in.Mu
	if in.Mode.State != control.StateStopped {
		in.Mode.Begun = o.Sim.Steady(o.Begun)
	}
	o.Memory.Twice, o.Memory.Freed = o.Encoder.Compresses(), in.room.Broadcast
	in.Pool = memory.New(o.Memory)
	in.Latched = latch.New(in.Pool, o.NoRepeat)
	if o.Ring != nil {
		in.Ring = ring.New(*o.Ring, in.Pool, &in.Latched)
	}
	return in
}
