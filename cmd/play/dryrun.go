package main

import (
	"context"
	"errors"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/tcpros"
)

// dryRun prints what play would do, and returns the exit code.
func dryRun(ctx context.Context, s *settings, bags []*player.Bag, node *tcpros.Node, log *zap.Logger, r *reporter) int {
	o, err := s.options(bags, log)
	if err != nil {
		return r.report(nil, err)
	}
	o.Node = node
	preview, err := player.DryRun(ctx, o)
	if len(preview.Topics) > 0 {
		r.print(previewText(&preview))
	}
	if err == nil || errors.Is(err, context.Canceled) {
		return program.ExitOK
	}
	return r.report(nil, err)
}
