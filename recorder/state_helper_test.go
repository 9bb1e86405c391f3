package recorder

import (
	"runtime"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/encode"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/queue"
	"github.com/gorosbag/gorosbag/recorder/internal/rotation"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/tcpros"
)

// The tests of promises reach what the intake knows through these functions only.

// topicAccount is what was counted of one topic.
type topicAccount struct {
	recorded, passed, repeated uint64
	dropped                    [dropCauses]uint64
	waiting                    int64 // bytes that wait for the disk
}

// accountOf returns what was counted of the topic of a link.
func accountOf(l *link) topicAccount {
	l.in.mu.Lock()
	defer l.in.mu.Unlock()
	t := l.connection.topic
	return topicAccount{t.messages, t.passed, t.repeated, t.dropped, t.account.Waiting}
}

// lost returns how many messages of the topic of a link were dropped, for whatever cause.
func lost(l *link) (n uint64) {
	for _, d := range accountOf(l).dropped {
		n += d
	}
	return n
}

// bytesLeft returns how much of the buffer is neither used nor promised.
func bytesLeft(p *intake) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pool.Budget - (p.pool.Held - p.pool.Idle)
}

// bytesInUse returns how much of the buffer is used, and how much of that for latched
// messages.
func bytesInUse(p *intake) (all, forLatched int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pool.Held - p.pool.Idle, p.pool.Latched
}

// heapBesideBuffer returns what is on the heap, but for what the buffer counts.
func heapBesideBuffer(p *pipeline) int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	p.mu.Lock()
	defer p.mu.Unlock()
	return int64(m.HeapAlloc) - p.pool.Held
}

// closePipeline ends a recording that must end well.
func closePipeline(t testing.TB, p *pipeline) {
	t.Helper()
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// flushOpen makes the open chunk old enough to be sealed.
func flushOpen(p *pipeline) { p.tick(time.Now().Add(time.Minute)) }

// bareIntake is an intake without a file and without goroutines, for tests that look at
// what it decides.
func bareIntake(budget int64, chunkBytes int) *intake {
	in := &intake{
		log: zap.NewNop(), encoder: encode.New(encode.Options{}), buffer: buffer{log: zap.NewNop()},
		sealed: queue.New[queued](), records: new(bagfmt.ConnRecords), filled: make(chan struct{}, 1),
	}
	in.room.L = &in.mu
	in.latched.mem = &in.pool
	in.pool = memory.New(memory.Options{Limit: budget, ChunkBytes: chunkBytes, Freed: in.room.Broadcast})
	return in
}

// queuedTurns returns how many large messages wait for a lease. mu is held.
func queuedTurns(in *intake) int {
	n, _, _ := in.pool.Waits()
	return n
}

// largeWait reports whether a large message waits. mu is held.
func largeWait(in *intake) bool {
	queued, short, _ := in.pool.Waits()
	return queued+short > 0
}

// turnOf returns the turn of a large message.
func turnOf(f tcpros.LargeFrame) *memory.Turn { return &f.(*largeFrame).turn }

// grantTo gives a message a lease at once.
func grantTo(t testing.TB, in *intake, f *memory.Turn) {
	t.Helper()
	in.pool.EnqueueTurn(f)
	if !in.pool.GrantTurn(f, time.Now()) {
		t.Fatal("no lease")
	}
	in.pool.DequeueTurn(f)
}

// holding is a large message that needs and holds so many bytes.
func holding(in *intake, need, holds int64) *memory.Turn {
	f := &memory.Turn{Need: need, Chunk: new(memory.Chunk)}
	in.pool.Grow(f.Chunk, holds)
	return f
}

// usedChunk takes a buffer from a pool and lets it grow to n bytes or some more.
func usedChunk(t testing.TB, p *memory.Memory, n int) *memory.Chunk {
	t.Helper()
	c := p.Get(n, n)
	if c == nil {
		t.Fatalf("no buffer of %d bytes", n)
	}
	c.Builder.Reset(nil)
	c.Builder.AppendRun(testlink.Connection(), bagfmt.Time{}, testlink.Frame(0, 0, n), 1)
	p.Count(c)
	return c
}

// addRing makes an intake keep chunks for snapshots.
func addRing(in *intake, o ringOptions) { in.ring = newRing(o, &in.pool, &in.latched) }

// rotationAt is a rotation in the given part, of which so many bytes are stored.
func rotationAt(o rotation.Options, part int, stored int64) rotation.Rotation {
	r := rotation.New(o, time.Now(), 0)
	for r.Part() < part {
		r.NextPart(time.Now())
	}
	r.Written(part, 0, stored, false)
	return r
}
