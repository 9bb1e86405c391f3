package bagjob

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/recovery"
	"github.com/gorosbag/gorosbag/internal/explain"
	"github.com/gorosbag/gorosbag/internal/newfile"
	"github.com/gorosbag/gorosbag/internal/plural"
	"github.com/gorosbag/gorosbag/rosbag"
)

// errNoReindex says which command takes encrypted bags.
var errNoReindex = errors.New("is encrypted; gobag decrypt makes a plain bag with an index of what can be read in it")

// Recover writes what is good of a bag of size bytes to p.
func (j *Job) Recover(in *os.File, size int64, p *newfile.Placement) (recovery.Report, error) {
	w, err := bagfmt.NewWriter(p.File, bagfmt.WriterOptions{Workers: Workers()})
	if err != nil {
		return recovery.Report{}, explain.Error(err)
	}
	reindexing, done := Bytes("Reindexing "+p.Path(), size), int64(0)
	j.Bar.Begin(reindexing)
	defer j.Bar.Clear()
	rep, err := recovery.Recover(in, size, w, recovery.Options{MaxChunkBytes: j.MaxChunk, Workers: Workers(), Progress: func(at int64) error {
		j.Bar.Add(at-done, reindexing)
		done = at
		return j.Ctx.Err()
	}})
	if e := w.Close(); err == nil { // also after an error: it ends what the writer has started
		err = e
	}
	switch {
	case errors.Is(err, rosbag.ErrEncrypted):
		return rep, errNoReindex
	case err != nil:
		return rep, explain.Error(err)
	}
	return rep, nil
}

// ReportRecovery tells what was lost of a bag, and what was damaged without loss.
func (j *Job) ReportRecovery(path string, r *recovery.Report) {
	for n, err := range r.Repairs {
		if n == MaxTold {
			j.Say("%s: repaired in %s", explain.Name(path), plural.Of(len(r.Repairs)-n, "more place"))
			break
		}
		if !errors.Is(err, rosbag.ErrUnindexed) { // that is what one comes with
			j.Say("%s: repaired: %s", explain.Name(path), strings.TrimPrefix(explain.Error(err).Error(), "damaged: "))
		}
	}
	var told uint64
	for _, s := range r.Skipped {
		what := explain.Error(s.Err).Error()
		if s.Bytes > 0 {
			what += fmt.Sprintf("; bytes %d to %d are left out", s.Offset, s.Offset+s.Bytes-1)
		}
		if s.Trailing {
			j.Say("%s: %s", explain.Name(path), what)
			continue
		}
		if s.Dropped > 0 {
			told += s.Dropped
			what += fmt.Sprintf("; lost: %s", plural.Of(s.Dropped, "message"))
		}
		j.Lost(path, errors.New(what))
	}
	if r.Dropped > told {
		j.Lost(path, fmt.Errorf("the index knows of %s more that cannot be found", plural.Of(r.Dropped-told, "message")))
	}
	if r.Lossy() {
		j.SetLossy()
	}
}

// Kept says what is in the new version of a bag.
func Kept(r *recovery.Report) string {
	s := fmt.Sprintf("kept %s", plural.Of(r.Messages, "message"))
	switch {
	case r.Dropped > 0:
		s += fmt.Sprintf(", lost %d or more", r.Dropped)
	case r.Lossy():
		s += ", and how many are lost cannot be told"
	}
	if r.Repeated > 0 {
		s += fmt.Sprintf(", left out %s there twice", plural.Of(r.Repeated, "chunk"))
	}
	return s
}
