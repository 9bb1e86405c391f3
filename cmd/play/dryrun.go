package main

import (
	"context"
	"errors"
	"io"
	"syscall"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/tcpros"
)

// dryRun prints to w what play would do, and returns the exit code.
func dryRun(ctx context.Context, s *settings, bags []*player.Bag, node *tcpros.Node, log *zap.Logger,
	r *reporter, w io.Writer,
) int {
	o, err := s.options(bags, log)
	if err != nil {
		return r.report(nil, err)
	}
	s.join(&o, node)
	preview, err := player.DryRun(ctx, o)
	if len(preview.Topics) > 0 {
		if err := printPreview(ctx, w, previewText(&preview)); err != nil {
			return r.report(nil, err)
		}
	}
	if ctx.Err() != nil { // what was printed, if anything, is not all
		err = errors.New("interrupted: not everything was listed")
	}
	if err == nil {
		return program.ExitOK
	}
	return r.report(nil, err)
}

// printPreview writes text to w without a Console, which leaves out what is not taken in time: for a dry
// run, text is the result. A reader that has gone, such as head, has seen enough. If a reader takes
// nothing more, ctx ends the wait.
func printPreview(ctx context.Context, w io.Writer, text string) error {
	written := make(chan error, 1)
	program.RunUntil(ctx, func() {
		_, err := io.WriteString(w, text)
		written <- err
	})
	select {
	case err := <-written:
		if !errors.Is(err, syscall.EPIPE) {
			return err
		}
	default: // ctx has ended
	}
	return nil
}
