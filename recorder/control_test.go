package recorder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// controlled is a pipeline with its control.
func controlled(t testing.TB, o Options) (*pipeline, *Control) {
	t.Helper()
	c := new(Control)
	o.Control = c
	p := testPipeline(t, o, nil)
	if p.out != nil {
		p.opened(p.out)
	}
	c.attach(&recording{Options: o, pipe: p, started: time.Now()})
	return p, c
}

// bases returns the last parts of names.
func bases(names []string) (all []string) {
	for _, name := range names {
		all = append(all, filepath.Base(name))
	}
	return all
}

func state(t testing.TB, c *Control) State {
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
		state State
		err   error
	}
	tests := map[State]map[string]outcome{
		StateRecording: {"pause": {state: StatePaused}, "resume": {}, "stop": {state: StateStopped}, "start": {}, "split": {}, "pin": {}},
		StatePaused: {
			"pause": {state: StatePaused}, "resume": {}, "stop": {state: StateStopped}, "start": {state: StatePaused},
			"split": {state: StatePaused}, "pin": {state: StatePaused},
		},
		StateStopped: {
			"pause": {StateStopped, ErrStopped}, "resume": {StateStopped, ErrStopped}, "stop": {state: StateStopped}, "start": {},
			"split": {StateStopped, ErrStopped}, "pin": {state: StateStopped},
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
				if err := command[name](t.Context(), c); !errors.Is(err, ErrNotRecording) {
					t.Errorf("after the end: %v", err)
				}
				c.attach(nil)
				if err := command[name](t.Context(), c); !errors.Is(err, ErrNotRecording) {
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
			l.Frames(frame(1, next, 20), 1, time.Now())
			sendLarge(l, frame(1, next+1, 300_000))
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
			if name != "" && !fileExists(name) {
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
	if want := []string{"test.bag", "test_1.bag", "test_2.bag", "test_3.bag"}; !slices.Equal(bases(files(t, p)), want) || filepath.Base(opened) != want[3] {
		t.Errorf("files %v, the last opened as %s", files(t, p), opened)
	}
	want := [][2]uint32{{0, 10}, {20, 40}, {60, 70}}
	var expected []uint32
	for _, r := range want {
		for n := r[0]; n < r[1]; n++ {
			expected = append(expected, n)
		}
	}
	if got := allNumbers(t, files(t, p))[1]; !slices.Equal(got, expected) {
		t.Errorf("the bags hold %v", got)
	}
	if topic := l.connection.topic; topic.passed != 30 || topic.messages != 40 || topic.dropped != [dropCauses]uint64{} {
		t.Errorf("%d recorded, %d passed, dropped %v", topic.messages, topic.passed, topic.dropped)
	}
}

// TestCommandsWhileMessagesFlow: whatever is commanded, each message is in one bag, or
// counted as passed, once.
func TestCommandsWhileMessagesFlow(t *testing.T) {
	t.Parallel()
	const publishers, rounds = 3, 15
	for _, o := range []Options{
		{Overflow: OverflowBlock, BufferBytes: 4 << 20, ChunkBytes: 20 << 10},
		{Overflow: OverflowBlock, BufferBytes: 4 << 20, ChunkBytes: 20 << 10, Compression: bagfmt.CompressionLZ4, Split: true, MaxBytes: 100 << 10},
	} {
		t.Run(fmt.Sprintf("split=%v", o.Split), func(t *testing.T) {
			t.Parallel()
			p, c := controlled(t, o)
			var links []*link
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
							sendLarge(l, frame(uint32(i), n, 30_000))
						} else {
							l.Frames(frame(uint32(i), n, 200), 1, time.Now())
						}
					}
				})
			}
			var commands sync.WaitGroup
			for i := range 3 { // they come from everywhere at once
				commands.Go(func() {
					for n := range rounds {
						if err := anyCommand(t.Context(), c, i+n); err != nil && !errors.Is(err, ErrStopped) {
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
			recorded := allNumbers(t, files(t, p))
			for i, l := range links {
				got, topic := recorded[uint32(i)], l.connection.topic
				if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
					t.Errorf("publisher %d: messages twice or out of order", i)
				}
				if topic.messages != uint64(len(got)) || topic.messages+topic.passed != uint64(sent[i]) || topic.dropped != [dropCauses]uint64{} {
					t.Errorf("publisher %d: %d sent, %d in the bags, %d counted there, %d passed, dropped %v",
						i, sent[i], len(got), topic.messages, topic.passed, topic.dropped)
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
				if err := anyCommand(t.Context(), c, n); errors.Is(err, ErrNotRecording) {
					return
				}
			}
		})
	}
	for n := range uint32(200) {
		l.Frames(frame(1, n, 10_000), 1, time.Now())
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	files(t, p) // all are closed
}

// TestPauseWhileASplitIsDue: a file to which nothing is written is not followed by
// another one; the first message after the pause is.
func TestPauseWhileASplitIsDue(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{Split: true, Duration: time.Minute})
	l := open(t, p, "/t", "/p")
	start := p.parts.next.Add(-time.Minute)
	at := func(minutes float64) time.Time { return start.Add(time.Duration(minutes * float64(time.Minute))) }
	l.Frames(frame(1, 0, 10), 1, at(0.5))
	if err := c.Pause(); err != nil {
		t.Fatal(err)
	}
	p.tick(at(1.5))
	l.Frames(frame(1, 9, 10), 1, at(1.6))
	p.tick(at(2.5))
	if err := c.Resume(); err != nil {
		t.Fatal(err)
	}
	l.Frames(frame(1, 1, 10), 1, at(2.6))
	p.tick(at(2.7))
	l.Frames(frame(1, 2, 10), 1, at(3.1))
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	var got [][]uint32
	for _, path := range files(t, p) {
		byTime, _ := numbers(t, path)
		got = append(got, byTime[1])
	}
	if want := "[[0] [1] [2]]"; fmt.Sprint(got) != want {
		t.Errorf("the bags hold %v, want %s", got, want)
	}
}

// TestLatchedAroundAPause: a bag is of no use without the map that came before the
// recording went on. What was recorded before the pause is not repeated.
func TestLatchedAroundAPause(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10, 300_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			p, c := controlled(t, Options{Begin: StatePaused})
			before, after := latching(t, p, "/map", "/server"), latching(t, p, "/tf_static", "/robot")
			send := func(l *link, publisher, n uint32) {
				if f := frame(publisher, n, size); size > 1000 {
					sendLarge(l, f)
				} else {
					l.Frames(f, 1, time.Now())
				}
			}
			send(before, 1, 0)
			send(before, 1, 1) // the latest
			if err := c.Resume(); err != nil {
				t.Fatal(err)
			}
			send(after, 2, 0)
			for range 2 {
				if err := errors.Join(c.Pause(), c.Resume()); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.close(); err != nil {
				t.Fatal(err)
			}
			if got := allNumbers(t, files(t, p)); !slices.Equal(got[1], []uint32{1}) || !slices.Equal(got[2], []uint32{0}) {
				t.Errorf("the bag holds %v", got)
			}
			if topic := before.connection.topic; topic.repeated != 1 || topic.passed != 2 || topic.messages != 0 {
				t.Errorf("%d repeated, %d passed, %d recorded", topic.repeated, topic.passed, topic.messages)
			}
		})
	}
}

// latching opens the link of a latching publisher.
func latching(t testing.TB, p *pipeline, topic, publisher string) *link {
	t.Helper()
	info := linkInfo(topic, publisher)
	i := slices.IndexFunc(info.Header, func(f bagfmt.Field) bool { return f.Key == "latching" })
	info.Header[i].Value = "1"
	l, err := p.openLink(p.addTopic(topic), info)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestEachBagBeginsWithLatched: also those of a resident recorder, of what came while
// it was stopped.
func TestEachBagBeginsWithLatched(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{Begin: StateStopped})
	l := latching(t, p, "/map", "/server")
	l.Frames(frame(1, 7, 10), 1, time.Now())
	for range 2 {
		if _, err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if got := bases(files(t, p)); !slices.Equal(got, []string{"test.bag", "test_1.bag"}) {
		t.Errorf("files %v", got)
	}
	if got := allNumbers(t, files(t, p)); !slices.Equal(got[1], []uint32{7, 7}) {
		t.Errorf("the bags hold %v", got)
	}
}

// TestABagAfterAStopStandsAlone: a crash leaves it readable without the one before, and
// its time counts from its beginning.
func TestABagAfterAStopStandsAlone(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{Split: true, Duration: time.Hour})
	l := open(t, p, "/t", "/p")
	l.Frames(frame(1, 0, 10), 1, time.Now())
	if _, err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	p.parts.next = time.Now().Add(-time.Hour) // it was stopped for long
	p.mu.Unlock()
	before := time.Now()
	if _, err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.Frames(frame(1, 1, 10), 1, time.Now())
	p.tick(time.Now().Add(p.flush))
	if _, err := c.Pin(t.Context(), 0); err != nil { // it is behind the chunk
		t.Fatal(err)
	}
	if _, byFile := numbers(t, p.out.sealed); !slices.Equal(byFile[1], []uint32{1}) {
		t.Errorf("the open bag holds %v", byFile)
	}
	if s, err := c.Stats(); err != nil || s.Part != 1 || p.parts.next.Before(before.Add(time.Hour)) {
		t.Errorf("part %d, split in %v, %v", s.Part, p.parts.next.Sub(before), err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// TestStartThatCannotBe leaves the recording stopped, and loses nothing.
func TestStartThatCannotBe(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{Begin: StateStopped})
	l := open(t, p, "/t", "/p")
	taken := p.outputs.path(time.Now())
	if err := os.WriteFile(taken, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "never overwrites") {
		t.Errorf("error %v", err)
	}
	l.Frames(frame(1, 0, 10), 1, time.Now())
	if got := state(t, c); got != StateStopped {
		t.Errorf("state %v", got)
	}
	if err := os.Rename(taken, taken+".old"); err != nil {
		t.Fatal(err)
	}
	if opened, err := c.Start(t.Context()); err != nil || opened != taken {
		t.Errorf("opened %s, %v", opened, err)
	}
	l.Frames(frame(1, 1, 10), 1, time.Now())
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if got := allNumbers(t, files(t, p)); !slices.Equal(got[1], []uint32{1}) || l.connection.topic.passed != 1 {
		t.Errorf("the bag holds %v; %d passed", got, l.connection.topic.passed)
	}
}

// TestStartOnAFullDisk is refused, and a disk that is full while nothing is written ends
// nothing.
func TestStartOnAFullDisk(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{Begin: StateStopped, MinSpace: 1000, MinSpaceText: "1000"})
	p.disk.free = func() (int64, error) { return 999, nil }
	if p.lowDisk(time.Now()) {
		t.Error("the recording is to end")
	}
	if name, err := c.Start(t.Context()); !errors.Is(err, ErrMinSpace) {
		t.Errorf("start: %s, %v", name, err)
	}
	p.disk.free = func() (int64, error) { return 1000, nil }
	if _, err := c.Start(t.Context()); err != nil {
		t.Error(err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// TestNextFileThatCannotBe: whoever asked for it is told, and the old one goes on.
func TestNextFileThatCannotBe(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{})
	l := open(t, p, "/t", "/p")
	shut, err := openFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	shut.Close()
	dir := p.outputs.dir
	p.outputs.dir = shut // the writer has nothing to do yet
	l.Frames(frame(1, 0, 10), 1, time.Now())
	if name, err := c.Split(t.Context()); !errors.Is(err, os.ErrClosed) {
		t.Errorf("split: %s, %v", name, err)
	}
	l.Frames(frame(1, 1, 10), 1, time.Now())
	p.outputs.dir = dir // nor now
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if got := bases(files(t, p)); !slices.Equal(got, []string{"test.bag"}) {
		t.Errorf("files %v", got)
	}
	checkCount(t, "in the old file", allNumbers(t, files(t, p)), 1, 2)
}

// TestAWaitThatIsGivenUp does not take the command back.
func TestAWaitThatIsGivenUp(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{})
	g := gate{p.out.file, make(chan struct{})}
	p.out.file = g
	l := open(t, p, "/t", "/p")
	l.Frames(frame(1, 0, 10), 1, time.Now())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if name, err := c.Split(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("split: %s, %v", name, err)
	}
	l.Frames(frame(1, 1, 10), 1, time.Now())
	close(g.open)
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	for i, path := range files(t, p) {
		if byTime, _ := numbers(t, path); !slices.Equal(byTime[1], []uint32{uint32(i)}) {
			t.Errorf("file %d holds %v", i, byTime)
		}
	}
}

// TestGivenUpWhileItIsDone: what is done after the wait was given up is nobody's any more;
// the race detector looks on.
func TestGivenUpWhileItIsDone(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{Snapshot: Snapshot{Mode: SnapshotBeside, PostRoll: time.Hour}})
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

// TestStopTakesAStartBack: the later command counts, also while the writer is busy.
func TestStopTakesAStartBack(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{})
	g := gate{p.out.file, make(chan struct{})}
	p.out.file = g
	l := open(t, p, "/t", "/p")
	l.Frames(frame(1, 0, 10), 1, time.Now())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 {
		c.Stop(ctx)
		c.Start(ctx)
	}
	c.Stop(ctx)
	close(g.open)
	if _, err := c.Pin(t.Context(), 0); err != nil { // it is behind all of them
		t.Fatal(err)
	}
	if got := state(t, c); got != StateStopped {
		t.Errorf("state %v", got)
	}
	l.Frames(frame(1, 1, 10), 1, time.Now())
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if got := allNumbers(t, files(t, p)); !slices.Equal(got[1], []uint32{0}) || l.connection.topic.passed != 1 {
		t.Errorf("the bags hold %v; %d passed", got, l.connection.topic.passed)
	}
}

// TestPin: files of the last minutes stay, the one that is written among them, and do
// not push others out.
func TestPin(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{Split: true, Retain: Retention{Files: 1}})
	l := open(t, p, "/t", "/p")
	cut := func() {
		l.Frames(frame(1, 0, 10), 1, time.Now())
		if _, err := c.Split(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	cut() // 0
	cut() // 1: 0 goes
	pinned, err := c.Pin(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if got := bases(pinned); !slices.Equal(got, []string{"test_1.bag", "test_2.bag"}) {
		t.Errorf("pinned: %v", got)
	}
	for range 3 { // 2, 3, 4: 3 goes
		cut()
	}
	if again, err := c.Pin(t.Context(), 0); err != nil || !slices.Equal(bases(again), []string{"test_5.bag"}) {
		t.Errorf("pinned of no time at all: %v, %v; the file that is written belongs to it", again, err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, b := range p.done {
		if fileExists(b.target) {
			left = append(left, filepath.Base(b.target))
		}
	}
	if want := []string{"test_1.bag", "test_2.bag", "test_4.bag", "test_5.bag"}; !slices.Equal(left, want) {
		t.Errorf("left: %v, want %v", left, want)
	}
}

// TestPinDoesNotWaitForADeletion: neither does the writer, which tells of a file that it
// begins.
func TestPinDoesNotWaitForADeletion(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{Split: true, Retain: Retention{KeepFree: 1}})
	asked, hangs, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
	p.retain.free = func() (int64, error) {
		close(asked)
		<-hangs
		return 1, nil
	}
	go func() {
		defer close(over)
		p.retain.enforce(time.Now())
	}()
	<-asked
	if files, err := c.Pin(t.Context(), time.Hour); err != nil || len(files) != 1 {
		t.Errorf("pinned: %v, %v", files, err)
	}
	close(hangs)
	<-over
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
	g := gate{p.out.file, make(chan struct{})}
	p.out.file = g
	small, large := open(t, p, "/s", "/p"), open(t, p, "/l", "/p")
	var wg sync.WaitGroup
	wg.Go(func() { publishPlain(small, 20) })
	wg.Go(func() {
		for n := range uint32(20) {
			sendLarge(large, frame(2, n, 5000))
		}
	})
	waitFor(t, func() bool { // both come to it; the large one shows it
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.largeWaits > 0
	})
	if err := c.Pause(); err != nil {
		t.Fatal(err)
	}
	wg.Wait() // though nothing can be written
	close(g.open)
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	for _, topic := range p.topics {
		if topic.messages+topic.passed != 20 || topic.passed == 0 {
			t.Errorf("%s: %d recorded, %d passed of 20", topic.name, topic.messages, topic.passed)
		}
	}
}
