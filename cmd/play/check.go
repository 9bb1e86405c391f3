package main

import (
	"context"
	"errors"
	"io"
	"slices"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/player"
)

// checkStart returns the error with which the start would refuse to play, without a node. Stores are not
// contacted: if any bag is in a store, the other bags are opened, but what would be played is not
// checked.
func (s *settings) checkStart(log *zap.Logger, resolve program.Resolver) error {
	ctx := context.Background()
	local := slices.DeleteFunc(slices.Clone(s.selection.bags), store.IsURL)
	opening, err := s.selection.opening()
	if err != nil {
		return err
	}
	bags, err := open(ctx, io.Discard, log, local, opening)
	if err != nil || len(local) < len(s.selection.bags) {
		return err
	}
	o, err := s.options(bags, log)
	if err == nil {
		err = player.Check(ctx, o, resolve)
	}
	if missing := (*player.NotInBagsError)(nil); errors.Is(err, player.ErrNoMessages) &&
		!errors.As(err, &missing) {
		return nil // play would end at once, with exit code 0
	}
	return withFlag(err)
}
