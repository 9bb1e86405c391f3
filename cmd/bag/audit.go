package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gorosbag/gorosbag/internal/bagaudit"
	"github.com/gorosbag/gorosbag/internal/bagjob"
	"github.com/gorosbag/gorosbag/internal/bagopen"
	"github.com/gorosbag/gorosbag/internal/escape"
	"github.com/gorosbag/gorosbag/internal/explain"
	"github.com/gorosbag/gorosbag/internal/plural"
	"github.com/gorosbag/gorosbag/internal/units"
)

type auditFlags struct {
	readOnly

	Rate    units.Size `placeholder:"SIZE" help:"Read at most this many bytes a second, such as 20M (default: as fast as it goes)."`
	Journal string     `placeholder:"FILE" help:"File that notes what is verified (default: one for each place, in the directory for caches)."`
	JSON    bool       `name:"json" help:"One line of JSON for each defect."`
	Quiet   bool       `short:"q" help:"Show no progress bar and no summary; defects are printed anyway."`
	Place   string     `arg:"" name:"place" completion-predictor:"dir" help:"URL of a store such as s3://BUCKET/PREFIX, or a directory: with all that is below."`
}

// Help is the long help.
func (auditFlags) Help() string {
	return `Reads every bag of a place and compares it with the SHA-256 that its upload noted in the
metadata of the object, or else with the MD5 that the store reports. Bags with neither, and bags
that the catalog of gobag find has but the store has not, are defects, too: gobag index drops
those that were deleted on purpose.

What is verified is noted in a journal. An audit that was interrupted continues there when it
is started again, with any rate; after a complete one the journal is deleted. Bags that have
changed since are read again.

Exit code 3 says that there are defects, which are listed.`
}

// Run verifies the bags of a place.
func (f *auditFlags) Run(ctx context.Context, out bagjob.Output) (err error) {
	p, err := bagopen.OpenPlace(ctx, f.Place, int64(f.Rate))
	j := bagjob.New(ctx, out, bagjob.Options{Quiet: f.Quiet})
	if err != nil {
		return j.Failed(f.Place, err)
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	audit, err := bagaudit.Open(p, f.Journal)
	if err != nil {
		return fmt.Errorf("the journal: %w; name another file with --journal", err)
	}
	report, err := audit.Run(ctx, func(done, total int64) { j.Bar.Set(bagjob.Bytes("Verifying", total), done) })
	j.Bar.Clear()
	verified := report.Read + report.Skipped
	if err != nil {
		if verified > 0 {
			j.Say("%s verified so far; the same command continues there", plural.Of(uint64(verified), "bag"))
		}
		return j.Failed(f.Place, explain.Error(err))
	}
	for _, v := range report.Defects {
		v.Bag = p.Path(v.Bag)
		if err := f.print(j.Stdout, v); err != nil {
			return err
		}
	}
	continued := ""
	if report.Skipped > 0 {
		continued = fmt.Sprintf(", %d of them before", report.Skipped)
	}
	j.Say("%s verified%s, %s", plural.Of(uint64(verified), "bag"), continued, plural.Of(uint64(len(report.Defects)), "defect"))
	if len(report.Defects) > 0 {
		return bagjob.ErrLossy
	}
	return nil
}

// print prints a defect.
func (f *auditFlags) print(w io.Writer, v bagaudit.Verdict) error {
	if f.JSON {
		return escape.WriteJSON(w, v)
	}
	_, err := fmt.Fprintf(w, "%s: %s\n", explain.Name(v.Bag), escape.Text(v.Defect))
	return err
}
