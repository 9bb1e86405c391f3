// Command master (gomaster) is a ROS 1 master and parameter server in one binary,
// for machines without ROS. It takes the place of roscore; see the package
// tcpros/master for the few differences.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/program/options"
	"github.com/gorosbag/gorosbag/tcpros/master"
)

type flags struct {
	Action string `arg:"" optional:"" help:"healthcheck: instead of serving ask the master that these options stand for, on this machine, for a sign of life; exit code 0 if it answers."`

	Port           int    `short:"p" default:"-1" placeholder:"N" help:"TCP port; 0 takes any free one. Default: the port in ROS_MASTER_URI, or 11311."`
	Listen         string `placeholder:"ADDR" help:"Address to listen on, 0.0.0.0 for all of IPv4. Default: the address that is advertised (ROS_HOSTNAME, ROS_IP or the host name) and 127.0.0.1."`
	RemoteShutdown bool   `help:"Stop when a node calls shutdown, as rosmaster does. Otherwise such calls are refused."`

	options.Log

	Man     config.ManFlag     `help:"Print the manual page and exit; to read it: gomaster --man | man -l -."`
	Version config.VersionFlag `help:"Print the version and exit."`

	// Options of roscore that mean nothing here.
	NumWorkers string `short:"w" name:"numworkers" hidden:""`
	Timeout    string `short:"t" hidden:""`
	Verbose    bool   `short:"v" hidden:""`
}

const description = `Run a ROS 1 master and parameter server.

ROS_HOSTNAME, ROS_IP, __hostname:= and __ip:= set the address that is advertised. Other name:=value arguments are ignored.`

func main() {
	errs := &program.Errors{W: os.Stderr, Name: "gomaster"}
	err := run(os.Args[1:], os.Getenv, os.Stdout, errs)
	switch {
	case err == nil:
	case errors.Is(err, errStopped):
		os.Exit(errs.Fail(program.ExitInternal, err))
	default:
		os.Exit(errs.Fail(program.ExitUsage, err))
	}
}

var (
	errStopped   = errors.New("stopped serving")
	errHelpShown = errors.New("help was shown")
)

// run serves until a signal. It sets in errs how errors are printed. An error that is not errStopped is
// one of usage or start-up.
func run(args []string, getenv func(string) string, stdout io.Writer, errs *program.Errors) error {
	if err := program.CheckCommand("gomaster", args); err != nil {
		return err
	}
	args, remaps := splitRemaps(args)
	f, err := parse(args, stdout, errs.W)
	errs.JSON = f.JSON()
	if errors.Is(err, errHelpShown) {
		return nil
	} else if err != nil {
		return err
	}
	port, err := choosePort(f.Port, getenv("ROS_MASTER_URI"))
	if err != nil {
		return err
	}
	if f.Action == actionHealthcheck {
		return healthcheck(context.Background(), &f, port)
	}
	program.LimitHeap(master.HeapBytes)
	signal.Ignore(syscall.SIGPIPE) // a closed stdout or stderr is no reason not to serve
	ctx, stop := signal.NotifyContext(context.Background(), program.EndSignals()...)
	defer stop()
	log := program.NewLog(zapcore.Lock(zapcore.AddSync(errs.W)), program.LogTo(os.Stderr, f.Log, false))
	at, err := locate(ctx, f.Listen, remaps, getenv)
	if err != nil {
		return err
	}
	if at.LoopbackDefault {
		log.Warn("the host name stands for loopback: nodes on other machines cannot reach this master (set ROS_IP, or use --listen)", zap.String("host", at.Host))
	}
	shutdown := make(chan struct{}, 1)
	o := master.Options{
		Listen: net.JoinHostPort(at.Listen[0], port), AlsoListen: at.Listen[1:], URIHost: at.Host, Log: log,
	}
	if f.RemoteShutdown {
		o.OnShutdown = func(caller, reason, peer string) {
			whom := []zap.Field{zap.String("caller", caller), zap.String("peer", peer), zap.String("reason", reason)}
			log.Info("shutdown asked for", whom...)
			select {
			case shutdown <- struct{}{}:
			default:
			}
		}
	}
	m, err := master.New(ctx, o)
	if err != nil {
		return explainListenError(err, port)
	}
	_, _ = fmt.Fprintf(stdout, "ROS_MASTER_URI=%s\n", m.URI())
	log.Info("serving", zap.String("uri", m.URI()), zap.Strings("listen", at.Listen))
	select {
	case <-ctx.Done():
	case <-shutdown:
	case err = <-m.Failed():
		err = fmt.Errorf("%w: %w", errStopped, err)
	}
	stop() // a second signal ends the process at once
	log.Info("stopping")
	err = errors.Join(err, m.Close())
	loglimit.Flush(log)
	return err
}

// parse reads the command line. errHelpShown means that the help, the version or the manual page was printed.
func parse(args []string, stdout, stderr io.Writer) (flags, error) {
	var f flags
	helped := false
	k, err := kong.New(&f, kong.Name("gomaster"), kong.Description(description), kong.Writers(stdout, stderr),
		kong.Vars{"version": "gomaster " + program.Version()}, kong.Exit(func(int) { helped = true }))
	if err != nil {
		panic("master: " + err.Error()) // the struct above is wrong
	}
	_, err = k.Parse(args)
	if helped {
		return f, errHelpShown
	}
	if err == nil && f.Action != "" && f.Action != actionHealthcheck {
		err = fmt.Errorf("unexpected argument %s: the only one is %s; options begin with a dash", // in kong's words
			f.Action, actionHealthcheck)
	}
	return f, err
}
