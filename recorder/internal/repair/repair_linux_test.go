package repair

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/bagname"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/rosbag"
)

// message is what each message of an orphan takes in it.
const message = 10_060

// orphan makes dir/name.bag.active as a recorder leaves it that is killed in the middle
// of a chunk, and returns how many whole messages are in it.
func orphan(t *testing.T, dir, name string, cut int64) int {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, name+".bag.active"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	conn := &rosbag.Connection{Topic: "/t", Header: rosbag.Header{
		{Key: "topic", Value: "/t"}, {Key: "type", Value: "std_msgs/String"}, {Key: "md5sum", Value: "992ce8a1687cec8c8bd883ec73ca41d1"}, {Key: "message_definition", Value: "string data\n"},
	}}
	var records chunk.Records
	var b chunk.Builder
	b.Reset(&records)
	for i := range 30 {
		frame := make([]byte, message-recordOverhead)
		binary.LittleEndian.PutUint32(frame, uint32(len(frame)-4))
		b.AppendRun(conn, rosbag.Time{Sec: uint32(i + 1)}, frame, 1)
		if b.Len() > 100<<10 || i == 29 {
			c, err := b.Seal(nil, nil)
			if err == nil {
				err = w.WriteChunk(c)
			}
			if err != nil {
				t.Fatal(err)
			}
			b.Reset(&records)
		}
	}
	if err := errors.Join(w.Close(), f.Truncate(cut)); err != nil {
		t.Fatal(err)
	}
	return int((cut - 4096) / message)
}

// recordOverhead is what a message record adds to its frame.
const recordOverhead = 42

