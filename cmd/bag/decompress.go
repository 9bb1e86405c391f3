package main

import (
	"context"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bagjob"
)

type decompressFlags struct{ repackFlags }

// Help is the long help.
func (decompressFlags) Help() string { return repackHelp }

// Run decompresses bags.
func (f *decompressFlags) Run(ctx context.Context, out bagjob.Output) error {
	return f.repack(ctx, out, repackOptions{compression: bagfmt.CompressionNone, mcap: bagfmt.CompressionNone})
}
