package main

import (
	"context"

	"github.com/gorosbag/gorosbag/internal/bagjob"
	"github.com/gorosbag/gorosbag/internal/bagreplace"
	"github.com/gorosbag/gorosbag/rosbag"
)

type decompressFlags struct{ repackFlags }

// Help is the long help.
func (decompressFlags) Help() string { return repackHelp }

// Run decompresses bags.
func (f *decompressFlags) Run(ctx context.Context, out bagjob.Output) error {
	return f.repack(ctx, out, bagreplace.Packing{Compression: rosbag.CompressionNone, MCAP: rosbag.CompressionNone})
}
