package snapshot

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/bagname"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/recorder/internal/encode"
	"github.com/gorosbag/gorosbag/recorder/internal/files"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/queue"
	"github.com/gorosbag/gorosbag/recorder/internal/retention"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recording writes snapshots only, with a sink that hands all chunks to the writer.
type recording struct {
	*Writer
	in      *intake.Intake
	outputs *bagfile.Series
	sink    sync.WaitGroup
}

// noHandover is told of bags in vain.
type noHandover struct{}

func (noHandover) Begun(string)           {}
func (noHandover) Finished(string, int64) {}

// record begins to record into a directory of the test. The caller closes the recording.
func record(t *testing.T, o ring.Options) *recording {
	t.Helper()
	return recordAndLog(t, o, zap.NewNop())
}

// recordAndLog is record with a log.
func recordAndLog(t *testing.T, o ring.Options, log *zap.Logger) *recording {
	t.Helper()
	outputs, err := bagfile.OpenSeries(bagname.Output{Name: filepath.Join(t.TempDir(), "test")}, bagfile.SyncNone, false, log)
	if err != nil {
		t.Fatal(err)
	}
	o.Only = true
	o.Most = 64 << 20
	encoder := encode.New(encode.Options{})
	in := intake.New(intake.Config{
		Log: log, Flush: time.Hour, Memory: memory.Options{Limit: 256 << 20, ChunkBytes: 1000},
		OnChange: func() {}, Encoder: encoder, Ring: &o,
	})
	bags := files.New(files.Config{
		Log: log, Counts: in.Accounts, OnlySnapshots: true, Outputs: outputs, Handover: noHandover{}, OnChange: func() {},
		Retain: retention.New(retention.Limits{}, log, outputs.Free, func(string) bool { return false }),
		Disk:   disk.NewSpace(0, "", nil, outputs.Free, log),
	})
	packer := latch.Packer{Claims: &in.Buffers, Compression: rosbag.CompressionNone, ChunkBytes: in.Buffers.ChunkBytes()}
	r := &recording{in: in, outputs: outputs, Writer: New(Config{
		Log: log, In: in, Accounts: in.Accounts, Buffers: &in.Buffers, Bags: bags, Packer: packer,
		Outputs: outputs.SnapshotSeries(false), Aborted: func() bool { return false },
	})}
	bags.Start()
	r.Start()
	// owner: close; ends when the intake is closed.
	r.sink.Go(func() {
		for {
			item, ok := in.Next()
			switch {
			case !ok:
				return
			case item.Command == nil:
				encoder.Await(item.Chunk)
				r.Keep(item.Chunk)
				continue
			case item.Command.Kind == queue.Snapshot:
				r.Begin(item.Command.Snapshot)
			case item.Command.Kind == queue.EndSnapshot:
				r.End(item.Command.Snapshot)
			}
			close(item.Command.Done)
		}
	})
	return r
}

// close writes all snapshots and returns what went wrong with them.
func (r *recording) close(t *testing.T) error {
	t.Helper()
	r.EndTriggers()
	r.in.Close()
	r.sink.Wait()
	r.Close()
	err := r.Bags.Close(nil)
	if err := r.outputs.Close(); err != nil {
		t.Error(err)
	}
	return err
}

// numbersIn returns the numbers of the messages in a bag.
func numbersIn(t *testing.T, path string) []uint32 {
	t.Helper()
	_, byFile := testlink.Numbers(t, path)
	return byFile[1]
}

// TestTriggerFlood: a trigger that is stuck takes one snapshot at a time, and after a burst
// one each second; every trigger gets the name of one that was begun after it.
func TestTriggerFlood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := record(t, ring.Options{})
		l := linkOf(t, r.in, testlink.Info("/t", "/p"))
		var mu sync.Mutex
		bags := map[string]int{}
		var wg sync.WaitGroup
		const seconds = 5
		for n := range uint32(1000 * seconds) {
			l.Frames(testlink.Frame(1, n, 100), 1, time.Now())
			wg.Go(func() {
				sn, err := r.Trigger(t.Context(), time.Now())
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				bags[sn.Out.Target()]++
				mu.Unlock()
			})
			time.Sleep(time.Millisecond)
		}
		wg.Wait()
		if n := len(bags); n < seconds || n > burst+seconds+1 {
			t.Errorf("%d snapshots in %d s", n, seconds)
		}
		if err := r.close(t); err != nil {
			t.Fatal(err)
		}
	})
}

