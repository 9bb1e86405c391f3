package recorder

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// controlled is a pipeline with its control.
func controlled(t testing.TB, o Options) (*pipeline, *Control) {
	t.Helper()
	c := new(Control)
	o.Control = c
	p := testPipeline(t, o, nil)
	if p.Current() != nil {
		p.Bags.Opened(p.Current())
	}
	c.attach(sessionOn(p, o))
	return p, c
}

// bases returns the last parts of names.
func bases(names []string) (all []string) {
	for _, name := range names {
		all = append(all, filepath.Base(name))
	}
	return all
}

func state(t testing.TB, c *Control) control.State {
	t.Helper()
	s, err := c.Stats()
	if err != nil {
		t.Fatal(err)
	}
	return s.State
}

// TestCommandsInEachState walks through the table of states and commands.
func TestCommandsInEachState(t *testing.T) {
	t.Parallel()
	command := map[string]func(context.Context, *Control) error{
		"pause":  func(_ context.Context, c *Control) error { return c.Pause() },
		"resume": func(_ context.Context, c *Control) error { return c.Resume() },
		"stop":   func(ctx context.Context, c *Control) error { _, err := c.Stop(ctx); return err },
		"start":  func(ctx context.Context, c *Control) error { _, err := c.Start(ctx); return err },
		"split":  func(ctx context.Context, c *Control) error { _, err := c.Split(ctx); return err },
		"pin":    func(ctx context.Context, c *Control) error { _, err := c.Pin(ctx, time.Hour); return err },
	}
	type outcome struct {
		state control.State
		err   error
	}
	tests := map[control.State]map[string]outcome{
		control.StateRecording: {"pause": {state: control.StatePaused}, "resume": {}, "stop": {state: control.StateStopped}, "start": {}, "split": {}, "pin": {}},
		control.StatePaused: {
			"pause": {state: control.StatePaused}, "resume": {}, "stop": {state: control.StateStopped}, "start": {state: control.StatePaused},
			"split": {state: control.StatePaused}, "pin": {state: control.StatePaused},
		},
		control.StateStopped: {
			"pause": {control.StateStopped, control.ErrStopped}, "resume": {control.StateStopped, control.ErrStopped}, "stop": {state: control.StateStopped}, "start": {},
			"split": {control.StateStopped, control.ErrStopped}, "pin": {state: control.StateStopped},
		},
	}
	for from, row := range tests {
		for name, want := range row {
			t.Run(from.String()+"/"+name, func(t *testing.T) {
				t.Parallel()
				p, c := controlled(t, Options{Begin: from})
				if err := command[name](t.Context(), c); !errors.Is(err, want.err) || want.err == nil && err != nil {
					t.Errorf("error %v, want %v", err, want.err)
				}
				if got := state(t, c); got != want.state {
					t.Errorf("state %v, want %v", got, want.state)
				}
				if err := p.close(); err != nil {
					t.Error(err)
				}
				if err := command[name](t.Context(), c); !errors.Is(err, control.ErrNotRecording) {
					t.Errorf("after the end: %v", err)
				}
				c.attach(nil)
				if err := command[name](t.Context(), c); !errors.Is(err, control.ErrNotRecording) {
					t.Errorf("without a recording: %v", err)
				}
			})
		}
	}
}

