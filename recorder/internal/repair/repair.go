// Package repair makes complete bags of files that crashed recorders have left, while a recording goes on.
package repair

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/recovery"
	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/bagname"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
)

// Orphans returns the names of the files in a directory that crashed recorders have left. The files of living
// recorders are locked, or a stock recorder has them open.
func Orphans(dir *disk.Folder) []string {
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return nil // a recording need not list the directory
	}
	var found []string
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), ".bag"+bagname.ActiveSuffix) {
			continue
		}
		f, err := dir.Open(e.Name())
		if err != nil {
			continue
		}
		if !disk.Locked(f) && disk.WritersOf(f) != disk.WritersSome {
			found = append(found, e.Name())
		}
		f.Close() //nolint:errcheck,gosec // nothing was written
	}
	return found
}

// Report logs the names of orphans that are not to be repaired.
func Report(log *zap.Logger, dirName string, found []string) {
	for _, base := range found {
		log.Warn("left by a crashed recorder: record with --recover, or recover it with gobag reindex and rename it", loglimit.Each(),
			zap.String("file", filepath.Join(dirName, base)))
	}
}

// Options says where to repair, and how to leave the disk to the recording. No field may be nil.
type Options struct {
	Series *bagfile.Series
	Log    *zap.Logger
	// called for each bag that was recovered
	Finished func(path string, bytes int64)
	// called with a bag and the file that it was made from, and again when that file is renamed
	Kept func(bag, original string)
	// Trying is called with each file when its repair begins, and tried when that has ended; later means
	// that ctx was done.
	Trying func(orphan string) (tried func(later bool))
	// reports whether much of the recording waits for the disk
	Crowded func() bool
	// bytes of the recorder's buffer, which a chunk may be as long as; negative for no limit
	Buffer int64
	// bytes of the disk that have to stay free
	MinSpace int64
}

// Start repairs the files of these names beside the recording, until ctx is done or the caller calls end.
// With wait, end waits until the repair has ended, for at most Series.Watchdog.Limit.
func Start(ctx context.Context, o Options, found []string) (end func(wait bool)) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	// owner: the function returned; ends when ctx is done or all are repaired.
	go func() {
		defer close(done)
		newRepair(o).repairAll(ctx, found)
	}()
	return func(wait bool) {
		cancel()
		if !wait {
			return
		}
		select {
		case <-done:
		case <-time.After(o.Series.Watchdog.Limit): // a disk may try for minutes to read a bad place
			o.Log.Warn("a recovery waits for the disk and is left behind: what it works on is as it was",
				zap.Strings("files", found))
		}
	}
}

// repair makes complete bags of files that crashed recorders have left, one after the other. The
// recording comes first: the repair uses at most half of one core and of the disk, pauses while many
// bytes wait in the buffer, and ends with the recording. Its errors are only logged.
//
// X.bag.active becomes X.bag, which must not exist, once X.bag is complete and on the disk. The original is
// only read, and kept as X.bag.orig.active. If a repair crashes, the next one completes it. Memory is bounded
// by the longest chunk; a chunk that is longer than the buffer of any recorder is left out.
type repair struct {
	Options
	dir     *disk.Folder
	settle  time.Duration               // how long nothing may write to the file before its repair
	writers func(*os.File) disk.Writers // disk.WritersOf, except in tests
	began   time.Time                   // when the present step began
	dirty   int64                       // offset up to which the result is on the disk
}

const (
	syncBytes    = 32 << 20 // written between two syncs
	settleTime   = 2 * time.Second
	spareBytes   = 64 << 20  // bytes that must be free beside MinSpace
	longestChunk = 256 << 20 // chunks of at least this size are accepted
	repairSuffix = ".recovering"
)

func newRepair(o Options) *repair {
	return &repair{Options: o, dir: o.Series.Dir, settle: settleTime, writers: disk.WritersOf}
}

