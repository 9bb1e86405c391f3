package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/echo"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/query"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/ros2"
	"github.com/gorosbag/gorosbag/internal/text/timearg"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

type echoFlags struct {
	readOnly
	definitionsFlags

	Bag       []string `short:"b" sep:"none" placeholder:"FILE" completion-predictor:"bag" help:"A bag; the same as an argument, as rostopic echo has it."`
	Topic     []string `short:"t" sep:"none" placeholder:"TOPIC" completion-predictor:"topic" help:"Only these topics, with or without their leading slash; * and ? stand for any characters. A field of the messages may follow: /odom/pose/pose. May be repeated."`
	Regex     bool     `short:"e" help:"Topics are regular expressions for the whole name; no field can follow."`
	All       bool     `short:"a" help:"All topics, as without any."`
	CSV       bool     `short:"p" name:"csv" xor:"format" help:"Comma separated values, with a header line for the first message. Strings are as they are, but on a terminal control characters are escaped."`
	JSON      bool     `name:"json" xor:"format" help:"A line of JSON for each message; uint8[] is base64."`
	Count     uint64   `short:"n" placeholder:"N" help:"Stop after N messages."`
	NoArrays  bool     `name:"noarr" help:"Leave arrays out of text and CSV."`
	NoStrings bool     `name:"nostr" help:"Leave strings out of text and CSV."`

	timearg.Window
	emptyFlags

	Expr string   `name:"expr" aliases:"filter" placeholder:"EXPR" help:"Only messages for which this is true: see gobag filter --help."`
	Args []string `arg:"" name:"bag|topic" optional:"" completion-predictor:"bag" help:"Bags of any version, one after the other, - for standard input, and topics, which begin with / and are no files."`
}

// Help is printed below the flags.
func (f *echoFlags) Help() string {
	return `Messages are printed as rostopic echo -b does:

  gobag echo robot.bag /odom                 messages of a topic, as text
  gobag echo robot.bag /odom/pose/pose -n 5  a field of them
  gobag echo robot.bag /tf/transforms[0] -p  an element, as CSV
  gobag echo robot.bag --json | jq .msg      everything
  ssh robot cat run.bag | gobag echo - /tf   from a pipe

Exit code 3: messages could not be shown, because they have no definition or do not
fit it, because --expr makes no sense for them, or because the bag is damaged. The
others were shown.`
}

// Run prints the messages of bags.
func (f *echoFlags) Run(ctx context.Context, out job.Output) error {
	e := &printing{
		flags: f, Job: job.New(ctx, out, job.Options{Quiet: true}),
		w: bufio.NewWriterSize(out.Stdout, 64<<10),
	}
	paths, topics, err := e.sort(f.Args)
	if err != nil {
		return err
	}
	if e.Definitions, err = bags.Definitions(f.Definitions); err != nil {
		return err
	}
	e.printer = echo.NewPrinter(echo.Options{
		Topics: topics, Format: f.format(), NoArrays: f.NoArrays, NoStrings: f.NoStrings, Limit: f.Count,
		Escape:  f.CSV && job.IsTerminal(out.Stdout),
		Odd:     e.complainBetween,
		Unshown: func(err error) { e.Lossy = true; e.complainBetween(err) },
	})
	e.Wanted = e.printer.Asks
	if f.Expr != "" {
		if e.match, err = query.NewExpression(f.Expr, func(err error) { e.Lost(e.path, err) }); err != nil {
			return err
		}
	}
	for _, path := range paths {
		if e.printer.Full() {
			break
		}
		err := e.bag(path)
		if err == nil {
			continue
		}
		// Print what is there before the complaint about it. An error stays in the Writer for end.
		if werr := e.w.Flush(); werr != nil || errors.Is(err, context.Canceled) {
			break // nothing more can be printed, or the user has seen enough
		}
		_ = e.Failed(path, err) // e.failed makes the exit code
		e.failed = true
	}
	return e.end()
}

func (f *echoFlags) format() echo.Format {
	switch {
	case f.CSV:
		return echo.CSV
	case f.JSON:
		return echo.JSON
	}
	return echo.Text
}

// printing is one run of the command.
type printing struct {
	flags *echoFlags
	*job.Job
	w       *bufio.Writer
	printer *echo.Printer
	match   *query.Expression // nil without --expr

	path     string          // of the current bag
	last     *bags.Recording // the last bag that was printed; nil before the first. Closed
	selected uint64          // messages that were asked for, also those that cannot be shown
	failed   bool
}

