package recorder

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/snapshot"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestCommandsAndSnapshots: whatever is commanded while messages flow, none is in two
// snapshots, and beside a recording that has each message that did not pass.
func TestCommandsAndSnapshots(t *testing.T) {
	t.Parallel()
	for _, mode := range []control.SnapshotMode{control.SnapshotOnly, control.SnapshotBeside} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			t.Parallel()
			p, c := controlled(t, Options{
				Overflow: OverflowBlock, BufferBytes: 4 << 20, ChunkBytes: 20 << 10, Compression: rosbag.CompressionLZ4,
				Snapshot: Snapshot{Mode: mode, PostRoll: time.Millisecond},
			})
			l, m := open(t, p, "/t", "/p"), latching(t, p, "/map", "/server")
			done := make(chan struct{})
			l.Frames(testlink.Frame(1, 0, 200), 1, time.Now()) // for the first snapshot, however late the sender begins
			sent := uint32(1)
			var wg, commands sync.WaitGroup
			wg.Go(func() {
				for ; ; sent++ {
					select {
					case <-done:
						return
					default:
						l.Frames(testlink.Frame(1, sent, 200), 1, time.Now())
						m.Frames(testlink.Frame(2, sent, 10), 1, time.Now())
						p.tick(time.Now())
					}
				}
			})
			rounds := 6
			if testkit.Full() {
				rounds = 12
			}
			for i := range 3 {
				commands.Go(func() {
					for n := range rounds {
						if err := anyCommand(t.Context(), c, i+n); err != nil && !errors.Is(err, control.ErrStopped) && !errors.Is(err, control.ErrOnlySnapshots) {
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
			for _, b := range p.Bags.Finished.List() {
				if b.Snapshot {
					shots = append(shots, b.Place.Target())
				} else {
					bags = append(bags, b.Place.Target())
				}
			}
			got := allNumbers(t, shots)[1]
			if len(got) == 0 || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
				t.Errorf("%d messages in %d snapshots: twice or out of order", len(got), len(shots))
			}
			if mode == control.SnapshotBeside {
				got = allNumbers(t, bags)[1]
			}
			if topic := accountOf(p, l); mode == control.SnapshotBeside && len(got)+int(topic.Passed) != int(sent) || topic.Dropped != nil {
				t.Errorf("%d sent, %d in the bags, %d passed, dropped %v", sent, len(got), topic.Passed, topic.Dropped)
			}
		})
	}
}

// TestSnapshotThroughControl: it waits for the bag, and stop and start work without one.
func TestSnapshotThroughControl(t *testing.T) {
	t.Parallel()
	c := new(Control)
	p := ringPipeline(t, Options{Control: c})
	c.attach(sessionOn(p, Options{}))
	l := open(t, p, "/t", "/p")
	l.Frames(testlink.Frame(1, 0, 10), 1, time.Now())
	if _, err := c.Split(t.Context()); !errors.Is(err, control.ErrOnlySnapshots) {
		t.Errorf("split: %v", err)
	}
	if closed, err := c.Stop(t.Context()); closed != "" || err != nil {
		t.Errorf("stop: %q, %v", closed, err)
	}
	l.Frames(testlink.Frame(1, 1, 10), 1, time.Now())
	if opened, err := c.Start(t.Context()); opened != "" || err != nil {
		t.Errorf("start: %q, %v", opened, err)
	}
	l.Frames(testlink.Frame(1, 2, 10), 1, time.Now())
	file, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := numbersOf(t, file); !slices.Equal(got, []uint32{0, 2}) {
		t.Errorf("messages %v", got)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if all, err := filepath.Glob(filepath.Dir(file) + "/*"); err != nil || len(all) != 1 {
		t.Errorf("files %v, %v", all, err)
	}
}

// currentSnapshot returns the snapshot in its post-roll; nil for none.
func currentSnapshot(t *testing.T, p *pipeline) *snapshot.Snapshot {
	t.Helper()
	current, err := p.Trigger(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if current == nil {
		return nil
	}
	return current.Job.(*snapshot.Snapshot)
}

// TestSnapshotIsNotWaitedFor: the end of the waiting is not the end of the snapshot.
func TestSnapshotIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	c := new(Control)
	p := ringPipeline(t, Options{Control: c, Snapshot: Snapshot{PostRoll: time.Hour}})
	c.attach(sessionOn(p, Options{}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Snapshot(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("snapshot: %v", err)
	}
	var sn *snapshot.Snapshot
	testlink.WaitFor(t, func() bool {
		sn = currentSnapshot(t, p)
		return sn != nil
	})
	open(t, p, "/t", "/p").Frames(testlink.Frame(1, 0, 10), 1, time.Now())
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if got := numbersOf(t, sn.Out.Target()); !slices.Equal(got, []uint32{0}) {
		t.Errorf("messages %v", got)
	}
}

func TestNoSnapshots(t *testing.T) {
	t.Parallel()
	c := new(Control)
	p := testPipeline(t, Options{Control: c}, nil)
	c.attach(sessionOn(p, Options{}))
	if _, err := c.Snapshot(t.Context()); !errors.Is(err, control.ErrNoSnapshots) {
		t.Errorf("snapshot: %v", err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// TestResumeWithoutABag: where only snapshots are written there is no bag that the
// latched messages of a pause could go into. The next snapshot has them.
func TestResumeWithoutABag(t *testing.T) {
	t.Parallel()
	c := new(Control)
	p := ringPipeline(t, Options{Control: c, Begin: control.StatePaused})
	c.attach(sessionOn(p, Options{}))
	latching(t, p, "/map", "/server").Frames(testlink.Frame(1, 5, 10), 1, time.Now())
	if err := c.Resume(); err != nil {
		t.Fatal(err)
	}
	file, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := numbersOf(t, file); !slices.Equal(got, []uint32{5}) {
		t.Errorf("messages %v", got)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}
