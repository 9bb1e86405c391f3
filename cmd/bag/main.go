// Command bag (gobag) looks into ROS bags of any version, repairs and rewrites them.
package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/completion"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/program/options"
	"github.com/gorosbag/gorosbag/internal/text/units"
)

// flags has one field for each command, whose struct and Run method are in the file
// of its name. Run may ask for a context.Context, which ends with SIGINT, SIGTERM or
// SIGHUP, and for the output.
type flags struct {
	Info       infoFlags       `cmd:"" help:"Summarize bags as rosbag info does."`
	View       viewFlags       `cmd:"" help:"Show bags in a browser: time line, pictures, plots, messages."`
	Gaps       gapsFlags       `cmd:"" help:"Say where topics were silent or slow, or had wrong stamps."`
	Echo       echoFlags       `cmd:"" help:"Print messages as rostopic echo -b does, as CSV or as JSON."`
	Reindex    reindexFlags    `cmd:"" help:"Recover valid bags from truncated, damaged and unindexed ones."`
	Check      checkFlags      `cmd:"" help:"Look for damage: structure, indexes, checksums, definitions."`
	Diff       diffFlags       `cmd:"" help:"Compare two bags: topics, headers, messages, times."`
	Compress   compressFlags   `cmd:"" help:"Compress bags with bz2 or lz4."`
	Decompress decompressFlags `cmd:"" help:"Store bags without compression."`
	Decrypt    decryptFlags    `cmd:"" help:"Decrypt bags of rosbag encrypt, with their GPG key."`
	Convert    convertFlags    `cmd:"" help:"Make a version 2.0 bag or MCAP of a bag of any version."`
	Filter     filterFlags     `cmd:"" help:"Copy the messages of a bag that are wanted."`
	Fix        fixFlags        `cmd:"" help:"Convert messages of old definitions to those that are wanted now."`
	Merge      mergeFlags      `cmd:"" help:"Make one bag of several."`
	Split      splitFlags      `cmd:"" help:"Make several bags of one: by size, time or topic."`
	Note       noteFlags       `cmd:"" help:"Add notes to a finished bag, in place."`
	Find       findFlags       `cmd:"" help:"Find bags by topic, type, time, notes, robot and size."`
	Index      indexFlags      `cmd:"" help:"Make the catalog that find searches."`
	Upload     uploadFlags     `cmd:"" help:"Upload bags to object storage without recording."`
	Audit      auditFlags      `cmd:"" help:"Verify the bags of a store against their checksums."`

	MaxChunk units.ChunkLimit `default:"512M" placeholder:"SIZE" help:"Unpack compressed chunks of at most this size, such as 1G (default ${default}, at most 2047M). A hostile bag of a few kB could fill the memory."`

	options.LogFormat
	Completion completion.Flags `cmd:"" help:"Print what makes a shell complete gobag's arguments."`

	Man     config.ManFlag     `help:"Print the manual page and exit; to read it: gobag --man | man -l -."`
	Version config.VersionFlag `help:"Print the version and exit."`
}

func main() {
	// complaints that nobody reads end no work; a result that nobody reads is an error
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), program.EndSignals()...)
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	code := program.OffMainThread(func() int {
		return run(ctx, os.Args[1:],
			job.NewOutput(os.Stdin, os.Stdout, os.Stderr))
	})
	stop()
	os.Exit(code)
}

// run parses args, runs the command and returns the exit code.
func run(ctx context.Context, args []string, out job.Output) int {
	var f flags
	exit := -1
	pages := &firstError{w: out.Stdout}
	parser, err := kong.New(&f,
		kong.Name("gobag"),
		kong.Description("Look into ROS bags of any version, repair and rewrite them."),
		kong.Writers(pages, out.Stderr),
		kong.WithHyphenPrefixedParameters(true), // --end -5s
		program.TextsAsTheyAre(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Exit(func(code int) { exit = code }),
		kong.Vars{"version": "gobag " + program.Version()},
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	if err != nil {
		panic("gobag: " + err.Error()) // the flags above are wrong
	}
	if completion.Answers(parser) { //nolint:contextcheck // a shell that completes waits for nobody
		return program.ExitOK
	}
	if err := program.CheckCommand("gobag", args); err != nil {
		out.Complain("%v", err)
		return program.ExitUsage
	}
	kctx, err := parser.Parse(program.FlagsFirst(parser.Model.Node, program.HelpCommand(args)))
	out.Errs.JSON = f.JSON()
	switch {
	case pages.err != nil: // kong would take it for an error of the command line
		return out.ExitCode(pages.err)
	case exit >= 0:
		return exit
	case err != nil:
		// "" is the default, and no choice
		reason := strings.Replace(err.Error(), `must be one of "",`, "must be one of ", 1)
		out.Complain("%s; see gobag %s--help", reason, commandOf(err))
		return program.ExitUsage
	}
	out.MaxChunk = int64(f.MaxChunk)
	kctx.Bind(out)
	return out.ExitCode(perform(ctx, kctx))
}

// firstError writes to w, and holds the first error of w.
type firstError struct {
	w   io.Writer
	err error
}

func (f *firstError) Write(b []byte) (int, error) {
	n, err := f.w.Write(b)
	f.err = cmp.Or(f.err, err)
	return n, err
}

// perform runs the command. One that only reads ends soon after ctx, even if a read
// hangs. One that writes waits: it has to remove what is not complete.
func perform(ctx context.Context, command *kong.Context) error {
	if !isReadOnly(command.Selected()) {
		return command.Run()
	}
	var err error
	if !program.RunUntil(ctx, func() { err = command.Run() }) {
		return errStuck
	}
	if errors.Is(err, context.Canceled) && !errors.Is(err, job.ErrReported) {
		return errInterrupted
	}
	return err
}

// commandOf names the command whose arguments are wrong, with a blank, if it is known.
func commandOf(err error) string {
	var wrong *kong.ParseError
	if errors.As(err, &wrong) && wrong.Context != nil && wrong.Context.Selected() != nil {
		return wrong.Context.Selected().Name + " "
	}
	return ""
}