// TestSnapshotsThatCannotBegin count, and are an error of the recording.
func TestSnapshotsThatCannotBegin(t *testing.T) {
	t.Parallel()
	r := record(t, ring.Options{})
	if err := os.Remove(r.outputs.Dir.Name()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := r.Trigger(t.Context(), time.Now()); err == nil {
			t.Error("a snapshot in a directory that is gone")
		}
	}
	if n := r.Failures(); n != 3 {
		t.Errorf("%d failures, want 3", n)
	}
	if err := r.close(t); err == nil || !strings.Contains(err.Error(), "a snapshot could not begin") {
		t.Errorf("close returns %v", err)
	}
}

// TestTriggersThatWait: a snapshot that waits for its turn has all of the pre-roll of its first
// trigger, and all of the post-roll of the last.
func TestTriggersThatWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := record(t, ring.Options{Window: time.Second, PostRoll: time.Second})
		l := linkOf(t, r.in, testlink.Info("/t", "/p"))
		n := uint32(0)
		step := func(count int) { // ten messages a second
			for range count {
				l.Frames(testlink.Frame(1, n, 1000), 1, time.Now())
				n++
				time.Sleep(100 * time.Millisecond)
				r.in.Tick(time.Now())
			}
		}
		step(20)
		for range burst { // no more at once
			r.Limiter.Allow()
		}
		before := n
		var taken [2]*Snapshot
		var wg sync.WaitGroup
		for i := range taken {
			wg.Go(func() {
				var err error
				if taken[i], err = r.Trigger(t.Context(), time.Now()); err != nil {
					t.Error(err)
				}
			})
			step(5)
		}
		wg.Wait()
		step(20)
		if err := r.close(t); err != nil {
			t.Fatal(err)
		}
		if taken[0] != taken[1] {
			t.Fatalf("two snapshots: %v, %v", taken[0], taken[1])
		}
		if got := numbersIn(t, taken[0].Out.Target()); got[0] > before-9 || got[len(got)-1] < before+14 {
			t.Errorf("messages %d to %d of %d, triggers at %d and %d", got[0], got[len(got)-1], n, before, before+5)
		}
	})
}

// askAndHold asks for a snapshot, which does not begin before begin is called: its file is being created.
func (r *recording) askAndHold(t *testing.T, messages int, at time.Time) (asked *request, begin func()) {
	t.Helper()
	creating, created := make(chan struct{}), make(chan struct{})
	r.Outputs.Wrap = func(f disk.Handle) disk.Handle {
		close(creating)
		<-created
		return f
	}
	r.OnMessages("/snapshot_trigger", messages, at)
	<-creating
	r.triggers.mu.Lock()
	defer r.triggers.mu.Unlock()
	asked = r.triggers.next
	return asked, func() {
		close(created)
		<-asked.begun
	}
}

// askLate asks for a snapshot for triggers that came before the present one began, and waits for the answer.
func (r *recording) askLate(at, last time.Time) *request {
	late := &request{at: at, last: last, begun: make(chan struct{})}
	r.triggers.asked <- late
	<-late.begun
	return late
}

// TestTriggerWhileAnotherBegins: it extends that one, rather than to wait for its end.
func TestTriggerWhileAnotherBegins(t *testing.T) {
	t.Parallel()
	r := record(t, ring.Options{PostRoll: time.Hour})
	now := time.Now()
	first, begin := r.askAndHold(t, 1, now)
	begin()
	late := r.askLate(now, now.Add(time.Minute))
	if first.snapshot == nil || late.snapshot != first.snapshot || late.err != nil {
		t.Errorf("two snapshots: %v, %v, %v", first.snapshot, late.snapshot, late.err)
	}
	if early, err := r.In.Trigger(now.Add(time.Hour)); early != &first.snapshot.Snapshot || err != nil {
		t.Errorf("the last trigger does not extend the post-roll: %v, %v", early, err)
	}
	if err := r.close(t); err != nil {
		t.Fatal(err)
	}
}

