package upload

import (
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/store"
)

// send uploads the file unless the store has it, verifies the object, and records what that
// showed of the store.
func (u *Uploader) send(ctx context.Context, f *file, in *os.File) (store.Match, error) {
	src := &source{ReaderAt: uncachedFile{in}}
	match, err := u.transfer(ctx, f, in, src)
	if !src.failed.Load() { // that would be our disk
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

func (u *Uploader) transfer(ctx context.Context, f *file, in *os.File, src *source) (store.Match, error) {
	match, err := u.Bucket.Compare(ctx, f.object(), f.sums)
	if err != nil || match != store.Absent && match != store.Hidden {
		return match, err
	}
	put := store.File{ReaderAt: src, Name: f.object(), Sums: *f.sums, Exclusive: match == store.Hidden, OnUpload: func(id string) error {
		f.marker.Upload, f.marker.SHA256 = id, f.sums.SHA256
		return u.writeMarker(f)
	}}
	if put.Metadata, err = u.metadata(f, in); err != nil {
		u.Log.Warn("uploaded without its metadata", loglimit.Each(), zap.String("file", u.path(f)), zap.Error(err))
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
	match, err = u.Bucket.Compare(ctx, f.object(), f.sums)
	if err == nil && match == store.Absent {
		err = errors.New("the store has accepted the file but does not have it")
	}
	return match, err
}