// checkRecovered compares the number of messages in a bag.
func checkRecovered(t *testing.T, path string, want int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	r, err := bagfmt.NewReader(f, st.Size(), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Info().Messages; got != uint64(want) {
		t.Errorf("recovered %d messages, want %d", got, want)
	}
}

// repairing prepares the repair of what is in dir, beside a recording to another place.
func repairing(t *testing.T, dir string) (*repair, *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	s, err := bagfile.OpenSeries(bagname.Output{Name: dir + "/next"}, bagfile.SyncInterval, false, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	f, err := os.Open(dir + "/a.bag.active")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if disk.WritersOf(f) == disk.WritersUnknown {
		t.Skip("no leases on the file system of " + dir)
	}
	const buffer = 1 // of the recording: a chunk may be longer all the same
	r := newRepair(Options{Series: s, Log: zap.New(core), Buffer: buffer, Finished: func(string, int64) {}, Kept: func(string, string) {}, Trying: func(string) func(bool) { return func(bool) {} }, Crowded: func() bool { return false }})
	if r.settle != 2*time.Second {
		t.Errorf("the repair waits %v for other writers", r.settle)
	}
	r.settle = 0
	return r, logs
}

// names lists a directory.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// TestRepair: what a crashed recorder left becomes a whole bag, and the original is kept.
func TestRepair(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := orphan(t, dir, "a", 200_000)
	if err := os.WriteFile(dir+"/.a.bag.recovering", []byte("of a repair that died"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, logs := repairing(t, dir)
	before, err := os.ReadFile(dir + "/a.bag.active")
	if err != nil {
		t.Fatal(err)
	}
	recorded := time.Unix(1_700_000_000, 0)
	if err := os.Chtimes(dir+"/a.bag.active", time.Time{}, recorded); err != nil {
		t.Fatal(err)
	}
	r.repairAll(t.Context(), Orphans(r.dir))
	if got := names(t, dir); !slices.Equal(got, []string{"a.bag", "a.bag.orig.active"}) {
		t.Fatalf("in the directory: %v, logged %v", got, logs.All())
	}
	checkRecovered(t, dir+"/a.bag", want)
	if st, err := os.Stat(dir + "/a.bag"); err != nil || !st.ModTime().Equal(recorded) {
		t.Errorf("the bag is of %v, %v; want the time of the recording, %v", st.ModTime(), err, recorded)
	}
	if after, err := os.ReadFile(dir + "/a.bag.orig.active"); err != nil || !slices.Equal(before, after) {
		t.Errorf("the original was changed: %v", err)
	}
	if n := logs.FilterMessage("Recovered").Len(); n != 1 {
		t.Errorf("logged %v", logs.All())
	}
	if again := Orphans(r.dir); again != nil {
		t.Errorf("orphans afterwards: %v", again)
	}
}

// TestRepairBesideALargeBuffer: chunks are no longer than 2 GiB, whatever the recording may hold.
func TestRepairBesideALargeBuffer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := orphan(t, dir, "a", 200_000)
	r, _ := repairing(t, dir)
	r.Buffer = 2 << 30
	if err := r.repairFile(t.Context(), "a.bag.active"); err != nil {
		t.Fatal(err)
	}
	checkRecovered(t, dir+"/a.bag", want)
}

// TestRepairLeavesAlone what is not surely dead, and what it has no place for.
func TestRepairLeavesAlone(t *testing.T) {
	t.Parallel()
	write := func(t *testing.T, dir string) { // a stock recorder: has it open, takes no lock
		t.Helper()
		f, err := os.OpenFile(dir+"/a.bag.active", os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
	}
	tests := map[string]struct {
		prepare func(t *testing.T, dir string)
		change  func(r *repair)
		cut     int64
		said    string
	}{
		"living": {prepare: func(t *testing.T, dir string) {
			t.Helper()
			f, err := os.Open(dir + "/a.bag.active")
			if err != nil {
				t.Fatal(err)
			}
			disk.Lock(f)
			t.Cleanup(func() { f.Close() })
		}, said: "another recorder has it"},
		"open elsewhere": {prepare: write, said: "another program writes it"},
		"result exists": {prepare: func(t *testing.T, dir string) {
			t.Helper()
			if err := os.WriteFile(dir+"/a.bag", []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, said: "never overwrites"},
		"not told":   {change: func(r *repair) { r.writers = func(*os.File) disk.Writers { return disk.WritersUnknown } }, said: "does not tell"},
		"no room":    {change: func(r *repair) { r.MinSpace = 1 << 60 }, said: "no room"},
		"no message": {cut: 5000, said: "no message can be read"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cut := tc.cut
			if cut == 0 {
				cut = 200_000
			}
			orphan(t, dir, "a", cut)
			if tc.prepare != nil {
				tc.prepare(t, dir)
			}
			r, logs := repairing(t, dir)
			if tc.change != nil {
				tc.change(r)
			}
			was := names(t, dir)
			r.repairAll(t.Context(), []string{"a.bag.active"})
			if got := names(t, dir); !slices.Equal(got, was) {
				t.Errorf("in the directory: %v, before %v", got, was)
			}
			if st, err := os.Stat(dir + "/a.bag.active"); err != nil || st.Size() != cut {
				t.Errorf("the orphan was changed: %v", err)
			}
			said := logs.FilterMessageSnippet("not recovered").All()
			if len(said) != 1 || !strings.Contains(said[0].ContextMap()["error"].(string), tc.said) {
				t.Errorf("logged %v", logs.All())
			}
		})
	}
}

// TestRepairIsTold: when the repair of each file begins and ends, well or not. An orphan that is gone is not said to be as it was.
func TestRepairIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	orphan(t, dir, "a", 200_000)
	r, logs := repairing(t, dir)
	var told []string
	r.Trying = func(orphan string) func(bool) {
		told = append(told, "begins "+orphan)
		return func(later bool) { told = append(told, fmt.Sprintf("ends %s, later: %v", orphan, later)) }
	}
	r.repairAll(t.Context(), []string{"gone.bag.active", "a.bag.active"})
	want := []string{"begins gone.bag.active", "ends gone.bag.active, later: false", "begins a.bag.active", "ends a.bag.active, later: false"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	if said := logs.FilterMessageSnippet("not recovered").All(); len(said) != 1 || said[0].Message != "not recovered" {
		t.Errorf("logged %v", logs.All())
	}
	ended, end := context.WithCancel(t.Context())
	end()
	told, r.settle = nil, time.Hour
	orphan(t, dir, "b", 200_000)
	r.repairAll(ended, []string{"b.bag.active"})
	if want := []string{"begins b.bag.active", "ends b.bag.active, later: true"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// TestRepairGoesOn where another repair crashed: wherever that was, the next repair does the rest.
func TestRepairGoesOn(t *testing.T) {
	t.Parallel()
	link := func(t *testing.T, dir string, pairs ...string) { // a file in the next place
		t.Helper()
		for i := 0; i < len(pairs); i += 2 {
			if err := os.Link(filepath.Join(dir, pairs[i]), filepath.Join(dir, pairs[i+1])); err != nil {
				t.Fatal(err)
			}
		}
	}
	const temp = ".a.bag.recovering"
	for name, died := range map[string]func(t *testing.T, dir string){
		"with the result beside": func(t *testing.T, dir string) { t.Helper(); link(t, dir, "a.bag", temp); os.Remove(dir + "/a.bag") },
		"with both names":        func(t *testing.T, dir string) { t.Helper(); link(t, dir, "a.bag", temp) },
		"before the last step": func(t *testing.T, dir string) {
			t.Helper()
			link(t, dir, "a.bag", temp, "a.bag.active", "a.bag.orig.active")
			os.Remove(dir + "/a.bag.active")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			want := orphan(t, dir, "a", 200_000)
			first, _ := repairing(t, dir)
			first.repairAll(t.Context(), Orphans(first.dir))
			if err := os.Rename(dir+"/a.bag.orig.active", dir+"/a.bag.active"); err != nil {
				t.Fatal(err)
			}
			r, logs := repairing(t, dir)
			died(t, dir)
			r.repairAll(t.Context(), Orphans(r.dir))
			if got := names(t, dir); !slices.Equal(got, []string{"a.bag", "a.bag.orig.active"}) {
				t.Fatalf("in the directory: %v, logged %v", got, logs.All())
			}
			checkRecovered(t, dir+"/a.bag", want)
		})
	}
}

// TestRepairMakesWay: it rests as long as it has worked, and for longer while much waits
// for the disk.
func TestRepairMakesWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var crowded atomic.Bool
		r := &repair{Options: Options{Crowded: crowded.Load}, began: time.Now()}
		time.Sleep(3 * time.Second) // work
		start := time.Now()
		if err := r.step(t.Context(), disk.OSFile{}, 1); err != nil || time.Since(start) != 3*time.Second {
			t.Errorf("rested for %v, %v", time.Since(start), err)
		}
		crowded.Store(true)
		done := make(chan error, 1)
		go func() { done <- r.step(t.Context(), disk.OSFile{}, 1) }()
		time.Sleep(time.Hour)
		select {
		case err := <-done:
			t.Fatalf("works while much waits: %v", err)
		default:
		}
		crowded.Store(false)
		time.Sleep(time.Second)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// openOrphan makes the orphan a.bag.active, and opens it to repair it.
func openOrphan(t *testing.T, dir string) (*repair, *os.File, os.FileInfo) {
	t.Helper()
	orphan(t, dir, "a", 200_000)
	r, _ := repairing(t, dir)
	in, err := r.dir.Open("a.bag.active")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	st, err := in.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return r, in, st
}

// TestRepairOfAFileThatGrows: it is not taken, whatever the system says of it.
func TestRepairOfAFileThatGrows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, in, st := openOrphan(t, dir)
	if err := os.Truncate(dir+"/a.bag.active", 300_000); err != nil {
		t.Fatal(err)
	}
	if err := r.checkUnchanged(in, st); err == nil {
		t.Error("not noticed")
	}
}

// TestRepairEndsWithTheRecording and leaves nothing behind.
func TestRepairEndsWithTheRecording(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	orphan(t, dir, "a", 200_000)
	r, logs := repairing(t, dir)
	r.settle = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.repairAll(ctx, Orphans(r.dir))
	}()
	cancel()
	<-done
	if got := names(t, dir); !slices.Equal(got, []string{"a.bag.active"}) {
		t.Errorf("in the directory: %v", got)
	}
	if logs.FilterMessageSnippet("before the recording ended").Len() != 1 {
		t.Errorf("logged %v", logs.All())
	}
}

// TestRepairThatHangs does not hold up the end.
func TestRepairThatHangs(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	dir := t.TempDir()
	s, err := bagfile.OpenSeries(bagname.Output{Name: dir + "/next"}, bagfile.SyncInterval, false, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	s.Watchdog.Limit = 100 * time.Millisecond
	pipe := dir + "/a.bag.active" // to open it takes until somebody writes
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{Series: s, Log: zap.New(core), Finished: func(string, int64) {}, Kept: func(string, string) {}, Trying: func(string) func(bool) { return func(bool) {} }, Crowded: func() bool { return false }}
	Start(t.Context(), o, []string{"a.bag.active"})(true)
	if logs.FilterMessageSnippet("left behind").Len() != 1 {
		t.Errorf("logged %v", logs.All())
	}
	f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for logs.FilterMessageSnippet("not recovered").Len() == 0 {
		runtime.Gosched()
	}
}

// TestWritersOf: another process that has the file open is seen, one that reads is not.
func TestWritersOf(t *testing.T) { // not beside others: until a child runs its program, it has their files open, too
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := disk.WritersOf(f); got != disk.WritersNone {
		t.Skipf("no leases on the file system of %s: %v", path, got)
	}
	for _, mode := range []string{"<", ">>"} {
		ctx, cancel := context.WithCancel(t.Context())
		cmd := exec.CommandContext(ctx, "sh", "-c", `exec 3`+mode+`"$0"; echo; read wait`, path)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		want := map[string]disk.Writers{"<": disk.WritersNone, ">>": disk.WritersSome}[mode]
		if got := disk.WritersOf(f); got != want {
			t.Errorf("while another process has it open by %s: %v, want %v", mode, got, want)
		}
		in.Close()
		cmd.Wait()
		cancel()
	}
}

// TestOrphans: files of living recorders are not taken for those of crashed recorders.
func TestOrphans(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/dead.bag.active", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := bagfile.OpenSeries(bagname.Output{Name: dir + "/x"}, bagfile.SyncNone, true, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	mine, err := s.Create(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	others, err := bagfile.OpenSeries(bagname.Output{Name: dir + "/other"}, bagfile.SyncNone, false, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	other, err := others.Create(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	check := func(want ...string) {
		t.Helper()
		if got := Orphans(s.Dir); !slices.Equal(got, want) {
			t.Errorf("orphans %v, want %v", got, want)
		}
	}
	check("dead.bag.active")
	var handle disk.Handle
	mine.Wrap(func(f disk.Handle) disk.Handle { handle = f; return f })
	if err := handle.Close(); err != nil { // as a death does
		t.Fatal(err)
	}
	check("dead.bag.active", "x_0.bag.active")
	if err := other.Finish(); err != nil {
		t.Fatal(err)
	}
	check("dead.bag.active", "x_0.bag.active")
}
