// Package upload hands the finished bags of a recording to object storage, beside the
// recording and without a part in it: what fails here is tried again, and waits for
// the next start if need be.
//
// A mark beside each bag, .NAME.upload, says that the bag belongs to a recorder that
// uploads and where to. It is there from the beginning of the bag until the store has
// it, so whatever ends the process, the next one knows what is left to do.
package upload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/store"
)

// Options says what is uploaded where to.
type Options struct {
	Bucket *store.Bucket
	Dir    string // of the bags
	Log    *zap.Logger
	Delete bool // local files, when the store has proven to have them

	firstRetry, mostRetry time.Duration // zero means 250 ms and 5 min
}

// Stats is a live account.
type Stats struct {
	Waiting       int   // finished files that are not in the store yet, also the one under way
	WaitingBytes  int64 // of those
	Uploaded      int   // files since the start
	UploadedBytes int64
	Sent          int64     // bytes over the network, repetitions included
	File          string    // under way; empty for none
	Refused       int       // files for which the store has another object of that name: they stay here
	Failures      int       // tries that failed
	Lost          int       // files that were deleted before they were uploaded
	Err           string    // why the last try failed; empty since one succeeded
	Retry         time.Time // when the next one begins; zero unless the last failed
}

// Uploader uploads the bags of one directory. Its methods may be called by anybody, and
// but for Run they never wait for a disk or the network.
type Uploader struct {
	Options
	root *os.Root

	mu      sync.Mutex
	files   []*file // that are not done, in order of their beginning
	news    []*file // whose mark is not written yet
	stats   Stats
	ending  bool
	changed chan struct{} // closed at the next change
}

// state is how far a file is.
type state int

const (
	growing state = iota // it is being recorded, or a dead recorder left it so
	waiting
	refused // until the next start
	over    // uploaded, or lost
)

// file is a bag that is ours to upload.
type file struct {
	name  string
	state state
	size  int64
	mark  mark
	named bool        // the mark is on the disk
	sums  *store.Sums // known since the first try
	when  os.FileInfo // of what was summed
}

// New finds what former recorders have left in the directory for the same place.
func New(o Options) (*Uploader, error) {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.firstRetry == 0 {
		o.firstRetry, o.mostRetry = 250*time.Millisecond, 5*time.Minute
	}
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("upload: %w", err)
	}
	u := &Uploader{Options: o, root: root, changed: make(chan struct{})}
	if err := u.adopt(); err != nil {
		return nil, errors.Join(fmt.Errorf("upload: %w", err), root.Close())
	}
	return u, nil
}

// Close lets go of the directory, after Run.
func (u *Uploader) Close() error { return u.root.Close() }

// Begun tells of a bag that is recorded from now on.
func (u *Uploader) Begun(path string) {
	u.update(func() {
		f := &file{name: filepath.Base(path), mark: mark{To: u.Bucket.String()}}
		u.files = append(u.files, f)
		u.news = append(u.news, f)
	})
}

// Finished tells of a bag that is closed and has its name. It wants none that Begun was
// not told of and that no former recorder has marked.
func (u *Uploader) Finished(path string, bytes int64) {
	u.update(func() {
		name := filepath.Base(path)
		i := slices.IndexFunc(u.files, func(f *file) bool { return f.name == name && f.state == growing })
		if i >= 0 {
			u.files[i].state, u.files[i].size = waiting, bytes
		}
	})
}

// Keeps reports whether a bag is needed here yet.
func (u *Uploader) Keeps(path string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	name := filepath.Base(path)
	return slices.ContainsFunc(u.files, func(f *file) bool { return f.name == name && f.state != over })
}

// Finish tells that no bag will follow: Run ends when all are uploaded.
func (u *Uploader) Finish() { u.update(func() { u.ending = true }) }

// Stats returns a live account.
func (u *Uploader) Stats() Stats {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.stats
	s.Sent = u.Bucket.Sent()
	for _, f := range u.files {
		if f.state == waiting {
			s.Waiting++
			s.WaitingBytes += f.size
		}
	}
	return s
}

