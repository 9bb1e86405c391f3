package catalog

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gorosbag/gorosbag/internal/cloud/store"
)

// Folder is the folder of a catalog, beside the bags that the catalog describes.
const Folder = ".gorosbag-catalog"

const (
	suffix = ".jsonl.gz" // of the files of a catalog: lines of JSON, compressed

	maxPackLines   = 5000     // of a file; about 0.5 MB
	maxPackTopics  = 500_000  // of all lines, so that decode takes less than maxFileBytes
	smallFileBytes = 64 << 10 // files below that are merged

	requestsInFlight = 32
)

// readLimits bound the memory for reading files.
type readLimits struct {
	inFlight         int   // files at a time
	packed, unpacked int64 // bytes of a file; larger files were not written by this package
}

// wholeFiles are the limits for files of any catalog.
var wholeFiles = readLimits{inFlight: requestsInFlight, packed: 64 << 20, unpacked: maxFileBytes}

// newName returns the name of a new file. A name is never used twice, so that a file that was read can be
// deleted.
func newName(about string) string {
	return path.Join(Folder, about+"-"+time.Now().UTC().Format("20060102T150405")+"-"+rand.Text()[:10]+suffix)
}

// newest are the newest summaries of bags, by name.
type newest map[string]*Summary

func (n newest) add(s *Summary) {
	if known := n[s.Bag]; known == nil || known.Written.Before(s.Written) {
		n[s.Bag] = s
	}
}

// readFiles reads files of catalogs. It calls read for each file, one call at a time, with the lines of
// the file, in which names of bags are relative to the bucket's place. It skips files that were deleted
// meanwhile, and calls problem for files that are damaged or exceed the limits.
func readFiles(ctx context.Context, b *store.Bucket, files []string, limits readLimits,
	read func(file string, lines []*Summary), problem func(file string, err error),
) error {
	var mu sync.Mutex
	intern := map[string]string{} // the same topics and types are in thousands of bags
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(limits.inFlight)
	for _, file := range files {
		// owner: readFiles; ends with the request.
		group.Go(func() error {
			data, err := b.ReadAll(ctx, file, limits.packed)
			var lines []*Summary
			switch {
			case errors.Is(err, store.ErrNotFound):
				return nil // merged into another file; the bags are read if that file was not listed
			case err == nil:
				lines, err = decode(data, limits.unpacked)
			case !errors.Is(err, store.ErrTooLarge):
				return err
			}
			home := homeOf(file)
			mu.Lock()
			defer mu.Unlock()
			if errors.Is(err, store.ErrTooLarge) {
				problem(file, err)
				return nil
			}
			for _, s := range lines {
				s.Bag = path.Join(home, s.Bag)
				for i := range s.Topics {
					t := &s.Topics[i]
					t.Topic, t.Type = interned(intern, t.Topic), interned(intern, t.Type)
				}
			}
			read(file, lines)
			if err != nil {
				problem(file, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func interned(known map[string]string, s string) string {
	if same, ok := known[s]; ok {
		return same
	}
	known[s] = s
	return s
}

// isFile reports whether an object is a file of a catalog.
func isFile(name string) bool {
	return path.Base(path.Dir(name)) == Folder && strings.HasSuffix(name, suffix)
}

// homeOf returns the folder whose bags the catalog of a file describes.
func homeOf(file string) string {
	if home := path.Dir(path.Dir(file)); home != "." {
		return home
	}
	return ""
}

// packs divides summaries into groups that fit one file each.
func packs(all []*Summary) iter.Seq[[]*Summary] {
	return func(yield func([]*Summary) bool) {
		first, topics := 0, 0
		for i, s := range all {
			if topics += len(s.Topics); i-first == maxPackLines || i > first && topics > maxPackTopics {
				if !yield(all[first:i]) {
					return
				}
				first, topics = i, len(s.Topics)
			}
		}
		if first < len(all) {
			yield(all[first:])
		}
	}
}

// writePacks writes summaries into new files of the catalog of a folder.
func writePacks(ctx context.Context, b *store.Bucket, home string, all newest) (files []string, err error) {
	sorted := slices.SortedFunc(maps.Values(all),
		func(a, b *Summary) int { return cmp.Compare(a.Bag, b.Bag) })
	for lines := range packs(sorted) {
		relative := make([]*Summary, len(lines))
		for i, s := range lines {
			r := *s
			if home != "" {
				r.Bag = strings.TrimPrefix(s.Bag, home+"/")
			}
			relative[i] = &r
		}
		data, err := encode(relative)
		if err != nil {
			return files, err
		}
		file := path.Join(home, newName("pack"))
		if err := b.WriteAll(ctx, file, data); err != nil {
			return files, err
		}
		files = append(files, file)
	}
	return files, nil
}

// deleteFiles deletes files whose lines are in other files.
func deleteFiles(ctx context.Context, b *store.Bucket, files []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(requestsInFlight)
	for _, file := range files {
		// owner: deleteFiles; ends with the request.
		group.Go(func() error { return b.Delete(ctx, file) })
	}
	return group.Wait()
}
