package files_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/bagname"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/recorder/internal/files"
	"github.com/gorosbag/gorosbag/recorder/internal/retention"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errInjected = errors.New("injected")

// told notes, in order, what others are told of the bags.
type told struct {
	mu      sync.Mutex
	news    []string
	deleted map[string]account.Tally
}

func (n *told) note(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.news = append(n.news, fmt.Sprintf(format, args...))
}

func (n *told) Begun(path string)             { n.note("begun %s", filepath.Base(path)) }
func (n *told) Finished(path string, _ int64) { n.note("finished %s", filepath.Base(path)) }
func (n *told) FileClosed(part int)           { n.note("closed part %d", part) }
func (n *told) CountDeleted(c map[string]account.Tally) {
	n.note("deleted")
	n.deleted = c
}

// bags returns the bags of a recording in a directory of the test.
func bags(t *testing.T, o files.Config) (*files.Files, *told) {
	t.Helper()
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	var err error
	if o.Outputs, err = bagfile.OpenSeries(bagname.Output{Name: filepath.Join(t.TempDir(), "x")}, bagfile.SyncNone, true, o.Log); err != nil {
		t.Fatal(err)
	}
	n := &told{}
	o.Retain = retention.New(retention.Limits{}, o.Log, o.Outputs.Free, func(string) bool { return false })
	o.Disk = disk.NewSpace(0, "", nil, o.Outputs.Free, o.Log)
	o.Counts, o.Handover, o.OnChange = n, n, func() {}
	f := files.New(o)
	f.Start()
	t.Cleanup(func() {
		if err := o.Outputs.Close(); err != nil {
			t.Error(err)
		}
	})
	return f, n
}

