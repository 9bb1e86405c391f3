// Command goplay publishes the messages of ROS 1 bag files, as rosbag play does.
package main

import (
	"context"
	"fmt"
	"os"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/cmd/play/internal/face"
	"github.com/gorosbag/gorosbag/internal/face/term/termtext"
	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/program/doors"
	"github.com/gorosbag/gorosbag/internal/program/rosout"
	"github.com/gorosbag/gorosbag/internal/ros2/packed"
	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/player/control"
)

func main() { os.Exit(program.OffMainThread(func() int { return run(os.Args[1:]) })) }

func run(args []string) int {
	if text := commands().Help(name, args); text != "" {
		return program.PrintHelp(name, text)
	}
	if len(args) > 0 && args[0] == doors.HealthcheckCommand {
		s, err := parse(args)
		return doors.Healthcheck(name, &s.Common, s.selection.bags, err)
	}
	out, errOut, end := consoles()
	defer end()
	errs, s := &program.Errors{W: errOut, Name: name}, new(settings)
	line, code := (&program.Command{
		Errs: errs, Node: "play", Common: &s.Common, Parse: s.program().Parse,
		Check: s.checkStart,
	}).Read(args)
	if line == nil {
		return code
	}
	ctx, signals := program.Catch(context.Background()) // before any output: SIGPIPE must be ignored
	defer signals.Close()
	logTo := program.LogTo(os.Stderr, s.Log, s.control.quiet)
	logTo.Rosout = program.NewRosout(s.ROS.NoRosout)
	log := program.NewLog(errOut, logTo)
	program.LogConfig(log, line.Settings)
	limitMemory(program.MemoryLimit("/"))

	defer packed.RemoveAll() // recordings are not closed, see open
	opening, err := s.selection.opening()
	if err != nil {
		return errs.Fail(program.ExitUsage, err)
	}
	bags, err := open(ctx, out, log, s.selection.bags, opening)
	if err != nil {
		return errs.Fail(program.ExitUsage, err)
	}
	node := line.Node
	node.Log = log
	if s.begin.dryRun {
		node.Log = zap.NewNop() // there need not be a master
	}
	if s.ROS.AllowRemoteShutdown {
		node.OnShutdown = func(reason, _ string) { // the node logs it
			if ctx.Err() == nil {
				signals.EndByPeer(reason)
			}
		}
	}
	graph, err := program.Join(ctx, node, s.ROS.EmbeddedMaster)
	if err != nil {
		return errs.Fail(program.ExitUsage, err)
	}
	r := reporter{out: out, errs: errs, quiet: s.control.quiet}
	if s.begin.dryRun {
		defer graph.Close() //nolint:errcheck // the master does not know it
		out.Flush()         // of the names of the bags
		return dryRun(ctx, s, bags, graph.Node, log, &r, os.Stdout)
	}
	d := newDisplay(s, out, log, signals)
	d.marks = player.RecordedMarks(bags)
	raiseMaxProcs()
	sum, runErr := play(ctx, s, bags, graph, logTo.Rosout, d)
	loglimit.Flush(log) // while others still hear it
	publishSummary(logTo.Rosout, &sum, runErr)
	if err := graph.Close(); err != nil {
		log.Debug("leaving the graph", zap.Error(err)) // all that was queued is delivered by now
	}
	loglimit.Flush(log)
	if runErr == nil {
		d.printer.Done(ctx.Err() != nil) // also when only --keep-alive was left
	}
	r.bookmarks(d.bookmarks(), bags)
	r.endedBy, r.nameTaken = signals.ByPeer()
	return r.report(&sum, runErr)
}

// play runs the player with its display and its services, and publishes lines of its log with out.
func play(ctx context.Context, s *settings, bags []*player.Bag, graph *program.Graph, out *rosout.Publisher,
	d *display,
) (control.Summary, error) {
	node := graph.Node
	o, err := s.options(bags, d.log)
	if err != nil {
		return control.Summary{}, err
	}
	s.join(&o, node)
	if s.names.respectPublishers {
		o.NewNode = graph.NewNode
	}
	if err := followRate(s, &o, d.out); err != nil {
		return control.Summary{}, err
	}
	o.OnStatus = d.update
	defer d.hide() // also when Run panics
	ui := face.New(d.marks...)
	defer doors.NotifySystemd(ctx, node, d.log, ui)()
	o.Viewing = newViewing(s, node)
	endWeb, err := doors.ServeWeb(ctx, &s.Web, node, d.log, ui, o.Viewing.Source())
	if err != nil {
		return control.Summary{}, err
	}
	defer endWeb()
	endServing := func() {}
	defer func() { endServing() }()
	o.OnStart = func(control control.Control) {
		graph.PublishLog(out) //nolint:contextcheck // it publishes until Close; here, after the topics of the bags, which may have /rosout
		ui.Attach(control)
		endServing = serve(s, node, ui, d.log) //nolint:contextcheck // it serves until Close
		d.show(ctx, node.Name(), control, ui.Commands())
	}
	if o.Prefix != "" {
		fmt.Fprintf(d.out, "Using prefix '%s' for topics\n", termtext.Plain(o.Prefix)) //nolint:errcheck // a console takes everything
	}
	return player.Run(ctx, o)
}
