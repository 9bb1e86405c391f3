package catalog

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
)

const (
	// mergeEvery is the number of summaries that are written between two checks for files to merge.
	// The first check is at the start, because a process may upload only few bags.
	mergeEvery = 32
	// maxSmallFiles is how many small files a catalog may have before they are merged.
	maxSmallFiles = 64
	// maxMerged and maxMergedBytes bound one merge, and the memory of the recorder that merges: the
	// number of files that it reads, and roughly the bytes of their summaries.
	maxMerged      = 1024
	maxMergedBytes = 32 << 20

	addTimeout = time.Minute // of all requests for one summary
)

// Writer adds the summaries of bags that are uploaded. It is safe for concurrent use.
type Writer struct {
	bucket *store.Bucket
	log    *zap.Logger

	mu       sync.Mutex
	added    int
	denied   bool // the key may not write, which has been logged
	unmerged bool // the key may not merge, which has been logged
}

// NewWriter returns a writer for the bags below the bucket's place.
func NewWriter(b *store.Bucket, log *zap.Logger) *Writer { return &Writer{bucket: b, log: log} }

// Add writes the summary of a bag that is in the store. After an error a later attempt may succeed. If
// the store does not permit the write, Add only logs that: gobag index can add the summary later.
func (w *Writer) Add(ctx context.Context, bag string, size int64, sha256 string, file io.ReaderAt) error {
	ctx, cancel := context.WithTimeout(ctx, addTimeout)
	defer cancel()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.denied {
		return nil
	}
	s, err := Summarize(file, size, bagfmt.ReaderOptions{IndexOnly: true, FutureVersion: true})
	if err != nil {
		w.log.Warn("no summary of a bag for gobag find: the bag cannot be read", zap.String("bag", bag),
			zap.Error(err))
		return nil
	}
	s.Bag, s.SHA256, s.Robot = bag, sha256, cmp.Or(s.Robot, thisHost())
	data, err := encode([]*Summary{s})
	if err != nil {
		return err
	}
	if err := w.bucket.WriteAll(ctx, newName(path.Base(bag)), data); err != nil {
		if passing(ctx, err) {
			return err
		}
		w.denied = true
		w.log.Warn("The store takes no summaries of bags for gobag find: run gobag index to write them",
			zap.Stringer("to", w.bucket), zap.String("reason", store.Message(err)))
		return nil
	}
	w.added++
	if w.added%mergeEvery != 1 || w.unmerged {
		return nil
	}
	if err := w.merge(ctx); err != nil && !passing(ctx, err) {
		w.unmerged = true
		w.log.Warn("Summaries of bags for gobag find are not merged: run gobag index to merge them",
			zap.Stringer("to", w.bucket), zap.String("reason", store.Message(err)))
	}
	return nil
}

// passing reports whether an attempt that failed may succeed later.
func passing(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, store.ErrUnreachable)
}

// smallFiles are the limits for files that are merged.
var smallFiles = readLimits{inFlight: 4, packed: smallFileBytes, unpacked: maxMergedBytes / 2}

// merge merges small files into one, if there are many.
func (w *Writer) merge(ctx context.Context) error {
	var small []string
	for e, err := range w.bucket.ListIn(ctx, Folder) {
		if err != nil {
			return err
		}
		if isFile(e.Name) && e.Size < smallFileBytes {
			small = append(small, e.Name)
		}
		if len(small) == maxMerged {
			break // the next merge takes the others
		}
	}
	if len(small) <= maxSmallFiles {
		return nil
	}
	lines, done, left := newest{}, []string(nil), int64(maxMergedBytes)
	err := readFiles(ctx, w.bucket, small, smallFiles, func(file string, found []*Summary) {
		for _, s := range found {
			left -= s.memory()
		}
		if left < 0 {
			return // the next merge tries again
		}
		for _, s := range found {
			lines.add(s)
		}
		done = append(done, file)
	}, func(file string, err error) {
		if errors.Is(err, store.ErrTooLarge) {
			return // gobag index merges them
		}
		w.log.Warn("a damaged summary for gobag find is dropped: run gobag index where bags are read",
			zap.String("file", file), zap.Error(err))
	})
	if err != nil {
		return err
	}
	packs, err := writePacks(ctx, w.bucket, "", lines)
	if err != nil || len(done) == 0 {
		return err
	}
	// If the key may not delete, empty the new files: otherwise each start would add the same lines again.
	if err := w.bucket.Delete(ctx, done[0]); errors.Is(err, store.ErrDenied) {
		empty, e := encode(nil)
		for _, pack := range packs {
			e = errors.Join(e, w.bucket.WriteAll(ctx, pack, empty))
		}
		return errors.Join(err, e)
	} else if err != nil {
		return err
	}
	return deleteFiles(ctx, w.bucket, done[1:])
}
