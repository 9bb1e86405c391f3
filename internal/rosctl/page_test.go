package rosctl_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/command"
	"github.com/gorosbag/gorosbag/internal/playface"
	"github.com/gorosbag/gorosbag/internal/recordface"
	"github.com/gorosbag/gorosbag/internal/rosctl"
	"github.com/gorosbag/gorosbag/tcpros"
)

// TestControlPage: docs/control.md lists the services and topics of both programs with their types, each once, and no
// others.
func TestControlPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/control.md")
	if err != nil {
		t.Fatal(err)
	}
	for program, commands := range map[string][]command.Command{
		"gorecord": recordface.New(nil, 0).Commands(), "goplay": playface.New().Commands(),
	} {
		_, section, _ := strings.Cut(string(page), "\n## "+program+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		var described []string
		for line := range strings.Lines(section) {
			cells := strings.Split(line, " | ")
			for name := range strings.SplitSeq(strings.TrimPrefix(cells[0], "| "), ", ") {
				if strings.HasPrefix(name, "`~") && len(cells) > 2 {
					described = append(described, strings.Trim(name, "`")+" "+cells[1])
				}
			}
		}
		offers := rosctl.Offers(commands)
		slices.Sort(described)
		slices.Sort(offers)
		if d := cmp.Diff(offers, described); d != "" {
			t.Errorf("docs/control.md, %s (-offered +described):\n%s", program, d)
		}
		if !strings.Contains(section, "`~status` is a latched "+tcpros.DiagnosticArrayType) {
			t.Errorf("docs/control.md, %s: no ~status", program)
		}
	}
}
