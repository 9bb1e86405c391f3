package config_test

import (
	"bytes"
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
