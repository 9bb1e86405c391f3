package bagfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/bagname"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/rosbag"
)

var errDisk = errors.New("the disk is broken")

// faultyFile stands between a bag and its file. It notes what room is asked for and fails as told.
type faultyFile struct {
	disk.Handle
	syncErr     error
	syncing     func() // called while a sync is under way
	closing     func() // called while the file is closed
	truncateErr error
	most        int64 // what can be reserved at most
	reserveErr  error
	writeErr    error
	calls       []string
}

func (d *faultyFile) WriteAt(p []byte, off int64) (int, error) {
	if d.writeErr != nil {
		return 0, d.writeErr
	}
	return d.Handle.WriteAt(p, off)
}

func (d *faultyFile) Sync() error {
	if d.syncing != nil {
		d.syncing()
	}
	return d.syncErr
}

func (d *faultyFile) Close() error {
	if d.closing != nil {
		d.closing()
	}
	return d.Handle.Close()
}

func (d *faultyFile) Truncate(size int64) error {
	d.calls = append(d.calls, fmt.Sprint("truncate ", size))
	return d.truncateErr
}

func (d *faultyFile) Reserve(from, end int64) error {
	d.calls = append(d.calls, fmt.Sprint("reserve ", from, " ", end))
	if end > d.most {
		return errDisk
	}
	return d.reserveErr
}

