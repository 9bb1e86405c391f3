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
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/cloud/store"
)

// Options are the options of New.
type Options struct {
	Bucket *store.Bucket
	Dir    string // of the bags
	Log    *zap.Logger
	Delete bool // delete local files when the store has a matching checksum

	// Metadata returns the metadata of the object of a file of size bytes: ASCII, and no more than
	// stores take. nil means none.
	Metadata func(file io.ReaderAt, size int64) (map[string]string, error)

	// Object returns the name of the object of a bag that was begun at the given time. nil means the
	// name of the bag.
	Object func(name string, begun time.Time) string

	// Uploaded is called after the store has a bag, with the name of the object, before the marker file of
	// the bag is removed. After an error it is called again.
	Uploaded func(ctx context.Context, object string, size int64, sha256 string, file io.ReaderAt) error

	minRetryDelay, maxRetryDelay time.Duration // zero means 250 ms and 5 min
	checkTimeout                 time.Duration // of the store; zero means 30 s
}

// Stats are counters of the uploads.
type Stats struct {
	Waiting       int   // finished files that are not uploaded yet, including the current one
	WaitingBytes  int64 // of the files that wait
	Uploaded      int   // files since the start
	UploadedBytes int64
	LastUpload    time.Time // zero if there was none
	Deleted       int       // local files that were deleted after their upload
	Sent          int64     // bytes over the network, including retries
	File          string    // being uploaded; empty for none
	Refused       int       // files whose name another object in the store has; they stay here
	Failures      int       // failed attempts
	Lost          int       // files that were deleted before they were uploaded
	Err           string    // of the last attempt; empty if it succeeded
	Retry         time.Time // time of the next attempt; zero unless the last one failed
	Store         StoreStats
}

// Uploader uploads the bags of one directory. Its methods are safe for concurrent use. Except for
// New, Run and Close, none waits for a disk or the network.
type Uploader struct {
	Options
	bags *folder

	mu sync.Mutex
	// not uploaded yet, in order of creation
	files []*file
	// how many of files have each name: Keeps is asked about thousands of names at each split
	names map[string]int
	// files whose marker file is not written yet
	unmarked  []*file
	stats     Stats
	finishing bool
	// closed at the next change
	changed chan struct{}
}

// state is the state of a file.
type state int

const (
	recording state = iota // being recorded, or left unfinished by a crashed recorder
	waiting
	refused // until the next start
)

// New returns an Uploader. It enqueues the files that former recorders have left for the same destination.
func New(o Options) (*Uploader, error) {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.minRetryDelay == 0 {
		o.minRetryDelay, o.maxRetryDelay = 250*time.Millisecond, 5*time.Minute
	}
	if o.checkTimeout == 0 {
		o.checkTimeout = 30 * time.Second
	}
	bags, err := openFolder(o.Dir)
	if err != nil {
		return nil, err
	}
	u := &Uploader{Options: o, bags: bags, names: map[string]int{}, changed: make(chan struct{})}
	u.stats.Store.Since = time.Now()
	if err := u.readMarkers(); err != nil {
		return nil, errors.Join(err, bags.close())
	}
	return u, nil
}

// Close closes the directory. Call it after Run.
func (u *Uploader) Close() error { return u.bags.close() }

// Begun reports a new bag that is being recorded.
func (u *Uploader) Begun(path string) { u.add(&file{name: filepath.Base(path)}, time.Now()) }

// Add reports a finished bag that is to be uploaded, and when it was begun.
func (u *Uploader) Add(path string, begun time.Time, bytes int64) {
	u.add(&file{name: filepath.Base(path), state: waiting, size: bytes}, begun)
}

func (u *Uploader) add(f *file, begun time.Time) {
	u.update(func() {
		f.marker = marker{To: u.Bucket.String(), Object: u.objectName(f.name, begun)}
		u.append(f)
		u.unmarked = append(u.unmarked, f)
	})
}

// Finished reports a bag that is closed and has its final name. It ignores bags that neither
// Begun nor a marker file has announced.
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
	return u.names[filepath.Base(path)] > 0
}

// append adds a file to the list. The caller has mu, or the only reference.
func (u *Uploader) append(f *file) {
	u.files = append(u.files, f)
	u.names[f.name]++
}

// removeLocked removes a file from the list.
func (u *Uploader) removeLocked(f *file) {
	u.files = slices.DeleteFunc(u.files, func(g *file) bool { return g == f })
	if u.names[f.name]--; u.names[f.name] == 0 {
		delete(u.names, f.name)
	}
}

// Finish reports that no bag will follow. Run then returns when all bags are uploaded.
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
	var wg, check sync.WaitGroup
	checkCtx, endCheck := context.WithCancel(ctx)
	defer endCheck()
	// owner: Run; ends with ctx, or when the two goroutines below have ended.
	check.Go(func() { u.checkStore(checkCtx) })
	// owner: Run; both end with ctx or when everything is uploaded.
	wg.Go(func() { u.writeMarkers(ctx) })
	wg.Go(func() { runAtLowPriority(func() { u.uploadAll(ctx) }) })
	wg.Wait()
	endCheck() // no upload is left that needs the outcome
	check.Wait()
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
		if _, err := u.bags.root.Lstat(f.name); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := u.uploadFile(ctx, f); err != nil {
			u.Log.Warn("deleted, but not counted as lost", zap.String("file", u.bags.path(f)), zap.Error(err))
		}
	}
}

// nextFile waits for a file to upload. It returns nil at the end.
func (u *Uploader) nextFile(ctx context.Context) *file {
	for {
		u.mu.Lock()
		i := slices.IndexFunc(u.files,
			func(f *file) bool { return f.state == waiting && !slices.Contains(u.unmarked, f) })
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
			wait = u.minRetryDelay // such a long attempt made progress
		}
		if u.Bucket.Sent() == before || errors.Is(err, store.ErrChanged) {
			u.moveToBack(f)
		}
		u.backOff(ctx, f, err, wait)
		wait = min(2*wait, u.maxRetryDelay)
	}
}

// keptSums is how many bags may wait so that the checksums of each are kept between two attempts.
const keptSums = 32

// moveToBack moves a file after the others, which may succeed. A file with progress stays in
// front: many half uploaded files are useless. If many files come before, the next attempt is so late that
// computing the checksums again costs less than their memory: a store may refuse uploads for weeks.
func (u *Uploader) moveToBack(f *file) {
	u.update(func() {
		i := slices.Index(u.files, f)
		if i < 0 {
			return // the file is complete, and only its marker file is left
		}
		u.files = append(slices.Delete(u.files, i, i+1), f)
		if len(u.files) > keptSums {
			f.forgetSums()
		}
	})
}
