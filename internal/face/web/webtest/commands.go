package webtest

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/face/command"
)

// commandName matches the name of a command in the first cell of a row, where only the first name has its
// path.
var commandName = regexp.MustCompile("`(?:POST /api/v1/)?([a-z_]+)`")

// CheckCommands checks that the commands of a program that are reached over HTTP are those in its table
// of a page of the documentation.
func CheckCommands(t *testing.T, program string, all []command.Command, page string) {
	t.Helper()
	text, err := os.ReadFile(page) //nolint:gosec // of the test
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n| `"+program+"` | |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var described, served []string
	for line := range strings.Lines(table) {
		cell, _, _ := strings.Cut(line, " | ")
		if strings.HasPrefix(cell, "| `POST ") {
			for _, m := range commandName.FindAllStringSubmatch(cell, -1) {
				described = append(described, m[1])
			}
		}
	}
	for i := range all {
		if all[i].HTTP != "" {
			served = append(served, all[i].HTTP)
		}
	}
	slices.Sort(described)
	slices.Sort(served)
	if d := cmp.Diff(served, described); d != "" {
		t.Errorf("%s, %s (-served +described):\n%s", page, program, d)
	}
}