// onDisk creates a bag on a disk that fails as told.
func onDisk(t *testing.T, mode Sync) (*File, *faultyFile) {
	t.Helper()
	b, err := createBag(bagname.Output{Name: filepath.Join(t.TempDir(), "x")}, mode, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	d := &faultyFile{most: 1 << 40}
	b.Wrap(func(h disk.Handle) disk.Handle { d.Handle = h; return d })
	t.Cleanup(func() { d.Close(); b.Folder.Close() })
	return b, d
}

// sealedChunk is a chunk with one message of so many bytes.
func sealedChunk(t *testing.T, size int) *chunk.Sealed {
	t.Helper()
	var records chunk.Records
	var c chunk.Builder
	c.Reset(&records)
	conn := &rosbag.Connection{Topic: "/t", Header: rosbag.Header{
		{Key: "topic", Value: "/t"}, {Key: "type", Value: "std_msgs/Empty"}, {Key: "md5sum", Value: "d41d8cd98f00b204e9800998ecf8427e"}, {Key: "message_definition", Value: ""},
	}}
	frame := make([]byte, 4+size)
	frame[0], frame[1], frame[2] = byte(size), byte(size>>8), byte(size>>16)
	c.AppendRun(conn, rosbag.Time{Sec: 1}, frame, 1)
	sealed, err := c.Seal(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

// write appends to a bag.
func write(t *testing.T, b *File, n int) {
	t.Helper()
	if _, err := b.Write(make([]byte, n)); err != nil {
		t.Fatal(err)
	}
}

// TestWhenASyncIsDue: a second after the last one, or 32 MiB, if there is anything to sync
// and none is under way or has failed.
func TestWhenASyncIsDue(t *testing.T) {
	t.Parallel()
	b, d := onDisk(t, SyncInterval)
	if err := b.Sync(); err != nil { // the head
		t.Fatal(err)
	}
	at := b.syncs.began
	check := func(what string, after time.Duration, want bool) {
		t.Helper()
		if got := b.SyncDue(at.Add(after)); got != want {
			t.Errorf("%s: due after %v: %v, want %v", what, after, got, want)
		}
	}
	check("nothing written", time.Hour, false)
	write(t, b, 1)
	check("a byte", time.Second-1, false)
	check("a byte", time.Second, true)
	for mode, want := range map[Sync]bool{SyncChunk: false, SyncNone: false, SyncInterval: true} {
		b.Mode = mode
		check(fmt.Sprint("mode ", mode), time.Second, want)
	}
	b.Mode = SyncInterval
	write(t, b, 32<<20-2)
	check("a byte less than 32 MiB", 0, false)
	write(t, b, 1)
	check("32 MiB", 0, true)
	d.syncing = func() {
		write(t, b, 10)
		check("under way", time.Hour, false)
	}
	if err := b.Sync(); err != nil {
		t.Fatal(err)
	}
	at = b.syncs.began
	check("written during a sync", time.Second-1, false)
	check("written during a sync", time.Second, true)
	d.syncErr, d.syncing = errDisk, nil
	if err := b.Sync(); !errors.Is(err, errDisk) || !b.SyncFailed() {
		t.Errorf("a sync that failed: %v", err)
	}
	write(t, b, 1)
	check("failed", time.Hour, false)
	if err := b.Sync(); err != nil {
		t.Errorf("a failed sync is repeated: %v", err)
	}
}

// TestNobodyWaitsForAFileToClose: while the disk takes its time over the close, others learn at once that no
// sync is due, and a late sync has nothing to do.
func TestNobodyWaitsForAFileToClose(t *testing.T) {
	t.Parallel()
	b, d := onDisk(t, SyncInterval)
	write(t, b, 1)
	synced := 0
	d.syncing = func() { synced++ }
	d.closing = func() {
		d.closing = nil // the test closes the file, too
		before := synced
		if err := b.Sync(); err != nil || synced != before || b.SyncFailed() {
			t.Errorf("a late sync: %v, %d times", err, synced-before)
		}
	}
	if err := b.Finish(); err != nil {
		t.Fatal(err)
	}
	if d.closing != nil {
		t.Error("the file was not closed")
	}
}

// TestWhatAFailedSyncMayLose: all after the last one that succeeded.
func TestWhatAFailedSyncMayLose(t *testing.T) {
	t.Parallel()
	b, d := onDisk(t, SyncChunk)
	for range 2 {
		write(t, b, 1000)
		if err := b.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	synced := b.Bytes()
	write(t, b, 1000)
	d.syncErr = errDisk
	if err := b.Sync(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("after byte %d may", synced)) {
		t.Errorf("%v, want that what was written after byte %d may be lost", err, synced)
	}
}

// TestNameIsSyncedOnce: with the first sync that covers the head of the bag.
func TestNameIsSyncedOnce(t *testing.T) {
	t.Parallel()
	for name, early := range map[string]bool{"lost before the first sync": true, "lost after it": false} {
		b, _ := onDisk(t, SyncChunk)
		for i := range 2 {
			if early == (i == 0) {
				b.Folder.Handle.Close()
			}
			write(t, b, 1000)
			if err := b.Sync(); (err != nil) != (early && i == 0) {
				t.Errorf("the directory is %s: sync %d: %v", name, i, err)
			}
		}
	}
}

// TestRoomAheadOfTheWriting: as much as is written, 1 MiB at least, beside the chunk and the
// index; if that is not to be had the two alone, and without their room nothing is written.
func TestRoomAheadOfTheWriting(t *testing.T) {
	t.Parallel()
	b, d := onDisk(t, SyncNone)
	c := sealedChunk(t, 2000)
	need := b.Bytes() + int64(len(c.Record)) + b.writer.IndexBytes(c)
	ask := func(most int64) []string {
		d.calls, d.most = nil, most
		if err := b.reserve(c); (err != nil) != (most < need) {
			t.Errorf("with room for %d bytes of %d: %v", most, need, err)
		}
		return d.calls
	}
	ahead, just := fmt.Sprint("reserve ", b.Bytes(), " ", need+1<<20), fmt.Sprint("reserve ", b.Bytes(), " ", need)
	if got := ask(need - 1); !slices.Equal(got, []string{ahead, just}) {
		t.Errorf("on a full disk: %v", got)
	}
	if got := ask(need); !slices.Equal(got, []string{ahead, just}) {
		t.Errorf("on a disk that is nearly full: %v", got)
	}
	if got := ask(need); got != nil {
		t.Errorf("with that room: %v", got)
	}
	b.reserved--
	if got := ask(1 << 40); !slices.Equal(got, []string{ahead}) {
		t.Errorf("a byte short: %v", got)
	}
	if got := ask(1 << 40); got != nil || b.reserved != need+1<<20 {
		t.Errorf("with room ahead: %v", got)
	}
	d.most = 0
	b.reserved = 0
	before := b.Bytes()
	if err := b.WriteChunk(c); !errors.Is(err, errDisk) || b.Bytes() != before || !strings.Contains(err.Error(), fmt.Sprintf("next %d bytes", need-before)) {
		t.Errorf("a chunk without room: %v, %d bytes are written", err, b.Bytes()-before)
	}
}

// TestWhatATornWriteLeaves is cut off, and the room for the index is taken again.
func TestWhatATornWriteLeaves(t *testing.T) {
	t.Parallel()
	b, d := onDisk(t, SyncNone)
	if err := b.WriteChunk(sealedChunk(t, 2000)); err != nil {
		t.Fatal(err)
	}
	d.calls = nil
	end := b.Bytes()
	if err := b.Truncate(end); err != nil || d.calls != nil {
		t.Errorf("without a torn write: %v, %v", err, d.calls)
	}
	d.writeErr, d.truncateErr = errDisk, errDisk
	if _, err := b.Write(make([]byte, 10)); err == nil || b.Bytes() != end {
		t.Errorf("a write that fails: %v, %d bytes are written", err, b.Bytes()-end)
	}
	cut := fmt.Sprint("truncate ", end)
	if err := b.Truncate(end); !errors.Is(err, errDisk) || !slices.Equal(d.calls, []string{cut}) {
		t.Errorf("a cut that fails: %v, %v", err, d.calls)
	}
	d.calls, d.truncateErr = nil, nil
	if err := b.Truncate(end); err != nil || !slices.Equal(d.calls, []string{cut, fmt.Sprint("reserve ", end, " ", end+b.writer.IndexBytes(nil))}) {
		t.Errorf("a cut: %v, %v", err, d.calls)
	}
}

// TestWriteAtTheEnd makes the bag longer.
func TestWriteAtTheEnd(t *testing.T) {
	t.Parallel()
	b, _ := onDisk(t, SyncNone)
	end := b.Bytes()
	for _, c := range []struct{ off, want int64 }{{0, end}, {end - 5, end + 5}, {end + 10, end + 20}} {
		if _, err := b.WriteAt(make([]byte, 10), c.off); err != nil || b.Bytes() != c.want {
			t.Errorf("10 bytes at %d: %v, the end is %d, want %d", c.off, err, b.Bytes(), c.want)
		}
	}
}

// TestReopen: the very file that was finished, of the size that it had.
func TestReopen(t *testing.T) {
	t.Parallel()
	b, err := createBag(bagname.Output{Name: t.TempDir() + "/x"}, SyncNone, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Finish(); err != nil {
		t.Fatal(err)
	}
	size := b.Bytes()
	f, err := b.Reopen(size)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := f.Stat(); err != nil || st.Size() != size {
		t.Errorf("reopened: %v, %v", st, err)
	}
	f.Close()
	if f, err := b.Reopen(size + 1); !errors.Is(err, control.ErrNoBag) {
		t.Errorf("a file that has another size: %v, %v", f, err)
	}
	if err := errors.Join(os.Rename(b.Target(), b.Target()+".old"), os.WriteFile(b.Target(), make([]byte, size), 0o600)); err != nil {
		t.Fatal(err)
	}
	if f, err := b.Reopen(size); !errors.Is(err, control.ErrNoBag) {
		t.Errorf("another file of that size: %v, %v", f, err)
	}
	if err := os.Remove(b.Target()); err != nil {
		t.Fatal(err)
	}
	if f, err := b.Reopen(size); !errors.Is(err, control.ErrNoBag) {
		t.Errorf("no file: %v, %v", f, err)
	}
}

// TestRepeatedMessages: a bag says how many messages it repeats, over all chunks of them, and their time.
func TestRepeatedMessages(t *testing.T) {
	t.Parallel()
	b, d := onDisk(t, SyncNone)
	for range 3 {
		if err := b.WriteRepeated(sealedChunk(t, 100)); err != nil {
			t.Fatal(err)
		}
	}
	if want := (rosbag.Repeated{Count: 3, Time: rosbag.Time{Sec: 1}}); b.repeated != want {
		t.Errorf("%+v, want %+v", b.repeated, want)
	}
	d.writeErr = errDisk
	if err := b.WriteRepeated(sealedChunk(t, 100)); !errors.Is(err, errDisk) || b.repeated.Count != 3 {
		t.Errorf("%v, %d repeated messages, want 3", err, b.repeated.Count)
	}
}

// TestDeletedBag: a file that has no name any more was deleted, not moved.
func TestDeletedBag(t *testing.T) {
	t.Parallel()
	b, _ := onDisk(t, SyncNone)
	if err := os.Remove(b.Path()); err != nil {
		t.Fatal(err)
	}
	if err := b.CheckName(time.Now()); !errors.Is(err, ErrDeleted) {
		t.Error(err)
	}
}

// TestNameThatIsTaken by another file: the bag was moved away, and is noticed when it is looked
// at, each 250 ms.
func TestNameThatIsTaken(t *testing.T) {
	t.Parallel()
	b, _ := onDisk(t, SyncNone)
	now := time.Now()
	if err := b.CheckName(now); err != nil {
		t.Fatal(err)
	}
	path := b.Path()
	if err := errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := b.CheckName(now.Add(250*time.Millisecond - 1)); err != nil {
		t.Errorf("looked at too early: %v", err)
	}
	if err := b.CheckName(now.Add(250 * time.Millisecond)); !errors.Is(err, ErrMoved) {
		t.Errorf("%v, want %v", err, ErrMoved)
	}
}

// TestDiskWithoutRoom: whether the disk or a quota is full, the reason to end is the same.
func TestDiskWithoutRoom(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{syscall.ENOSPC: true, syscall.EDQUOT: true, syscall.EIO: false, fs.ErrPermission: false} {
		if got := explainCreate("x.bag", err); errors.Is(got, disk.ErrMinSpace) != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}

// TestFileSystemThatReservesNothing may refuse to truncate the file to its own size: there is nothing to free.
func TestFileSystemThatReservesNothing(t *testing.T) {
	t.Parallel()
	for reserveErr, want := range map[error]error{errors.ErrUnsupported: nil, nil: errDisk} {
		b, d := onDisk(t, SyncChunk)
		b.holdsRoom = false // the room for its first bytes was reserved on the disk of the test
		d.reserveErr, d.truncateErr = reserveErr, errDisk
		if err := b.WriteChunk(sealedChunk(t, 100)); err != nil {
			t.Fatal(err)
		}
		if err := b.Finish(); !errors.Is(err, want) {
			t.Errorf("reserving fails with %v: closing fails with %v, want %v", reserveErr, err, want)
		}
	}
	b, d := onDisk(t, SyncChunk)
	b.holdsRoom = false
	d.reserveErr, d.truncateErr, d.writeErr = errors.ErrUnsupported, errDisk, errDisk
	if err := b.WriteChunk(sealedChunk(t, 100)); !errors.Is(err, errDisk) {
		t.Errorf("writing fails with %v", err)
	}
	if d.writeErr = nil; b.Finish() != nil {
		t.Error("after a write of no bytes, the bag gets no index")
	}
}
