package store

import (
	"context"
	"iter"
	"os"
	"path"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/response"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// Entry is an object in a listing.
type Entry struct {
	Name    string // below the place, with slashes
	Size    int64
	ModTime time.Time
}

// List lists the objects below the place, by name. A store lists at most 1,000 objects per response.
// A directory that does not exist is an error, a prefix without objects is not.
func (b *Bucket) List(ctx context.Context) iter.Seq2[Entry, error] { return b.list(ctx, "", true) }

// ListIn lists the objects directly in a folder, given with its name below the place; a folder
// that does not exist has none.
func (b *Bucket) ListIn(ctx context.Context, folder string) iter.Seq2[Entry, error] {
	return b.list(ctx, folder+"/", false)
}

// list lists the objects whose names begin with prefix, including those in folders if deep is set.
func (b *Bucket) list(ctx context.Context, prefix string, deep bool) iter.Seq2[Entry, error] {
	base := b.at.Object("").Key
	if base != "" {
		base += "/"
	}
	return func(yield func(Entry, error) bool) {
		left := listRoom(maxListBytes)
		for o, err := range b.bucket.List(response.WithPages(ctx), base+prefix, deep) {
			if err == nil {
				err = left.take(o.Key)
			}
			switch {
			case err != nil:
				yield(Entry{}, b.at.Explain(err))
				return
			case strings.HasSuffix(o.Key, "/"): // what consoles make to show a folder
			case !yield(Entry{strings.TrimPrefix(o.Key, base), o.Size, o.ModTime}, nil):
				return
			}
		}
	}
}

// Limits of a list.
const (
	maxNameBytes = 4 << 10   // no store allows more than 1,024 characters
	maxListBytes = 512 << 20 // of memory, such as 1.5 million objects with names of 100 bytes
	objectBytes  = 256       // of memory for an object, beside its name
)

// listRoom is how many bytes of memory the objects of a list may still take in the program that lists them.
type listRoom int

// take returns an error if there is no room for an object.
func (r *listRoom) take(name string) error {
	if len(name) > maxNameBytes {
		return place.BadResponse("the server has an object with a name of %d bytes", len(name))
	}
	if *r -= listRoom(objectBytes + len(name)); *r < 0 {
		return place.BadResponse("the server has too many objects for one list: name a folder in that place")
	}
	return nil
}

// URL returns the URL of an object, with the parameters of that of the bucket.
func (b *Bucket) URL(name string) string { return b.at.Object(name).URL.String() }

// Expand returns the URLs of the objects that a URL stands for, in the order of their names. A URL that
// ends with a slash stands for the objects directly in that folder, a URL with * or [ for the objects
// that it matches as path.Match does, and any other URL for itself. want selects objects by their names.
func Expand(ctx context.Context, rawURL string, want func(name string) bool) ([]string, error) {
	at, err := place.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	raw := strings.TrimPrefix(at.URL.Path, "/")
	folder := raw == "" || strings.HasSuffix(raw, "/")
	wild := strings.IndexAny(raw, "*[")
	switch {
	case at.URL.Scheme == place.SchemeHTTP, at.URL.Scheme == place.SchemeHTTPS: // web servers list nothing
		return []string{rawURL}, nil
	case wild < 0 && at.URL.Scheme == place.SchemeFile:
		st, err := os.Stat(at.File())
		folder = folder || err == nil && st.IsDir()
	}
	if wild < 0 && !folder {
		return []string{rawURL}, nil
	}
	base, pattern := raw, "*"
	if wild >= 0 {
		base, _ = path.Split(raw[:wild])
		pattern = raw[len(base):]
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, at.Fail(nil, "a [ without its ]")
	}
	u := *at.URL
	u.Path, u.RawPath = "/"+base, ""
	b, err := OpenBucket(ctx, u.String(), 0)
	if err != nil {
		return nil, err
	}
	defer b.Close() //nolint:errcheck // only read from
	var found []string
	literal, _, _ := strings.Cut(pattern, "*")
	literal, _, _ = strings.Cut(literal, "[")
	for e, err := range b.list(ctx, literal, strings.Contains(pattern, "/")) {
		if err != nil {
			return nil, err
		}
		ok, _ := path.Match(pattern, e.Name)
		if ok && (wild >= 0 || want(e.Name)) || e.Name == pattern {
			found = append(found, b.URL(e.Name))
		}
	}
	return found, nil
}
