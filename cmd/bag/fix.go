package main

import (
	"context"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/fix"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
)

type fixFlags struct {
	jobFlags
	fix.Flags
}

// Run fixes one recording.
func (f *fixFlags) Run(ctx context.Context, out job.Output) error { return f.Fix(f.start(ctx, out)) }