// repairAll repairs files until ctx is done.
func (r *repair) repairAll(ctx context.Context, names []string) {
	r.sweep()
	for _, base := range names {
		file := zap.String("file", r.Series.Path(base))
		tried := r.Trying(base)
		err := r.repairFile(ctx, base)
		later := err != nil && ctx.Err() != nil
		tried(later)
		switch {
		case later:
			r.Log.Warn("not recovered before the recording ended: it is as it was", loglimit.Each(), file)
			return
		case errors.Is(err, errGone):
			r.Log.Error("not recovered", loglimit.Each(), file, zap.Error(err))
		case err != nil:
			r.Log.Error("not recovered: it is as it was", loglimit.Each(), file, zap.Error(err))
		}
	}
}

// errGone means that somebody has moved or deleted the file since the start of the recording.
var errGone = errors.New("it is not there any more")

// repairFile repairs one file.
func (r *repair) repairFile(ctx context.Context, base string) error {
	target := strings.TrimSuffix(base, bagname.ActiveSuffix)
	in, err := r.dir.Open(base)
	if errors.Is(err, fs.ErrNotExist) {
		return errGone
	}
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read from
	if r.writers(in) == disk.WritersUnknown {
		return errors.New("this file system does not tell whether another program writes it: if none does, recover it with gobag reindex")
	}
	if !disk.Claim(in) {
		return errors.New("another recorder has it")
	}
	st, err := r.settled(ctx, in)
	if err != nil {
		return err
	}
	temp := "." + target + repairSuffix
	if made, err := r.dir.Lstat(target); err == nil {
		if st, err := r.dir.Lstat(temp); err != nil || !os.SameFile(st, made) {
			return fmt.Errorf("%s exists: an output never overwrites; move one of both away", target)
		}
		r.setAside(base, target) // the last step of a repair that has crashed
		return r.dir.Remove(temp)
	}
	if free, err := disk.FreeBytes(r.dir.Handle); err == nil && free < st.Size()+r.MinSpace+spareBytes {
		return fmt.Errorf("no room: %d bytes are free, %d are needed", free, st.Size()+r.MinSpace+spareBytes)
	}
	r.Log.Info("Recovering", zap.String("file", r.Series.Path(base)), zap.Int64("bytes", st.Size()))
	defer r.dir.Remove(temp) //nolint:errcheck // the bag has its name by then, or was not made
	rep, err := r.copy(ctx, in, st.Size(), temp)
	if err != nil {
		return err
	}
	if err := r.checkUnchanged(in, st); err != nil {
		return err
	}
	// The bag is as old as what was recorded, for the retention and for all who list the directory by time.
	if err := r.dir.Chtimes(temp, time.Time{}, st.ModTime()); err != nil {
		r.Log.Debug("the recovered bag has the time of its repair", zap.String("file", r.Series.Path(target)),
			zap.Error(err))
	}
	return r.publish(base, target, temp, &rep)
}

// settled waits until the file has not changed for a while.
func (r *repair) settled(ctx context.Context, in *os.File) (fs.FileInfo, error) {
	st, err := in.Stat()
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, r.settle); err != nil {
		return nil, err
	}
	return st, r.checkUnchanged(in, st)
}

// checkUnchanged returns an error if the file has changed, or if another process may change it.
func (r *repair) checkUnchanged(in *os.File, before fs.FileInfo) error {
	after, err := in.Stat()
	named, lost := r.dir.Lstat(filepath.Base(in.Name()))
	switch {
	case err != nil:
		return err
	case lost != nil || !os.SameFile(named, before):
		return errGone
	case r.writers(in) != disk.WritersNone, after.Size() != before.Size(),
		!after.ModTime().Equal(before.ModTime()):
		return errors.New("another program writes it")
	}
	return nil
}

