// Package cutting writes parts of bags for the page of gobag view, as gobag filter does.
//
// It owns the names of the files that it writes, beside the bags.
package cutting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/rewrite"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/view"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Options returns what a viewer of bags can do beside reading. ctx is that of the command.
func Options(ctx context.Context, out job.Output, all job.Inputs) view.Options {
	c := &cutter{ctx: ctx, out: out, all: all}
	o := view.Options{Copy: c.copy}
	if c.writable() {
		o.Save = c.save
	}
	return o
}

// cutter copies parts of bags, as gobag filter does.
type cutter struct {
	ctx context.Context //nolint:containedctx // of the command, whose end ends the writing of a file
	out job.Output
	all job.Inputs

	saving sync.Mutex // held from the choice of a free name until the file has it
}

// plan returns the inputs of a cut, and what is copied of them.
func (c *cutter) plan(cut view.Cut) (job.Inputs, rewrite.Options) {
	return cut.Files, rewrite.Options{Start: cut.Start, End: cut.End, Keep: cut.Keep, Latched: true}
}

// copy writes a cut as a bag.
func (c *cutter) copy(ctx context.Context, w io.Writer, cut view.Cut) error {
	in, o := c.plan(cut)
	sink, err := job.Packing{}.Sink(in, false)(w)
	if err != nil {
		return err
	}
	o.Workers = job.Workers()
	o.Damaged = func(string, error) error { return ctx.Err() } // the page lists what is damaged
	o.Match = func(*rosbag.Connection, *rosbag.Message) (bool, error) { return true, ctx.Err() }
	var list []rewrite.Input
	for _, f := range in {
		list = append(list, rewrite.Input{Name: f.Name, Source: f.Source})
	}
	_, err = rewrite.Copy(list, o, sink)
	return err
}

// folder returns where cuts are written: beside the first bag. It is empty for bags in stores.
func (c *cutter) folder() string {
	if name := c.all[0].Name; !store.IsURL(name) {
		return filepath.Dir(name)
	}
	return ""
}

// writable reports whether cuts can be written.
func (c *cutter) writable() bool {
	dir := c.folder()
	if dir == "" {
		return false
	}
	f, err := os.CreateTemp(dir, ".gobag-view-*")
	if err != nil {
		return false
	}
	return errors.Join(f.Close(), os.Remove(f.Name())) == nil
}

// save writes a cut to a new file.
func (c *cutter) save(_ context.Context, cut view.Cut) (string, error) {
	c.saving.Lock()
	defer c.saving.Unlock()
	in, o := c.plan(cut)
	path, err := c.freeName(cut)
	if err != nil {
		return "", err
	}
	var said strings.Builder
	out := c.out
	errs := *out.Errs
	errs.W, out.Stderr, out.Errs = &said, &said, &errs
	_, err = job.New(c.ctx, out, job.Options{Quiet: true}).Rewrite(job.Plan{ //nolint:contextcheck // who leaves the page still gets the file
		Inputs: in, Out: path, Sink: job.Packing{}.Sink(in, false), Options: o,
	})
	if err != nil && !errors.Is(err, job.ErrLossy) {
		if text := strings.TrimSpace(said.String()); text != "" {
			return "", errors.New(text)
		}
		return "", err
	}
	return path, nil
}

// freeName returns a path that no file has.
func (c *cutter) freeName(cut view.Cut) (string, error) {
	from := cut.Start.Sub(c.all[0].Source.Info().Start).Seconds()
	stem := fmt.Sprintf("%s_%.0fs", bags.Stem(filepath.Base(cut.Files[0].Name)), max(from, 0))
	for n := 1; n < 1000; n++ {
		name := stem + ".bag"
		if n > 1 {
			name = fmt.Sprintf("%s-%d.bag", stem, n)
		}
		path := filepath.Join(c.folder(), name)
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			return path, nil
		}
	}
	return "", errors.New("too many files have names of cuts; move some")
}
