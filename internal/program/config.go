package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/program/options"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Resolver resolves a name of ROS.
type Resolver = func(name string) (string, error)

// Command is a program that starts a node, with its options.
type Command struct {
	Errs *Errors
	// name of the node, to which a number is appended
	Node string
	// is set by Parse
	Common *options.Common
	// reads the arguments that are not for ROS
	Parse func(args []string) (*config.Settings, error)
	// returns the error with which the start would refuse
	Check func(log *zap.Logger, resolve Resolver) error
}

// Line is a command line that was read.
type Line struct {
	Settings *config.Settings
	Node     tcpros.NodeOptions // without the log
}

// Read reads a command line, and carries out --check-config and --print-config. The result is nil if the
// program is to end with code instead of starting.
func (c *Command) Read(args []string) (l *Line, code int) {
	if err := CheckCommand(c.Errs.Name, args); err != nil {
		return nil, c.Errs.Fail(ExitUsage, err)
	}
	args, rosArgs, err := tcpros.ParseArgs(args)
	if err != nil {
		return nil, c.Errs.Fail(ExitUsage, err)
	}
	settings, err := c.Parse(args)
	c.Errs.JSON = c.Common.Log.JSON()
	if err != nil {
		return nil, c.Errs.Fail(ExitUsage, err)
	}
	ros := &c.Common.ROS
	l = &Line{
		settings,
		tcpros.NodeOptions{
			BaseName: c.Node, Bind: ros.Bind, Anonymous: true, Args: rosArgs,
			Getenv: ros.Getenv,
		},
	}
	do := c.print
	switch {
	case c.Common.CheckConfig:
		do = c.check
	case !c.Common.PrintConfig:
		return l, ExitOK
	}
	if err := do(l); err != nil {
		return nil, c.Errs.Fail(ExitUsage, err)
	}
	return nil, ExitOK
}

// print prints all options with their origins, and how ROS names resolve for the node that would be started.
func (c *Command) print(l *Line) error {
	notes, err := c.describe(l)
	notes = append(notes, l.Settings.Unknown()...)
	return errors.Join(config.PrintSettings(os.Stdout, l.Settings.List(), notes), err)
}

// check checks the ROS arguments of the node that would be started, then all else that the start would
// refuse, and prints ok. The values of options were checked before. Unknown variables are warnings.
func (c *Command) check(l *Line) error {
	if _, err := c.describe(l); err != nil {
		return err
	}
	resolve, err := tcpros.Resolver(l.Node)
	if err == nil {
		err = c.Check(NewLog(c.Errs.W, LogTo(os.Stderr, c.Common.Log, true)), resolve)
	}
	if err != nil {
		return err
	}
	for _, text := range l.Settings.Unknown() {
		c.Errs.Print(text)
	}
	_, err = fmt.Println("ok") //nolint:forbidigo // the answer
	return err
}

// describe says what the node would be.
func (c *Command) describe(l *Line) ([]string, error) {
	o := l.Node
	if embedded := c.Common.ROS.EmbeddedMaster; embedded != "" {
		o.MasterURI = "http://" + embedded
	}
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	return tcpros.Describe(ctx, o)
}

// LogConfig logs the options that are not defaults, with their origins: at debug level,
// because --print-config has them, too.
func LogConfig(log *zap.Logger, c *config.Settings) {
	for _, text := range c.Unknown() {
		log.Warn(text)
	}
	var fields []zap.Field
	for _, s := range c.List() {
		if !s.Default() {
			fields = append(fields, zap.String(s.Key, strings.Join(s.Values, ", ")+" ("+s.Origin+")"))
		}
	}
	if len(fields) > 0 {
		log.Debug("options", fields...)
	}
}
