package upload

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/store"
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

// afterUpload deletes the local file, if requested, and the marker.
func (u *Uploader) afterUpload(f *file, in *os.File, match store.Match) error {
	u.Log.Info("Uploaded", zap.String("file", u.path(f)), zap.String("to", u.Bucket.Object(f.object())), zap.Int64("bytes", f.sums.Size))
	switch {
	case u.Delete && match == store.Hidden:
		u.Log.Warn("not deleted here: the key may not read what the store has", zap.String("file", u.path(f)))
	case u.Delete && match != store.Proven:
		u.Log.Warn("not deleted here: the store has no checksum to compare with", zap.String("file", u.path(f)))
	}
	deleted := 0
	if u.Delete && match == store.Proven {
		f.marker.Uploaded = true
		if err := u.writeMarker(f); err != nil {
			return err
		}
		if err := u.remove(f, in); err == nil {
			deleted = 1
		} else {
			u.Log.Error("uploaded, but not deleted here", loglimit.Each(), zap.String("file", u.path(f)), zap.Error(err))
		}
	}
	if err := u.removeMarker(f); err != nil {
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
	if match != store.Other && u.Uploaded != nil {
		if err := u.Uploaded(ctx, f.object(), f.sums.Size, f.sums.SHA256, uncachedFile{in}); err != nil {
			return err
		}
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
