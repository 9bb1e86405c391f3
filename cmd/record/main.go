// Command gorecord records ROS 1 topics to bag files, as rosbag record does.
package main

import (
	"context"
	"errors"
	"os"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/cmd/record/internal/face"
	"github.com/gorosbag/gorosbag/internal/face/term"
	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/program/doors"
	"github.com/gorosbag/gorosbag/recorder"
)

func main() { os.Exit(program.OffMainThread(func() int { return run(os.Args[1:]) })) }

func run(args []string) int {
	if text := commands().Help(name, args); text != "" {
		return program.PrintHelp(name, text)
	}
	if len(args) > 0 {
		switch args[0] {
		case preflightCommand:
			return runPreflight(args[1:])
		case expectCommand:
			return runExpect(args[1:])
		}
	}
	if len(args) > 0 && args[0] == doors.HealthcheckCommand {
		s, err := parse(args)
		return doors.Healthcheck(name, &s.Common, s.record.Select.Topics, err)
	}
	console := term.NewConsole(os.Stderr, program.Terminal(os.Stderr))
	defer console.Close() //nolint:errcheck // an error can no longer be reported
	errs, s := &program.Errors{W: console, Name: name}, new(settings)
	line, code := (&program.Command{
		Errs: errs, Node: "record", Common: &s.Common, Parse: s.program().Parse,
		Check: s.checkStart,
	}).Read(args)
	if line == nil {
		return code
	}
	ctx, signals := program.Catch(context.Background()) // before any output: SIGPIPE must be ignored
	defer signals.Close()
	logTo := program.LogTo(os.Stderr, s.Log, s.control.quiet)
	logTo.Rosout = program.NewRosout(s.ROS.NoRosout)
	log := program.NewLog(console, logTo)
	program.LogConfig(log, line.Settings)
	node := line.Node
	node.Log = log
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
	graph.PublishLog(logTo.Rosout)
	o := s.options(log)
	o.Node, o.Hurry = graph.Node, signals.Abort
	ui := face.New(o.Control, s.disk.pin)
	defer doors.NotifySystemd(ctx, graph.Node, log, ui)() // first and last: a store may keep us waiting
	up, err := startUploads(ctx, &s.upload, &o)
	if err != nil {
		return errs.Fail(program.ExitUsage, errors.Join(err, graph.Close()))
	}
	defer up.end()
	endTriggers, memory, err := startTriggers(ctx, s, &o, signals.End)
	if err != nil {
		return errs.Fail(program.ExitUsage, errors.Join(err, graph.Close()))
	}
	defer endTriggers()
	memory += up.memory()
	limit := program.MemoryLimit("/")
	memory += tapMessages(s, &o, limit)
	fitMemory(&o, limit, memory, log)
	limitMemory(o.MemoryBytes(), memory+masterMemory(s.ROS.EmbeddedMaster))
	defer snapshotOnSignal(o.Control, log)()
	endServing, err := serve(ctx, s, &o, ui)
	if err != nil {
		return errs.Fail(program.ExitUsage, errors.Join(err, graph.Close()))
	}
	hide := show(ctx, s, &o, ui, console, signals)
	defer hide() // also when Run panics
	sum, runErr := recorder.Run(ctx, o)
	hide()
	var nameTaken bool
	sum.EndedBy, nameTaken = signals.ByPeer()
	endTriggers()
	endServing()
	loglimit.Flush(log) // while others still hear it
	publishSummary(logTo.Rosout, &sum, runErr)
	// ADR 0006: the bag is closed before the node unregisters.
	if err := graph.Close(); err != nil {
		log.Debug("leaving the graph", zap.Error(err)) // the bag is closed: nothing to lose
	}
	sent := up.end()
	loglimit.Flush(log)
	return report(console, errs, s, &sum, &sent, nameTaken, runErr)
}
