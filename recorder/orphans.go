package recorder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// writers says whether somebody has a file open to write to it.
type writers int

const (
	writersUnknown writers = iota // the file system does not tell
	writersNone
	writersSome
)

// orphans returns the names of files that are being written by nobody of ours.
func (s *outputs) orphans() []string {
	entries, err := fs.ReadDir(s.dir.FS(), ".")
	if err != nil {
		return nil // the recording itself works: not its concern
	}
	var found []string
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), ".bag"+activeSuffix) {
			continue
		}
		f, err := s.dir.Open(e.Name())
		if err != nil {
			continue
		}
		if !locked(f) && writersOf(f) != writersSome {
			found = append(found, e.Name())
		}
		f.Close() //nolint:errcheck,gosec // nothing was written
	}
	return found
}

// reportOrphans names the files in the directory that a dead recorder has left. Those of
// living ones, ours among them, are locked, or open in a stock recorder.
func (s *outputs) reportOrphans(log *zap.Logger, found []string) {
	for _, base := range found {
		log.Warn("left by a recorder that died: recover it with gobag reindex, or record with --recover",
			zap.String("file", filepath.Join(s.dirName, base)))
	}
}

// repairOrphans names the orphans, or begins to repair them. The caller ends that with
// what the recording ended with.
func (r *recording) repairOrphans(ctx context.Context, found []string) (end func(error)) {
	if !r.Recover {
		r.pipe.outputs.reportOrphans(r.Log, found)
		return func(error) {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	// owner: the function returned; ends when ctx is done or all are repaired.
	go func() {
		defer close(done)
		newRepair(r).all(ctx, found)
	}()
	return func(err error) {
		cancel()
		if errors.Is(err, ErrDiskHangs) { // this would hang, too
			return
		}
		select {
		case <-done:
		case <-time.After(r.pipe.outputs.stall.limit): // a disk may try for minutes to read a bad place
			r.Log.Warn("a recovery waits for the disk and is left behind: what it works on is as it was", zap.Strings("files", found))
		}
	}
}

// repair makes whole bags of what dead recorders have left, one after the other, beside
// the recording. The recording comes first: the repair takes half of one core and of the
// disk at most, stops while much waits in the buffer, and ends with the recording. Its
// errors are said and cost nothing else.
//
// X.bag.active becomes X.bag, which must not exist, when that is complete and on the
// disk. The original is only read, and kept as X.bag.orig.active. A repair that dies
// anywhere is taken up by the next. Memory is bounded by the longest chunk, of which those
// that no buffer of ours could have held are left out.
type repair struct {
	*outputs
	log     *zap.Logger
	pipe    *pipeline
	min     int64                  // space that has to stay free
	settle  time.Duration          // nothing may write to the file for so long
	writers func(*os.File) writers // writersOf, but in tests
	began   time.Time              // the present step
	dirty   int64                  // offset up to which the result is on the disk
}

const (
	repairSettle = 2 * time.Second
	repairSpare  = 64 << 20  // must be free besides
	repairChunk  = 256 << 20 // the longest chunk at least
	repairSuffix = ".recovering"
)

func newRepair(r *recording) *repair {
	return &repair{outputs: r.pipe.outputs, log: r.Log, pipe: r.pipe, min: r.MinSpace, settle: repairSettle, writers: writersOf}
}

// all repairs the files of these names until ctx is done.
func (r *repair) all(ctx context.Context, names []string) {
	r.sweep()
	for _, base := range names {
		file := zap.String("file", filepath.Join(r.dirName, base))
		switch err := r.one(ctx, base); {
		case err != nil && ctx.Err() != nil:
			r.log.Warn("not recovered before the recording ended: it is as it was", file)
			return
		case err != nil:
			r.log.Error("not recovered: it is as it was", file, zap.Error(err))
		}
	}
}

// one repairs one file.
func (r *repair) one(ctx context.Context, base string) error {
	target := strings.TrimSuffix(base, activeSuffix)
	in, err := r.dir.Open(base)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read from
	if r.writers(in) == writersUnknown {
		return errors.New("this file system does not tell whether another program writes it: if none does, recover it with gobag reindex")
	}
	if !claim(in) {
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
		r.setAside(base, target) // what is left to do of a repair that died
		return r.dir.Remove(temp)
	}
	if free, err := freeBytes(r.dir.handle); err == nil && free < st.Size()+r.min+repairSpare {
		return fmt.Errorf("no room: %d bytes are free, %d are needed", free, st.Size()+r.min+repairSpare)
	}
	r.log.Info("Recovering", zap.String("file", filepath.Join(r.dirName, base)), zap.Int64("bytes", st.Size()))
	defer r.dir.Remove(temp) //nolint:errcheck // it has its other name by then, or failed
	rep, err := r.copy(ctx, in, st.Size(), temp)
	if err != nil {
		return err
	}
	if err := r.same(in, st); err != nil {
		return err
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
	return st, r.same(in, st)
}

// same fails if the file has changed, or may.
func (r *repair) same(in *os.File, before fs.FileInfo) error {
	after, err := in.Stat()
	named, lost := r.dir.Lstat(filepath.Base(in.Name()))
	switch {
	case err != nil:
		return err
	case lost != nil || !os.SameFile(named, before):
		return errors.New("somebody else took it")
	case r.writers(in) != writersNone, after.Size() != before.Size(), !after.ModTime().Equal(before.ModTime()):
		return errors.New("another program writes it")
	}
	return nil
}

// copy writes what is good of the first size bytes to a file of the name temp, and
// makes that durable.
func (r *repair) copy(ctx context.Context, in *os.File, size int64, temp string) (bagfmt.Recovery, error) {
	if err := r.dir.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a repair that died
		return bagfmt.Recovery{}, err
	}
	f, err := r.dir.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return bagfmt.Recovery{}, err
	}
	out := osFile{f}
	rep, err := r.recover(ctx, osFile{in}, size, out)
	return rep, errors.Join(err, out.Close())
}

func (r *repair) recover(ctx context.Context, in osFile, size int64, out osFile) (bagfmt.Recovery, error) {
	w, err := bagfmt.NewWriter(out, bagfmt.WriterOptions{})
	if err != nil {
		return bagfmt.Recovery{}, err
	}
	r.began, r.dirty = time.Now(), 0
	rep, err := bagfmt.Recover(in, size, w, bagfmt.RecoverOptions{
		MaxChunkBytes: max(repairChunk, r.pipe.budget),
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

// step makes way for the recording; it is called every few MiB.
func (r *repair) step(ctx context.Context, out osFile, at int64) error {
	if at >= r.dirty+syncBytes {
		r.dirty = at
		if err := out.Sync(); err != nil { // the kernel must not have to hold up the recording for it
			return err
		}
	}
	err := pause(ctx, time.Since(r.began))
	for err == nil && r.pipe.strained() {
		err = pause(ctx, 100*time.Millisecond)
	}
	r.began = time.Now()
	return err
}

// pause waits.
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

// strained reports whether much waits for the disk.
func (p *pipeline) strained() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	const share, some = 8, 32 << 20
	most := p.budget / share
	if p.budget < 0 {
		most = some
	}
	return p.pool.waiting > most
}

// publish gives the result its name, and then the original another one. Until then the
// result has both names: so the next repair knows it if this one dies in between.
func (r *repair) publish(base, target, temp string, rep *bagfmt.Recovery) error {
	err := r.dir.Link(temp, target)
	if err != nil && !errors.Is(err, fs.ErrExist) { // no hard links: FAT on a USB stick
		err = renameNew(r.dir.handle, temp, target)
	}
	if err := errors.Join(err, r.dir.handle.Sync()); err != nil {
		return err
	}
	r.setAside(base, target, zap.Uint64("messages", rep.Messages), zap.Bool("lossy", rep.Lossy()), zap.Uint64("known lost", rep.Dropped))
	return nil
}

// setAside hands the result over, renames the original and says so.
func (r *repair) setAside(base, target string, fields ...zap.Field) {
	if st, err := r.dir.Lstat(target); err == nil {
		r.pipe.handover.Finished(filepath.Join(r.dirName, target), st.Size())
	}
	orig := target + ".orig" + activeSuffix
	if err := errors.Join(renameNew(r.dir.handle, base, orig), r.dir.handle.Sync()); err != nil {
		orig = base
		fields = append(fields, zap.NamedError("not renamed", err))
	}
	fields = append(fields, zap.String("file", filepath.Join(r.dirName, target)), zap.String("original", filepath.Join(r.dirName, orig)))
	r.log.Info("Recovered", fields...)
}

// sweep removes what repairs that died have left of files that are gone, or that were
// repaired but for this.
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
		if _, err := r.dir.Lstat(target[1:] + ".bag" + activeSuffix); errors.Is(err, fs.ErrNotExist) {
			r.dir.Remove(e.Name()) //nolint:errcheck,gosec // nothing depends on it
		}
	}
}