// copy writes what is intact of the first size bytes to a file called temp, and syncs that file.
func (r *repair) copy(ctx context.Context, in *os.File, size int64, temp string) (recovery.Report, error) {
	if err := r.dir.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a repair that died
		return recovery.Report{}, err
	}
	f, err := disk.CreateFile(r.dir, temp, r.Series.Mode)
	if err != nil {
		return recovery.Report{}, err
	}
	out := disk.OSFile{File: f}
	rep, err := r.recover(ctx, disk.OSFile{File: in}, size, out)
	return rep, errors.Join(err, out.Close())
}

func (r *repair) recover(
	ctx context.Context, in disk.OSFile, size int64, out disk.OSFile,
) (recovery.Report, error) {
	w, err := bagfmt.NewWriter(out, bagfmt.WriterOptions{})
	if err != nil {
		return recovery.Report{}, err
	}
	r.began, r.dirty = time.Now(), 0
	rep, err := recovery.Recover(in, size, w, recovery.Options{
		MaxChunkBytes: min(max(longestChunk, r.Buffer), math.MaxInt32), // no chunk is longer than that
		Progress:      func(at int64) error { return r.step(ctx, out, at) },
	})
	switch {
	case err != nil:
		return rep, err
	case rep.Messages == 0 && rep.Lossy():
		return rep, errors.New("no message can be read")
	}
	return rep, w.Close()
}

// step makes way for the recording. It is called every few MiB.
func (r *repair) step(ctx context.Context, out disk.OSFile, at int64) error {
	if at >= r.dirty+syncBytes {
		r.dirty = at
		// otherwise the kernel may hold up the recording while it writes all at once
		if err := out.Sync(); err != nil {
			return err
		}
	}
	err := pause(ctx, time.Since(r.began))
	for err == nil && r.Crowded() {
		err = pause(ctx, 100*time.Millisecond)
	}
	r.began = time.Now()
	return err
}

// pause waits for d, or until ctx is done.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// publish gives the new bag its name, and then renames the original. In between the bag has both names,
// by which the next repair recognizes it if this one crashes.
func (r *repair) publish(base, target, temp string, rep *recovery.Report) error {
	err := r.dir.Link(temp, target)
	if err != nil && !errors.Is(err, fs.ErrExist) { // no hard links: FAT on a USB stick
		err = disk.RenameNew(r.dir.Handle, temp, target)
	}
	if err := errors.Join(err, r.dir.Handle.Sync()); err != nil {
		return err
	}
	r.setAside(base, target, zap.Uint64("messages", rep.Messages), zap.Bool("lossy", rep.Lossy()),
		zap.Uint64("known lost", rep.Dropped))
	return nil
}

// setAside hands the new bag over, renames the original and logs both.
func (r *repair) setAside(base, target string, fields ...zap.Field) {
	if st, err := r.dir.Lstat(target); err == nil {
		r.Finished(r.Series.Path(target), st.Size())
	}
	r.Kept(target, base) // so that the next run knows the bag if this process crashes here
	orig := target + bagname.OriginalSuffix
	if err := errors.Join(disk.RenameNew(r.dir.Handle, base, orig), r.dir.Handle.Sync()); err != nil {
		orig = base
		fields = append(fields, zap.NamedError("not renamed", err))
	} else {
		r.Kept(target, orig)
	}
	fields = append(fields, zap.String("file", r.Series.Path(target)),
		zap.String("original", r.Series.Path(orig)))
	r.Log.Info("Recovered", fields...)
}

// sweep removes the temporary files of crashed repairs whose original is gone.
func (r *repair) sweep() {
	entries, err := fs.ReadDir(r.dir.FS(), ".")
	if err != nil {
		return // nothing depends on it
	}
	for _, e := range entries {
		target, ok := strings.CutSuffix(e.Name(), ".bag"+repairSuffix)
		if !ok || !e.Type().IsRegular() || !strings.HasPrefix(target, ".") {
			continue
		}
		if _, err := r.dir.Lstat(target[1:] + ".bag" + bagname.ActiveSuffix); errors.Is(err, fs.ErrNotExist) {
			r.dir.Remove(e.Name()) //nolint:errcheck,gosec // nothing depends on it
		}
	}
}
