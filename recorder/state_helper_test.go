package recorder

import (
	"runtime"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/queue"
	"github.com/gorosbag/gorosbag/recorder/internal/rotation"
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
	return topicAccount{t.messages, t.passed, t.repeated, t.dropped, t.waiting}
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
	return p.pool.budget - (p.pool.held - p.pool.idle)
}

// bytesInUse returns how much of the buffer is used, and how much of that for latched
// messages.
func bytesInUse(p *intake) (all, forLatched int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pool.held - p.pool.idle, p.latched.held
}

// heapBesideBuffer returns what is on the heap, but for what the buffer counts.
func heapBesideBuffer(p *pipeline) int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	p.mu.Lock()
	defer p.mu.Unlock()
	return int64(m.HeapAlloc) - p.pool.held
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
		log: zap.NewNop(), encoder: &encoder{}, buffer: buffer{log: zap.NewNop(), chunkBytes: chunkBytes, budget: budget},
		sealed: queue.New[queued](), records: new(bagfmt.ConnRecords), filled: make(chan struct{}, 1),
	}
	in.pool.budget, in.pool.reclaimElsewhere = budget, in.reclaimForIntake
	in.room.L = &in.mu
	return in
}

// rotationAt is a rotation in the given part, of which so many bytes are stored.
func rotationAt(o rotation.Options, part int, stored int64) rotation.Rotation {
	r := rotation.New(o, time.Now(), 0)
	for r.Part() < part {
		r.NextPart(time.Now())
	}
	r.Written(part, 0, stored, false)
	return r
}

// usedChunk takes a buffer from a pool and lets it grow to n bytes or some more.
func usedChunk(t testing.TB, p *pool, n int) *chunk {
	t.Helper()
	c := p.get(n, n)
	if c == nil {
		t.Fatalf("no buffer of %d bytes", n)
	}
	c.builder.Reset(nil)
	c.builder.AppendRun(testConnection(), bagfmt.Time{}, frame(0, 0, n), 1)
	p.count(c)
	return c
}

func testConnection() *bagfmt.Connection {
	return &bagfmt.Connection{Topic: "/t", Header: bagfmt.ConnectionHeader(linkInfo("/t", "/p").Header)}
}
