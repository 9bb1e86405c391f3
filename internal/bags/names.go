package bags

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// Names returns the names of the bags that arguments mean: a pattern that the shell has not expanded
// becomes the files that match it, a directory the bags in it, by name, unless it is a recording of ROS
// 2. URLs are treated alike; that of a folder in a store ends with a slash. Other arguments stay as they
// are.
func Names(ctx context.Context, args []string) ([]string, error) {
	var paths []string
	for _, arg := range args {
		found, err := namesOf(ctx, arg)
		if err != nil {
			return nil, err
		}
		paths = append(paths, found...)
	}
	return paths, nil
}

func namesOf(ctx context.Context, arg string) ([]string, error) {
	if store.IsURL(arg) {
		return bagsAt(ctx, arg)
	}
	st, err := os.Stat(arg)
	switch {
	case err == nil && st.IsDir() && !IsROS2Directory(ctx, arg):
		return bagsIn(arg)
	case err != nil && strings.ContainsAny(arg, "*?["):
		found, err := filepath.Glob(arg)
		if err == nil && len(found) == 0 {
			err = errors.New("no such files")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", wording.Shown(arg), err)
		}
		return found, nil
	}
	return []string{arg}, nil
}

// bagsAt names the bags that a URL means.
func bagsAt(ctx context.Context, rawURL string) ([]string, error) {
	found, err := store.Expand(ctx, rawURL, IsBag)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", wording.Shown(rawURL), wording.Explain(err))
	case len(found) == 0 && strings.Contains(rawURL, "*"):
		return nil, fmt.Errorf("%s: no such objects", wording.Shown(rawURL))
	case len(found) == 0:
		return nil, fmt.Errorf("%s: no bags there", wording.Shown(rawURL))
	}
	return found, nil
}

// IsBag reports whether the name of a file is that of a bag or of an MCAP file.
func IsBag(name string) bool {
	base := path.Base(filepath.ToSlash(name))
	return !strings.HasPrefix(base, ".") && (HasBagEnding(base) || strings.HasSuffix(base, ActiveSuffix))
}

// HasBagEnding reports whether a name ends as those of bags or of MCAP files do.
func HasBagEnding(name string) bool {
	return strings.HasSuffix(name, ".bag") || strings.HasSuffix(name, ".mcap")
}

// Stem returns a name without the ending of bags or of MCAP files.
func Stem(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, ".active"), ".bag"), ".mcap")
}

// ActiveSuffix ends the name of a bag that is being recorded.
const ActiveSuffix = ".bag.active"

// bagsIn lists the bags directly in a directory, those that are being recorded or were torn included.
// NAME.orig.bag is left out if NAME.bag is there: it is the same bag, before a command changed it in
// place.
func bagsIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", wording.Shown(dir), wording.Explain(err))
	}
	present := make(map[string]bool)
	for _, e := range entries {
		present[e.Name()] = true
	}
	var paths []string
	for _, e := range entries {
		name := e.Name()
		ext := filepath.Ext(name)
		if first, ok := strings.CutSuffix(name, ".orig"+ext); ok && present[first+ext] {
			continue
		}
		if !e.IsDir() && IsBag(name) {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: no bags in this directory", wording.Shown(dir))
	}
	slices.Sort(paths)
	return paths, nil
}
