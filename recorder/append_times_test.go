package recorder

import (
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestTimesWithinARun: of messages that came with one read the last has the time at which
// they were read, and each one before it a nanosecond less, also where a chunk ends
// between them. Tools that sort by time keep their order.
func TestTimesWithinARun(t *testing.T) {
	t.Parallel()
	const messages = 20
	var run []byte
	for n := range uint32(messages) {
		run = append(run, testlink.Frame(1, n, 100)...)
	}
	received := time.Now()
	var want []rosbag.Time
	for n := range messages {
		want = append(want, rosbag.TimeOf(received.Add(time.Duration(n+1-messages))))
	}
	for name, chunkBytes := range map[string]int{"one chunk": 1 << 20, "many chunks": 500, "a chunk a message": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := testPipeline(t, Options{ChunkBytes: chunkBytes, Sync: SyncNone}, nil)
			open(t, p, "/t", "/p").Frames(run, messages, received)
			closePipeline(t, p)
			if got := stamps(t, p.Current().Target(), "/t"); !slices.Equal(got, want) {
				t.Errorf("times are\n%v, want\n%v", got, want)
			}
		})
	}
}
