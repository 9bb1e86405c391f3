// Package program has the parts that all commands share: the log, signals, exit codes, the version, and a
// node with its master.
package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"go.uber.org/zap"
	"golang.org/x/term"

	"github.com/gorosbag/gorosbag/internal/program/rosout"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/tcpros/master"
)

// Exit codes of every command.
const (
	ExitOK = 0
	// ADR 0009.
	ExitUsage    = 1 // usage, configuration or start-up error
	ExitInternal = 2 // internal error
	ExitLoss     = 3 // finished, but messages were lost or the input was damaged
)

// shutdownTimeout bounds the cleanup of the terminal, and the wait for a disk that hangs.
const shutdownTimeout = time.Second

// Terminal reports whether f is a terminal that supports control sequences.
func Terminal(f *os.File) bool {
	kind := os.Getenv("TERM")
	return kind != "" && kind != "dumb" && term.IsTerminal(int(f.Fd()))
}

// Colors reports whether f is a terminal with colors, and they are wanted (see
// https://no-color.org).
func Colors(f *os.File) bool { return Terminal(f) && os.Getenv("NO_COLOR") == "" }

// Signals handles the signals that end a program.
type Signals struct {
	Abort <-chan struct{} // closed at the second request

	stop    context.CancelFunc
	events  chan os.Signal
	done    chan struct{}
	cleanup atomic.Pointer[func()]
	reason  atomic.Pointer[string] // for which a peer has ended the program
}

// Catch turns SIGINT, SIGTERM and SIGHUP into requests to end: the first ends the returned
// context, the second closes Abort, the third ends the process with ExitInternal. Signals
// within RequestWindow of the first one of a request belong to it. SIGPIPE is ignored: a
// closed terminal must not end a recording.
func Catch(parent context.Context) (context.Context, *Signals) {
	ctx, cancel := context.WithCancel(parent)
	abort := make(chan struct{})
	s := &Signals{Abort: abort, stop: cancel, events: make(chan os.Signal, 4), done: make(chan struct{})}
	signal.Ignore(syscall.SIGPIPE)
	signal.Notify(s.events, EndSignals()...)
	// owner: Signals; ends in Close.
	go func() {
		defer close(s.done)
		var r requests
		for range s.events {
			if !r.count(time.Now()) {
				continue
			}
			switch r.n {
			case 1:
				cancel()
			case 2:
				close(abort)
			default:
				s.runCleanup()
				os.Exit(ExitInternal) //nolint:forbidigo // the third request
			}
		}
	}()
	return ctx, s
}

// RequestWindow is how long signals count as one request: timeout(1) and supervisors signal
// a process and then its group, which makes two within milliseconds.
const RequestWindow = time.Second

// requests counts requests to end.
type requests struct {
	n    int
	last time.Time // when the latest request began
}

// count reports whether a signal at now is another request.
func (r *requests) count(now time.Time) bool {
	if r.n > 0 && now.Sub(r.last) < RequestWindow {
		return false
	}
	r.n++
	r.last = now
	return true
}

// EndSignals returns the signals that end a program: SIGINT, even if the shell of a background
// job has set it to be ignored, as in roscpp, SIGTERM, and SIGHUP unless nohup has set it to
// be ignored.
func EndSignals() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}

// BeforeExit sets a function that runs for at most a second before the third request ends the
// process, for example to restore the terminal.
func (s *Signals) BeforeExit(cleanup func()) { s.cleanup.Store(&cleanup) }

func (s *Signals) runCleanup() {
	cleanup := s.cleanup.Load()
	if cleanup == nil {
		return
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	RunUntil(over, *cleanup)
}

// RunUntil runs f and reports whether it has returned. Once ctx has ended, it waits for f for
// one more second and then abandons it: a system call on a disk that hangs cannot be
// canceled.
func RunUntil(ctx context.Context, f func()) bool {
	done := make(chan struct{})
	// owner: RunUntil; ends with f, or with the process.
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
	}
	select {
	case <-done:
		return true
	case <-time.After(shutdownTimeout):
		return false
	}
}

// End ends the context as the first request does.
func (s *Signals) End() { s.stop() }

// EndByPeer does the same, because another node or the master asks for it. The first reason is kept.
func (s *Signals) EndByPeer(reason string) {
	reason = cmp.Or(reason, "no reason given")
	s.reason.CompareAndSwap(nil, &reason)
	s.stop()
}

// ByPeer returns the reason for which another node or the master has ended the program; empty if none
// has. taken says that the master did because another node has registered with the same name, in the
// words of roscore: nobody wanted that what this program does ends.
func (s *Signals) ByPeer() (reason string, taken bool) {
	if r := s.reason.Load(); r != nil {
		reason = *r
	}
	return reason, strings.HasSuffix(reason, "new node registered with same name")
}

// Close restores the default handling of the signals.
func (s *Signals) Close() {
	signal.Stop(s.events)
	close(s.events)
	<-s.done
	s.stop()
}

// Graph is a node and, if requested, a master inside this process.
type Graph struct {
	Node    *tcpros.Node
	options tcpros.NodeOptions
	master  *master.Master
	rosout  *rosout.Publisher
}

// Join starts a node for a program that begins to end with ctx. embedded is the address of a master to
// start first; empty means none.
func Join(ctx context.Context, o tcpros.NodeOptions, embedded string) (*Graph, error) {
	g := &Graph{}
	o.Ending = ctx.Done()
	if embedded != "" {
		m, err := master.New(ctx, master.Options{Listen: embedded, Log: o.Log})
		if err != nil {
			return nil, fmt.Errorf("embedded master: %w", err)
		}
		g.master = m
		o.MasterURI = m.URI()
		o.Log.Info("embedded master", zap.String("ROS_MASTER_URI", m.URI()))
	}
	n, err := tcpros.NewNode(ctx, o)
	if err != nil {
		return nil, errors.Join(err, g.closeMaster()) //nolint:contextcheck // closing is not to be interrupted
	}
	g.Node, g.options = n, o
	return g, nil
}

// NewNode starts another node of this program, with its full name. Names and parameters from
// the command line apply to the first node only.
func (g *Graph) NewNode(ctx context.Context, name string) (*tcpros.Node, error) {
	o := g.options
	namespace, base := path.Split(name)
	o.BaseName, o.Anonymous, o.MasterURI = base, false, g.Node.MasterURI()
	o.Args = tcpros.Args{Namespace: namespace, Hostname: o.Args.Hostname, IP: o.Args.IP}
	o.Log = o.Log.With(zap.String("node", name))
	return tcpros.NewNode(ctx, o)
}

// PublishLog publishes the lines that out holds and those that it gets, until Close. out may be nil.
func (g *Graph) PublishLog(out *rosout.Publisher) {
	out.Attach(g.Node)
	g.rosout = out
}

// closeTimeout bounds unregistering while the master answers. If it does not answer,
// tcpros.Node.Close gives up after one second.
const closeTimeout = 5 * time.Second

// Close publishes the last lines of the log, unregisters and closes the node, and closes the
// master.
func (g *Graph) Close() error {
	g.rosout.Close()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return errors.Join(g.Node.Close(ctx), g.closeMaster())
}

func (g *Graph) closeMaster() error {
	if g.master == nil {
		return nil
	}
	return g.master.Close()
}
