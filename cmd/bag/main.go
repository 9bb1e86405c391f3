// Command bag (gobag) looks into ROS bags.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"
)

// exitUnusable is the exit code for a file that cannot be used and for usage errors.
const exitUnusable = 1

type flags struct {
	Info infoFlags `cmd:"" help:"Summarize bags as rosbag info does."`
}

// output is where a command writes.
type output struct{ stdout, stderr io.Writer }

// complain writes one line about a failure.
func (o output) complain(format string, args ...any) {
	_, _ = fmt.Fprintf(o.stderr, "gobag: "+format+"\n", args...) // nowhere is left to report to
}

// errReported says that every failure has its line on stderr already.
var errReported = errors.New("reported")

func main() { os.Exit(run(os.Args[1:], output{os.Stdout, os.Stderr})) }

// run parses args, runs the command and returns the exit code.
func run(args []string, out output) int {
	var f flags
	helped := false
	parser, err := kong.New(&f,
		kong.Name("gobag"),
		kong.Description("Look into ROS bags."),
		kong.Writers(out.stdout, out.stderr),
		kong.Exit(func(int) { helped = true }),
		kong.Bind(out),
	)
	if err != nil {
		panic("gobag: " + err.Error()) // the flags above are wrong
	}
	ctx, err := parser.Parse(args)
	if helped {
		return 0
	}
	if err != nil {
		out.complain("%v; see gobag --help", err)
		return exitUnusable
	}
	err = ctx.Run()
	if err == nil {
		return 0
	}
	if !errors.Is(err, errReported) {
		out.complain("%v", err)
	}
	return exitUnusable
}
