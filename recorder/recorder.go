// Package recorder subscribes to ROS topics and writes what arrives to bag files.
//
// The links hand runs of raw frames to a pipeline, which copies them once into the
// open chunk. Full or old chunks are swapped against a free buffer, compressed on
// all cores and written in order by one goroutine. One number, Options.BufferBytes,
// bounds the memory of all that; what does not fit is dropped and counted by topic
// and cause, or holds up the publishers, as Options.Overflow says.
//
// Nothing on the network can delay the closing of a bag: Run closes the file and
// leaves it to the caller to close the node, which talks to the master.
package recorder

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Defaults of Options. Sizes and the buffer are those of stock rosbag record.
const (
	DefaultBufferBytes   = 256 << 20
	DefaultFlushInterval = time.Second
	DefaultPollInterval  = 100 * time.Millisecond

	// Unlimited as BufferBytes lets the buffer grow as long as there is memory.
	Unlimited = -1
)

// Overflow says what happens when the buffer is full.
type Overflow int

// The zero value drops: a robot's topics must go on whatever the disk does.
const (
	OverflowDrop  Overflow = iota // drop the newest messages of the heaviest topics and count them
	OverflowBlock                 // stop reading the sockets until there is room
)

// Sync says when the recorder waits for the disk.
type Sync int

// The zero value is the default of the durability contract.
const (
	SyncInterval Sync = iota // every second or 32 MiB, beside the writing
	SyncChunk                // after each chunk
	SyncNone                 // never: the kernel decides
)

// Options says what to record, where to and how. The zero value of each field but
// Node, Output and Select is its default.
type Options struct {
	Node   *tcpros.Node
	Log    *zap.Logger // nil logs nothing
	Select Selection
	Output Output

	Compression bagfmt.Compression // empty means none
	Adaptive    bool               // compress less, from bz2 to lz4 to none, while compression cannot keep up
	ChunkBytes  int                // seal a chunk that is larger than this; zero means 768 KiB
	BufferBytes int64              // bound of all buffers together; zero means 256 MiB, Unlimited none. At least four chunks, or two and one for each core, are always had
	Overflow    Overflow

	FlushInterval time.Duration // seal a chunk that is not full at this age; zero means 1 s
	PollInterval  time.Duration // ask the master for new topics this often; zero means 100 ms
	Sync          Sync

	Limit    int           // end after this many messages on each topic; zero means none
	Limits   []Limit       // of single topics
	Duration time.Duration // end, or with Split begin the next file, after this time since the (last) start; zero means never
	MaxBytes int64         // the same for the size of the file; zero means no limit

	// Split numbers the files in their names and goes on in the next one where the
	// recording would end. Each file begins with the latest message of each latching
	// publisher, unless NoRepeatLatched says otherwise.
	Split           bool
	SplitAt         time.Duration // with Split also at multiples of this on the local clock; zero means never
	NoRepeatLatched bool
	Retain          Retention // what is deleted of what was recorded

	// Recover makes whole bags of what dead recorders left in the directory, beside the
	// recording. Otherwise they are only named.
	Recover bool

	Snapshot Snapshot // what is kept in memory for a snapshot

	MinSpace     int64  // end when less than this is free on the disk; zero does not look
	MinSpaceText string // how the user wrote it, for messages

	TCPNoDelay bool // ask the publishers for TCP_NODELAY
	UDP        bool // receive over UDPROS from publishers that have it

	// Hurry, when closed, makes a Run that is ending skip what is still queued
	// (counted as dropped) and close the bag at once.
	Hurry <-chan struct{}

	Params bool   // store the parameters and the node graph as they are at the start, latched
	Report Report // when the account of what was lost is written into the bag

	Publish bool // tell the name of each file on begin_write as it begins

	Control *Control // steers and watches the recording; nil for none
	Begin   State    // paused or stopped: as if Control had been told so before the first message

	Handover Handover // takes the finished files; nil for nobody

	onOpen func(target string) // told of each new file
	sim    *simClock           // nil stands for the wall clock
}

