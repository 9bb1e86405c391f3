package arch_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// tracked is a file that git knows.
type tracked struct {
	path       string
	executable bool // by its mode
	content    []byte
}

const maxTrackedBytes = 300_000

// largeFiles may be larger than maxTrackedBytes.
var largeFiles []string

// scripts are the files that may have the mode of an executable.
var scripts = []string{
	".ci/run", "packaging/deb.sh", "packaging/deb/postinst", "packaging/deb/postrm", "packaging/deb/prerm",
	"packaging/images.sh", "packaging/release.sh", "packaging/reproducible.sh",
}

// machineCode is how files begin that compilers write: ELF, Mach-O, PE, archives of objects.
var machineCode = []string{"\x7fELF", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe", "MZ", "!<arch>\n"}

// leftover matches names of files that editors, merges and Go's tools leave behind.
var leftover = regexp.MustCompile(`~$|^\.?#|\.(swp|swo|orig|rej|bak|tmp|test|prof|out)$|^\.DS_Store$`)

// unwanted returns why a file does not belong into the repository, or "".
func (f *tracked) unwanted() string {
	switch {
	case len(f.content) > maxTrackedBytes && !slices.Contains(largeFiles, f.path):
		return fmt.Sprintf("has %d bytes, more than %d: make it in the test, or list it in largeFiles", len(f.content), maxTrackedBytes)
	case slices.ContainsFunc(machineCode, func(magic string) bool { return bytes.HasPrefix(f.content, []byte(magic)) }):
		return "is compiled"
	case f.executable && !slices.Contains(scripts, f.path):
		return "has the mode of an executable: chmod -x, or list it in scripts"
	case leftover.MatchString(filepath.Base(f.path)):
		return "is left over from an editor, a merge or a tool"
	}
	return ""
}

// TestTrackedFiles checks that git tracks no large, compiled or left-over files.
func TestTrackedFiles(t *testing.T) {
	t.Parallel()
	for _, f := range trackedFiles(t) {
		if why := f.unwanted(); why != "" {
			t.Errorf("%s %s", f.path, why)
		}
	}
}

// trackedFiles returns the files that git knows, but for those that are removed and not committed yet.
func trackedFiles(t *testing.T) (all []tracked) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "-s", "-z")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Skip("not a git repository: ", err) // such as the source archive of a release
	}
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		mode, path, _ := strings.Cut(entry, "\t")
		content, err := os.ReadFile(filepath.Join(root(t), path))
		if os.IsNotExist(err) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, tracked{path, strings.HasPrefix(mode, "100755"), content})
	}
	if len(all) < 500 {
		t.Errorf("only %d files seen", len(all))
	}
	return all
}

func TestUnwanted(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]tracked{
		"has 400000 bytes, more than 300000":      {path: "testdata/large.bag", content: make([]byte, 400_000)},
		"is compiled":                             {path: "bag", content: []byte("\x7fELF\x02\x01\x01\x00")},
		"has the mode of an executable: chmod -x": {path: "docs/view.md", executable: true},
		"is left over":                            {path: "recorder/.options.go.swp"},
		"is left over from an editor":             {path: "player/plan.go.orig"},
	} {
		if got := f.unwanted(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", f.path, got, want)
		}
	}
	for _, f := range []tracked{{path: "recorder/record.go", content: []byte("package recorder")}, {path: ".ci/run", executable: true}} {
		if got := f.unwanted(); got != "" {
			t.Errorf("%s: %q", f.path, got)
		}
	}
}

// TestSuppressions checks that a nolint comment names linters that run: nolintlint says nothing about others.
func TestSuppressions(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join(root(t), ".golangci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(b), "\n  enable:")
	list, _, _ = strings.Cut(list, "\n  settings:")
	enabled := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^    - (\w+)`).FindAllStringSubmatch(list, -1) {
		enabled[m[1]] = true
	}
	directives := 0
	directive := regexp.MustCompile(`//nolint:([a-z0-9,]+)`)
	for _, f := range trackedFiles(t) {
		if filepath.Ext(f.path) != ".go" || strings.HasPrefix(f.path, "test/arch/") {
			continue
		}
		for _, m := range directive.FindAllStringSubmatch(string(f.content), -1) {
			directives++
			for name := range strings.SplitSeq(m[1], ",") {
				if !enabled[name] {
					t.Errorf("%s: nolint names %s, which does not run", f.path, name)
				}
			}
		}
	}
	if directives < 50 || len(enabled) < 30 {
		t.Errorf("%d comments, %d linters seen", directives, len(enabled))
	}
}

// unseen are decisions that no line of Go explains: about builds and libraries.
var unseen = []string{"0038"}

// TestDecisions checks that each decision of docs/adr is named where it applies, and that each one which is named exists.
func TestDecisions(t *testing.T) {
	t.Parallel()
	section, named := regexp.MustCompile(`(?m)^## (\d{4}) `), regexp.MustCompile(`ADR (\d{4}(?:, \d{4})*)`)
	decisions, places := make(map[string]bool), make(map[string]string)
	for _, f := range trackedFiles(t) {
		switch {
		case strings.HasPrefix(f.path, "docs/adr/"):
			for _, m := range section.FindAllSubmatch(f.content, -1) {
				decisions[string(m[1])] = true
			}
		case filepath.Ext(f.path) == ".go" && !strings.HasSuffix(f.path, "_test.go"):
			for _, m := range named.FindAllSubmatch(f.content, -1) {
				for number := range strings.SplitSeq(string(m[1]), ", ") {
					places[number] = f.path
				}
			}
		}
	}
	for number, path := range places {
		if !decisions[number] {
			t.Errorf("%s names ADR %s, which docs/adr does not have", path, number)
		}
	}
	for number := range decisions {
		if places[number] == "" && !slices.Contains(unseen, number) {
			t.Errorf("no line of code names ADR %s: name it above the line that it explains", number)
		}
	}
}
