package main

import (
	"context"

	"github.com/gorosbag/gorosbag/bagfmt"
)

type decompressFlags struct{ repackFlags }

// Help is the long help.
func (decompressFlags) Help() string { return repackHelp }

// Run decompresses bags.
func (f *decompressFlags) Run(ctx context.Context, out output) error {
	return f.repack(ctx, out, repackOptions{compression: bagfmt.CompressionNone})
}