func (o Options) withDefaults() (Options, error) {
	if o.Node == nil {
		panic("recorder: Options.Node is nil")
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Compression == "" {
		o.Compression = bagfmt.CompressionNone
	}
	if o.ChunkBytes == 0 {
		o.ChunkBytes = bagfmt.DefaultChunkBytes
	}
	if o.BufferBytes == 0 {
		o.BufferBytes = DefaultBufferBytes
	}
	if o.FlushInterval == 0 {
		o.FlushInterval = DefaultFlushInterval
	}
	if o.PollInterval == 0 {
		o.PollInterval = DefaultPollInterval
	}
	if o.ChunkBytes < 0 || o.PollInterval < 0 || o.Limit < 0 || o.Duration < 0 || o.MaxBytes < 0 || o.SplitAt < 0 {
		return o, errors.New("recorder: a size, count or time is negative")
	}
	if o.FlushInterval < time.Millisecond {
		return o, fmt.Errorf("recorder: flush interval %v is below 1ms", o.FlushInterval)
	}
	if err := o.Output.check(); err != nil {
		return o, err
	}
	namespace := "/"
	if slices.ContainsFunc(o.Select.Topics, func(t string) bool { return !strings.HasPrefix(t, "/") && strings.ContainsAny(t, "*?[") }) {
		name, err := o.Node.Resolve("x")
		if err != nil {
			return o, err
		}
		namespace = strings.TrimSuffix(name, "x")
	}
	var err error
	if o.Snapshot, err = o.Snapshot.withDefaults(&o, o.MemoryBytes()); err != nil {
		return o, err
	}
	return o, o.Select.compile(namespace)
}

// MemoryBytes returns the bound of all buffers together, negative for none:
// BufferBytes, but enough for four chunks, and for two and one for each compressor.
func (o Options) MemoryBytes() int64 {
	switch {
	case o.BufferBytes < 0:
		return -1
	case o.BufferBytes == 0:
		o.BufferBytes = DefaultBufferBytes
	}
	chunk := int64(o.ChunkBytes)
	if chunk == 0 {
		chunk = bagfmt.DefaultChunkBytes
	}
	least := leastChunks * chunk
	if n := int64(workers(o.Compression)); n > 0 {
		least = 2 * max(leastChunks, 2+n) * chunk // each chunk and what it is compressed into
	}
	return max(o.BufferBytes, least)
}

// Run records until ctx is done, the duration is over, every topic has reached the
// limit, or the file cannot be written. It returns when the bag is closed and
// everything it started has ended, but for ErrDiskHangs and a recovery that hangs. The summary is valid also with
// an error.
func Run(ctx context.Context, o Options) (Summary, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Summary{}, err
	}
	if err := o.checkNames(); err != nil {
		return Summary{}, err
	}
	if o.Publish {
		if o.onOpen, err = announce(o.Node); err != nil {
			return Summary{}, err
		}
	}
	outputs, err := openOutputs(o.Output, o.Sync, o.Split)
	if err != nil {
		return Summary{}, err
	}
	r := &recording{
		Options: o,
		subs:    map[string]*subscription{},
		tried:   map[string]bool{},
		ready:   make(chan struct{}),
		given:   make(chan struct{}),
	}
	if ok, err := r.awaitClock(ctx); !ok || err != nil {
		close(r.given)
		r.closeSubscriptions()
		return Summary{}, errors.Join(err, outputs.close())
	}
	r.started = time.Now()
	var out *bagFile
	if o.Begin != StateStopped && o.Snapshot.Mode != SnapshotOnly {
		if out, err = outputs.create(r.started); err != nil {
			close(r.given)
			r.closeSubscriptions()
			return Summary{}, errors.Join(err, outputs.close())
		}
	}
	r.pipe = newPipeline(r.Options, outputs, out)
	orphans := outputs.orphans()
	if out != nil {
		r.pipe.opened(out)
	}
	if o.Begin != StateRecording {
		o.Log.Info("Nothing is recorded yet: " + o.Begin.String() + " from the beginning")
	}
	o.Control.attach(r)
	endRepair := r.repairOrphans(ctx, orphans)
	err = r.record(ctx)
	o.Control.attach(nil)
	endRepair(err)
	sum := r.summary(time.Since(r.started))
	if !errors.Is(err, ErrDiskHangs) { // somebody waits for the disk yet
		err = errors.Join(err, outputs.close())
	}
	if err != nil {
		return sum, fmt.Errorf("recorder: %w", err)
	}
	return sum, nil
}

