// Package upload uploads the finished bags of a recording to object storage, independently of
// the recording: failed uploads are retried, also after the next start.
//
// A marker file beside each bag, .NAME.upload, names the destination. It exists from the
// creation of the bag until the bag is uploaded, so that the next process can continue however
// this one ended.
package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// Options are the options of New.
type Options struct {
	Bucket *store.Bucket
	Dir    string // of the bags
	Log    *zap.Logger
	Delete bool // delete local files when the store has a matching checksum

	// Metadata returns what the object of a file of size bytes is to say of it, in ASCII and no
	// more than stores take. nil means nothing.
	Metadata func(file io.ReaderAt, size int64) (map[string]string, error)

	minRetryDelay, maxRetryDelay time.Duration // zero means 250 ms and 5 min
}

// Stats are counters of the uploads.
type Stats struct {
	Waiting       int   // finished files that are not uploaded yet, including the current one
	WaitingBytes  int64 // of those
	Uploaded      int   // files since the start
	UploadedBytes int64
	Sent          int64     // bytes over the network, including retries
	File          string    // being uploaded; empty for none
	Refused       int       // files whose name another object in the store has; they stay here
	Failures      int       // failed attempts
	Lost          int       // files that were deleted before they were uploaded
	Err           string    // of the last attempt; empty if it succeeded
	Retry         time.Time // time of the next attempt; zero unless the last one failed
}

// Uploader uploads the bags of one directory. Its methods are safe for concurrent use, and
// except for Run they never wait for a disk or the network.
type Uploader struct {
	Options
	root *os.Root

	mu        sync.Mutex
	files     []*file // not uploaded yet, in order of creation
	unmarked  []*file // files whose marker is not written yet
	stats     Stats
	finishing bool
	changed   chan struct{} // closed at the next change
}

// state is the state of a file.
type state int

const (
	recording state = iota // being recorded, or left unfinished by a dead recorder
	waiting
	refused  // until the next start
	finished // uploaded, or lost
)

// file is a bag to upload.
type file struct {
	name      string
	state     state
	size      int64
	marker    marker
	hasMarker bool              // the marker is on the disk
	sums      *store.Sums       // known after the first attempt
	summedAs  os.FileInfo       // the file whose checksums sums are
	metadata  map[string]string // of its object, if described: as the file was when it was summed
	described bool
}

// New also finds the files that former recorders have left for the same destination.
func New(o Options) (*Uploader, error) {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.minRetryDelay == 0 {
		o.minRetryDelay, o.maxRetryDelay = 250*time.Millisecond, 5*time.Minute
	}
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("upload: %w", err)
	}
	u := &Uploader{Options: o, root: root, changed: make(chan struct{})}
	if err := u.readMarkers(); err != nil {
		return nil, errors.Join(fmt.Errorf("upload: %w", err), root.Close())
	}
	return u, nil
}

// Close closes the directory. Call it after Run.
func (u *Uploader) Close() error { return u.root.Close() }

// Begun reports a new bag that is being recorded.
func (u *Uploader) Begun(path string) {
	u.update(func() {
		f := &file{name: filepath.Base(path), marker: marker{To: u.Bucket.String()}}
		u.files = append(u.files, f)
		u.unmarked = append(u.unmarked, f)
	})
}

// Finished reports a bag that is closed and has its final name. It ignores bags that neither
// Begun nor a marker has announced.
func (u *Uploader) Finished(path string, bytes int64) {
	u.update(func() {
		name := filepath.Base(path)
		i := slices.IndexFunc(u.files, func(f *file) bool { return f.name == name && f.state == recording })
		if i >= 0 {
			u.files[i].state, u.files[i].size = waiting, bytes
		}
	})
}

// Keeps reports whether a bag must not be deleted yet.
func (u *Uploader) Keeps(path string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	name := filepath.Base(path)
	return slices.ContainsFunc(u.files, func(f *file) bool { return f.name == name && f.state != finished })
}

// Finish reports that no bag will follow: Run returns when all are uploaded.
func (u *Uploader) Finish() { u.update(func() { u.finishing = true }) }

// Stats returns the current counters.
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

// update changes the state and wakes the goroutines that wait for a change.
func (u *Uploader) update(change func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	change()
	close(u.changed)
	u.changed = make(chan struct{})
}

