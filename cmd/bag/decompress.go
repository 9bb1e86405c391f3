package main

import (
	"context"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/replace"
	"github.com/gorosbag/gorosbag/rosbag"
)

type decompressFlags struct{ repackFlags }

// Help is the long help.
func (decompressFlags) Help() string { return repackHelp }

// Run decompresses bags.
func (f *decompressFlags) Run(ctx context.Context, out job.Output) error {
	return f.repack(ctx, out,
		replace.Packing{Compression: rosbag.CompressionNone, MCAP: rosbag.CompressionNone})
}
