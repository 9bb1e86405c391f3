package program

import (
	"context"
	"io"
	"os"
	"strings"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/tcpros"
)

// PrintConfig prints all options with their origins, and how ROS names resolve for the node
// that would be started. It returns the exit code. embedded is that of Join.
func PrintConfig(errs io.Writer, name string, c *config.Common, o tcpros.NodeOptions, embedded string) int {
	if embedded != "" {
		o.MasterURI = "http://" + embedded
	}
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	notes, err := tcpros.Describe(ctx, o)
	if err != nil {
		notes = []string{"ROS: " + err.Error()}
	}
	notes = append(notes, c.Unknown()...)
	if err := config.PrintSettings(os.Stdout, c.Settings(), notes); err != nil {
		return Fail(errs, name, ExitUsage, err)
	}
	return ExitOK
}

// LogConfig logs the options that are not defaults, with their origins.
func LogConfig(log *zap.Logger, c *config.Common) {
	for _, text := range c.Unknown() {
		log.Warn(text)
	}
	var fields []zap.Field
	for _, s := range c.Settings() {
		if !s.Default() {
			fields = append(fields, zap.String(s.Key, strings.Join(s.Values, ", ")+" ("+s.Origin+")"))
		}
	}
	if len(fields) > 0 {
		log.Info("options", fields...)
	}
}
