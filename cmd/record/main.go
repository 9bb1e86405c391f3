// Command gorecord records ROS 1 topics to bag files, as rosbag record does.
package main

import (
	"context"
	"errors"
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/program/doors"
	"github.com/gorosbag/gorosbag/internal/recordface"
	"github.com/gorosbag/gorosbag/internal/term"
	"github.com/gorosbag/gorosbag/recorder"
	"github.com/gorosbag/gorosbag/tcpros"
)

const name = "gorecord"

func main() { os.Exit(program.OffMainThread(func() int { return run(os.Args[1:]) })) }

func run(args []string) int {
	if len(args) > 0 && args[0] == doors.HealthcheckCommand {
		return healthcheck(args)
	}
	console := term.NewConsole(os.Stderr, program.Terminal(os.Stderr))
	defer console.Close() //nolint:errcheck // an error can no longer be reported
	errs := &program.Errors{W: console, Name: name}
	if err := program.CheckCommand(name, args); err != nil {
		return errs.Fail(program.ExitUsage, err)
	}
	args, rosArgs, err := tcpros.ParseArgs(args)
	if err != nil {
		return errs.Fail(program.ExitUsage, err)
	}
	var c config.Record
	notes, err := parse(args, &c)
	errs.JSON = c.JSON()
	if err != nil {
		return errs.Fail(program.ExitUsage, err)
	}
	node := tcpros.NodeOptions{BaseName: "record", Bind: string(c.Bind), Anonymous: true, Args: rosArgs, Getenv: c.Getenv}
	if c.CheckConfig {
		log := program.NewLog(console, program.LogTo(os.Stderr, c.Log, true))
		return program.CheckConfig(errs, &c.Common, node, string(c.EmbeddedMaster), func(resolve resolver) error { return checkStart(&c, notes, log, resolve) })
	}
	if c.PrintConfig {
		return program.PrintConfig(errs, &c.Common, node, string(c.EmbeddedMaster))
	}
	ctx, signals := program.Catch(context.Background()) // before any output: SIGPIPE must be ignored
	defer signals.Close()
	logTo := program.LogTo(os.Stderr, c.Log, c.Quiet)
	logTo.Rosout = program.NewRosout(c.NoRosout)
	log := program.NewLog(console, logTo)
	program.LogConfig(log, &c.Common)
	node.Log = log
	if c.AllowRemoteShutdown {
		node.OnShutdown = func(reason, peer string) {
			log.Warn("Shutdown request received.", zap.String("reason", reason), zap.String("peer", peer))
			signals.End()
		}
	}
	graph, err := program.Join(ctx, node, string(c.EmbeddedMaster))
	if err != nil {
		return errs.Fail(program.ExitUsage, err)
	}
	graph.PublishLog(logTo.Rosout)
	o := options(&c, log)
	o.Node, o.Hurry, o.Notes = graph.Node, signals.Abort, notes
	face := recordface.New(o.Control, time.Duration(c.Pin))
	defer doors.NotifySystemd(ctx, graph.Node, log, face)() // first and last: a store may keep us waiting
	up, err := startUploads(ctx, &c, &o)
	if err != nil {
		return errs.Fail(program.ExitUsage, errors.Join(err, graph.Close()))
	}
	defer up.end()
	endTriggers, memory, err := startTriggers(ctx, &c, &o, signals.End)
	if err != nil {
		return errs.Fail(program.ExitUsage, errors.Join(err, graph.Close()))
	}
	defer endTriggers()
	memory += up.memory()
	limit := memoryLimit("/")
	memory += tapMessages(&c, &o, limit)
	fitMemory(&o, limit, memory, log)
	limitMemory(o.MemoryBytes(), memory+masterMemory(&c))
	defer snapshotOnSignal(o.Control, log)()
	endServing, err := serve(ctx, &c, &o, face)
	if err != nil {
		return errs.Fail(program.ExitUsage, errors.Join(err, graph.Close()))
	}
	hide := show(ctx, &c, &o, face, console, signals)
	defer hide() // also when Run panics
	sum, runErr := recorder.Run(ctx, o)
	hide()
	endTriggers()
	endServing()
	loglimit.Flush(log) // while others still hear it
	publishSummary(logTo.Rosout, &sum, runErr)
	if err := graph.Close(); err != nil {
		log.Debug("leaving the graph", zap.Error(err)) // the bag is closed: nothing to lose
	}
	sent := up.end()
	loglimit.Flush(log)
	return report(console, errs, &c, &sum, &sent, runErr)
}
