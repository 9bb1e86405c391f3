package config_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/gorosbag/gorosbag/config"
)

// TestManual: what would be an instruction to the formatter is text.
func TestManual(t *testing.T) {
	t.Parallel()
	var model struct {
		Man   config.ManFlag
		Tough string `short:"t" group:"Hard things:" placeholder:"A\\B" help:".hidden is \\n no request."`
		Go    struct {
			Quick bool     `help:"'Quoted' at the start."`
			Files []string `arg:"" optional:"" help:"Files."`
		} `cmd:"" help:"Go on."`
	}
	var out bytes.Buffer
	exit := -1
	k, err := kong.New(&model, kong.Name("tool"), kong.Description("Do things.\n\nFirst.\n\n  an example\n  .in lines"), kong.Writers(&out, &out), kong.Exit(func(code int) { exit = code }))
	if err != nil {
		t.Fatal(err)
	}
	k.Parse([]string{"--man"})
	if exit != 0 {
		t.Errorf("exit code %d", exit)
	}
	for _, want := range []string{
		"\n.SH \"NAME\"\ntool \\- do things\n", "\n.SS \"Hard things\"\n", "\n.B \"\\-t, \\-\\-tough=A\\eB\"\n\\&.hidden is \\en no request.\n",
		"\n.SH \"GO\"\ntool go [OPTIONS] [<files> ...]\n", "\n\\&'Quoted' at the start.\n", "\n.nf\n  an example\n  .in lines\n.fi\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// TestVersionThatCannotBeWritten is an error, and no success that printed nothing.
func TestVersionThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	var model struct{ Version config.VersionFlag }
	exited := false
	k, err := kong.New(&model, kong.Vars{"version": "tool 1"}, kong.Writers(failing{}, failing{}), kong.Exit(func(int) { exited = true }))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Parse([]string{"--version"}); !errors.Is(err, errFailing) || exited {
		t.Errorf("got %v, exited: %v", err, exited)
	}
}

var errFailing = errors.New("failing")

// failing is an output that takes nothing.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFailing }
