package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/audit"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/text/units"
	"github.com/gorosbag/gorosbag/internal/text/wording"
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
func (f *auditFlags) Run(ctx context.Context, out job.Output) (err error) {
	p, err := bags.OpenPlace(ctx, f.Place, int64(f.Rate))
	j := job.New(ctx, out, job.Options{Quiet: f.Quiet})
	if err != nil {
		return j.Failed(f.Place, err)
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	audit, err := audit.Open(p, f.Journal)
	if err != nil {
		return fmt.Errorf("the journal: %w; name another file with --journal", err)
	}
	report, err := audit.Run(ctx, func(done, total int64) { j.Bar.Set(job.Bytes("Verifying", total), done) })
	j.Bar.Clear()
	if err != nil {
		if report.Verified+report.Unverified > 0 {
			j.Say("%s verified so far; the same command continues there",
				wording.Plural(uint64(report.Verified), "bag"))
		}
		return j.Failed(f.Place, wording.Explain(err))
	}
	for _, v := range report.Defects {
		v.Bag = p.Path(v.Bag)
		if err := f.print(j.Stdout, v); err != nil {
			return err
		}
	}
	continued := ""
	if report.Before > 0 {
		continued = fmt.Sprintf(", %d of them before", report.Before)
	}
	if report.Unverified > 0 {
		continued += fmt.Sprintf(", %d not verified", report.Unverified)
	}
	j.Say("%s verified%s, %s", wording.Plural(uint64(report.Verified), "bag"), continued,
		wording.Plural(uint64(len(report.Defects)), "defect"))
	if len(report.Defects) > 0 {
		return job.ErrLossy
	}
	return nil
}

// print prints a defect.
func (f *auditFlags) print(w io.Writer, v audit.Verdict) error {
	if f.JSON {
		return wording.WriteEscapedJSON(w, v)
	}
	_, err := fmt.Fprintf(w, "%s: %s\n", wording.Shown(v.Bag), wording.Escape(v.Defect))
	return err
}
