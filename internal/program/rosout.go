package program

import (
	"runtime"
	"slices"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/program/rosout"
)

// rosoutCore is a zapcore.Core that publishes lines of level Info and above on /rosout, whatever the
// level of the log is: readers of /rosout select by level themselves.
type rosoutCore struct {
	out    *rosout.Publisher
	fields []zap.Field // of With
}

// Enabled implements zapcore.LevelEnabler.
func (c *rosoutCore) Enabled(l zapcore.Level) bool { return l >= zap.InfoLevel }

// With implements zapcore.Core.
func (c *rosoutCore) With(fields []zap.Field) zapcore.Core {
	return &rosoutCore{c.out, slices.Concat(c.fields, fields)}
}

// Check implements zapcore.Core.
func (c *rosoutCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

// Sync implements zapcore.Core.
func (c *rosoutCore) Sync() error { return nil }

// Write implements zapcore.Core.
func (c *rosoutCore) Write(e zapcore.Entry, fields []zap.Field) error {
	all := slices.Concat(c.fields, fields)
	if slices.ContainsFunc(all, c.aboutItself) {
		return nil
	}
	text := lines.Get()
	defer text.Free()
	appendText(text, e.Message, all, plain)
	c.out.Send(rosout.Line{
		Time: e.Time, Level: rosoutLevel(e.Level), Text: text.String(),
		File: e.Caller.File, Function: e.Caller.Function, Line: e.Caller.Line,
	})
	return nil
}

// aboutItself reports whether a line with this field is about /rosout, or about /rosout_agg, on which the
// node rosout repeats the lines. Such a line is not published: a recorder that drops it would log another
// such line, and so on.
func (c *rosoutCore) aboutItself(f zap.Field) bool {
	return f.Type == zapcore.StringType && (f.Key == "topic" || f.Key == "name") && c.out.Carries(f.String)
}

func rosoutLevel(l zapcore.Level) rosout.Level {
	switch {
	case l < zap.InfoLevel:
		return rosout.Debug
	case l < zap.WarnLevel:
		return rosout.Info
	case l < zap.ErrorLevel:
		return rosout.Warn
	case l == zap.ErrorLevel:
		return rosout.Error
	}
	return rosout.Fatal
}

// NewRosout returns a publisher of log lines on /rosout, which starts with Graph.PublishLog. If the user
// has disabled it, NewRosout returns nil, whose methods do nothing.
func NewRosout(disabled bool) *rosout.Publisher {
	if disabled {
		return nil
	}
	return rosout.New()
}

// PublishSummary publishes the text that a program prints when it ends, which is no line of its log.
// A long one is cut at the end.
func PublishSummary(out *rosout.Publisher, level zapcore.Level, text string) {
	at := zapcore.NewEntryCaller(runtime.Caller(1))
	if f := runtime.FuncForPC(at.PC); f != nil {
		at.Function = f.Name()
	}
	out.Send(rosout.Line{
		Time: time.Now(), Level: rosoutLevel(level), Text: loglimit.Cut(text, loglimit.MaxLine),
		File: at.File, Function: at.Function, Line: at.Line,
	})
}
