package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/term"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bagopen"
	"github.com/gorosbag/gorosbag/internal/escape"
	"github.com/gorosbag/gorosbag/internal/explain"
	"github.com/gorosbag/gorosbag/internal/plural"
	"github.com/gorosbag/gorosbag/internal/store"
)

// jobFlags are the options of every command that writes files.
type jobFlags struct {
	Force bool `short:"f" help:"Overwrite files that exist."`
	Quiet bool `short:"q" help:"Show no progress bar and no summary; damage and errors are told anyway."`
}

// job is the run of a command that may take long: it can be interrupted, shows its progress,
// and records whether something was lost.
type job struct {
	output
	jobFlags
	ctx   context.Context //nolint:containedctx // a job is one call of Run, whose ctx this is
	meter *meter
	lossy bool
	told  map[string]int // damage by path
}

// maxTold is the number of damaged places of a file that are reported one by one.
const maxTold = 20

// newJob starts a job.
func newJob(ctx context.Context, out output, f jobFlags) *job {
	return &job{output: out, jobFlags: f, ctx: ctx, meter: newMeter(out.stderr, f.Quiet)}
}

// say writes a line about what was done to standard error, unless --quiet is given.
func (j *job) say(format string, args ...any) {
	if !j.Quiet {
		j.meter.clear()
		_, _ = fmt.Fprintln(j.stderr, escape.Line(fmt.Sprintf(format, args...))) // there is nowhere else to report errors
	}
}

// lost reports damage of a file. The job will end with errLossy.
func (j *job) lost(path string, err error) {
	j.lossy = true
	if j.told == nil {
		j.told = make(map[string]int)
	}
	if j.told[path]++; j.told[path] <= maxTold {
		j.meter.hide()
		j.complain("%s: %v", explain.Name(path), explain.Error(err))
	}
}

// failed reports that a file could not be processed, and returns errReported. It reports neither
// interrupts nor closed pipes.
func (j *job) failed(path string, err error) error {
	j.meter.clear()
	if errors.Is(err, context.Canceled) || errors.Is(err, errReported) || errors.Is(err, syscall.EPIPE) {
		return err
	}
	j.complain("%s: %v", explain.Name(path), err)
	return errReported
}

// done ends the progress bar and returns errLossy if something was lost.
func (j *job) done() error {
	j.meter.clear()
	for _, path := range slices.Sorted(maps.Keys(j.told)) {
		if more := j.told[path] - maxTold; more > 0 {
			j.complain("%s: damaged in %s; gobag check lists them", explain.Name(path), plural.Of(more, "more place"))
		}
	}
	if j.lossy {
		return errLossy
	}
	return nil
}

// open opens a bag and reports damage that is found on the way. Reading it updates the progress
// bar and ends with the job's context.
func (j *job) open(path string) (*bagopen.Recording, error) {
	j.meter.clear()
	o := j.openOptions()
	o.Through = func(f bagopen.File, size int64) io.ReaderAt {
		return &meteredFile{j: j, f: f, title: "Reading " + filepath.Base(store.Redact(path)), size: size}
	}
	b, err := bagopen.Open(j.ctx, path, o)
	if err != nil {
		return nil, err
	}
	j.meter.clear() // of a scan
	for _, damage := range b.Bag.Damage() {
		if errors.Is(damage, bagfmt.ErrUnindexed) { // nothing is lost by that
			continue
		}
		if err := j.damaged(path, damage); err != nil {
			return nil, errors.Join(err, b.Close())
		}
	}
	return b, nil
}

// openOptions returns how bags are opened.
func (j *job) openOptions() bagopen.Options {
	return bagopen.Options{MaxChunkBytes: j.maxChunk, UnwrapKey: bagopen.UnwrapKey(j.ctx)}
}

// meteredFile reads a file for a job.
type meteredFile struct {
	j     *job
	f     io.ReaderAt
	title string
	size  int64
}

// ReadAt implements io.ReaderAt.
func (m *meteredFile) ReadAt(p []byte, off int64) (int, error) {
	if err := m.j.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := m.f.ReadAt(p, off)
	m.j.meter.add(int64(n), m.title, m.size)
	return n, err
}

// Prefetch implements bagfmt.Prefetcher.
func (m *meteredFile) Prefetch(off, n int64) {
	if p, ok := m.f.(bagfmt.Prefetcher); ok {
		p.Prefetch(off, n)
	}
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
