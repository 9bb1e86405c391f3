package recorder

import (
	"math"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// TestLargeMessageLeavesRoomForLightTopics: a large message that fits only into what is
// kept free for topics with little traffic is dropped itself, and they lose nothing.
func TestLargeMessageLeavesRoomForLightTopics(t *testing.T) {
	t.Parallel()
	const chunkBytes, overhead = 200_000, 16 << 10 // the overhead is that of a large message in its chunk
	d := newSlowDisk(t, Options{BufferBytes: 8 << 20, ChunkBytes: chunkBytes, Sync: SyncNone})
	p := d.pipe
	first, second, imu := open(t, p, "/camera", "/p"), open(t, p, "/map", "/p"), open(t, p, "/imu", "/p")
	offer(first, testlink.Frame(0, 0, 5_000_000))
	s := p.Stats(time.Now())
	left := s.BufferMost - s.Buffered
	// There would be room for it, but for little else.
	if m := second.Large(int(left) - overhead - chunkBytes/2); m != nil {
		t.Error("a large message that takes the last room of the buffer was begun")
		m.Abort()
	}
	for range 2 { // chunks
		for n := range uint32(100) {
			imu.Frames(testlink.Frame(1, n, 300), 1, time.Now())
		}
		flushOpen(p)
	}
	d.turn(t, math.MaxInt64/2)
	closePipeline(t, p)
	if n := lost(p, imu); n != 0 {
		t.Errorf("the IMU lost %d of 200 messages to one large message of another topic", n)
	}
	if n := accountOf(p, second).Dropped[control.DropBufferFull.String()]; n != 1 {
		t.Errorf("the large message was dropped %d times, want once: it takes the last room of the buffer", n)
	}
	if n := lost(p, first); n != 0 {
		t.Errorf("a message that fits was dropped")
	}
}