// begin begins the next bag of the recording, which is of a part.
func begin(t *testing.T, f *files.Files, part int) *files.Bag {
	t.Helper()
	b, err := files.Create(f.Outputs, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	b.Part = part
	f.Opened(b)
	return b
}

// write writes so many messages to a bag.
func write(t *testing.T, f *files.Files, b *files.Bag, messages int) {
	t.Helper()
	var c chunk.Builder
	c.Reset(nil)
	for n := range messages {
		c.AppendRun(testlink.Connection(), rosbag.Time{Sec: 1}, testlink.Frame(0, uint32(n), 8), 1)
	}
	z, err := chunk.NewCompressor(rosbag.CompressionNone)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := c.Seal(z, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WriteChunk(b, sealed); err != nil {
		t.Fatal(err)
	}
	b.Count(sealed)
}

// failing is a file that cannot be closed.
type failing struct{ disk.Handle }

func (f failing) Close() error { return errors.Join(errInjected, f.Handle.Close()) }

// TestClosing: who is told of a bag that is closed depends on how it is closed, and on what it is.
func TestClosing(t *testing.T) {
	t.Parallel()
	const begun, done, closed = "begun x_0.bag", "finished x_0.bag", "closed part 7"
	for name, test := range map[string]struct {
		before   func(t *testing.T, b *files.Bag)
		news     []string
		fault    error // of the bag
		failed   error // of the recording
		messages uint64
	}{
		"well": {func(*testing.T, *files.Bag) {}, []string{begun, done, closed}, nil, nil, 3},
		"a snapshot": {
			func(_ *testing.T, b *files.Bag) { b.Snapshot = true }, []string{begun, done}, nil, nil, 3,
		},
		"with a fault": {
			func(_ *testing.T, b *files.Bag) {
				b.Wrap(func(h disk.Handle) disk.Handle { return failing{h} })
			}, []string{begun, closed}, errInjected, errInjected, 0,
		},
		"moved away": {
			func(t *testing.T, b *files.Bag) {
				t.Helper()
				if err := os.Rename(b.Path(), filepath.Join(t.TempDir(), "elsewhere.bag")); err != nil {
					t.Fatal(err)
				}
			}, []string{begun, closed}, bagfile.ErrMoved, nil, 0,
		},
		"deleted": {
			func(t *testing.T, b *files.Bag) {
				t.Helper()
				if err := os.Remove(b.Path()); err != nil {
					t.Fatal(err)
				}
			}, []string{begun, "deleted", closed}, bagfile.ErrDeleted, bagfile.ErrDeleted, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, n := bags(t, files.Config{})
			b := begin(t, f, 7)
			write(t, f, b, 3)
			test.before(t, b)
			f.CloseLater(b)
			if _, err := b.Closed(t.Context()); !errors.Is(err, test.fault) || (err != nil) != (test.fault != nil) {
				t.Errorf("closed with %v, want %v", err, test.fault)
			}
			if err := f.Close(nil); !errors.Is(err, test.failed) || (err != nil) != (test.failed != nil) {
				t.Errorf("the recording ends with %v, want %v", err, test.failed)
			}
			if d := cmp.Diff(test.news, n.news); d != "" {
				t.Error(d)
			}
			if test.fault == bagfile.ErrDeleted && n.deleted["/t"].Messages != 3 { //nolint:errorlint // of the table
				t.Errorf("deleted: %+v", n.deleted)
			}
			var listed uint64
			for _, b := range f.Finished.Bags() {
				listed += b.Messages
			}
			if listed != test.messages {
				t.Errorf("%d messages in listed bags, want %d", listed, test.messages)
			}
			r, _, err := f.Finished.Open(0)
			if (err == nil) != (test.fault == nil) {
				t.Errorf("the bag is opened: %v", err)
			}
			if r != nil {
				r.Close()
			}
			gone := test.fault == bagfile.ErrDeleted //nolint:errorlint // of the table
			if a := f.Finished.Account(); len(a.Files) != 1 || a.Files[0].Deleted != gone || a.Earlier != (control.EarlierFiles{}) {
				t.Errorf("deleted %v: %+v, earlier %+v", gone, a.Files, a.Earlier)
			}
		})
	}
}

// TestLastBag: the last bag is closed with the recording. It counts for the limits of the retention, and stays.
func TestLastBag(t *testing.T) {
	t.Parallel()
	f, _ := bags(t, files.Config{})
	f.Retain.Limits = retention.Limits{Files: 1}
	first := begin(t, f, 0)
	f.CloseLater(first)
	second := begin(t, f, 1)
	f.CloseLater(second)
	last := begin(t, f, 2)
	if err := f.Close(last); err != nil {
		t.Fatal(err)
	}
	for b, want := range map[*files.Bag]bool{first: false, second: false, last: true} {
		if testlink.Exists(b.Target()) != want {
			t.Errorf("%s exists: %v", b.Target(), !want)
		}
	}
	if a := f.Finished.Account(); a.File != last.Target() || len(a.Files) != 3 || !a.Files[0].Deleted || !a.Files[1].Deleted || a.Files[2].Deleted {
		t.Errorf("%+v", a)
	}
}

// TestFaultyBagIsKept: no limit of the retention concerns a bag that is not whole.
func TestFaultyBagIsKept(t *testing.T) {
	t.Parallel()
	f, _ := bags(t, files.Config{})
	f.Retain.Limits = retention.Limits{Files: 1}
	var all []*files.Bag
	for part := range 4 {
		b := begin(t, f, part)
		if part == 0 {
			b.Wrap(func(h disk.Handle) disk.Handle { return failing{h} })
		}
		f.CloseLater(b)
		all = append(all, b)
	}
	if err := f.Close(nil); !errors.Is(err, errInjected) {
		t.Error(err)
	}
	for i, want := range []bool{true, false, false, true} {
		if testlink.Exists(all[i].Path()) != want {
			t.Errorf("bag %d exists: %v", i, !want)
		}
	}
}

// synced counts the syncs of a file.
type synced struct {
	disk.Handle
	times *int
}

func (s synced) Sync() error {
	*s.times++
	return s.Handle.Sync()
}

// TestSyncAfterEachChunk: only where the user wants that.
func TestSyncAfterEachChunk(t *testing.T) {
	t.Parallel()
	f, _ := bags(t, files.Config{})
	for mode, want := range map[bagfile.Sync]int{bagfile.SyncChunk: 2, bagfile.SyncNone: 0} {
		b, times := begin(t, f, 0), 0
		b.Mode = mode
		b.Wrap(func(h disk.Handle) disk.Handle { return synced{h, &times} })
		write(t, f, b, 1)
		write(t, f, b, 1)
		if times != want {
			t.Errorf("mode %d: %d syncs, want %d", mode, times, want)
		}
		f.CloseLater(b)
	}
	if err := f.Close(nil); err != nil {
		t.Error(err)
	}
}

// TestStored: bytes of snapshots are stored, and are not growth of the recording.
func TestStored(t *testing.T) {
	t.Parallel()
	f, _ := bags(t, files.Config{})
	f.Disk.Free = func() (int64, error) { return 1_000_000, nil }
	now := time.Now()
	f.LowDisk(now, nil)
	recording, snapshot := begin(t, f, 0), begin(t, f, 1)
	snapshot.Snapshot = true
	write(t, f, recording, 20)
	files := f.Stored()
	write(t, f, snapshot, 5)
	snapshots := f.Stored() - files
	if files < 20*8 || snapshots < 5*8 || snapshots >= files {
		t.Errorf("%d bytes stored of the recording, %d of a snapshot", files, snapshots)
	}
	f.LowDisk(now.Add(10*time.Second), nil)
	rate := float64(files)/10 + float64(snapshots)/600 // bytes per second
	if _, left := f.Disk.Forecast(); left != time.Duration(1_000_000/rate)*time.Second {
		t.Errorf("the disk will be full in %v", left)
	}
	f.CloseLater(recording)
	f.CloseLater(snapshot)
	if err := f.Close(nil); err != nil {
		t.Error(err)
	}
}

// TestOpened: the user, the handover and the one who is to tell others learn the name of a new bag.
func TestOpened(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	var announced []string
	f, n := bags(t, files.Config{Log: zap.New(core), OnOpen: func(target string) { announced = append(announced, target) }})
	b := begin(t, f, 0)
	if d := cmp.Diff([]string{b.Target()}, announced); d != "" || len(n.news) != 1 {
		t.Errorf("handed over %v; %s", n.news, d)
	}
	if err := f.Close(b); err != nil {
		t.Error(err)
	}
	var said []string
	for _, e := range logs.All() {
		said = append(said, e.Message+" "+e.ContextMap()["file"].(string))
	}
	if d := cmp.Diff([]string{"Recording to " + b.Target(), "Closing " + b.Target()}, said); d != "" {
		t.Error(d)
	}
}

// TestDirectoryIsRenamed: bags stay in their directory, and the user learns its new path once.
func TestDirectoryIsRenamed(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.WarnLevel)
	f, _ := bags(t, files.Config{Log: zap.New(core)})
	b := begin(t, f, 0)
	old := filepath.Dir(b.Target())
	if err := os.Rename(old, old+"-moved"); err != nil {
		t.Fatal(err)
	}
	f.FollowDirectory()
	f.FollowDirectory()
	if b.Target() != filepath.Join(old+"-moved", "x_0.bag") {
		t.Skip("this system does not tell the path of an open directory")
	}
	if err := f.Close(b); err != nil {
		t.Error(err)
	}
	if all := logs.All(); len(all) != 1 || all[0].ContextMap()["path"] != old+"-moved" {
		t.Errorf("logged: %v", all)
	}
	if !testlink.Exists(b.Target()) {
		t.Error("the bag is not where it says")
	}
}
