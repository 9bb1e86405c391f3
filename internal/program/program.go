// Package program holds what the commands share: the log, signals, exit codes, the
// version, and a node with its master.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"

	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/tcpros/master"
)

// Exit codes of every command.
const (
	ExitOK       = 0
	ExitUsage    = 1 // usage, configuration or start-up error
	ExitInternal = 2 // our fault
	ExitLoss     = 3 // finished, but messages were lost or the input was damaged
)

// goodbye is the most that leaving the ROS graph, the terminal or a disk may take.
const goodbye = time.Second

// NewLog returns a log that writes one line per event to standard error. quiet leaves
// out all below warnings.
func NewLog(quiet bool) *zap.Logger {
	return NewLogTo(zapcore.Lock(os.Stderr), Colors(os.Stderr), quiet)
}

// NewLogTo is NewLog for another destination: one for which several goroutines may
// write at once.
func NewLogTo(w io.Writer, colors, quiet bool) *zap.Logger {
	enc := zap.NewDevelopmentEncoderConfig()
	enc.EncodeTime = zapcore.TimeEncoderOfLayout("2006-01-02 15:04:05.000")
	enc.EncodeLevel = zapcore.CapitalLevelEncoder
	if colors {
		enc.EncodeLevel = zapcore.CapitalColorLevelEncoder
	}
	enc.ConsoleSeparator = " "
	level := zap.InfoLevel
	if quiet {
		level = zap.WarnLevel
	}
	return zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(enc), zapcore.AddSync(w), level))
}

// Terminal reports whether f is a terminal that knows control sequences.
func Terminal(f *os.File) bool {
	kind := os.Getenv("TERM")
	return kind != "" && kind != "dumb" && term.IsTerminal(int(f.Fd()))
}

// Colors reports whether f is a terminal with colors, and they are wanted (see
// https://no-color.org).
func Colors(f *os.File) bool { return Terminal(f) && os.Getenv("NO_COLOR") == "" }

// Version returns what --version prints: the module's version and its commit.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := info.Main.Version
	if version == "" || version == "(devel)" {
		version = "development build"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			version += " " + s.Value
		}
	}
	return version + " " + info.GoVersion
}

// Signals tells how a user asks a program to end.
type Signals struct {
	Hurry <-chan struct{} // closed at the second signal

	stop   context.CancelFunc
	events chan os.Signal
	done   chan struct{}
	tidy   atomic.Pointer[func()]
}

// Catch turns SIGINT, SIGTERM and SIGHUP into an end of the returned context: the
// first ends it, the second closes Hurry, the third ends the process with
// ExitInternal. SIGPIPE is ignored: a closed terminal must not end a recording.
func Catch(parent context.Context) (context.Context, *Signals) {
	ctx, cancel := context.WithCancel(parent)
	hurry := make(chan struct{})
	s := &Signals{Hurry: hurry, stop: cancel, events: make(chan os.Signal, 4), done: make(chan struct{})}
	signal.Ignore(syscall.SIGPIPE)
	signal.Notify(s.events, EndSignals()...)
	// owner: Signals; ends in Close.
	go func() {
		defer close(s.done)
		n := 0
		for range s.events {
			switch n++; n {
			case 1:
				cancel()
			case 2:
				close(hurry)
			default:
				s.tidyUp()
				os.Exit(ExitInternal) //nolint:forbidigo // the user has asked three times
			}
		}
	}()
	return ctx, s
}

// EndSignals are those by which a user asks a program to end: SIGINT, also where a
// script's & has it ignored, as in roscpp, SIGTERM and SIGHUP, unless nohup ignores that
// for us.
func EndSignals() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}

// BeforeExit sets what the third signal does before it ends the process, such as
// giving the terminal back. It has a second for that: something may hang.
func (s *Signals) BeforeExit(tidy func()) { s.tidy.Store(&tidy) }

func (s *Signals) tidyUp() {
	tidy := s.tidy.Load()
	if tidy == nil {
		return
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	Patiently(over, *tidy)
}

// Patiently runs f and reports whether it has returned. Once ctx has ended f has a
// second for that: what hangs with its disk cannot be taken back, only left behind.
func Patiently(ctx context.Context, f func()) bool {
	done := make(chan struct{})
	// owner: Patiently; ends with f, or with the process.
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
	case <-time.After(goodbye):
		return false
	}
}

// End ends the context as the first signal does.
func (s *Signals) End() { s.stop() }

// Close gives the signals back to the system.
func (s *Signals) Close() {
	signal.Stop(s.events)
	close(s.events)
	<-s.done
	s.stop()
}

// Graph is a node and, if one was asked for, the master inside this process.
type Graph struct {
	Node    *tcpros.Node
	options tcpros.NodeOptions
	master  *master.Master
}

// Join starts a node. embedded is the address of a master to start first; empty
// means that the master is outside.
func Join(ctx context.Context, o tcpros.NodeOptions, embedded string) (*Graph, error) {
	g := &Graph{}
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

// Another starts a further node of this program, by its full name. What the command
// line says about names and parameters is for the first one only.
func (g *Graph) Another(ctx context.Context, name string) (*tcpros.Node, error) {
	o := g.options
	namespace, base := path.Split(name)
	o.BaseName, o.Anonymous, o.MasterURI = base, false, g.Node.MasterURI()
	o.Args = tcpros.Args{Namespace: namespace, Hostname: o.Args.Hostname, IP: o.Args.IP}
	o.Log = o.Log.With(zap.String("node", name))
	return tcpros.NewNode(ctx, o)
}

// Leave takes the node out of the graph, within a second.
func (g *Graph) Leave() error {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	return errors.Join(g.Node.Close(ctx), g.closeMaster())
}

func (g *Graph) closeMaster() error {
	if g.master == nil {
		return nil
	}
	return g.master.Close()
}

// Fail writes one line about err and returns the exit code for it.
func Fail(w io.Writer, name string, code int, err error) int {
	fmt.Fprintf(w, "%s: %v\n", name, err) //nolint:errcheck // there is no better place to say so
	return code
}
