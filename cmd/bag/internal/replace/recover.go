package replace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/recovery"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/files"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

// errNoReindex says which command takes encrypted bags.
var errNoReindex = errors.New("is encrypted; gobag decrypt makes a plain bag with an index of what can be read in it")

var errWritten = errors.New("is still being written; reindex it when its recorder has ended")

// Reindex recovers bags. The new versions go to outputDir; if outputDir is empty, they take the place of the
// originals.
func Reindex(j *job.Job, paths []string, outputDir string) error {
	return each(j, paths, outputDir, (*run).reindex)
}

// reindex recovers one bag.
func (r *run) reindex(path string) error {
	if store.IsURL(path) {
		return errors.New("is not a local file; gobag convert makes a sound one of it")
	}
	in, before, err := bags.OpenBagFile(r.j.Ctx, path)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read from
	unchanged := func() error {
		switch after, err := in.Stat(); {
		case err != nil:
			return wording.Explain(err)
		case after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()):
			return errWritten // by a recorder that does not lock its file, such as rosbag
		}
		return nil
	}
	if bagfmt.IsMCAP(in) {
		return r.repack(path, Packing{}, unchanged)
	}
	p, err := r.places.Place(path)
	if err != nil {
		return err
	}
	defer p.Abort()
	if p.Backup() != "" && !files.Lock(in) { // gorecord locks its file
		return errWritten
	}
	rep, err := Recovered(r.j, in, before.Size(), p.File,
		Recovery{Title: "Reindexing " + p.Path(), Writer: bagfmt.WriterOptions{Workers: job.Workers()}})
	written := (*fs.PathError)(nil)
	switch {
	case errors.Is(err, rosbag.ErrEncrypted):
		return errNoReindex
	case errors.As(err, &written) && written.Path == p.Name():
		return p.About(wording.Explain(err))
	case err != nil:
		return wording.Explain(err)
	}
	if err := unchanged(); err != nil {
		return err
	}
	if rep.Messages == 0 && rep.Lossy() {
		Report(r.j, path, &rep)
		return errNothing
	}
	if err := p.Commit(); err != nil {
		return err
	}
	Report(r.j, path, &rep)
	r.j.Say("%s: %s%s%s", wording.Shown(p.Path()), kept(&rep), original(p.Backup()), finalName(p.Path()))
	return nil
}

// Recovery says how the readable messages of a bag are written to another one.
type Recovery struct {
	Title  string // of the progress bar
	Writer bagfmt.WriterOptions
	Edit   func(*rosbag.Connection) *rosbag.Edit // as in recovery.Options
}

// Recovered writes the readable messages of a bag of size bytes to a new bag.
func Recovered(j *job.Job, in io.ReaderAt, size int64, to io.Writer, o Recovery) (recovery.Report, error) {
	w, err := bagfmt.NewWriter(to, o.Writer)
	if err != nil {
		return recovery.Report{}, err
	}
	work, done := job.Bytes(o.Title, size), int64(0)
	j.Bar.Set(work, 0)
	defer j.Bar.Clear()
	rep, err := recovery.Recover(in, size, w,
		recovery.Options{
			MaxChunkBytes: j.MaxChunk, Workers: job.Workers(), Edit: o.Edit,
			Progress: func(at int64) error {
				j.Bar.Add(at-done, work)
				done = at
				return j.Ctx.Err()
			},
		})
	if e := w.Close(); err == nil { // also after an error: it ends what the writer has started
		err = e
	}
	return rep, err
}

// Report reports what was lost of a bag, and what was damaged without loss.
func Report(j *job.Job, path string, r *recovery.Report) {
	for n, err := range r.Repairs {
		if n == job.MaxReported {
			j.Say("%s: repaired in %s", wording.Shown(path), wording.Plural(len(r.Repairs)-n, "more place"))
			break
		}
		if !errors.Is(err, rosbag.ErrUnindexed) { // that is what one comes with
			j.Say("%s: repaired: %s", wording.Shown(path),
				strings.TrimPrefix(wording.Explain(err).Error(), "damaged: "))
		}
	}
	var placed uint64 // lost messages whose place is known
	for _, s := range r.Skipped {
		what := wording.Explain(s.Err).Error()
		if s.Bytes > 0 {
			what += fmt.Sprintf("; bytes %d to %d are left out", s.Offset, s.Offset+s.Bytes-1)
		}
		if s.Trailing {
			j.Say("%s: %s", wording.Shown(path), what)
			continue
		}
		if s.Dropped > 0 {
			placed += s.Dropped
			what += fmt.Sprintf("; lost: %s", wording.Plural(s.Dropped, "message"))
		}
		j.Lost(path, errors.New(what))
	}
	if r.Dropped > placed {
		j.Lost(path, fmt.Errorf("the index knows of %s more that cannot be found",
			wording.Plural(r.Dropped-placed, "message")))
	}
	if r.Lossy() {
		j.Lossy = true
	}
}

// finalName says how to rename a bag that has the name of one that is being recorded.
func finalName(path string) string {
	name, active := strings.CutSuffix(path, ".active")
	if !active {
		return ""
	}
	return fmt.Sprintf("; rename %s to %s", wording.Shown(filepath.Base(path)),
		wording.Shown(filepath.Base(name)))
}

// kept says what is in the new version of a bag.
func kept(r *recovery.Report) string {
	s := fmt.Sprintf("kept %s", wording.Plural(r.Messages, "message"))
	switch {
	case r.Dropped > 0:
		s += fmt.Sprintf(", lost %d or more", r.Dropped)
	case r.Lossy():
		s += ", and how many are lost is unknown"
	}
	if r.Repeated > 0 {
		s += fmt.Sprintf(", left out %s there twice", wording.Plural(r.Repeated, "chunk"))
	}
	return s
}
