package catalog

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/store"
)

// bagsInFlight is how many bags are read at the same time.
const bagsInFlight = 8

// Options are the options of Load.
type Options struct {
	All  bool // read all bags, whatever is known of them
	Scan bool // read bags without an index from front to back

	// Open opens a bag of the place.
	Open func(ctx context.Context, bag string) (file File, size int64, err error)
	// Listed is told how many objects were listed so far. It may be nil.
	Listed func(n int)
	// Read is told how many of the bags that have to be read were. It may be nil.
	Read func(n, of int)
	// Problem is told of a bag, or a file of the catalog, that cannot be read. Calls come one at a time.
	Problem func(name string, err error)
}

// File is an open bag.
type File interface {
	io.ReaderAt
	io.Closer
}

// Catalog has the summaries of all bags of a place.
type Catalog struct {
	Bags    []*Summary // by name
	Read    int        // bags that had no good summary and were read
	Dropped int        // summaries of bags that are gone
	Failed  int        // bags that could not be read; those that are no good bags have a summary with an Error

	bucket *store.Bucket
	homes  map[string]*home // by folder
}

// home is a folder with a catalog, or the place itself.
type home struct {
	files   []string // of the catalog
	bags    newest   // below the folder, and below no home in it
	changed bool     // the files do not say the same as bags
}

// Load lists a place and reads its catalogs, and the bags that have no summary there.
func Load(ctx context.Context, b *store.Bucket, o Options) (*Catalog, error) {
	c := &Catalog{bucket: b, homes: map[string]*home{"": {bags: newest{}}}}
	there, files, err := c.list(ctx, o.Listed)
	if err != nil {
		return nil, err
	}
	known := newest{}
	err = readFiles(ctx, b, files, wholeFiles, func(_ string, lines []*Summary) {
		for _, s := range lines {
			known.add(s)
		}
	}, func(file string, err error) {
		c.homes[homeOf(file)].changed = true
		o.Problem(file, fmt.Errorf("a damaged file of the catalog: %w; gobag index makes another", err))
	})
	if err != nil {
		return nil, err
	}
	var unread []string
	for bag, e := range there {
		if s := known[bag]; s != nil && s.Size == e.Size && !o.All {
			c.keep(s)
		} else {
			unread = append(unread, bag)
		}
	}
	for bag := range known {
		if _, ok := there[bag]; !ok {
			c.Dropped++
			c.homeOf(bag).changed = true
		}
	}
	slices.Sort(unread)
	if err := c.read(ctx, unread, o); err != nil {
		return nil, err
	}
	slices.SortFunc(c.Bags, func(a, b *Summary) int { return cmp.Compare(a.Bag, b.Bag) })
	return c, nil
}

// list returns the bags by name, and the files of catalogs.
func (c *Catalog) list(ctx context.Context, listed func(int)) (bags map[string]store.Entry, files []string, err error) {
	bags = map[string]store.Entry{}
	n := 0
	for e, err := range c.bucket.List(ctx) {
		if err != nil {
			return nil, nil, err
		}
		if n++; listed != nil {
			listed(n)
		}
		switch {
		case IsBag(e.Name):
			bags[e.Name] = e
		case isFile(e.Name):
			files = append(files, e.Name)
			folder := homeOf(e.Name)
			h := c.homes[folder]
			if h == nil {
				h = &home{bags: newest{}}
				c.homes[folder] = h
			}
			h.files = append(h.files, e.Name)
		}
	}
	return bags, files, nil
}

// IsBag reports whether the name of an object is that of a bag or of an MCAP file.
func IsBag(name string) bool {
	return (strings.HasSuffix(name, ".bag") || strings.HasSuffix(name, ".mcap")) && !strings.HasPrefix(path.Base(name), ".") && path.Base(path.Dir(name)) != Folder
}

// homeOf returns the home of a bag: the nearest folder above it that has a catalog.
func (c *Catalog) homeOf(bag string) *home {
	for folder := path.Dir(bag); folder != "."; folder = path.Dir(folder) {
		if h := c.homes[folder]; h != nil {
			return h
		}
	}
	return c.homes[""]
}

func (c *Catalog) keep(s *Summary) {
	c.homeOf(s.Bag).bags[s.Bag] = s
	c.Bags = append(c.Bags, s)
}

// read reads bags.
func (c *Catalog) read(ctx context.Context, bags []string, o Options) error {
	var mu sync.Mutex
	done := 0
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(bagsInFlight)
	for _, bag := range bags {
		// owner: read; ends when the bag is read or with ctx.
		group.Go(func() error {
			s, err := c.summarize(ctx, bag, o)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			mu.Lock()
			defer mu.Unlock()
			if done++; o.Read != nil {
				o.Read(done, len(bags))
			}
			if err != nil {
				c.Failed++
				o.Problem(bag, err)
				return nil
			}
			c.Read++
			c.homeOf(bag).changed = true
			c.keep(s)
			return nil
		})
	}
	return group.Wait()
}

func (c *Catalog) summarize(ctx context.Context, bag string, o Options) (*Summary, error) {
	file, size, err := o.Open(ctx, bag)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read from
	s, err := Summarize(file, size, bagfmt.ReaderOptions{IndexOnly: !o.Scan, FutureVersion: true, Interrupted: ctx.Err})
	if err != nil {
		return nil, err
	}
	s.Bag = bag
	if a, err := c.bucket.Attributes(ctx, bag); err == nil { // the rest is known without it
		s.SHA256, s.Robot = a.SHA256, cmp.Or(s.Robot, a.Host)
	}
	return s, nil
}

// Write brings the catalogs of the place up to date and merges their files. It changes nothing where
// nothing is to be changed. Nobody else needs to wait meanwhile.
func (c *Catalog) Write(ctx context.Context) error {
	for _, folder := range slices.Sorted(maps.Keys(c.homes)) {
		h := c.homes[folder]
		needed := 0
		for range packs(slices.Collect(maps.Values(h.bags))) {
			needed++
		}
		if !h.changed && len(h.files) <= max(needed, 1) {
			continue
		}
		if _, err := writePacks(ctx, c.bucket, folder, h.bags); err != nil {
			return err
		}
		if err := deleteFiles(ctx, c.bucket, h.files); err != nil {
			return err
		}
	}
	return nil
}

// Inventory lists the bags of a place, and the names of those that its catalogs have but the place
// has not.
func Inventory(ctx context.Context, b *store.Bucket) (bags []store.Entry, missing []string, err error) {
	c := &Catalog{bucket: b, homes: map[string]*home{}}
	there, files, err := c.list(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	gone := map[string]bool{}
	err = readFiles(ctx, b, files, wholeFiles, func(_ string, lines []*Summary) {
		for _, s := range lines {
			if _, ok := there[s.Bag]; !ok {
				gone[s.Bag] = true
			}
		}
	}, func(string, error) {}) // gobag find tells of a damaged file
	bags = slices.SortedFunc(maps.Values(there), func(a, b store.Entry) int { return cmp.Compare(a.Name, b.Name) })
	return bags, slices.Sorted(maps.Keys(gone)), err
}