// TestBordersAreExact: a message belongs to the bag, or passes, as the commands that
// have returned before it say.
func TestBordersAreExact(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{})
	l := open(t, p, "/t", "/p")
	next := uint32(0)
	send := func() { // small and large
		for range 5 {
			l.Frames(testlink.Frame(1, next, 20), 1, time.Now())
			testlink.SendLarge(l, testlink.Frame(1, next+1, 300_000))
			next += 2
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	named := func(want string) func(string, error) {
		return func(name string, err error) {
			t.Helper()
			must(err)
			if !slices.Equal(bases([]string{name}), bases([]string{want})) {
				t.Errorf("%s, want %s", name, want)
			}
			if name != "" && !testlink.Exists(name) {
				t.Errorf("%s is said to be closed, and is not there", name)
			}
		}
	}
	send() // 0 to 9
	must(c.Pause())
	send() // 10 to 19
	must(c.Resume())
	send() // 20 to 29
	named("test.bag")(c.Split(t.Context()))
	send() // 30 to 39
	must(c.Pause())
	named("test_1.bag")(c.Split(t.Context()))
	send() // 40 to 49
	named("test_2.bag")(c.Stop(t.Context()))
	named("")(c.Stop(t.Context()))
	send() // 50 to 59
	opened, err := c.Start(t.Context())
	must(err)
	send() // 60 to 69
	must(p.close())
	if want := []string{"test.bag", "test_1.bag", "test_2.bag", "test_3.bag"}; !slices.Equal(bases(filesOf(t, p)), want) || filepath.Base(opened) != want[3] {
		t.Errorf("files %v, the last opened as %s", filesOf(t, p), opened)
	}
	want := [][2]uint32{{0, 10}, {20, 40}, {60, 70}}
	var expected []uint32
	for _, r := range want {
		for n := r[0]; n < r[1]; n++ {
			expected = append(expected, n)
		}
	}
	if got := allNumbers(t, filesOf(t, p))[1]; !slices.Equal(got, expected) {
		t.Errorf("the bags hold %v", got)
	}
	if topic := accountOf(p, l); topic.Passed != 30 || topic.Messages != 40 || topic.Dropped != nil {
		t.Errorf("%d recorded, %d passed, dropped %v", topic.Messages, topic.Passed, topic.Dropped)
	}
}

// TestCommandsWhileMessagesFlow: whatever is commanded, each message is in one bag, or
// counted as passed, once.
func TestCommandsWhileMessagesFlow(t *testing.T) {
	t.Parallel()
	const publishers, rounds = 3, 15
	for _, o := range []Options{
		{Overflow: OverflowBlock, BufferBytes: 4 << 20, ChunkBytes: 20 << 10},
		{Overflow: OverflowBlock, BufferBytes: 4 << 20, ChunkBytes: 20 << 10, Compression: rosbag.CompressionLZ4, Split: true, MaxBytes: 100 << 10},
	} {
		t.Run(fmt.Sprintf("split=%v", o.Split), func(t *testing.T) {
			t.Parallel()
			p, c := controlled(t, o)
			var links []*intake.Link
			var wg sync.WaitGroup
			done := make(chan struct{})
			sent := make([]uint32, publishers)
			for i := range publishers {
				l := open(t, p, fmt.Sprintf("/t%d", i), "/p")
				links = append(links, l)
				wg.Go(func() {
					for n := uint32(0); ; n++ {
						select {
						case <-done:
							sent[i] = n
							return
						default:
						}
						if n%50 == 0 {
							testlink.SendLarge(l, testlink.Frame(uint32(i), n, 30_000))
						} else {
							l.Frames(testlink.Frame(uint32(i), n, 200), 1, time.Now())
						}
					}
				})
			}
			var commands sync.WaitGroup
			for i := range 3 { // they come from everywhere at once
				commands.Go(func() {
					for n := range rounds {
						if err := anyCommand(t.Context(), c, i+n); err != nil && !errors.Is(err, control.ErrStopped) {
							t.Error(err)
						}
					}
				})
			}
			wg.Go(func() { // the owner
				for {
					select {
					case <-done:
						return
					default:
						p.tick(time.Now())
					}
				}
			})
			commands.Wait()
			close(done)
			wg.Wait()
			if err := p.close(); err != nil {
				t.Fatal(err)
			}
			recorded := allNumbers(t, filesOf(t, p))
			for i, l := range links {
				got, topic := recorded[uint32(i)], accountOf(p, l)
				if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
					t.Errorf("publisher %d: messages twice or out of order", i)
				}
				if topic.Messages != uint64(len(got)) || topic.Messages+topic.Passed != uint64(sent[i]) || topic.Dropped != nil {
					t.Errorf("publisher %d: %d sent, %d in the bags, %d counted there, %d passed, dropped %v",
						i, sent[i], len(got), topic.Messages, topic.Passed, topic.Dropped)
				}
			}
		})
	}
}

func anyCommand(ctx context.Context, c *Control, n int) (err error) {
	switch n % 6 {
	case 0:
		err = c.Pause()
	case 1:
		_, err = c.Split(ctx)
	case 2:
		err = c.Resume()
	case 3:
		_, err = c.Stop(ctx)
	case 4:
		_, err = c.Start(ctx)
	case 5:
		_, err = c.Pin(ctx, time.Minute)
	}
	return err
}

// TestCommandsWhileItEnds: nobody waits for a recording that is over.
func TestCommandsWhileItEnds(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{})
	l := open(t, p, "/t", "/p")
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			for n := i; ; n++ {
				if err := anyCommand(t.Context(), c, n); errors.Is(err, control.ErrNotRecording) {
					return
				}
			}
		})
	}
	for n := range uint32(200) {
		l.Frames(testlink.Frame(1, n, 10_000), 1, time.Now())
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	filesOf(t, p) // all are closed
}