// TestPostRollEndsBetweenTriggers: a trigger that comes after the post-roll begins another snapshot, although it waits
// together with one that came in the post-roll.
func TestPostRollEndsBetweenTriggers(t *testing.T) {
	t.Parallel()
	r := record(t, ring.Options{PostRoll: time.Minute})
	now := time.Now()
	first, begin := r.askAndHold(t, 1, now)
	begin()
	r.Outputs.Wrap = nil
	late := r.askLate(now, now.Add(time.Hour))
	if late.err != nil || late.snapshot == nil || late.snapshot == first.snapshot {
		t.Errorf("no snapshot of its own: %v, %v", late.snapshot, late.err)
	}
	if err := r.close(t); err != nil {
		t.Fatal(err)
	}
}

// slow is a file whose further chunks are written when ready is closed.
type slow struct {
	disk.Handle
	ready chan struct{}
}

func (s slow) WriteAt(b []byte, at int64) (int, error) {
	if at > 0 { // the file has its beginning
		<-s.ready
	}
	return s.Handle.WriteAt(b, at)
}

// TestEndDuringASnapshot: the end of the triggers, before which the recording does not write its last messages, does
// not wait for a snapshot that is being written, although another one is asked for.
func TestEndDuringASnapshot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := record(t, ring.Options{})
		l := linkOf(t, r.in, testlink.Info("/t", "/p"))
		ready := make(chan struct{})
		r.Outputs.Wrap = func(f disk.Handle) disk.Handle { return slow{f, ready} }
		var taken [2]*Snapshot
		for i := range taken {
			l.Frames(testlink.Frame(1, uint32(i), 100), 1, time.Now())
			r.OnMessages("/snapshot_trigger", 1, time.Now())
			synctest.Wait() // the first one is being written, the second one waits
			taken[i] = r.latest
		}
		if taken[0] == nil || taken[1] != taken[0] {
			t.Fatalf("snapshots %v", taken)
		}
		r.EndTriggers()
		taken[1] = r.latest
		r.in.Close()
		close(ready)
		r.sink.Wait()
		r.Close()
		if err := errors.Join(r.Bags.Close(nil), r.outputs.Close()); err != nil {
			t.Fatal(err)
		}
		for i, sn := range taken {
			if got := numbersIn(t, sn.Out.Target()); !slices.Equal(got, []uint32{uint32(i)}) {
				t.Errorf("snapshot %d: messages %v", i, got)
			}
		}
	})
}

// TestTriggersThatBeginNoSnapshot: those that are messages are logged, because nobody else gets the error. Each line has
// the number of all of them so far, so that lines that the limit of the log leaves out are counted.
func TestTriggersThatBeginNoSnapshot(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.ErrorLevel)
	r := recordAndLog(t, ring.Options{}, zap.New(core))
	if err := os.Remove(r.outputs.Dir.Name()); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if _, err := r.Trigger(t.Context(), now); err == nil {
		t.Error("a snapshot in a directory that is gone")
	}
	r.OnMessages("/snapshot_trigger", 5, now)
	r.EndTriggers()
	r.OnMessages("/snapshot_trigger", 3, now)
	var got []any
	for _, l := range logs.FilterMessage("no snapshot").FilterField(zap.String("trigger", "/snapshot_trigger")).All() {
		got = append(got, l.ContextMap()["times in all"])
	}
	if want := []any{int64(5), int64(8)}; !slices.Equal(got, want) {
		t.Fatalf("logged %v times, want %v", got, want)
	}
	if last := logs.FilterMessage("no snapshot").All()[1].ContextMap()["error"]; last != control.ErrNotRecording.Error() {
		t.Errorf("after the end: %v", last)
	}
	r.in.Close()
	r.sink.Wait()
	r.Close()
	if err := errors.Join(r.Bags.Close(nil), r.outputs.Close()); err == nil {
		t.Error("no error for two snapshots")
	}
}

