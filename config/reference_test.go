package config_test

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/config"
)

var update = flag.Bool("update", false, "write docs/options.md anew")

const referenceHead = `# Options of gorecord and goplay

Each option can be given on the command line, as a variable of the environment, or in the YAML
file that ` + "`--config`" + ` (or GORECORD_CONFIG, GOPLAY_CONFIG) names. The command line takes precedence, then
the environment, then the file: each option for itself, and a list as a whole. So topics on the
command line take the place of those in the file, but do not take back its ` + "`all: true`" + `, as
` + "`--all=false`" + ` does. A list has one value in each line of its variable, and is a list in the
file; pairs such as ` + "`--max-rate /imu=10`" + ` are keys and values there. Topics are ` + "`topics`" + ` and bags
are ` + "`bags`" + ` in a file. ` + "`--print-config`" + ` shows what is in force and where it comes from,
and ` + "`--check-config`" + ` only whether all of it is right, with one line for each error.

This page is made from the programs: ` + "`go test ./config -run Reference -update`" + `.

`

func reference(t *testing.T, program, help string, model any) string {
	t.Helper()
	var b bytes.Buffer
	if err := config.WriteReference(&b, program, help, model); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReferenceIsUpToDate(t *testing.T) {
	t.Parallel()
	const path = "../docs/options.md"
	want := referenceHead + reference(t, "gorecord", config.RecordHelp, new(config.Record)) + "\n" +
		reference(t, "goplay", config.PlayHelp, new(config.Play))
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(string(got), "\n")); d != "" {
		t.Errorf("run go test ./config -run Reference -update (-want +got):\n%s", d)
	}
}

// The help says how the variable of an option is called, not each time anew; so it must
// always be so. With so many options they stand in groups.
func TestVariablesAndGroups(t *testing.T) {
	t.Parallel()
	for prefix, text := range map[string]string{
		"GORECORD_": reference(t, "gorecord", config.RecordHelp, new(config.Record)),
		"GOPLAY_":   reference(t, "goplay", config.PlayHelp, new(config.Play)),
	} {
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
			case "topic":
				if key != "topics" {
					t.Errorf("--topic is %q in a file", key)
				}
			}
			want := strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
			if !strings.HasPrefix(name, "ros-") {
				want = prefix + want
			}
			if variable != want {
				t.Errorf("--%s: variable %s, want %s", name, variable, want)
			}
			if strings.Contains(heading, "about the program") && name != "try-future-version" {
				t.Errorf("--%s is in no group", name)
			}
		}
		if options < 20 {
			t.Errorf("%s: %d options found: this test looks in the wrong place", prefix, options)
		}
	}
}