// sort sorts the arguments into bags and topics.
func (e *printing) sort(args []string) (paths []string, topics []*echo.Topic, err error) {
	paths = slices.Clone(e.flags.Bag)
	texts := slices.Clone(e.flags.Topic)
	for _, arg := range args {
		if err := checkNotEnd(e.flags.Regex, arg); err != nil {
			return nil, nil, err
		}
		if isTopic(arg, len(e.flags.Bag) > 0) {
			texts = append(texts, arg)
		} else {
			paths = append(paths, arg)
		}
	}
	if paths, err = bags.Names(e.Ctx, paths); err != nil {
		return nil, nil, err
	}
	if len(paths) == 0 {
		return nil, nil, errors.New("no bag is given; see gobag echo --help")
	}
	for _, bag := range paths { // before the others are printed, which may take long
		if err := exists(bag); err != nil {
			return nil, nil, err
		}
	}
	if e.flags.All && len(texts) > 0 {
		return nil, nil, errors.New("--all and a topic exclude each other")
	}
	if e.flags.JSON && (e.flags.NoArrays || e.flags.NoStrings) {
		return nil, nil, errors.New("--noarr and --nostr are for text and CSV")
	}
	for _, t := range texts {
		topic, err := echo.NewTopic(t, e.flags.Regex)
		if err != nil {
			return nil, nil, err
		}
		topics = append(topics, topic)
	}
	return paths, topics, nil
}

// exists returns an error if path is no file, which may be a topic misspelt.
func exists(path string) error {
	if store.IsURL(path) {
		return nil
	}
	if _, err := os.Stat(path); path == "-" || !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if strings.HasPrefix(path, "/") || bags.HasBagEnding(path) {
		return fmt.Errorf("%s: no such file", wording.Shown(path))
	}
	return fmt.Errorf("%s: no such file; topics begin with /", wording.Shown(path))
}

// isTopic reports whether an argument is a topic and not a file: it begins with a slash, unless bags are
// named otherwise, and no such file exists or is likely to be meant.
func isTopic(arg string, haveBags bool) bool {
	if arg == "-" || store.IsURL(arg) || !haveBags && !strings.HasPrefix(arg, "/") ||
		bags.HasBagEnding(arg) || strings.HasSuffix(arg, ".active") {
		return false
	}
	_, err := os.Stat(arg)
	return err != nil
}

// end writes what is left, prints what was not found and returns the errors that decide the exit
// code.
func (e *printing) end() error {
	if err := e.w.Flush(); err != nil && !errors.Is(err, syscall.EPIPE) {
		return err
	}
	if e.Ctx.Err() == nil && !e.printer.Full() && e.last != nil {
		for _, why := range e.printer.Problems() {
			e.Complain("%s", why)
			e.failed = true
		}
		var err error
		if e.match != nil {
			found, undecided := e.match.Finish(e.path)
			err = errors.Join(reportFindings(e.Job, e.match.CheckTopics(e.printer.Recorded())), undecided,
				reportFindings(e.Job, found))
		}
		if err == nil && !e.failed {
			err = e.flags.refuse(e.selected, e.last)
		}
		if err != nil && !errors.Is(err, job.ErrReported) {
			e.Complain("%v", err)
		}
		e.failed = e.failed || err != nil
	}
	if err := e.Done(); !e.failed {
		return err
	}
	return job.ErrReported
}

// complainBetween complains about messages of the current bag after those that were printed.
func (e *printing) complainBetween(err error) {
	_ = e.w.Flush() // an error stays in the Writer
	e.Complain("%s: %v", wording.Shown(e.path), err)
}

// bag prints the messages of one bag.
func (e *printing) bag(path string) (err error) {
	_ = e.w.Flush() // before what opening complains about; an error stays in the Writer
	src, err := e.OpenInput(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	e.path = src.Name
	e.printer.Begin(src.Name)
	if s, ok := src.Source.(*ros2.Source); ok {
		for _, note := range append(s.Dropped(e.printer.Asks), s.Info().Notes...) {
			if rosbag.Concerns(note, e.printer.Asks) {
				e.complainBetween(note)
			}
		}
	}
	q := rosbag.Query{Workers: job.Workers(), Reuse: true, Keep: e.printer.Wants}
	if q.Start, q.End, err = query.WindowTimes(&e.flags.Window, src.Source); err != nil {
		return err
	}
	if e.match != nil {
		e.match.Within(&q)
	}
	e.last = src
	for m, err := range src.Messages(q) {
		if e.Ctx.Err() != nil {
			return e.Ctx.Err()
		}
		if err != nil {
			_ = e.w.Flush()
			if err := e.Damaged(e.path, err); err != nil {
				return err
			}
			continue
		}
		if e.match != nil {
			keep, err := e.match.Keep(m.Conn, m)
			if err != nil {
				return err
			}
			if !keep {
				continue
			}
		}
		e.selected++
		if err := e.printer.Print(e.w, m); err != nil {
			return err
		}
		if e.printer.Full() {
			break
		}
	}
	e.printer.Finish(src.Connections())
	if e.match != nil {
		for _, topic := range e.match.BothForms(src.Topics()) {
			e.complainBetween(query.BothFormsError(topic))
		}
	}
	return nil
}
