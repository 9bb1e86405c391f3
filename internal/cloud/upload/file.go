package upload

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/loglimit"
)

// file is a bag to upload.
type file struct {
	name      string
	state     state
	size      int64
	marker    marker
	hasMarker bool              // the marker file is on the disk
	sums      *store.Sums       // known after the first attempt
	summedAs  os.FileInfo       // the version of the file that sums are of
	metadata  map[string]string // of the object of that version; valid if described
	described bool
	sent      bool // by this program: otherwise the store had it
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

// forgetSums frees the checksums and the metadata, which the next attempt gets from the file again.
func (f *file) forgetSums() { f.sums, f.summedAs, f.metadata, f.described = nil, nil, nil, false }

// metadata returns the metadata of the object of a file. It asks once for each version of the file.
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

// afterUpload deletes the local file, if requested, and the marker file.
func (u *Uploader) afterUpload(f *file, in *os.File, match store.Match) error {
	done := "Uploaded"
	if !f.sent {
		done = "Not sent: the store has it"
	}
	u.Log.Info(done, zap.String("file", u.bags.path(f)), zap.String("to", u.Bucket.Object(f.object())),
		zap.Int64("bytes", f.sums.Size))
	switch {
	case u.Delete && match == store.Hidden:
		u.Log.Warn("not deleted here: the key may not read what the store has",
			zap.String("file", u.bags.path(f)))
	case u.Delete && match != store.Proven:
		u.Log.Warn("not deleted here: the store has no checksum to compare with",
			zap.String("file", u.bags.path(f)))
	}
	deleted := 0
	if u.Delete && match == store.Proven {
		f.marker.Uploaded = true
		if err := u.bags.writeMarker(f); err != nil {
			return err
		}
		if err := u.bags.remove(f, in); err == nil {
			deleted = 1
		} else {
			u.Log.Error("uploaded, but not deleted here", loglimit.Each(), zap.String("file", u.bags.path(f)),
				zap.Error(err))
		}
	}
	if err := u.bags.removeMarker(f); err != nil {
		return err
	}
	u.complete(f, func() {
		u.stats.Uploaded++
		u.stats.UploadedBytes += f.sums.Size
		u.stats.LastUpload = time.Now()
		u.stats.Deleted += deleted
	})
	return nil
}

// complete removes a file from the list.
func (u *Uploader) complete(f *file, count func()) {
	u.update(func() {
		u.removeLocked(f)
		u.stats.Err, u.stats.Retry = "", time.Time{}
		if count != nil {
			count()
		}
	})
}

// uploadFile uploads a file, unless there is nothing to do. After an error it can be retried.
func (u *Uploader) uploadFile(ctx context.Context, f *file) error {
	if !f.hasMarker {
		if err := u.bags.writeMarker(f); err != nil {
			return err
		}
	}
	lock, err := u.bags.lockMarker(f)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		u.Log.Info("uploaded by another recorder", zap.String("file", u.bags.path(f)))
		u.complete(f, nil)
		return nil
	case err != nil:
		return err
	}
	defer lock.Close() //nolint:errcheck // nothing is left to write
	in, err := u.bags.open(f)
	if errors.Is(err, fs.ErrNotExist) && f.marker.Uploaded {
		u.complete(f, nil) // deleted after its upload, before the marker file was removed
		return u.bags.removeMarker(f)
	}
	if errors.Is(err, fs.ErrNotExist) {
		u.Log.Warn("deleted before it was uploaded", loglimit.Each(), zap.String("file", u.bags.path(f)))
		u.complete(f, func() { u.stats.Lost++ })
		return u.bags.removeMarker(f)
	}
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read from
	match, err := u.send(ctx, f, in)
	if err != nil {
		return err
	}
	if match == store.Other {
		u.Log.Error("not uploaded: the store has another object of this name, which is not overwritten: give each recorder a destination of its own", loglimit.Each(),
			zap.String("file", u.bags.path(f)), zap.Stringer("to", u.Bucket))
		u.update(func() {
			f.state = refused
			u.stats.Refused++
		})
		return nil
	}
	if u.Uploaded != nil {
		if err := u.Uploaded(ctx, f.object(), f.sums.Size, f.sums.SHA256, uncachedFile{in}); err != nil {
			return err
		}
	}
	return u.afterUpload(f, in, match)
}

// send uploads the file unless the store has it, verifies the object, and records the state of the
// store that this has shown.
func (u *Uploader) send(ctx context.Context, f *file, in *os.File) (store.Match, error) {
	src := &source{ReaderAt: uncachedFile{in}}
	match, err := u.transfer(ctx, f, in, src)
	if !src.failed.Load() { // a failed read says nothing about the store
		u.contacted(err)
	}
	return match, err
}

// source is a file that is uploaded, and remembers whether reading it failed.
type source struct {
	io.ReaderAt
	failed atomic.Bool
}

// ReadAt implements io.ReaderAt.
func (s *source) ReadAt(b []byte, off int64) (int, error) {
	n, err := s.ReaderAt.ReadAt(b, off)
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed.Store(true)
	}
	return n, err
}

// transfer sends the file if the store does not have it, and verifies the object.
func (u *Uploader) transfer(ctx context.Context, f *file, in *os.File, src *source) (store.Match, error) {
	// while the store is away, checksums of one bag after the other would be computed in vain
	if f.sums == nil {
		if _, err := u.Bucket.Find(ctx, f.object()); err != nil {
			return store.Absent, err
		}
	}
	if err := f.sum(ctx, u.Bucket, in); err != nil {
		return store.Absent, err
	}
	// just before Put, which would overwrite what another recorder sends meanwhile
	found, err := u.Bucket.Find(ctx, f.object())
	if err != nil {
		return store.Absent, err
	}
	match := found.Compare(f.sums)
	if match != store.Absent && match != store.Hidden {
		return match, nil
	}
	put := store.File{
		ReaderAt: src, Name: f.object(), Sums: *f.sums, Exclusive: match == store.Hidden,
		OnUpload: func(id string) error {
			f.marker.Upload, f.marker.SHA256 = id, f.sums.SHA256
			return u.bags.writeMarker(f)
		},
	}
	if put.Metadata, err = u.metadata(f, in); err != nil {
		u.Log.Warn("uploaded without its metadata", loglimit.Each(), zap.String("file", u.bags.path(f)),
			zap.Error(err))
	}
	if st, err := in.Stat(); err == nil {
		put.Mode = st.Mode().Perm()
	}
	if f.marker.SHA256 == f.sums.SHA256 {
		put.Upload = f.marker.Upload
	}
	switch err := u.Bucket.Put(ctx, &put); {
	case errors.Is(err, store.ErrExists):
		return store.Other, nil
	case err != nil:
		return match, err
	}
	f.sent = true
	if found, err = u.Bucket.Find(ctx, f.object()); err != nil {
		return store.Absent, err
	}
	if match = found.Compare(f.sums); match == store.Absent {
		return match, errors.New("the store has accepted the file but does not have it")
	}
	return match, nil
}
