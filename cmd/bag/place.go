package main

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/gorosbag/gorosbag/internal/explain"
	"github.com/gorosbag/gorosbag/internal/store"
)

// place is a directory, or a folder in a store, with all that is below it.
type place struct {
	*store.Bucket
	arg    string // as the user wrote it
	remote bool   // it is a URL
}

// openPlace opens a place, to be read at perSecond bytes a second; zero means without a limit.
func openPlace(ctx context.Context, arg string, perSecond int64) (*place, error) {
	p := &place{arg: arg, remote: store.IsURL(arg)}
	at := arg
	switch {
	case strings.HasPrefix(arg, "http://"), strings.HasPrefix(arg, "https://"):
		return nil, errors.New("is a web server, which lists no bags; name a folder of a store, or a directory")
	case !p.remote:
		st, err := os.Stat(arg)
		if err == nil && !st.IsDir() {
			err = errors.New("is not a directory")
		}
		if err != nil {
			return nil, explain.Error(err)
		}
		if at, err = filepath.Abs(arg); err != nil {
			return nil, explain.Error(err)
		}
		at = (&url.URL{Scheme: "file", Path: filepath.ToSlash(at)}).String()
	}
	b, err := store.OpenBucket(ctx, at, perSecond)
	if err != nil {
		return nil, explain.Error(err)
	}
	p.Bucket = b
	return p, nil
}

// path returns what names an object of the place in another command.
func (p *place) path(name string) string {
	if p.remote {
		return p.URL(name)
	}
	return filepath.Join(p.arg, filepath.FromSlash(name))
}
