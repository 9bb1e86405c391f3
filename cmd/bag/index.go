package main

import (
	"context"
	"errors"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/internal/text/wording"
)

type indexFlags struct {
	All    bool     `help:"Read all bags again, not only those that the catalog lacks."`
	Quiet  bool     `short:"q" help:"Show no progress bar and no summary; what cannot be read is printed anyway."`
	Places []string `arg:"" name:"place" completion-predictor:"dir" help:"Directories, or URLs of stores such as s3://BUCKET/PREFIX: with all that is below."`
}

// Help is the long help.
func (indexFlags) Help() string {
	return `Makes the catalog that gobag find searches, or brings it up to date: adds bags that it
lacks, drops those that are gone, and merges its files. The catalog is in folders
.gorosbag-catalog beside the bags; each file has lines of JSON, compressed by gzip.

Recorders may upload meanwhile. Bags that cannot be read are named, and the exit code is 3.`
}

// Run indexes places.
func (f *indexFlags) Run(ctx context.Context, out job.Output) error {
	j := job.New(ctx, out, job.Options{Quiet: f.Quiet})
	for _, arg := range f.Places {
		c, p, err := loadCatalog(j, arg, f.All)
		if err != nil {
			return j.Failed(arg, err)
		}
		for _, s := range c.Bags {
			if s.Error != "" {
				j.Lost(p.Path(s.Bag), errors.New(s.Error))
			}
		}
		if err := errors.Join(c.Write(ctx), p.Close()); err != nil {
			return j.Failed(arg, wording.Explain(err))
		}
		j.Say("%s: %s in the catalog, %d read, %d dropped", wording.Shown(arg),
			wording.Plural(uint64(len(c.Bags)), "bag"), c.Read, c.Dropped)
	}
	return j.Done()
}