// TestPauseWhileASplitIsDue: a file to which nothing is written is not followed by
// another one; the first message after the pause is.
func TestPauseWhileASplitIsDue(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{Split: true, Duration: time.Minute})
	l := open(t, p, "/t", "/p")
	at := func(minutes float64) time.Time { return p.begun.Add(time.Duration(minutes * float64(time.Minute))) }
	l.Frames(testlink.Frame(1, 0, 10), 1, at(0.5))
	if err := c.Pause(); err != nil {
		t.Fatal(err)
	}
	p.tick(at(1.5))
	l.Frames(testlink.Frame(1, 9, 10), 1, at(1.6))
	p.tick(at(2.5))
	if err := c.Resume(); err != nil {
		t.Fatal(err)
	}
	l.Frames(testlink.Frame(1, 1, 10), 1, at(2.6))
	p.tick(at(2.7))
	l.Frames(testlink.Frame(1, 2, 10), 1, at(3.1))
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	var got [][]uint32
	for _, path := range filesOf(t, p) {
		byTime, _ := testlink.Numbers(t, path)
		got = append(got, byTime[1])
	}
	if want := "[[0] [1] [2]]"; fmt.Sprint(got) != want {
		t.Errorf("the bags hold %v, want %s", got, want)
	}
}

// TestAWaitThatIsGivenUp does not take the command back.
func TestAWaitThatIsGivenUp(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{})
	g := gate{open: make(chan struct{})}
	p.Current().Wrap(func(f disk.Handle) disk.Handle { g.Handle = f; return g })
	l := open(t, p, "/t", "/p")
	l.Frames(testlink.Frame(1, 0, 10), 1, time.Now())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if name, err := c.Split(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("split: %s, %v", name, err)
	}
	l.Frames(testlink.Frame(1, 1, 10), 1, time.Now())
	close(g.open)
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	for i, path := range filesOf(t, p) {
		if byTime, _ := testlink.Numbers(t, path); !slices.Equal(byTime[1], []uint32{uint32(i)}) {
			t.Errorf("file %d holds %v", i, byTime)
		}
	}
}

// TestGivenUpWhileItIsDone: what is done after the wait was given up is nobody's any more;
// the race detector looks on.
func TestGivenUpWhileItIsDone(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{Snapshot: Snapshot{Mode: control.SnapshotBeside, PostRoll: time.Hour}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		if _, err := c.Pin(ctx, time.Hour); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if _, err := c.Snapshot(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// TestChangedTellsOfEachChange of the state and of the file.
func TestChangedTellsOfEachChange(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{})
	for n := range 5 {
		changed := c.Changed()
		if err := anyCommand(t.Context(), c, n); err != nil {
			t.Fatal(err)
		}
		<-changed
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	changed := c.Changed()
	c.attach(nil)
	<-changed
}

// TestOthersWaitForRoomAcrossAPause: a link that waits for memory when the recording is
// paused goes on.
func TestOthersWaitForRoomAcrossAPause(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{Overflow: OverflowBlock, BufferBytes: 1, ChunkBytes: 20_000})
	g := gate{open: make(chan struct{})}
	p.Current().Wrap(func(f disk.Handle) disk.Handle { g.Handle = f; return g })
	small, large := open(t, p, "/s", "/p"), open(t, p, "/l", "/p")
	var wg sync.WaitGroup
	wg.Go(func() { testlink.PublishPlain(small, 20) })
	wg.Go(func() {
		for n := range uint32(20) {
			testlink.SendLarge(large, testlink.Frame(2, n, 5000))
		}
	})
	testlink.WaitFor(t, func() bool { return heldUp(p, "/s") && heldUp(p, "/l") })
	if err := c.Pause(); err != nil {
		t.Fatal(err)
	}
	wg.Wait() // though nothing can be written
	close(g.open)
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	for _, topic := range accountsNow(p) {
		if topic.Messages+topic.Passed != 20 || topic.Passed == 0 {
			t.Errorf("%s: %d recorded, %d passed of 20", topic.Topic, topic.Messages, topic.Passed)
		}
	}
}

// TestSplitsAreLimited: a client that asks for splits without end does not delete the history. The limits of files
// themselves are not affected.
func TestSplitsAreLimited(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{Split: true, Begin: control.StateStopped})
	for range 2 * splitBurst {
		if _, err := c.Split(t.Context()); !errors.Is(err, control.ErrStopped) {
			t.Fatalf("while nothing is recorded: %v", err)
		}
	}
	if _, err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	l := open(t, p, "/t", "/p")
	for n := range splitBurst + 5 {
		l.Frames(testlink.Frame(1, uint32(n), 10), 1, time.Now())
		_, err := c.Split(t.Context())
		if late := n >= splitBurst; errors.Is(err, control.ErrSplitsTooOften) != late || !late && err != nil {
			t.Fatalf("split %d: %v", n, err)
		} else if late && !strings.Contains(err.Error(), "the next split is possible in ") {
			t.Errorf("split %d: %v", n, err)
		}
	}
	if part := partOf(p); part != splitBurst {
		t.Errorf("file %d is written, want %d", part, splitBurst)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}
