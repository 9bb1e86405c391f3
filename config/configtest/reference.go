package configtest

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/config"
)

// Reference compares the options of a program with its section of the page at path, or writes that section.
func Reference(t *testing.T, path string, p *config.Program) {
	t.Helper()
	page, err := os.ReadFile(path) //nolint:gosec // a file of the test
	if err != nil {
		t.Fatal(err)
	}
	text, err := p.Reference()
	if err != nil {
		t.Fatal(err)
	}
	before, section, ok := strings.Cut(string(page), "## "+p.Name+"\n")
	section, after, more := strings.Cut("## "+p.Name+"\n"+section, "\n## ")
	if more {
		after = "\n## " + after
	}
	if !ok {
		t.Fatalf("%s has no section on %s", path, p.Name)
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+text+after), 0o600); err != nil { //nolint:gosec // a file of the test
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(strings.Split(text, "\n"), strings.Split(section, "\n")); d != "" {
		t.Errorf("%s: run go test -p 1 ./cmd/record ./cmd/play -run Reference -update (-want +got):\n%s", path, d)
	}
}

// Variables checks that each option is in a group, and that its variable is called as the help says, which
// does not name it each time anew.
func Variables(t *testing.T, p *config.Program) {
	t.Helper()
	text, err := p.Reference()
	if err != nil {
		t.Fatal(err)
	}
	heading, options := "", 0
	for line := range strings.Lines(text) {
		if after, ok := strings.CutPrefix(line, "### "); ok {
			heading = after
		}
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "/"), "|")
		if len(cells) < 6 || !strings.Contains(cells[1], "--") || strings.HasPrefix(cells[1], "---") {
			continue
		}
		options++
		_, name, _ := strings.Cut(cells[1], "--")
		name, _, _ = strings.Cut(name, "=")
		name = strings.Trim(name, "[` ")
		key, variable := strings.Trim(cells[2], "` "), strings.Trim(cells[3], "` ")
		switch name {
		case "help", "version", "man", "print-config", "check-config":
			if key != "" || variable != "" {
				t.Errorf("--%s is %q in a file and %q as a variable", name, key, variable)
			}
			continue
		case p.Words.Option:
			if key != p.Words.Name+"s" {
				t.Errorf("--%s is %q in a file", name, key)
			}
		}
		want := strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if !strings.HasPrefix(name, "ros-") {
			want = strings.ToUpper(p.Name) + "_" + want
		}
		if variable != want {
			t.Errorf("--%s: variable %s, want %s", name, variable, want)
		}
		if strings.Contains(heading, "about the program") && name != "try-future-version" {
			t.Errorf("--%s is in no group", name)
		}
	}
	if options < 20 {
		t.Errorf("%d options found: this test looks in the wrong place", options)
	}
}

// outcommented matches the first line of an option that an example file only proposes.
var outcommented = regexp.MustCompile(`^#([a-z0-9_]+):`)

// Example loads a file that is installed, as it is, and with each of the options that it only proposes. against
// names the option that a proposal stands against, needs another proposal that it needs.
func Example(t *testing.T, path string, against, needs map[string]string, parse func(args []string) ([]config.Setting, error)) {
	t.Helper()
	text, err := os.ReadFile(path) //nolint:gosec // a file of the test
	if err != nil {
		t.Fatal(err)
	}
	settings, err := parse([]string{"--config", path})
	if err != nil {
		t.Fatal(err)
	}
	set, proposed := 0, 0
	for _, s := range settings {
		if strings.HasPrefix(s.Origin, path) {
			set++
		}
	}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		m := outcommented.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		proposed++
		file := t.TempDir() + "/robot.yaml"
		if err := os.WriteFile(file, []byte(proposing(lines, i, against[m[1]], needs[m[1]])), 0o600); err != nil {
			t.Fatal(err)
		}
		settings, err := parse([]string{"--config", file})
		if err != nil {
			t.Errorf("%s:%d: %v", path, i+1, err)
		}
		for _, s := range settings {
			if s.Key == m[1] && (s.Default() || len(s.Values) == 0) {
				t.Errorf("%s:%d: %s has no effect", path, i+1, s.Key)
			}
		}
	}
	if set < 8 || proposed < 8 {
		t.Errorf("%s: %d options set, %d proposed: this test looks in the wrong place", path, set, proposed)
	}
}

// proposing returns the lines with the proposal in force that begins at line at, and what stands against
// it out of force.
func proposing(lines []string, at int, against, needs string) string {
	var out []string
	for i, line := range lines {
		switch {
		case i == at, i == at+1 && strings.HasPrefix(line, "#  "), needs != "" && strings.HasPrefix(line, "#"+needs+":"):
			line = line[1:]
		case against != "" && strings.HasPrefix(line, against+":"):
			line = ""
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}
