package configtest

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// CheckReference compares the options with their section of docs/options.md, or writes that section.
func (p *Program) CheckReference(t *testing.T) {
	t.Helper()
	const path = "../../docs/options.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := p.Options().Reference()
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
		if err := os.WriteFile(path, []byte(before+text+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(strings.Split(text, "\n"), strings.Split(section, "\n")); d != "" {
		t.Errorf("%s: run go test -p 1 ./cmd/record ./cmd/play -run Reference -update (-want +got):\n%s",
			path, d)
	}
}

// CheckVariables checks that each option is in a group, and that its variable has the name that the
// introduction of the help gives by a rule.
func (p *Program) CheckVariables(t *testing.T) {
	t.Helper()
	options, words := 0, p.Options().Words
	text, err := p.Options().Reference()
	if err != nil {
		t.Fatal(err)
	}
	heading := ""
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
		case words.Option:
			if key != words.Name+"s" {
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

// CheckExample loads the configuration file that is installed, as it is, and with each of the options
// that it only proposes. A proposal may exclude another option of the file (against), or need another
// proposal (needs).
func (p *Program) CheckExample(t *testing.T, against, needs map[string]string) {
	t.Helper()
	path := "../../packaging/" + p.Name + ".yaml"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	settings, err := p.list([]string{"--config", path})
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
		if err := os.WriteFile(file, []byte(proposing(lines, i, against[m[1]], needs[m[1]])),
			0o600); err != nil {
			t.Fatal(err)
		}
		settings, err := p.list([]string{"--config", file})
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

// proposing returns the lines with the proposal that begins at line at in force, as well as the proposal
// needs, and without the line of the option against.
func proposing(lines []string, at int, against, needs string) string {
	var out []string
	for i, line := range lines {
		switch {
		case i == at, i == at+1 && strings.HasPrefix(line, "#  "), needs != "" &&
			strings.HasPrefix(line, "#"+needs+":"):
			line = line[1:]
		case against != "" && strings.HasPrefix(line, against+":"):
			line = ""
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}
