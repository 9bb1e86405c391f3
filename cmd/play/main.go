// Command goplay publishes the messages of ROS 1 bag files, as rosbag play does.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/term"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/keys"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/screen"
	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/tcpros"
)

const name = "goplay"

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	args, rosArgs, err := tcpros.ParseArgs(args)
	if err != nil {
		return program.Fail(os.Stderr, name, program.ExitUsage, err)
	}
	var c config.Play
	if err := config.Parse(name, config.PlayHelp, program.Version(), args, &c, config.PlayMultitoken...); err != nil {
		return program.Fail(os.Stderr, name, program.ExitUsage, err)
	}
	log := program.NewLog(false)
	ctx, signals := program.Catch(context.Background())
	defer signals.Close()

	bags, err := open(ctx, c.AllBags())
	defer closeAll(bags)
	if err != nil {
		return program.Fail(os.Stderr, name, program.ExitUsage, err)
	}
	graph, err := program.Join(ctx, tcpros.NodeOptions{
		BaseName:   "play",
		Anonymous:  true,
		Args:       rosArgs,
		Log:        log,
		OnShutdown: func(string, string) { signals.End() }, // the node logs it
	}, string(c.EmbeddedMaster))
	if err != nil {
		return program.Fail(os.Stderr, name, program.ExitUsage, err)
	}
	sum, runErr := play(ctx, &c, bags, graph.Node, log)
	if err := graph.Leave(); err != nil {
		log.Debug("leaving the graph", zap.Error(err)) // all that was queued is delivered by now
	}
	// Not before the node has left: standard output may be a pipe that nobody reads.
	if runErr == nil {
		(&screen.Play{W: os.Stdout, Quiet: c.Quiet}).Done(ctx.Err() != nil) // also when only --keep-alive was left
	}
	return report(&c, &sum, runErr)
}

// open opens the bags in order. Those opened before an error are returned too.
func open(ctx context.Context, paths []string) (bags []*player.Bag, err error) {
	for _, path := range paths {
		fmt.Printf("Opening %s\n", screen.Plain(path))
		b, err := player.OpenBag(ctx, path)
		if err != nil {
			return bags, err
		}
		bags = append(bags, b)
	}
	return bags, nil
}

func closeAll(bags []*player.Bag) {
	for _, b := range bags {
		b.Close() //nolint:errcheck,gosec // only read from
	}
}

// play runs the player with the keyboard and the status line attached.
func play(ctx context.Context, c *config.Play, bags []*player.Bag, node *tcpros.Node, log *zap.Logger) (player.Summary, error) {
	console := &screen.Play{
		W: os.Stdout, Quiet: c.Quiet, Delay: time.Duration(c.Delay),
		Live: term.IsTerminal(int(os.Stdout.Fd())),
	}
	o := options(c, bags, node, log)
	o.OnStatus = console.Update

	keysCtx, stopKeys := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait() // the terminal is as it was when play returns
	defer stopKeys()
	o.OnStart = func(control player.Control) {
		// owner: play; ends with keysCtx or the input.
		wg.Go(func() {
			if err := keys.Watch(keysCtx, os.Stdin, func(key byte) { press(control, key) }); err != nil {
				log.Warn("no keys", zap.Error(err))
			}
		})
	}
	if c.Prefix != "" {
		fmt.Printf("Using prefix '%s' for topics\n", screen.Plain(c.Prefix))
	}
	return player.Run(ctx, o)
}

// press does what stock does for a key.
func press(control player.Control, key byte) {
	switch key {
	case ' ':
		control.Toggle()
	case 's':
		control.Step()
	}
}

// options translates the command line.
func options(c *config.Play, bags []*player.Bag, node *tcpros.Node, log *zap.Logger) player.Options {
	return player.Options{
		Node: node, Bags: bags, Log: log,
		Topics: c.Topics, Prefix: c.Prefix, Start: time.Duration(c.Start), Duration: c.PlayFor(),
		Rate: c.Rate, Immediate: c.Immediate, Paused: c.Pause, Loop: c.Loop, KeepAlive: c.KeepAlive,
		Queue: c.Queue, Delay: time.Duration(c.Delay), WaitForSubscribers: c.WaitForSubscribers,
		Clock: c.Clock, Hz: c.Hz,
	}
}

// report prints the summary and returns the exit code.
func report(c *config.Play, sum *player.Summary, err error) int {
	switch {
	case errors.Is(err, player.ErrNoMessages):
		fmt.Fprintln(os.Stderr, "No messages to play on specified topics.  Exiting.") // stock's text
		return program.ExitOK
	case err != nil:
		return program.Fail(os.Stderr, name, program.ExitUsage, err)
	}
	if !c.Quiet {
		fmt.Print(screen.PlaySummary(sum))
	}
	if sum.Lossy() { // with what was lost: --quiet has no summary
		return program.Fail(os.Stderr, name, program.ExitLoss, errors.New("messages were lost or the bags are damaged: "+screen.PlayLosses(sum)))
	}
	return program.ExitOK
}
