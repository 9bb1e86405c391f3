package intake

import (
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/encode"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/rotation"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// queuedTurns returns how many large messages wait for a lease. The caller has the lock.
func queuedTurns(in *Intake) int {
	n, _ := in.Buffers.pool.Turns().Waits()
	return n
}

// grantTo gives a message a lease at once.
func grantTo(t testing.TB, in *Intake, f *memory.Turn) {
	t.Helper()
	in.Buffers.pool.Turns().Enqueue(f)
	if !in.Buffers.pool.Turns().Grant(f, time.Now()) {
		t.Fatal("no lease")
	}
	in.Buffers.pool.Turns().Dequeue(f)
}

// holding is a large message that needs and holds so many bytes.
func holding(in *Intake, need, holds int64) *memory.Turn {
	f, c := memory.NewTurn(need), new(memory.Chunk)
	f.Begin(c)
	in.Buffers.pool.Grow(c, holds)
	return &f
}

// topicStats is the account of the only topic.
func topicStats(in *Intake) control.TopicStats { return in.Accounts.all.Stats(time.Now())[0] }

// dropped returns how many messages of the only topic were dropped for a cause.
func dropped(in *Intake, cause control.DropCause) uint64 {
	return topicStats(in).Causes[cause.String()]
}

// limit limits the topics that are made from now on.
func limit(in *Intake, l account.Limit) { in.Accounts.all = account.New([]account.Limit{l}, false) }

// setHeld makes the memory hold so many bytes.
func setHeld(in *Intake, bytes int64) { in.Buffers.pool.Use(bytes - in.Buffers.pool.Usage().Held) }

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
func usedChunk(t testing.TB, p *memory.Memory, n int) *memory.Chunk {
	t.Helper()
	c := p.Get(n, n)
	if c == nil {
		t.Fatalf("no buffer of %d bytes", n)
	}
	c.Builder().Reset(nil)
	c.Builder().AppendRun(testlink.Connection(), rosbag.Time{}, testlink.Frame(0, 0, n), 1)
	p.Count(c)
	return c
}

// bareIntake is an intake without a file and without goroutines, for tests that look at
// what it decides.
func bareIntake(budget int64, chunkBytes int) *Intake {
	return bareIntakeWith(memory.Options{Limit: budget, ChunkBytes: chunkBytes})
}

// bareIntakeWith is a bareIntake with other options of its memory.
func bareIntakeWith(o memory.Options) *Intake {
	return New(Config{
		Log: zap.NewNop(), Memory: o,
		Encoder: encode.New(encode.Options{}), OnChange: func() {},
	})
}

// latchingConnection adds a connection of a latching publisher on /map.
func latchingConnection(p *Intake, publisher string) *account.Connection {
	c := p.Accounts.all.Connect(p.Accounts.all.OwnTopic("/map"), rosbag.Header(testlink.Info("/map", publisher).Header))
	p.Buffers.latched.Connected(c.Source(), true)
	return c
}

// toRing makes a sealed chunk one of the ring.
func toRing(in *Intake, c *memory.Chunk) *latch.Chunk {
	return in.Buffers.ToRingChunk(c, in.Accounts.LatchingOf(c.Sealed()))
}
