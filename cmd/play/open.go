package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/bags/definitions"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/face/term/termtext"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/player"
)

// slowOpenReport is after how long opening a bag is logged as slow.
const slowOpenReport = 3 * time.Second

// opening says how bags are opened.
func (c *selectionSettings) opening() (o bags.Options, err error) {
	o.MaxChunkBytes = int64(c.maxChunk)
	o.Definitions, err = bags.Definitions(c.definitions)
	return o, err
}

// open opens the bags that args stand for, in order. They are closed by the end of the process: on a
// file system that hangs, such as a network file system without its server, close might never return.
func open(
	ctx context.Context, out io.Writer, log *zap.Logger, args []string, o bags.Options,
) ([]*player.Bag, error) {
	var paths []string
	for _, arg := range args {
		named, err := waitFor(ctx, log, store.Redact(arg),
			func() ([]string, error) { return bags.Names(ctx, []string{arg}) })
		if err != nil {
			return nil, err
		}
		paths = append(paths, named...)
	}
	o.Cache = player.NewCache()
	openers := make([]func() (*player.Bag, error), len(paths))
	for n, path := range paths {
		openers[n] = sync.OnceValues(func() (*player.Bag, error) { return openBag(ctx, path, o) })
	}
	if slices.ContainsFunc(paths, store.IsURL) {
		// owner: the process; ends when all are open, or with ctx.
		go openAhead(openers)
	}
	var bags []*player.Bag
	for n, path := range paths {
		shown := store.Redact(path)
		fmt.Fprintf(out, "Opening %s\n", termtext.Plain(shown)) //nolint:errcheck // a terminal that is gone must not end play
		b, err := waitFor(ctx, log, shown, openers[n])
		if err != nil {
			return nil, err
		}
		bags = append(bags, b)
	}
	return bags, nil
}

// known returns the definitions of --definitions, of what is installed, and of ROS.
func (c *selectionSettings) known() (definitions.List, error) {
	here := definitions.List{definitions.Installed(), definitions.Noetic()}
	if c.definitions == "" {
		return here, nil
	}
	folder, err := definitions.OpenFolder(c.definitions, here)
	if err != nil {
		return nil, fmt.Errorf("--definitions %s: %w", c.definitions, err)
	}
	return append(definitions.List{folder}, here...), nil
}

// waitFor calls find and returns its results. It logs when find takes long, and returns without
// the results of find when ctx ends.
func waitFor[T any](ctx context.Context, log *zap.Logger, shown string, find func() (T, error)) (T, error) {
	slow := time.AfterFunc(slowOpenReport, func() {
		log.Warn("opening takes long: a bag without an index is read wholly, gpg waits for a passphrase, or the disk does not answer", zap.String("bag", shown))
	})
	defer slow.Stop()
	var found T
	var err error
	if !program.RunUntil(ctx, func() { found, err = find() }) {
		var none T // find may still be running, and set found
		return none, &player.OpenError{Bag: shown, Err: ctx.Err()}
	}
	return found, err
}

// remoteInFlight is how many bags are opened at a time if one is in a store.
const remoteInFlight = 4

// openAhead calls all openers.
func openAhead(openers []func() (*player.Bag, error)) {
	var group errgroup.Group
	group.SetLimit(remoteInFlight)
	for _, open := range openers {
		group.Go(func() error {
			_, _ = open() // the next caller gets the same
			return nil
		})
	}
	_ = group.Wait()
}

// openBag opens a bag by path or URL.
func openBag(ctx context.Context, path string, o bags.Options) (*player.Bag, error) {
	interrupted := ctx.Err
	shown := store.Redact(path)
	o.UnwrapKey, o.Interrupted = bags.UnwrapKey(ctx), func() error { return interrupted() }
	r, err := bags.Open(ctx, path, o)
	if err != nil {
		return nil, &player.OpenError{Bag: shown, Err: err}
	}
	b, err := player.NewBag(ctx, shown, r.Source)
	if err != nil {
		r.Close() //nolint:errcheck,gosec // only read from
		return nil, err
	}
	interrupted = func() error { return nil } // from now on the player says when to stop
	return b, nil
}
