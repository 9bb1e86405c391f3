// Package files has the bags of a recording, open and finished. It announces new bags, syncs and closes
// bags while others are written, hands them over, remembers finished bags, and watches the free space.
// The goroutine that writes a bag owns the Bag until it calls CloseLater.
package files

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/recorder/internal/retention"
)

// Handover is told of the files of a recording, see Handover of package recorder.
type Handover interface {
	Begun(path string)
	Finished(path string, bytes int64)
}

// Counts is told of files that are closed.
type Counts interface {
	// the file with these messages was deleted while it was recorded
	CountDeleted(content map[string]account.Tally)
	FileClosed(part int) // the files of all parts up to this one are closed
}

// Config configures Files.
type Config struct {
	Log    *zap.Logger
	Counts Counts
	// nothing is written but snapshots
	OnlySnapshots bool
	Outputs       *bagfile.Series
	Retain        *retention.Retainer
	Disk          *disk.Space
	Handover      Handover
	// called with the name of each new file; nil for no function
	OnOpen func(target string)
	// called after the recording has another file, or its files another path; must not wait
	OnChange func()
}

// Files is the bags of a recording. All methods but Start and Close are for concurrent use.
type Files struct {
	Config
	Finished FinishedBags
	stored   atomic.Int64 // bytes of chunks that were written, in all files
	snapped  atomic.Int64 // bytes of stored that are in snapshots
	hidden   atomic.Bool  // no path leads to the directory any more

	syncRequests chan *Bag // to the syncer: a sync is due
	closing      chan *Bag // to the closer: the bag is written
	syncer       sync.WaitGroup
	closer       sync.WaitGroup
}

// New returns Files without a bag.
func New(o Config) *Files {
	f := &Files{Config: o, syncRequests: make(chan *Bag, 1), closing: make(chan *Bag)}
	f.Finished.Retain = o.Retain
	return f
}

// Start begins to sync and to close bags.
func (f *Files) Start() {
	// owner: Close; ends when syncRequests is closed.
	f.syncer.Go(func() {
		for b := range f.syncRequests {
			f.Sync(b)
		}
	})
	// owner: Close; ends when closing is closed.
	f.closer.Go(f.closeAll)
}

// Close closes last, the bag that is still open, and waits until all bags are closed. last may be nil. No
// bag may be written any more.
func (f *Files) Close(last *Bag) error {
	close(f.syncRequests)
	f.syncer.Wait()
	if last != nil {
		last.Last = true
		f.CloseLater(last)
	}
	close(f.closing)
	f.closer.Wait()
	if f.hidden.Load() {
		f.Finished.Fail(fmt.Errorf("%s: %w", filepath.Clean(f.Outputs.DirName), errHidden))
	}
	return f.Finished.Err()
}

// CloseLater hands a bag to the goroutine that closes bags. The caller does not use the bag any more.
// See ADR 0026.
func (f *Files) CloseLater(b *Bag) { f.closing <- b }

// Stored returns how many bytes of chunks were written, in all files.
func (f *Files) Stored() int64 { return f.stored.Load() }

// WriteChunk appends a chunk to a bag, and syncs the bag if that is due after each chunk. Other
// goroutines sync it if that is due after some time.
func (f *Files) WriteChunk(b *Bag, c *chunk.Sealed) error {
	if err := b.WriteChunk(c); err != nil {
		return err
	}
	bytes := int64(len(c.Record))
	f.stored.Add(bytes)
	if b.Snapshot {
		f.snapped.Add(bytes)
	}
	if b.Mode == bagfile.SyncChunk {
		f.Sync(b)
	}
	f.WakeSyncer(b, time.Now())
	return nil
}

// Opened announces a bag of the recording that is written from now on, to the retention as well.
func (f *Files) Opened(b *Bag) {
	f.Log.Info("Recording to", zap.String("file", b.Target()))
	b.retained = f.Retain.Begin(b.Place)
	f.OnChange()
	f.Announce(b)
}

// Announce tells Config.Handover and Config.OnOpen of a bag that is written from now on.
func (f *Files) Announce(b *Bag) {
	f.Handover.Begun(b.Target())
	if f.OnOpen != nil {
		f.OnOpen(b.Target())
	}
}

// errHidden says that the bags are not where the recording says.
var errHidden = errors.New("the directory of the bags is not reachable: its file system was unmounted below the recording, or another one was mounted above it; " +
	"the bags are on the file system that was there at the start: mount that again")

// FollowDirectory logs that the directory of the bags was moved, that something else has its name now, or
// that no path leads to it. Bags stay in their directory, and their names follow it.
func (f *Files) FollowDirectory() {
	defer f.Outputs.Watchdog.Begin("name check", f.Outputs.DirName)()
	hidden := f.Outputs.Dir.Unreachable()
	switch before := f.hidden.Swap(hidden); {
	case hidden && !before:
		f.Log.Error("files are lost from sight", zap.String("directory", filepath.Clean(f.Outputs.DirName)),
			zap.Error(errHidden))
	case before && !hidden:
		f.Log.Warn("the directory of the bags is reachable again",
			zap.String("directory", filepath.Clean(f.Outputs.DirName)))
	}
	if path, changed := f.Outputs.Dir.Follow(); changed {
		f.Log.Warn("the directory was renamed or replaced during the recording: bags stay in it, under its new path",
			zap.String("directory", f.Outputs.DirName), zap.String("path", path))
		f.OnChange()
	}
}

// Sync syncs a bag and logs an error. The error is final for the file: the writer then goes on in another
// file, and Finish returns the error.
func (f *Files) Sync(b *Bag) {
	if err := b.Sync(); err != nil {
		f.Log.Error("sync failed", zap.Error(err))
	}
}

// WakeSyncer starts an interval sync if one is due.
func (f *Files) WakeSyncer(b *Bag, now time.Time) {
	if !b.SyncDue(now) {
		return
	}
	select {
	case f.syncRequests <- b:
	default: // a sync is about to start
	}
}

// LowDisk checks the free space, and reports whether the recording has to end because the disk is nearly
// full. current is the bag that is written; nil for none.
func (f *Files) LowDisk(now time.Time, current *Bag) bool {
	file := ""
	if current != nil {
		file = filepath.Clean(current.Target())
	}
	snapped := f.snapped.Load()
	return f.Disk.Check(now, f.stored.Load()-snapped, snapped, file)
}

// closeAll closes bags while the next ones are written.
func (f *Files) closeAll() {
	for b := range f.closing {
		err := b.Finish()
		b.Fault, b.ended = cmp.Or(err, b.Away()), time.Now()
		f.FollowDirectory()
		if errors.Is(b.Away(), bagfile.ErrDeleted) {
			f.Counts.CountDeleted(b.content)
		}
		switch {
		case err != nil:
			f.Log.Error("file not closed well", zap.Error(err))
		case b.Away() != nil:
			f.Log.Warn("Closing", loglimit.Each(), zap.NamedError("file", b.Away()))
		default:
			f.Log.Info("Closing", zap.String("file", b.Target()))
			f.Handover.Finished(b.Target(), b.Bytes())
		}
		switch {
		case b.Snapshot || b.retained == nil:
		case b.Last:
			f.Retain.AddLast(b.retained, b.Bytes(), b.Fault != nil, b.ended)
		default:
			f.Retain.Add(b.retained, b.Bytes(), b.Fault != nil, b.ended)
		}
		if !b.Snapshot {
			f.Counts.FileClosed(b.Part)
		}
		f.Finished.Add(b, err, !b.Snapshot || f.OnlySnapshots)
		close(b.Finished)
	}
}