// TestTriggerBeforeTheEnd: a snapshot that waits for its turn when the recording ends does begin, with what came
// until then.
func TestTriggerBeforeTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := record(t, ring.Options{})
		l := linkOf(t, r.in, testlink.Info("/t", "/p"))
		for range burst { // no more at once
			r.Limiter.Allow()
		}
		start := time.Now()
		r.OnMessages("/snapshot_trigger", 1, start)
		l.Frames(testlink.Frame(1, 7, 100), 1, start)
		synctest.Wait()
		if err := r.close(t); err != nil {
			t.Fatal(err)
		}
		if got := numbersIn(t, r.latest.Out.Target()); !slices.Equal(got, []uint32{7}) {
			t.Errorf("messages %v", got)
		}
		if took := time.Since(start); took > 0 {
			t.Errorf("the end has waited for the limiter, %v", took)
		}
	})
}

// TestTriggersExtend: triggers in the post-roll move its end, and belong to one snapshot.
func TestTriggersExtend(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		triggers []int // seconds; messages come each second, from 0 to 29
		want     [][2]uint32
	}{
		"one":                        {[]int{10}, [][2]uint32{{5, 13}}},
		"in the post-roll":           {[]int{10, 13}, [][2]uint32{{5, 16}}},
		"again and again":            {[]int{10, 12, 14, 16}, [][2]uint32{{5, 19}}},
		"as the post-roll has ended": {[]int{10, 14}, [][2]uint32{{5, 13}, {14, 17}}},
		"later":                      {[]int{10, 20}, [][2]uint32{{5, 13}, {15, 23}}},
	} {
		r := record(t, ring.Options{Window: 5 * time.Second, PostRoll: 4 * time.Second})
		l := linkOf(t, r.in, testlink.Info("/t", "/p"))
		start := time.Now()
		var taken []*Snapshot
		next := tc.triggers
		for n := range 30 {
			at := start.Add(time.Duration(n) * time.Second)
			l.Frames(testlink.Frame(1, uint32(n), 10), 1, at)
			if len(next) == 0 || n != next[0] {
				continue
			}
			next = next[1:]
			sn, err := r.Trigger(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			if len(taken) == 0 || taken[len(taken)-1] != sn {
				taken = append(taken, sn)
			}
		}
		if err := r.close(t); err != nil {
			t.Fatal(err)
		}
		var got [][2]uint32
		for _, sn := range taken {
			numbers := numbersIn(t, sn.Out.Target())
			got = append(got, [2]uint32{numbers[0], numbers[len(numbers)-1]})
			if sn.Messages != uint64(len(numbers)) {
				t.Errorf("%s: %d messages are counted, %d in the bag", name, sn.Messages, len(numbers))
			}
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: messages %v, want %v", name, got, tc.want)
		}
	}
}

// TestTriggersTogether: of triggers that come together, the last one says when the post-roll ends.
func TestTriggersTogether(t *testing.T) {
	t.Parallel()
	r := record(t, ring.Options{PostRoll: 4 * time.Second})
	l := linkOf(t, r.in, testlink.Info("/t", "/p"))
	start := time.Now()
	at := func(second int) time.Time { return start.Add(time.Duration(second) * time.Second) }
	var first *request
	for n := range 30 {
		l.Frames(testlink.Frame(1, uint32(n), 10), 1, at(n))
		switch n {
		case 10:
			asked, begin := r.askAndHold(t, 1, at(8))
			r.OnMessages("/snapshot_trigger", 1, at(10))
			r.OnMessages("/snapshot_trigger", 1, at(9))
			begin()
			first = asked
		case 13: // within 4 s of the last of these
			r.OnMessages("/snapshot_trigger", 1, at(13))
			r.OnMessages("/snapshot_trigger", 2, at(12))
		}
	}
	if err := r.close(t); err != nil {
		t.Fatal(err)
	}
	if n := r.in.Buffers.SnapshotsTaken(); n != 1 || first.err != nil {
		t.Fatalf("%d snapshots, %v", n, first.err)
	}
	if got := numbersIn(t, first.snapshot.Out.Target()); got[len(got)-1] != 16 {
		t.Errorf("the last message is %d, want that before the end of the post-roll, 16", got[len(got)-1])
	}
	if n := r.triggers.count.Load(); n != 6 {
		t.Errorf("%d triggers, want 6", n)
	}
}
