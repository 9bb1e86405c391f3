package configtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/testkit"
)

// Program is a program whose options a test package compares with the files that describe them: those in
// its folder testdata, docs/options.md and the example in packaging.
type Program struct {
	Name    string                             // in lower case
	Word    string                             // an argument that is not an option, such as a topic
	Run     func(args []string) (exitCode int) // runs the program
	Options func() *config.Program             // returns the options without values
}

// Main is the body of TestMain. It runs the tests or, in a process that output has started, the program.
func (p *Program) Main(m *testing.M) (exitCode int) {
	if os.Getenv(p.variable()) != "" {
		return p.Run(os.Args[1:])
	}
	testkit.ClearOptions()
	return m.Run()
}

// variable returns the variable of the environment that makes the test program run as the program.
func (p *Program) variable() string { return "RUN_" + strings.ToUpper(p.Name) }

// output runs the program with two options in the environment, and returns what it writes to standard output.
func (p *Program) output(t *testing.T, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	prefix := strings.ToUpper(p.Name)
	cmd.Env = append(os.Environ(), p.variable()+"=1", "COLUMNS=100", "ROS_MASTER_URI=http://127.0.0.1:11311",
		prefix+"_QUIET=true", prefix+"_TYPE=a/B\nc/*")
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		t.Fatalf("%v: %v\n%s", args, err, exit.Stderr)
	}
	return string(out)
}

// CheckPages compares the help, the manual page, and the configurations that command lines with
// --print-config print.
func (p *Program) CheckPages(t *testing.T, commandLines ...string) {
	t.Helper()
	golden(t, "testdata/help.txt", p.output(t, "--help"))
	golden(t, "testdata/man.txt", p.output(t, "--man"))
	var all strings.Builder
	for _, args := range commandLines {
		text := p.output(t, strings.Fields(args)...)
		// the rest is about names of ROS
		fmt.Fprintf(&all, "%s %s\n\n%s\n", p.Name, args, text[:strings.LastIndex(text, "\n\n")+1])
	}
	golden(t, "testdata/print.txt", all.String())
}

// CheckAbbreviations compares what each letter and each abbreviation of an option means.
func (p *Program) CheckAbbreviations(t *testing.T) {
	t.Helper()
	golden(t, "testdata/abbreviations.txt", p.abbreviations(p.output(t, "--help")))
}

// CheckMeanings compares the fields of the structs that command lines make.
func (p *Program) CheckMeanings(t *testing.T, read func(args []string) (any, error), commandLines ...string) {
	t.Helper()
	var b strings.Builder
	for _, args := range commandLines {
		v, err := read(strings.Fields(args))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s\n%s", p.Name, args, fields(v))
	}
	golden(t, "testdata/meanings.txt", b.String())
}

// CheckWrongValues compares the errors of configuration files. The keys of files are their texts, the
// values are the errors without the name of the file. No error may show the text "hidden".
func (p *Program) CheckWrongValues(t *testing.T, files map[string]string) {
	t.Helper()
	for text, want := range files {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "robot.yaml")
			if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := p.Options().Parse([]string{"--config", path})
			if err == nil {
				t.Fatalf("no error, want %q", want)
			}
			if got := strings.TrimPrefix(err.Error(), path+":"); got != want ||
				strings.Contains(got, "hidden") {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// list reads a command line and returns all settings.
func (p *Program) list(args []string) ([]config.Setting, error) {
	all, err := p.Options().Parse(args)
	return all.List(), err
}