// Run uploads until ctx is done, or after Finish until everything is uploaded.
func (u *Uploader) Run(ctx context.Context) {
	var wg sync.WaitGroup
	// owner: Run; both end with ctx or when everything is uploaded.
	wg.Go(func() { u.writeMarkers(ctx) })
	wg.Go(func() { runAtLowPriority(func() { u.uploadAll(ctx) }) })
	wg.Wait()
	u.countDeleted(ctx)
}

// countDeleted counts at the end the waiting files that were deleted: while the store was not
// reachable there may have been no attempt to upload them.
func (u *Uploader) countDeleted(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	cancel() // nothing may be sent
	u.mu.Lock()
	files := slices.DeleteFunc(slices.Clone(u.files), func(f *file) bool { return f.state != waiting })
	u.mu.Unlock()
	for _, f := range files {
		if _, err := u.root.Lstat(f.name); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := u.uploadFile(ctx, f); err != nil {
			u.Log.Warn("deleted, but not counted as lost", zap.String("file", u.path(f)), zap.Error(err))
		}
	}
}

// nextFile waits for a file to upload. It returns nil at the end.
func (u *Uploader) nextFile(ctx context.Context) *file {
	for {
		u.mu.Lock()
		i := slices.IndexFunc(u.files, func(f *file) bool { return f.state == waiting && !slices.Contains(u.unmarked, f) })
		var f *file
		if i >= 0 {
			f = u.files[i]
		}
		end := u.finishing && len(u.unmarked) == 0
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

// uploadAll uploads the files one after the other.
func (u *Uploader) uploadAll(ctx context.Context) {
	wait := u.minRetryDelay
	for ctx.Err() == nil {
		f := u.nextFile(ctx)
		if f == nil {
			return
		}
		u.update(func() { u.stats.File, u.stats.Retry = f.name, time.Time{} })
		began, before := time.Now(), u.Bucket.Sent()
		err := u.uploadFile(ctx, f)
		u.update(func() { u.stats.File = "" })
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			wait = u.minRetryDelay
			continue
		}
		if time.Since(began) > u.maxRetryDelay {
			wait = u.minRetryDelay // it made progress
		}
		if u.Bucket.Sent() == before || errors.Is(err, store.ErrChanged) {
			u.moveToBack(f)
		}
		u.backOff(ctx, f, err, wait)
		wait = min(2*wait, u.maxRetryDelay)
	}
}

// moveToBack moves a file behind the others, which may succeed. A file with progress stays in
// front: many half uploaded files are useless.
func (u *Uploader) moveToBack(f *file) {
	u.update(func() { u.files = append(slices.DeleteFunc(u.files, func(g *file) bool { return g == f }), f) })
}

// uploadFile uploads a file, unless there is nothing to do. After an error it can be retried.
func (u *Uploader) uploadFile(ctx context.Context, f *file) error {
	if !f.hasMarker {
		if err := u.writeMarker(f); err != nil {
			return err
		}
	}
	lock, err := u.lockMarker(f)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		u.Log.Info("uploaded by another recorder", zap.String("file", u.path(f)))
		u.complete(f, nil)
		return nil
	case err != nil:
		return err
	}
	defer lock.Close() //nolint:errcheck // nothing is left to write
	in, err := u.open(f)
	if errors.Is(err, fs.ErrNotExist) && f.marker.Uploaded {
		u.complete(f, nil) // deleted after its upload, before the marker was removed
		return u.removeMarker(f)
	}
	if errors.Is(err, fs.ErrNotExist) {
		u.Log.Warn("deleted before it was uploaded", loglimit.Each(), zap.String("file", u.path(f)))
		u.complete(f, func() { u.stats.Lost++ })
		return u.removeMarker(f)
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
		u.Log.Error("not uploaded: the store has another object of this name, which is not overwritten: give each recorder a destination of its own", loglimit.Each(),
			zap.String("file", u.path(f)), zap.Stringer("to", u.Bucket))
		u.update(func() {
			f.state = refused
			u.stats.Refused++
		})
		return nil
	}
	return u.afterUpload(f, in, match)
}

