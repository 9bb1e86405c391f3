package recorder

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// TestCommandsAndSnapshots: whatever is commanded while messages flow, none is in two
// snapshots, and beside a recording that has each message that did not pass.
func TestCommandsAndSnapshots(t *testing.T) {
	t.Parallel()
	for _, mode := range []SnapshotMode{SnapshotOnly, SnapshotBeside} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			t.Parallel()
			p, c := controlled(t, Options{
				Overflow: OverflowBlock, BufferBytes: 4 << 20, ChunkBytes: 20 << 10, Compression: bagfmt.CompressionLZ4,
				Snapshot: Snapshot{Mode: mode, PostRoll: time.Millisecond},
			})
			l, m := open(t, p, "/t", "/p"), latching(t, p, "/map", "/server")
			done := make(chan struct{})
			var sent uint32
			var wg, commands sync.WaitGroup
			wg.Go(func() {
				for ; ; sent++ {
					select {
					case <-done:
						return
					default:
						l.Frames(frame(1, sent, 200), 1, time.Now())
						m.Frames(frame(2, sent, 10), 1, time.Now())
						p.tick(time.Now())
					}
				}
			})
			for i := range 3 {
				commands.Go(func() {
					for n := range 12 {
						if err := anyCommand(t.Context(), c, i+n); err != nil && !errors.Is(err, ErrStopped) && !errors.Is(err, ErrOnlySnapshots) {
							t.Error(err)
						}
						if _, err := c.Snapshot(t.Context()); err != nil {
							t.Error(err)
						}
					}
				})
			}
			commands.Wait()
			close(done)
			wg.Wait()
			if err := p.close(); err != nil {
				t.Fatal(err)
			}
			var shots, bags []string
			for _, b := range p.done {
				if b.snapshot {
					shots = append(shots, b.target)
				} else {
					bags = append(bags, b.target)
				}
			}
			got := allNumbers(t, shots)[1]
			if len(got) == 0 || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
				t.Errorf("%d messages in %d snapshots: twice or out of order", len(got), len(shots))
			}
			if mode == SnapshotBeside {
				got = allNumbers(t, bags)[1]
			}
			if topic := l.connection.topic; mode == SnapshotBeside && len(got)+int(topic.passed) != int(sent) || topic.dropped != [dropCauses]uint64{} {
				t.Errorf("%d sent, %d in the bags, %d passed, dropped %v", sent, len(got), topic.passed, topic.dropped)
			}
		})
	}
}