// update changes something and tells who waits for it.
func (u *Uploader) update(change func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	change()
	close(u.changed)
	u.changed = make(chan struct{})
}

// Run uploads until ctx is done, or all is done after Finish.
func (u *Uploader) Run(ctx context.Context) {
	var wg sync.WaitGroup
	// owner: Run; both end with ctx or when all is done.
	wg.Go(func() { u.keepMarks(ctx) })
	wg.Go(func() { lowly(func() { u.work(ctx) }) })
	wg.Wait()
	u.countLost(ctx)
}

// countLost finds out at the end which of the files that wait are gone: while the store
// was away no try may have come to them.
func (u *Uploader) countLost(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	cancel() // nothing is sent any more
	u.mu.Lock()
	files := slices.DeleteFunc(slices.Clone(u.files), func(f *file) bool { return f.state != waiting })
	u.mu.Unlock()
	for _, f := range files {
		if _, err := u.root.Lstat(f.name); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := u.one(ctx, f); err != nil {
			u.Log.Warn("gone, but not counted as lost", zap.String("file", u.path(f)), zap.Error(err))
		}
	}
}

// next waits for a file to upload; nil means that there will be none.
func (u *Uploader) next(ctx context.Context) *file {
	for {
		u.mu.Lock()
		i := slices.IndexFunc(u.files, func(f *file) bool { return f.state == waiting && !slices.Contains(u.news, f) })
		var f *file
		if i >= 0 {
			f = u.files[i]
		}
		end := u.ending && len(u.news) == 0
		changed := u.changed
		u.mu.Unlock()
		if f != nil || end {
			return f
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// work uploads one file after the other.
func (u *Uploader) work(ctx context.Context) {
	wait := u.firstRetry
	for ctx.Err() == nil {
		f := u.next(ctx)
		if f == nil {
			return
		}
		u.update(func() { u.stats.File, u.stats.Retry = f.name, time.Time{} })
		began, before := time.Now(), u.Bucket.Sent()
		err := u.one(ctx, f)
		u.update(func() { u.stats.File = "" })
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			wait = u.firstRetry
			continue
		}
		if time.Since(began) > u.mostRetry {
			wait = u.firstRetry // it did get somewhere
		}
		if u.Bucket.Sent() == before || errors.Is(err, store.ErrChanged) {
			u.putLast(f)
		}
		u.pause(ctx, f, err, wait)
		wait = min(2*wait, u.mostRetry)
	}
}

// putLast makes a file wait for the others, which may be better off. One that got
// somewhere goes on first: half of many files is of no use to anybody.
func (u *Uploader) putLast(f *file) {
	u.update(func() { u.files = append(slices.DeleteFunc(u.files, func(g *file) bool { return g == f }), f) })
}

// one uploads a file, or finds out that there is nothing to do. An error means that it
// is worth another try.
func (u *Uploader) one(ctx context.Context, f *file) error {
	if !f.named {
		if err := u.write(f); err != nil {
			return err
		}
	}
	held, err := u.hold(f)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		u.Log.Info("uploaded by another recorder", zap.String("file", u.path(f)))
		u.done(f, nil)
		return nil
	case err != nil:
		return err
	}
	defer held.Close() //nolint:errcheck // nothing is left to write
	in, err := u.open(f)
	if errors.Is(err, fs.ErrNotExist) && f.mark.Uploaded {
		u.done(f, nil) // who deleted it has not come further
		return u.unmark(f)
	}
	if errors.Is(err, fs.ErrNotExist) {
		u.Log.Warn("deleted before it was uploaded", loglimit.Each(), zap.String("file", u.path(f)))
		u.done(f, func() { u.stats.Lost++ })
		return u.unmark(f)
	}
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read from
	if err := f.sum(ctx, u.Bucket, in); err != nil {
		return err
	}
	match, err := u.send(ctx, f, in)
	if err != nil {
		return err
	}
	if match == store.Other {
		u.Log.Error("not uploaded: the store has another object of this name, which is left alone: give each recorder a place of its own", loglimit.Each(),
			zap.String("file", u.path(f)), zap.Stringer("to", u.Bucket))
		u.update(func() {
			f.state = refused
			u.stats.Refused++
		})
		return nil
	}
	return u.finish(f, in, match)
}

// open opens the bag, but nothing that was put in its place and might never answer.
func (u *Uploader) open(f *file) (*os.File, error) {
	st, err := u.root.Stat(f.name)
	if err == nil && !st.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: u.path(f), Err: errors.New("is no regular file any more")}
	}
	if err != nil {
		return nil, err
	}
	return u.root.Open(f.name)
}