// open opens the bag, but no FIFO or other file in its place, on which reads might block.
func (u *Uploader) open(f *file) (*os.File, error) {
	st, err := u.root.Stat(f.name)
	if err == nil && !st.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: u.path(f), Err: errors.New("is no longer a regular file")}
	}
	if err != nil {
		return nil, err
	}
	return u.root.Open(f.name)
}

// sum computes the checksums, unless they are known and the file has not changed.
func (f *file) sum(ctx context.Context, to *store.Bucket, in *os.File) error {
	st, err := in.Stat()
	if err != nil {
		return err
	}
	if f.sums != nil && unchanged(f.summedAs, st) {
		return nil
	}
	sums, err := to.Sum(ctx, uncachedFile{in}, st.Size())
	if err != nil {
		return err
	}
	f.sums, f.summedAs, f.described = &sums, st, false
	return nil
}

// metadata returns what the object is to say of the file, which is read once for its sums.
func (u *Uploader) metadata(f *file, in *os.File) (map[string]string, error) {
	if u.Metadata == nil || f.described {
		return f.metadata, nil
	}
	var err error
	f.metadata, err = u.Metadata(uncachedFile{in}, f.sums.Size)
	f.described = err == nil
	return f.metadata, err
}

// unchanged reports whether a and b describe the same version of a file.
func unchanged(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// send uploads the file unless the store has it, and verifies the object.
func (u *Uploader) send(ctx context.Context, f *file, in *os.File) (store.Match, error) {
	match, err := u.Bucket.Compare(ctx, f.name, f.sums)
	if err != nil || match != store.Absent {
		return match, err
	}
	put := store.File{ReaderAt: uncachedFile{in}, Name: f.name, Sums: *f.sums, OnUpload: func(id string) error {
		f.marker.Upload, f.marker.SHA256 = id, f.sums.SHA256
		return u.writeMarker(f)
	}}
	if put.Metadata, err = u.metadata(f, in); err != nil {
		u.Log.Warn("uploaded without its metadata", loglimit.Each(), zap.String("file", u.path(f)), zap.Error(err))
	}
	if f.marker.SHA256 == f.sums.SHA256 {
		put.Upload = f.marker.Upload
	}
	if err := u.Bucket.Put(ctx, &put); err != nil {
		return match, err
	}
	match, err = u.Bucket.Compare(ctx, f.name, f.sums)
	if err == nil && match == store.Absent {
		err = errors.New("upload: the store has accepted the file but does not have it")
	}
	return match, err
}

// afterUpload deletes the local file, if requested, and the marker.
func (u *Uploader) afterUpload(f *file, in *os.File, match store.Match) error {
	u.Log.Info("Uploaded", zap.String("file", u.path(f)), zap.Stringer("to", u.Bucket), zap.Int64("bytes", f.sums.Size))
	if u.Delete && match != store.Proven {
		u.Log.Warn("not deleted here: the store has no checksum to compare with", zap.String("file", u.path(f)))
	}
	if u.Delete && match == store.Proven {
		f.marker.Uploaded = true
		if err := u.writeMarker(f); err != nil {
			return err
		}
		if err := u.remove(f, in); err != nil {
			u.Log.Error("uploaded, but not deleted here", loglimit.Each(), zap.String("file", u.path(f)), zap.Error(err))
		}
	}
	if err := u.removeMarker(f); err != nil {
		return err
	}
	u.complete(f, func() {
		u.stats.Uploaded++
		u.stats.UploadedBytes += f.sums.Size
	})
	return nil
}

// remove deletes the local file unless it has changed since the upload.
func (u *Uploader) remove(f *file, in *os.File) error {
	now, err := u.root.Lstat(f.name)
	if err != nil {
		return err
	}
	if st, err := in.Stat(); err != nil || !unchanged(now, f.summedAs) || !unchanged(st, f.summedAs) {
		return errors.Join(err, errors.New("it has changed"))
	}
	return u.root.Remove(f.name)
}

// complete removes a file from the list.
func (u *Uploader) complete(f *file, count func()) {
	u.update(func() {
		f.state = finished
		u.files = slices.DeleteFunc(u.files, func(g *file) bool { return g == f })
		u.stats.Err, u.stats.Retry = "", time.Time{}
		if count != nil {
			count()
		}
	})
}

// path returns the path of a file as the user gave it.
func (u *Uploader) path(f *file) string { return filepath.Join(u.Dir, f.name) }
