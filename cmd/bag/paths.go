package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/internal/store"
)

// expand names the bags that arguments mean: a pattern that the shell has not
// expanded becomes the files that match it, a directory the bags in it, by name.
func expand(args []string) ([]string, error) {
	var paths []string
	for _, arg := range args {
		if store.IsURL(arg) {
			paths = append(paths, arg)
			continue
		}
		st, err := os.Stat(arg)
		switch {
		case err == nil && st.IsDir():
			found, err := bagsIn(arg)
			if err != nil {
				return nil, err
			}
			paths = append(paths, found...)
			continue
		case err != nil && strings.ContainsAny(arg, "*?["):
			found, err := filepath.Glob(arg)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", printable(arg), err)
			}
			if len(found) == 0 {
				return nil, fmt.Errorf("%s: no such files", printable(arg))
			}
			paths = append(paths, found...)
			continue
		}
		paths = append(paths, arg)
	}
	return paths, nil
}

// bagsIn lists the bags directly in a directory, those that are being recorded or
// were torn included. The backup NAME.orig.bag of a bag beside it is the same again,
// and not listed.
func bagsIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", printable(dir), explain(err))
	}
	present := make(map[string]bool)
	for _, e := range entries {
		present[e.Name()] = true
	}
	var paths []string
	for _, e := range entries {
		name := e.Name()
		if first, ok := strings.CutSuffix(name, ".orig.bag"); ok && present[first+".bag"] {
			continue
		}
		if !e.IsDir() && !strings.HasPrefix(name, ".") && (strings.HasSuffix(name, ".bag") || strings.HasSuffix(name, ".bag.active")) {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: no bags in this directory", printable(dir))
	}
	slices.Sort(paths)
	return paths, nil
}