// sum computes the checksums, unless they are known of this very file.
func (f *file) sum(ctx context.Context, to *store.Bucket, in *os.File) error {
	st, err := in.Stat()
	if err != nil {
		return err
	}
	if f.sums != nil && unchanged(f.when, st) {
		return nil
	}
	sums, err := to.Sum(ctx, passing{in}, st.Size())
	if err != nil {
		return err
	}
	f.sums, f.when = &sums, st
	return nil
}

// unchanged reports whether two looks at a file have seen the same.
func unchanged(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// send makes sure that the store has the file.
func (u *Uploader) send(ctx context.Context, f *file, in *os.File) (store.Match, error) {
	match, err := u.Bucket.Compare(ctx, f.name, f.sums)
	if err != nil || match != store.Absent {
		return match, err
	}
	put := store.File{ReaderAt: passing{in}, Name: f.name, Sums: *f.sums, OnUpload: func(id string) error {
		f.mark.Upload, f.mark.SHA256 = id, f.sums.SHA256
		return u.write(f)
	}}
	if f.mark.SHA256 == f.sums.SHA256 {
		put.Upload = f.mark.Upload
	}
	if err := u.Bucket.Put(ctx, &put); err != nil {
		return match, err
	}
	match, err = u.Bucket.Compare(ctx, f.name, f.sums)
	if err == nil && match == store.Absent {
		err = errors.New("upload: the store has taken the file and does not have it")
	}
	return match, err
}

// finish does what is left to do about a file that the store has.
func (u *Uploader) finish(f *file, in *os.File, match store.Match) error {
	u.Log.Info("Uploaded", zap.String("file", u.path(f)), zap.Stringer("to", u.Bucket), zap.Int64("bytes", f.sums.Size))
	if u.Delete && match != store.Proven {
		u.Log.Warn("not deleted here: the store tells no checksum that could be compared", zap.String("file", u.path(f)))
	}
	if u.Delete && match == store.Proven {
		f.mark.Uploaded = true
		if err := u.write(f); err != nil {
			return err
		}
		if err := u.remove(f, in); err != nil {
			u.Log.Error("uploaded, but not deleted here", loglimit.Each(), zap.String("file", u.path(f)), zap.Error(err))
		}
	}
	if err := u.unmark(f); err != nil {
		return err
	}
	u.done(f, func() {
		u.stats.Uploaded++
		u.stats.UploadedBytes += f.sums.Size
	})
	return nil
}

// remove deletes the local file if it is still the one that was uploaded.
func (u *Uploader) remove(f *file, in *os.File) error {
	now, err := u.root.Lstat(f.name)
	if err != nil {
		return err
	}
	if st, err := in.Stat(); err != nil || !unchanged(now, f.when) || !unchanged(st, f.when) {
		return errors.Join(err, errors.New("it has changed"))
	}
	return u.root.Remove(f.name)
}

// done takes a file off the list.
func (u *Uploader) done(f *file, count func()) {
	u.update(func() {
		f.state = over
		u.files = slices.DeleteFunc(u.files, func(g *file) bool { return g == f })
		u.stats.Err, u.stats.Retry = "", time.Time{}
		if count != nil {
			count()
		}
	})
}

// path names a file as the user knows it.
func (u *Uploader) path(f *file) string { return filepath.Join(u.Dir, f.name) }
