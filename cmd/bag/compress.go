package main

import (
	"context"
	"errors"
	"os"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/replace"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

type compressFlags struct {
	repackFlags
	BZ2 bool `short:"j" name:"bz2" help:"Use bz2 (default; MCAP files get zstd)."`
	LZ4 bool `name:"lz4" help:"Use lz4: larger, many times faster."`
}

// Help is the long help.
func (compressFlags) Help() string { return repackHelp }

// Run compresses bags.
func (f *compressFlags) Run(ctx context.Context, out job.Output) error {
	if f.LZ4 && f.BZ2 {
		return errBothKinds
	}
	p := replace.Packing{Compression: rosbag.CompressionBZ2, MCAP: rosbag.CompressionZstd}
	switch {
	case f.LZ4:
		p = replace.Packing{Compression: rosbag.CompressionLZ4, MCAP: rosbag.CompressionLZ4}
	case f.BZ2:
		p.MCAP = rosbag.CompressionBZ2 // which MCAP refuses
	}
	return f.repack(ctx, out, p)
}

var errBothKinds = errors.New("only one of --bz2 and --lz4 can be used")

// repackFlags are what compress, decompress and decrypt have in common.
type repackFlags struct {
	Force     bool     `short:"f" help:"Overwrite the backup, or with --output-dir the result of that name."`
	Quiet     bool     `short:"q" help:"Show no progress bar and no summary; damage and errors are printed anyway."`
	OutputDir string   `name:"output-dir" placeholder:"DIR" completion-predictor:"dir" help:"Write to this directory and leave the input alone."`
	ChunkSize *int     `name:"chunksize" placeholder:"KiB" help:"Size of a chunk before compression (768; MCAP that is made of MCAP keeps its chunks)."`
	Bags      []string `arg:"" name:"bag" completion-predictor:"bag" help:"Bags of any version; directories stand for the bags in them."`
}

const repackHelp = `Each bag is rewritten in place: NAME.bag becomes NAME.orig.bag and the new version
NAME.bag, when it is complete and on the disk. A bag that has such a backup already is
skipped. Connections stay as they are; those without messages are left out. An MCAP file
stays one; attachments and metadata records, which are named, are left out.`

// repack rewrites bags. It checks first that all are there, because bags are rewritten in place: a name
// may be a misspelt option.
func (f *repackFlags) repack(ctx context.Context, out job.Output, p replace.Packing) error {
	j := job.New(ctx, out, job.Options{Force: f.Force, Quiet: f.Quiet})
	paths, err := bags.Names(ctx, f.Bags)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil && !store.IsURL(path) {
			return j.Failed(path, wording.Explain(err))
		}
	}
	p.ChunkKiB = f.ChunkSize
	return replace.Repack(j, paths, f.OutputDir, p)
}
