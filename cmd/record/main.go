// Command gorecord records ROS 1 topics to bag files, as rosbag record does.
package main

import (
	"context"
	"errors"
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/screen"
	"github.com/gorosbag/gorosbag/recorder"
	"github.com/gorosbag/gorosbag/tcpros"
)

const name = "gorecord"

func main() { os.Exit(program.OffMainThread(func() int { return run(os.Args[1:]) })) }

func run(args []string) int {
	if len(args) > 0 && args[0] == healthcheckCommand {
		return healthcheck(args)
	}
	console := screen.NewConsole(os.Stderr, program.Terminal(os.Stderr))
	defer console.Close() //nolint:errcheck // an error can no longer be reported
	args, rosArgs, err := tcpros.ParseArgs(args)
	if err != nil {
		return program.Fail(console, name, program.ExitUsage, err)
	}
	var c config.Record
	notes, err := parse(args, &c)
	if err != nil {
		return program.Fail(console, name, program.ExitUsage, err)
	}
	node := tcpros.NodeOptions{BaseName: "record", Bind: string(c.Bind), Anonymous: true, Args: rosArgs, Getenv: c.Getenv}
	if c.PrintConfig {
		return program.PrintConfig(console, name, &c.Common, node, string(c.EmbeddedMaster))
	}
	ctx, signals := program.Catch(context.Background()) // before any output: SIGPIPE must be ignored
	defer signals.Close()
	log := program.NewLogTo(console, program.Colors(os.Stderr), c.Quiet)
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
		return program.Fail(console, name, program.ExitUsage, err)
	}
	o := options(&c, graph.Node, log, signals.Abort)
	o.Notes = notes
	defer notifySystemd(ctx, &o)() // first and last: a store may keep us waiting
	up, err := startUploads(ctx, &c, &o)
	if err != nil {
		return program.Fail(console, name, program.ExitUsage, errors.Join(err, graph.Close()))
	}
	defer up.end()
	fitMemory(&o, memoryLimit("/"), up.memory(), log)
	limitMemory(o.MemoryBytes(), up.memory())
	defer snapshotOnSignal(o.Control, log)()
	endServing, err := serve(ctx, &c, &o)
	if err != nil {
		return program.Fail(console, name, program.ExitUsage, errors.Join(err, graph.Close()))
	}
	hide := show(ctx, &c, &o, console, signals)
	defer hide() // also when Run panics
	sum, runErr := recorder.Run(ctx, o)
	hide()
	endServing()
	if err := graph.Close(); err != nil {
		log.Debug("leaving the graph", zap.Error(err)) // the bag is closed: nothing to lose
	}
	sent := up.end()
	loglimit.Flush(log)
	return report(console, &c, &sum, &sent, runErr)
}

// options translates the command line.
func options(c *config.Record, node *tcpros.Node, log *zap.Logger, abort <-chan struct{}) recorder.Options {
	all := c.All
	if len(c.Exclude) > 0 && !all && !c.Regex && len(c.Type)+len(c.Node)+len(c.NodePublications) == 0 {
		log.Warn("Exclusion regex given, but no topics to subscribe to. Adding implicit 'record all'.")
		all = true
	}
	o := recorder.Options{
		Node: node,
		Log:  log,

		Control: new(recorder.Control),
		Begin:   begin(c),
		Select: recorder.Selection{
			Topics: c.Topics, All: all, Regex: c.Regex, Exclude: c.Exclude, Types: c.Type, Nodes: c.Node, NodePublications: c.NodePublications,
		},
		Publish:       c.Publish,
		Output:        recorder.Output{Prefix: c.OutputPrefix, Name: c.OutputName, Template: c.NameTemplate},
		Adaptive:      c.Adaptive,
		ChunkBytes:    max(c.Chunksize<<10, 1), // --chunksize 0: one message in a chunk, as in stock
		BufferBytes:   int64(c.Buffsize) << 20,
		FlushInterval: c.FlushInterval,
		Limit:         c.Limit,
		Limits:        limits(c),
		Duration:      c.RecordFor(),
		TCPNoDelay:    c.TCPNoDelay,
		UDP:           c.UDP,
		Hurry:         abort,

		MaxBytes:        c.SizeBytes(),
		Split:           c.Split.On,
		SplitAt:         time.Duration(c.SplitAt),
		NoRepeatLatched: c.NoRepeatLatched,
		Retain:          recorder.Retention{Files: c.MaxSplits, Bytes: int64(c.MaxBytes), Age: time.Duration(c.MaxAge), KeepFree: int64(c.KeepFree)},
		Recover:         c.Recover,
		MinSpace:        int64(c.MinSpace),
		MinSpaceText:    c.MinSpace.String(),
		Snapshot:        snapshots(c),
		Params:          c.Params,
		Report:          reports[c.Summary],
	}
	if c.Split.MB > 0 {
		log.Warn("Use of \"--split <MAX_SIZE>\" has been deprecated.  Please use --split --size <MAX_SIZE> or --split --duration <MAX_DURATION>")
	}
	if c.MaxSplits > 0 && !c.Split.On {
		log.Warn("--max-splits is ignored without --split")
		o.Retain.Files = 0
	}
	switch {
	case c.BZ2:
		o.Compression = bagfmt.CompressionBZ2
	case c.LZ4:
		o.Compression = bagfmt.CompressionLZ4
	}
	if c.Buffsize == 0 {
		o.BufferBytes = recorder.Unlimited
	}
	if c.Overflow == "block" {
		o.Overflow = recorder.OverflowBlock
	}
	o.Sync = map[string]recorder.Sync{"none": recorder.SyncNone, "chunk": recorder.SyncChunk}[c.Sync]
	return o
}
