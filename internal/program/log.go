package program

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.uber.org/zap"
	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/program/options"
	"github.com/gorosbag/gorosbag/internal/program/rosout"
	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// LogOptions say what a log looks like and what is in it.
type LogOptions struct {
	options.Log
	Quiet    bool // only warnings and errors
	Terminal bool // the log is written to a terminal
	Colors   bool // the terminal has colors

	Rosout *rosout.Publisher // gets lines of level Info and above, too; may be nil
}

// LogTo returns the options for a log that is written to f.
func LogTo(f *os.File, o options.Log, quiet bool) LogOptions {
	return LogOptions{Log: o, Quiet: quiet, Terminal: term.IsTerminal(int(f.Fd())), Colors: Colors(f)}
}

// NewLog returns a log that writes one line per event to w, which must be safe for
// concurrent use. Lines are limited: see the package loglimit.
//
// A terminal gets the time of day, the message and key=value. Elsewhere lines have a date, a
// level and their values as JSON, as scripts expect them.
func NewLog(w io.Writer, o LogOptions) *zap.Logger {
	level, err := zapcore.ParseLevel(o.LogLevel)
	if err != nil {
		panic("program: " + err.Error()) // the option has an enum
	}
	if o.Quiet && level < zap.WarnLevel {
		level = zap.WarnLevel
	}
	out := zapcore.AddSync(w)
	core := zapcore.NewCore(encoder(o.JSON()), out, level)
	if o.Terminal && !o.JSON() {
		core = &terminalCore{LevelEnabler: level, out: out, colors: o.Colors}
	}
	if o.Rosout == nil {
		return zap.New(loglimit.Core(core))
	}
	// the place in the source, for /rosout only
	return zap.New(loglimit.Core(zapcore.NewTee(core, &rosoutCore{out: o.Rosout})), zap.AddCaller())
}

// encoder returns the encoder for lines that programs read.
func encoder(asJSON bool) zapcore.Encoder {
	if asJSON {
		enc := zap.NewProductionEncoderConfig()
		enc.EncodeTime = zapcore.ISO8601TimeEncoder
		enc.CallerKey = zapcore.OmitKey
		return zapcore.NewJSONEncoder(enc)
	}
	enc := zap.NewDevelopmentEncoderConfig()
	enc.EncodeTime = zapcore.TimeEncoderOfLayout("2006-01-02 15:04:05.000")
	enc.EncodeLevel = zapcore.CapitalLevelEncoder
	enc.ConsoleSeparator = " "
	enc.CallerKey = zapcore.OmitKey
	return zapcore.NewConsoleEncoder(enc)
}

// terminalCore is a zapcore.Core that writes lines for people.
type terminalCore struct {
	zapcore.LevelEnabler
	out    zapcore.WriteSyncer
	colors bool
	fields []zap.Field // of With
}

// With implements zapcore.Core.
func (c *terminalCore) With(fields []zap.Field) zapcore.Core {
	d := *c
	d.fields = append(d.fields[:len(d.fields):len(d.fields)], fields...)
	return &d
}

// Check implements zapcore.Core.
func (c *terminalCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

// Sync implements zapcore.Core.
func (c *terminalCore) Sync() error { return c.out.Sync() }

// Write implements zapcore.Core.
func (c *terminalCore) Write(e zapcore.Entry, fields []zap.Field) error {
	line := lines.Get()
	defer line.Free()
	line.AppendTime(e.Time, "15:04:05")
	line.AppendByte(' ')
	if e.Level != zap.InfoLevel {
		line.AppendString(c.paint(levelColor(e.Level), e.Level.CapitalString()))
		line.AppendByte(' ')
	}
	appendText(line, e.Message, slices.Concat(c.fields, fields), c.paint)
	line.AppendByte('\n')
	_, err := c.out.Write(line.Bytes())
	return err
}

// appendText appends the message of a line and its fields as key=value.
func appendText(line *buffer.Buffer, message string, fields []zap.Field,
	paint func(color, text string) string,
) {
	line.AppendString(wording.Escape(message))
	for _, f := range fields {
		if f.Type != zapcore.SkipType {
			line.AppendByte(' ')
			line.AppendString(paint(dim, wording.Escape(f.Key)+"="))
			line.AppendString(valueText(f))
		}
	}
}

// plain is the paint function without colors.
func plain(_, text string) string { return text }

var lines = buffer.NewPool()

// Attributes of ECMA-48.
const (
	dim     = "2"
	red     = "31"
	yellow  = "33"
	magenta = "35"
)

func levelColor(l zapcore.Level) string {
	switch {
	case l >= zap.ErrorLevel:
		return red
	case l == zap.WarnLevel:
		return yellow
	}
	return magenta
}

func (c *terminalCore) paint(color, text string) string {
	if !c.colors {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// valueText formats the value of a field. It is one word, or quoted.
func valueText(f zap.Field) string {
	m := zapcore.NewMapObjectEncoder()
	f.AddTo(m)
	switch v := m.Fields[f.Key].(type) {
	case string:
		return word(v)
	case float64:
		return strconv.FormatFloat(v, 'g', 6, 64)
	case time.Duration:
		return v.String()
	case time.Time:
		return v.Format(time.RFC3339)
	case []any:
		texts := make([]string, len(v))
		for i, e := range v {
			texts[i] = fmt.Sprint(e)
		}
		return word(strings.Join(texts, ","))
	case map[string]any:
		b, err := json.Marshal(v)
		if err != nil {
			return word(err.Error())
		}
		return string(wording.EscapeJSON(string(b)))
	default:
		return word(fmt.Sprint(v))
	}
}

// word quotes a text that is not one word.
func word(s string) string {
	if s == "" || !utf8.ValidString(s) ||
		strings.ContainsFunc(s,
			func(r rune) bool { return r == ' ' || r == '"' || r == '=' || !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
