package main

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/bags/catalog"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/cloud/upload"
	"github.com/gorosbag/gorosbag/recorder"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// uploads are the uploads beside a recording; nil without --upload.
type uploads struct {
	*upload.Uploader
	bucket  *store.Bucket
	log     *zap.Logger
	timeout time.Duration
	abort   <-chan struct{}
	cancel  context.CancelFunc
	done    chan struct{}
	result  func() upload.Stats
}

// cancelTimeout bounds the time that an upload takes to end after it was canceled.
const cancelTimeout = 2 * time.Second

// handover hands the finished bags of a recording to the uploads.
type handover struct {
	*upload.Uploader
	left map[string]bool // names of bags that wait for an upload to another store
}

// Keeps implements recorder.Handover.
func (h handover) Keeps(path string) bool {
	return h.Uploader.Keeps(path) || h.left[filepath.Base(path)]
}

// leftUploads is the Handover of a recording without uploads: it keeps the bags that earlier recordings
// have left to upload.
type leftUploads map[string]bool

// Begun implements recorder.Handover.
func (leftUploads) Begun(string) {}

// Finished implements recorder.Handover.
func (leftUploads) Finished(string, int64) {}

// Keeps implements recorder.Handover.
func (l leftUploads) Keeps(path string) bool { return l[filepath.Base(path)] }

// Handed implements recorder.Handover.
func (leftUploads) Handed() *control.HandoverStats { return nil }

// Handed implements recorder.Handover.
func (h handover) Handed() *control.HandoverStats {
	s := h.Stats()
	return handed(&s)
}

// handed is the account of uploads for faces.
func handed(s *upload.Stats) *control.HandoverStats {
	return &control.HandoverStats{
		Waiting: s.Waiting, WaitingBytes: s.WaitingBytes, Done: s.Uploaded, DoneBytes: s.UploadedBytes,
		LastDone: s.LastUpload, Deleted: s.Deleted,
		Sent: s.Sent, Failures: s.Failures, Refused: s.Refused, Lost: s.Lost, Err: s.Err,
		State: storeStates[s.Store.State], StateSince: s.Store.Since, StateErr: s.Store.Err,
	}
}

// storeStates translates the states of a store.
var storeStates = map[upload.StoreState]control.HandoverState{
	upload.OK: control.HandoverOK, upload.Unreachable: control.HandoverUnreachable,
	upload.Failing: control.HandoverFailing,
}

// memory returns about the largest number of bytes that uploads take: parts being sent, and the SDK.
func (u *uploads) memory() int64 {
	if u == nil {
		return 0
	}
	return 40 << 20
}

// uploadSummary is a line of the summary.
func uploadSummary(to string, s *upload.Stats) string {
	if to == "" {
		return ""
	}
	return "uploads: " + s.Text() + "\n"
}

// startUploads begins to upload the bags that earlier recordings have left, and makes the recording hand
// over its files. Uploads continue after the end of ctx, until end.
func startUploads(ctx context.Context, s *uploadSettings, o *recorder.Options) (*uploads, error) {
	if s.to == "" {
		o.Handover = leftUploads(upload.Pending(o.Output.Dir()))
		return nil, nil // the methods of nil do nothing
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	to, bucket, err := s.open(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	summaries := catalog.NewWriter(bucket, o.Log)
	queue, err := upload.New(upload.Options{
		Bucket: bucket, Dir: o.Output.Dir(), Log: o.Log, Delete: s.remove,
		Metadata: catalog.Metadata, Object: to.Object, Uploaded: summaries.Add,
	})
	if err != nil {
		cancel()
		return nil, errors.Join(err, bucket.Close())
	}
	if o.Retain != (recorder.Retention{}) && o.Retain.KeepFree == 0 {
		o.Retain.KeepFree = 2 * o.MinSpace // a store that is away must not end the recording
	}
	u := &uploads{
		Uploader: queue, bucket: bucket, log: o.Log, timeout: s.wait, abort: o.Hurry,
		cancel: cancel, done: make(chan struct{}),
	}
	u.result = sync.OnceValue(u.finish)
	left := upload.Pending(o.Output.Dir())
	for name := range left {
		if queue.Keeps(name) {
			delete(left, name) // it is for this place
		}
	}
	o.Handover = handover{queue, left}
	// owner: end; ends when cancel is called or all is uploaded.
	go func() {
		defer close(u.done)
		queue.Run(ctx)
	}()
	return u, nil
}

// end gives running uploads up to --upload-wait, leaves the other bags to the next start, and returns the
// statistics. Only the first call does so; other calls return the same.
func (u *uploads) end() upload.Stats {
	if u == nil {
		return upload.Stats{}
	}
	return u.result()
}

func (u *uploads) finish() upload.Stats {
	u.Finish()
	if s := u.Stats(); s.Waiting > 0 && u.timeout > 0 {
		u.log.Info("Uploading what is left", zap.Int("files", s.Waiting), zap.Duration("for", u.timeout))
	}
	select {
	case <-u.done:
	case <-time.After(u.timeout):
	case <-u.abort:
	}
	u.cancel()
	select {
	case <-u.done:
	case <-time.After(cancelTimeout):
		u.log.Warn("the upload under way waits for a disk that does not answer: it is left to the next start")
		return u.Stats()
	}
	stats := u.Stats()
	if err := errors.Join(u.Close(), u.bucket.Close()); err != nil {
		u.log.Debug("after the uploads", zap.Error(err)) // no bag is lost
	}
	return stats
}
