package job

import (
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Workers is the number of chunks that are compressed or decompressed concurrently.
func Workers() int { return min(runtime.GOMAXPROCS(0), 64) }

// Open opens a bag and reports damage that is found on the way. Reading it moves the progress
// bar and ends with the job's context.
func (j *Job) Open(path string) (*bags.Recording, error) {
	j.Bar.Clear()
	o := j.openOptions()
	o.Through = func(f bags.File, size int64) io.ReaderAt {
		return j.Meter(f, Bytes("Reading "+filepath.Base(store.Redact(path)), size), nil)
	}
	b, err := bags.Open(j.Ctx, path, o)
	if err != nil {
		return nil, err
	}
	j.Bar.Clear() // of a scan
	for _, damage := range b.Source.Info().Damage {
		if errors.Is(damage, rosbag.ErrUnindexed) { // nothing is lost by that
			continue
		}
		if err := j.Damaged(path, damage); err != nil {
			return nil, errors.Join(err, b.Close())
		}
	}
	for _, note := range b.Source.Info().Notes {
		if rosbag.Concerns(note, j.Wanted) {
			j.Say("%s: %s", wording.Shown(path), wording.Shown(note.Error()))
		}
	}
	return b, nil
}

// OpenInput is Open, but "-" is standard input.
func (j *Job) OpenInput(path string) (*bags.Recording, error) {
	if path != "-" {
		return j.Open(path)
	}
	if IsTerminal(j.Stdin) {
		return nil, errors.New("standard input is a terminal; send a bag into it")
	}
	return bags.OpenPipe(j.Ctx, j.Stdin, j.openOptions())
}

// OpenInputs opens all inputs, or none. An error is reported.
func (j *Job) OpenInputs(paths []string) (Inputs, error) {
	if first := slices.Index(paths, "-"); first >= 0 && slices.Contains(paths[first+1:], "-") {
		return nil, errors.New("standard input can be read only once")
	}
	var all Inputs
	for _, path := range paths {
		in, err := j.OpenInput(path)
		if err != nil {
			all.Close()
			return nil, j.Failed(path, err)
		}
		all = append(all, in)
	}
	return all, nil
}

func (j *Job) openOptions() bags.Options {
	return bags.Options{
		MaxChunkBytes: j.MaxChunk, UnwrapKey: bags.UnwrapKey(j.Ctx),
		Definitions: j.Definitions, Foreign: j.Foreign,
	}
}

// Inputs are the open inputs of a command.
type Inputs []*bags.Recording

// Close closes all.
func (all Inputs) Close() {
	for _, in := range all {
		_ = in.Close() // only read from
	}
}

// Meter returns a reader of f that moves the progress bar and ends with the job's context. While
// other work is running, reading moves the bar of that. storeFailed is called with errors of a store,
// unless it is nil: they say nothing about the bag.
func (j *Job) Meter(f io.ReaderAt, work Work, storeFailed func(error)) io.ReaderAt {
	m := meteredFile{j, f, work, storeFailed}
	if p, ok := f.(bagfmt.Prefetcher); ok {
		return meteredPrefetcher{m, p}
	}
	return m
}

type meteredFile struct {
	j           *Job
	f           io.ReaderAt
	work        Work
	storeFailed func(error)
}

// ReadAt implements io.ReaderAt.
func (m meteredFile) ReadAt(p []byte, off int64) (int, error) {
	if err := m.j.Ctx.Err(); err != nil {
		return 0, err
	}
	n, err := m.f.ReadAt(p, off)
	m.j.Bar.Add(int64(n), m.work)
	if m.storeFailed != nil && wording.IsStoreError(err) {
		m.storeFailed(err)
	}
	return n, err
}

// meteredPrefetcher is a meteredFile of a Prefetcher.
type meteredPrefetcher struct {
	meteredFile
	to bagfmt.Prefetcher
}

// Prefetch implements bagfmt.Prefetcher.
func (m meteredPrefetcher) Prefetch(off, n int64) { m.to.Prefetch(off, n) }
