package intake

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestMessageThatWaitedForRoom: where links wait for room, the first chunk of the file may be submitted meanwhile. No message
// gets a time before that chunk.
func TestMessageThatWaitedForRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := queueing(memory.Options{Limit: 1 << 20, ChunkBytes: 1000, Blocks: true}, nil)
		l := linkOf(t, in, testlink.Info("/t", "/p"))
		start := time.Now()
		later := start.Add(time.Second)
		in.mu.Lock()
		held := in.Buffers.pool.Usage().Held
		setHeld(in, in.Buffers.pool.Budget())
		in.mu.Unlock()
		done := make(chan struct{})
		go func() {
			defer close(done)
			in.append(l.connection, testlink.Frame(1, 1, 100), 1, start)
		}()
		synctest.Wait()
		in.mu.Lock()
		if in.filling.Open != nil {
			t.Error("the message does not wait")
		}
		in.rotation.LatchedQueued(rosbag.TimeOf(later), later)
		setHeld(in, held)
		in.room.Broadcast()
		in.mu.Unlock()
		<-done
		if got := in.filling.Open.Builder().Start(); got != rosbag.TimeOf(later) {
			t.Errorf("the message has the time %v, %v before the bag begins", got, rosbag.TimeOf(later).Sub(got))
		}
	})
}
