package main

import (
	"context"
	"fmt"
	"io"

	"github.com/gorosbag/gorosbag/internal/screen"
	"github.com/gorosbag/gorosbag/internal/store"
	"github.com/gorosbag/gorosbag/player"
)

// open opens the bags in order. Those opened before an error are returned too.
func open(ctx context.Context, out io.Writer, paths []string) (bags []*player.Bag, err error) {
	for _, path := range paths {
		fmt.Fprintf(out, "Opening %s\n", screen.Plain(store.Redact(path))) //nolint:errcheck // a terminal that is gone must not end play
		b, err := openBag(ctx, path)
		if err != nil {
			return bags, err
		}
		bags = append(bags, b)
	}
	return bags, nil
}

func closeAll(bags []*player.Bag) {
	for _, b := range bags {
		b.Close() //nolint:errcheck,gosec // only read from
	}
}

// openBag opens a file, or what a URL names.
func openBag(ctx context.Context, path string) (*player.Bag, error) {
	if !store.IsURL(path) {
		return player.OpenBag(ctx, path)
	}
	object, err := store.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	b, err := player.NewBag(ctx, store.Redact(path), object, object.Size())
	if err != nil {
		object.Close() //nolint:errcheck,gosec // only read from
		return nil, err
	}
	return b, nil
}
