package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licenseName matches the files that have to accompany a program.
var licenseName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// linked is a package that a program contains, as "go list" describes it.
type linked struct {
	Dir      string
	Root     string // of the standard library
	Standard bool
	Module   *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// origin returns the name of the module that p belongs to and its directory.
func (p linked) origin() (name, root string) {
	if p.Standard {
		return "Go standard library", p.Root
	}
	return p.Module.Path + " " + p.Module.Version, p.Module.Dir
}

// licenses returns the license texts of the modules that the packages matching pattern link,
// each text once, below the names of its files. A module without one is an error.
func licenses(ctx context.Context, tags, pattern string) ([]byte, error) {
	packages, err := list(ctx, tags, pattern)
	if err != nil {
		return nil, err
	}
	files := map[string][]string{} // by text
	found := map[string]bool{}     // by module
	seen := map[string]bool{}      // by directory
	for _, p := range packages {
		if p.Module != nil && p.Module.Main {
			continue
		}
		name, root := p.origin()
		if _, ok := found[name]; !ok {
			found[name] = false
		}
		// A directory below the root may have a license of its own, for code from elsewhere.
		for dir := p.Dir; !seen[dir] && strings.HasPrefix(dir, root); dir = filepath.Dir(dir) {
			seen[dir] = true
			texts, err := licensesIn(dir)
			if err != nil {
				return nil, err
			}
			for file, text := range texts {
				files[text] = append(files[text],
					name+": "+filepath.ToSlash(strings.TrimPrefix(filepath.Join(dir, file),
						root+string(filepath.Separator))))
				found[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if !found[name] {
			return nil, fmt.Errorf("%s has no license file", name)
		}
	}
	return format(files), nil
}

// list returns the packages that those matching pattern consist of.
func list(ctx context.Context, tags, pattern string) ([]linked, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-tags", tags, "-json=Dir,Root,Standard,Module", pattern) //nolint:gosec // from our scripts
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, &complaint)
	}
	var packages []linked
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p linked
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages, nil
		case err != nil:
			return nil, err
		}
		packages = append(packages, p)
	}
}

// licensesIn returns the license texts in a directory by the names of their files.
func licensesIn(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for _, e := range entries {
		if e.IsDir() || filepath.Ext(e.Name()) == ".go" || !licenseName.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name())) //nolint:gosec // a license that was found there
		if err != nil {
			return nil, err
		}
		texts[e.Name()] = string(text)
	}
	return texts, nil
}

// format lists each text below the names of its files, in the order of those names.
func format(files map[string][]string) []byte {
	for _, names := range files {
		slices.Sort(names)
	}
	texts := slices.SortedFunc(maps.Keys(files),
		func(a, b string) int { return strings.Compare(files[a][0], files[b][0]) })
	rule := strings.Repeat("=", 80)
	var b bytes.Buffer
	b.WriteString("The programs of gorosbag contain code of the modules below, under these licenses.\n")
	for _, text := range texts {
		fmt.Fprintf(&b, "\n%s\n%s\n%s\n\n%s\n", rule, strings.Join(files[text], "\n"), rule,
			strings.Trim(text, "\n"))
	}
	return b.Bytes()
}
