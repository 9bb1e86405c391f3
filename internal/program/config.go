package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/tcpros"
)

// PrintConfig prints all options with their origins, and how ROS names resolve for the node
// that would be started. It returns the exit code. embedded is that of Join.
func PrintConfig(errs *Errors, c *config.Settings, o tcpros.NodeOptions, embedded string) int {
	notes, err := describe(o, embedded)
	notes = append(notes, c.Unknown()...)
	if err := errors.Join(config.PrintSettings(os.Stdout, c.List(), notes), err); err != nil {
		return errs.Fail(ExitUsage, err)
	}
	return ExitOK
}

// CheckConfig checks the ROS arguments of the node that would be started, then calls check for all else that the start
// would refuse; the values of options were checked before. It prints ok or the errors, and returns the exit code.
// resolve resolves names as that node does. Unknown variables are warnings. embedded is that of Join.
func CheckConfig(errs *Errors, c *config.Settings, o tcpros.NodeOptions, embedded string, check func(resolve func(string) (string, error)) error) int {
	_, err := describe(o, embedded)
	var resolve func(string) (string, error)
	if err == nil {
		resolve, err = tcpros.Resolver(o)
	}
	if err == nil {
		err = check(resolve)
	}
	if err != nil {
		return errs.Fail(ExitUsage, err)
	}
	for _, text := range c.Unknown() {
		errs.Print(text)
	}
	if _, err := fmt.Println("ok"); err != nil { //nolint:forbidigo // the answer
		return errs.Fail(ExitUsage, err)
	}
	return ExitOK
}

// describe says what a node would be. embedded is that of Join.
func describe(o tcpros.NodeOptions, embedded string) ([]string, error) {
	if embedded != "" {
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
