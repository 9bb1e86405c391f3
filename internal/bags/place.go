package bags

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// Place is a directory, or a folder in a store, with all that is below it.
type Place struct {
	*store.Bucket
	arg    string // as the user wrote it
	Remote bool   // it is a URL
}

// OpenPlace opens a place, to be read at perSecond bytes a second; zero means without a limit.
func OpenPlace(ctx context.Context, arg string, perSecond int64) (*Place, error) {
	p := &Place{arg: arg, Remote: store.IsURL(arg)}
	at := arg
	switch {
	case strings.HasPrefix(arg, "http://"), strings.HasPrefix(arg, "https://"):
		return nil, errors.New("is a web server, which lists no bags; name a folder of a store, or a directory")
	case !p.Remote:
		st, err := os.Stat(arg)
		if err == nil && !st.IsDir() {
			err = errors.New("is not a directory")
		}
		if err != nil {
			return nil, wording.Explain(err)
		}
		if at, err = filepath.Abs(arg); err != nil {
			return nil, wording.Explain(err)
		}
		at = (&url.URL{Scheme: "file", Path: filepath.ToSlash(at)}).String()
	}
	b, err := store.OpenBucket(ctx, at, perSecond)
	if err != nil {
		return nil, wording.Explain(err)
	}
	p.Bucket = b
	return p, nil
}

// Path returns what names an object of the place in another command.
func (p *Place) Path(name string) string {
	if p.Remote {
		return p.URL(name)
	}
	return filepath.Join(p.arg, filepath.FromSlash(name))
}