// checkNames finds names that no master would take, and limits that mean nothing,
// before a file is created.
func (o *Options) checkNames() error {
	for _, l := range o.Limits {
		if err := l.check(); err != nil {
			return err
		}
	}
	for _, name := range slices.Concat(o.Select.literal, o.Select.Nodes, o.Select.NodePublications) {
		if _, err := o.Node.Resolve(name); err != nil {
			return fmt.Errorf("recorder: %w", err)
		}
	}
	return nil
}

// recording is the state of one Run. Its own goroutine owns the maps.
type recording struct {
	Options
	started time.Time
	pipe    *pipeline
	subs    map[string]*subscription // by resolved topic
	tried   map[string]bool          // topics of the master that were refused or are in subs
	trigger *trigger                 // nil without snapshots
	late    bool                     // the master was away at the start: it may have a clock
	ready   chan struct{}            // closed when there is a pipeline for the links
	given   chan struct{}            // closed when there will be none
}

// run is the owner loop: it subscribes, keeps time and ends the intake.
func (r *recording) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer func() {
		r.pipe.lastCall()
		r.closeSubscriptions()
	}()
	defer cancel()

	if err := r.listen(); err != nil { //nolint:contextcheck // a subscription lives until Close
		return err
	}
	r.begin()
	for _, name := range r.Select.literal {
		if err := r.subscribe(name, time.Time{}); err != nil { //nolint:contextcheck // a subscription lives until Close
			return err
		}
	}
	r.sim.release()
	for _, node := range slices.Concat(r.Select.Nodes, r.Select.NodePublications) {
		r.Log.Info("Recording from: " + node)
	}
	found := make(chan sighting)
	for _, ask := range r.discoverers() {
		// owner: run; ends when ctx is done.
		wg.Go(func() { r.discover(ctx, ask, found) })
	}
	if r.trigger != nil {
		// owner: run; ends when ctx is done.
		wg.Go(func() { r.answerTriggers(ctx) })
	}
	if r.Params {
		// owner: run; ends when ctx is done or both are stored.
		wg.Go(func() { r.storeParams(ctx) })
	}
	// owner: run; ends when ctx is done.
	wg.Go(func() { r.inquire(ctx) })
	if r.late {
		// owner: run; ends when ctx is done or the master has answered.
		wg.Go(func() { r.lookLate(ctx) })
	}
	// owner: run; ends when ctx is done or the disk is full.
	wg.Go(func() { r.watchDisk(ctx) })
	tick := time.NewTicker(min(r.FlushInterval/4, 250*time.Millisecond))
	defer tick.Stop()
	changed := r.Control.Changed()
	over := r.over()
	for {
		select {
		case seen := <-found:
			for _, name := range seen.names {
				r.consider(name, seen.since) //nolint:contextcheck // a subscription lives until Close
			}
		case now := <-tick.C:
			r.pipe.tick(now)
		case <-r.pipe.limited:
			if r.endLimited() && (r.Limit > 0 || !r.Select.polls()) {
				return nil
			}
		case <-r.pipe.failed:
			return nil // the pipeline keeps the error and returns it from close
		case <-r.pipe.disk.full:
			return ErrMinSpace
		case <-r.pipe.filled:
			return nil
		case <-over:
			return nil
		case <-changed:
			changed = r.Control.Changed()
			over = r.over()
		case <-ctx.Done():
			return nil
		}
	}
}

// over returns what tells that the duration is over; nil while there is none.
func (r *recording) over() <-chan time.Time {
	begun := r.pipe.begunAt()
	if r.Duration == 0 || r.Split || begun.IsZero() {
		return nil
	}
	if r.sim != nil {
		return r.sim.until(begun.Add(r.Duration))
	}
	return time.After(time.Until(begun.Add(r.Duration)))
}

// maxMessageBytes is the limit of roscpp.
const maxMessageBytes = 1_000_000_000

// workers is the number of compression goroutines.
func workers(c bagfmt.Compression) int {
	if c == bagfmt.CompressionNone || c == "" {
		return 0 // nothing to do but a checksum: the writer seals the chunk itself
	}
	return runtime.GOMAXPROCS(0)
}
