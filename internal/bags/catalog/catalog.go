package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/rosbag"
)

// bagsInFlight is the number of bags that are read at the same time.
const bagsInFlight = 8

// Options are the options of Load.
type Options struct {
	All bool // read all bags, also those with a good summary

	// Open opens a bag of the place. Errors about the content of the bag are errors of package rosbag;
	// ErrForeign means that the file is no bag in spite of its name.
	Open func(ctx context.Context, bag string) (rosbag.Source, io.Closer, error)
	// IsRecording reports whether a folder with a metadata.yaml is one recording of ROS 2, which Open
	// opens, as it opens database files. If it is nil, no folder and no database counts as a recording.
	IsRecording func(folder string) bool
	// Listed is called with the number of objects that were listed so far. It may be nil.
	Listed func(n int)
	// Read is called with the progress of reading bags. It may be nil.
	Read func(n, of int)
	// Foreign is called for each file for which Open has returned ErrForeign. Calls of Foreign and
	// Problem come one at a time. It may be nil if Open never returns ErrForeign.
	Foreign func(name string)
	// Problem is called for each bag, or file of the catalog, that cannot be read, one call at a time.
	Problem func(name string, err error)
}

// ErrForeign is returned by Options.Open for a file of another program, which is not in a catalog and is
// not damaged.
var ErrForeign = errors.New("a file of another program")

// Catalog has the summaries of all bags of a place.
type Catalog struct {
	Bags    []*Summary // by name
	Read    int        // bags that had no good summary and were read
	Dropped int        // summaries of bags that are gone
	Failed  int        // bags that could not be read; damaged bags have a summary with an Error instead

	bucket *store.Bucket
	homes  map[string]*home // by folder
}

// home is a folder with a catalog, or the place itself.
type home struct {
	files   []string // of the catalog
	bags    newest   // bags below the folder, without those below another home in it
	changed bool     // the files differ from bags
}

