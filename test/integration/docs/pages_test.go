package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// prose returns the lines of a page, with those of its blocks of commands empty.
func prose(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	block := false
	for line := range strings.Lines(string(b)) {
		fence := strings.HasPrefix(line, "```")
		if fence {
			block = !block
		}
		if block || fence {
			line = ""
		}
		lines = append(lines, strings.TrimRight(line, "\n"))
	}
	return lines
}

// hasTitle reports whether a page has a title with that anchor, as GitHub makes it.
func hasTitle(t *testing.T, path, anchor string) bool {
	t.Helper()
	for _, line := range prose(t, path) {
		title := strings.TrimLeft(line, "#")
		if title == line {
			continue
		}
		if anchor == strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(title)) {
			return true
		}
	}
	return false
}

// pageLink is a link of a page to a file of the repository.
type pageLink struct {
	place  string // page and line
	target string // path of the file
	title  string // anchor; empty for none
}

// links returns the links of a page that lead to no other server.
func links(t *testing.T, page string) (all []pageLink) {
	t.Helper()
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for i, line := range prose(t, page) {
		for _, found := range link.FindAllStringSubmatch(line, -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			file, title, _ := strings.Cut(found[1], "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			all = append(all, pageLink{fmt.Sprintf("%s:%d", page, i+1), target, title})
		}
	}
	return all
}

// pages returns all pages.
func pages(t *testing.T) (all []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/adr/*.md"} {
		some, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(some) == 0 {
			t.Fatalf("%s: %q, %v", pattern, some, err)
		}
		all = append(all, some...)
	}
	return all
}

// Links between pages lead to files and titles that exist.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		for _, link := range links(t, page) {
			if _, err := os.Stat(link.target); err != nil {
				t.Errorf("%s: %v", link.place, err)
			} else if link.title != "" && !hasTitle(t, link.target, link.title) {
				t.Errorf("%s: %s has no title #%s", link.place, link.target, link.title)
			}
		}
	}
}

// TestArchive: the Debian package, and the archives, which are made of it, have each page to which one of their pages
// leads.
func TestArchive(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(filepath.Join(root, "packaging/deb.sh"))
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^pages="([^"]+)"`).FindSubmatch(script)
	if names == nil {
		t.Fatal("packaging/deb.sh names no pages")
	}
	has := func(path string) bool {
		name, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(filepath.ToSlash(name), "/")
		return slices.Contains(strings.Fields(string(names[1])), first)
	}
	if !has(filepath.Join(root, "README.md")) {
		t.Error("a package has no README.md")
	}
	for _, page := range pages(t) {
		if !has(page) {
			continue
		}
		for _, link := range links(t, page) {
			if !has(link.target) {
				t.Errorf("%s: a package does not have %s", link.place, link.target)
			}
		}
	}
}

// The first screen of README shows the two commands.
func TestREADMEBeginsWithCommands(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	top := strings.Join(strings.SplitN(string(b), "\n", 25)[:24], "\n")
	for _, command := range []string{"make demo", "make test"} {
		if !strings.Contains(top, command) {
			t.Errorf("%s is not in the first 24 lines", command)
		}
	}
}

// The indexes have every page and every decision.
func TestIndex(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"docs", "docs/adr"} {
		index, err := os.ReadFile(filepath.Join(root, dir, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		pages, err := filepath.Glob(filepath.Join(root, dir, "*.md"))
		if err != nil || len(pages) < 10 {
			t.Fatalf("%q, %v", pages, err)
		}
		for _, page := range pages {
			if name := filepath.Base(page); name != "README.md" && !strings.Contains(string(index), "("+name+")") {
				t.Errorf("%s/README.md does not name %s", dir, name)
			}
		}
	}
}
