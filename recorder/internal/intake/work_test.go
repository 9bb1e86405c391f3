package intake

import (
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/internal/encode"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/queue"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
	"github.com/gorosbag/gorosbag/recorder/internal/rotation"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// queueing is an intake that records, and whose queue nobody takes from.
func queueing(o memory.Options, keep *ring.Options) *Intake {
	return New(Config{
		Log: zap.NewNop(), Memory: o, Ring: keep, Rotation: rotation.Options{Split: true}, Flush: time.Second,
		Encoder: encode.New(encode.Options{}), OnChange: func() {},
	})
}

// recording is an intake that records, with a sink on a fast disk. Both end with the test.
func recording(t *testing.T, o memory.Options, keep *ring.Options) *Intake {
	t.Helper()
	in := queueing(o, keep)
	var sink sync.WaitGroup
	sink.Go(func() {
		for next, ok := in.Next(); ok; next, ok = in.Next() {
			execute(in, next)
		}
	})
	t.Cleanup(func() {
		in.Close()
		sink.Wait()
	})
	return in
}

// execute does what a sink does with the next chunk or command, without files.
func execute(in *Intake, next queue.Item) {
	if c := next.Command; c != nil {
		if c.Start != nil {
			in.Buffers.ReleaseLatched(c.Start.Latched)
		}
		close(c.Done)
		return
	}
	c := next.Chunk
	c.Seal(nil)
	in.Written(c, c.Part())
	if in.Buffers.ring == nil {
		in.Buffers.Release(c)
		return
	}
	in.Buffers.AddToRing(toRing(in, c))
}

// executeQueued seals the open chunk, and executes what is queued until now.
func executeQueued(t *testing.T, in *Intake) {
	t.Helper()
	last, err := in.RequestPin(time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for next := (queue.Item{}); next.Command != last; {
		next, _ = in.Next()
		execute(in, next)
	}
}

// finishes does what must end although others hold on to memory.
func finishes(t *testing.T, in *Intake, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	testlink.WaitFor(t, func() bool {
		in.Tick(time.Now())
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
}

// locked calls do with the lock of an intake.
func locked(in *Intake, do func()) {
	in.mu.Lock()
	defer in.mu.Unlock()
	do()
}

// heldUp reports whether a link waits for room, however short.
func heldUp(l *Link) (waiting bool) {
	locked(l.in, func() { waiting = waits(l.connection.Topic()) })
	return waiting
}

// lost returns how many messages of the topic of a link were dropped, for whatever cause.
func lost(l *Link) (n uint64) {
	locked(l.in, func() { n = l.connection.Topic().Lost() })
	return n
}