// Load lists a place and reads its catalogs, and the bags that have no summary there.
func Load(ctx context.Context, b *store.Bucket, o Options) (*Catalog, error) {
	c := &Catalog{bucket: b, homes: map[string]*home{"": {bags: newest{}}}}
	there, files, odd, err := c.list(ctx, o)
	if err != nil {
		return nil, err
	}
	for _, name := range odd {
		c.Failed++
		o.Problem(name, ErrName)
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
	var unread []store.Entry
	for bag, e := range there {
		if s := known[bag]; s != nil && s.Size == e.Size && !o.All {
			c.keep(s)
		} else {
			unread = append(unread, e)
		}
	}
	for bag := range known {
		if _, ok := there[bag]; !ok {
			c.Dropped++
			c.homeOf(bag).changed = true
		}
	}
	slices.SortFunc(unread, func(a, b store.Entry) int { return cmp.Compare(a.Name, b.Name) })
	if err := c.read(ctx, unread, o); err != nil {
		return nil, err
	}
	slices.SortFunc(c.Bags, func(a, b *Summary) int { return cmp.Compare(a.Bag, b.Bag) })
	return c, nil
}

// ErrName says of an object of a store that has the name of a bag why it is not read.
var ErrName = errors.New("is the name of an object that no path can have, such as one with an empty part or a leading slash: it is not read; rename it with a tool of the store")

// list returns the bags by name, the files of catalogs, and the names of bags that are no paths.
func (c *Catalog) list(
	ctx context.Context, o Options,
) (bags map[string]store.Entry, files, odd []string, err error) {
	bags = map[string]store.Entry{}
	var folders []string // that may be recordings of ROS 2
	n := 0
	for e, err := range c.bucket.List(ctx) {
		if err != nil {
			return nil, nil, nil, err
		}
		if n++; o.Listed != nil {
			o.Listed(n)
		}
		switch {
		case !fs.ValidPath(e.Name):
			if IsBag(e.Name) {
				odd = append(odd, e.Name)
			}
		case IsBag(e.Name), o.IsRecording != nil && ends(e.Name, ".db3"):
			bags[e.Name] = e
		case o.IsRecording != nil && path.Base(e.Name) == metadataName:
			folders = append(folders, path.Dir(e.Name))
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
	if len(folders) > 0 {
		gather(bags, folders, o.IsRecording)
	}
	return bags, files, odd, nil
}

// metadataName is the file that says what the recording of ROS 2 in its folder consists of.
const metadataName = "metadata.yaml"

// gather replaces the storage files in each folder that is a recording by one bag with the sum of their
// sizes.
func gather(bags map[string]store.Entry, folders []string, isRecording func(folder string) bool) {
	names := map[string][]string{} // of storage files, by folder
	for name := range bags {
		if path.Ext(name) == ".mcap" || path.Ext(name) == ".db3" {
			names[path.Dir(name)] = append(names[path.Dir(name)], name)
		}
	}
	for _, folder := range folders {
		if !isRecording(folder) {
			continue
		}
		one := store.Entry{Name: folder}
		for _, name := range names[folder] {
			one.Size += bags[name].Size
			delete(bags, name)
		}
		bags[folder] = one
	}
}

// IsBag reports whether the name of an object is that of a bag or of an MCAP file.
func IsBag(name string) bool { return ends(name, ".bag", ".mcap") }

// ends reports whether a name has one of the endings, and neither is hidden nor that of a file of a catalog.
func ends(name string, endings ...string) bool {
	return slices.Contains(endings, path.Ext(name)) && !strings.HasPrefix(path.Base(name), ".") &&
		path.Base(path.Dir(name)) != Folder
}

// homeOf returns the home of a bag: the nearest folder above it that has a catalog.
func (c *Catalog) homeOf(bag string) *home {
	for folder := path.Dir(bag); folder != "."; folder = path.Dir(folder) { // bag is a valid path
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
func (c *Catalog) read(ctx context.Context, bags []store.Entry, o Options) error {
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
			switch {
			case errors.Is(err, ErrForeign):
				o.Foreign(bag.Name)
				return nil
			case err != nil:
				c.Failed++
				o.Problem(bag.Name, err)
				return nil
			}
			c.Read++
			c.homeOf(bag.Name).changed = true
			c.keep(s)
			return nil
		})
	}
	return group.Wait()
}

func (c *Catalog) summarize(ctx context.Context, bag store.Entry, o Options) (*Summary, error) {
	r, file, err := o.Open(ctx, bag.Name)
	if err == nil {
		defer file.Close() //nolint:errcheck // only read from
	}
	s, err := summarize(r, err, bag.Size)
	if err != nil {
		return nil, err
	}
	s.Bag = bag.Name
	if a, err := c.bucket.Attributes(ctx, bag.Name); err == nil { // the rest is known without it
		s.SHA256, s.Robot = a.SHA256, cmp.Or(s.Robot, a.Host)
	}
	return s, nil
}

// Write updates the catalogs of the place and merges their files. It does not touch catalogs that are up
// to date. Other programs may use the catalogs at the same time.
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

// Inventory lists the bags of a place, and the names of bags that are in its catalogs but no longer in
// the place. It leaves out recordings of ROS 2, which catalogs name by their folders. odd are names of
// bags that are no paths, see ErrName.
func Inventory(ctx context.Context, b *store.Bucket) (bags []store.Entry, missing, odd []string, err error) {
	c := &Catalog{bucket: b, homes: map[string]*home{}}
	there, files, odd, err := c.list(ctx, Options{})
	if err != nil {
		return nil, nil, nil, err
	}
	gone := map[string]bool{}
	err = readFiles(ctx, b, files, wholeFiles, func(_ string, lines []*Summary) {
		for _, s := range lines {
			if _, ok := there[s.Bag]; !ok && IsBag(s.Bag) {
				gone[s.Bag] = true
			}
		}
	}, func(string, error) {}) // gobag find reports damaged files
	bags = slices.SortedFunc(maps.Values(there),
		func(a, b store.Entry) int { return cmp.Compare(a.Name, b.Name) })
	return bags, slices.Sorted(maps.Keys(gone)), odd, err
}
