// Package loglimit keeps a log readable whatever peers do: no line is longer than MaxLine,
// and a problem that repeats is logged once and then counted.
//
// A problem is a line of level Warn or Error. Its kind is its message, which therefore has to be
// constant; its peer is the value of the first of its fields that is in identities. For each kind
// and peer, the first line is written at once, and further lines at intervals that double from
// Interval to MaxInterval. When many peers have the same problem, the first few are named; then one
// line of that kind is written in each Interval. The next line of that kind tells how many lines
// were left out, as "suppressed", and of how many peers, as "peers". The last line that was left
// out is written when its time has come, with its age as "ago": a log never ends without the count
// of the lines that were left out.
//
// Lines below Warn, and lines with the field Each, are only shortened. A line below Warn that peers
// can cause at any rate has the field OnRequest: of such a kind, after the first lines, one line is
// written in each Interval, for all peers together.
//
// Decisions: ADR 0055, 0081.
package loglimit

import (
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Logger returns log with the limits. A log that has limits already is returned unchanged: the
// parts of a program share the limits.
func Logger(log *zap.Logger) *zap.Logger {
	if _, ok := log.Core().(*core); ok {
		return log
	}
	return log.WithOptions(zap.WrapCore(Core))
}

// Core returns inner with the limits.
func Core(inner zapcore.Core) zapcore.Core {
	return &core{
		inner: inner, limiter: &limiter{kinds: map[string]*kind{}}, left: withBytes,
		rank: len(identities),
	}
}

// Flush writes the lines that wait for their time. A program calls it before it ends.
func Flush(log *zap.Logger) {
	if c, ok := log.Core().(*core); ok {
		c.limiter.flush()
	}
}

const eachKey = "each line"

// Each marks a line that is always written: it describes an event that happens once, such as the
// end of one file, or the caller bounds how often the line is written.
func Each() zap.Field { return zap.Field{Key: eachKey, Type: zapcore.SkipType} }

const onRequestKey = "line on request"

// OnRequest marks a line below Warn that peers can cause at any rate, for example one for each
// call of a service. The message has to be constant. A logger with the field marks all its lines.
func OnRequest() zap.Field { return zap.Field{Key: onRequestKey, Type: zapcore.SkipType} }

// core is a zapcore.Core that limits another. The cores of With share its limiter.
type core struct {
	inner   zapcore.Core
	limiter *limiter
	left    int    // bytes that fields of With may still use; negative if their keys used more
	peer    string // from the fields of With; empty if unknown
	rank    int    // index of its key in identities

	onRequest bool // With had the field OnRequest
}

// Enabled implements zapcore.LevelEnabler.
func (c *core) Enabled(l zapcore.Level) bool { return c.inner.Enabled(l) }

// With implements zapcore.Core.
func (c *core) With(fields []zap.Field) zapcore.Core {
	d := *c
	d.peer, d.rank = identify(fields, c.peer, c.rank)
	d.onRequest = c.onRequest || marked(fields, onRequestKey)
	fields, used := cutFields(fields, c.left)
	d.inner, d.left = c.inner.With(fields), c.left-used
	return &d
}

// Check implements zapcore.Core.
func (c *core) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

// Write implements zapcore.Core.
func (c *core) Write(e zapcore.Entry, fields []zap.Field) error {
	e.Message = Cut(e.Message, messageBytes)
	problem := e.Level >= zap.WarnLevel && e.Level <= zap.ErrorLevel && !marked(fields, eachKey)
	request := e.Level < zap.WarnLevel && (c.onRequest || marked(fields, onRequestKey))
	peer := ""
	if problem {
		peer, _ = identify(fields, c.peer, c.rank)
	}
	fields, _ = cutFields(fields, lineBytes-cost(e.Message)-(withBytes-c.left))
	if problem || request {
		write, extra := c.limiter.admit(peer, e, func() zapcore.Core { return c.inner.With(fields) })
		if !write {
			return nil
		}
		fields = append(fields[:len(fields):len(fields)], extra...)
	}
	pass(c.inner, e, fields)
	return nil
}

// pass writes a line to inner; if that is a tee, to those of its cores that want the level of the line.
// Errors of writing are ignored, because a log has nowhere to report them.
func pass(inner zapcore.Core, e zapcore.Entry, fields []zap.Field) {
	inner.Check(e, nil).Write(fields...)
}

// Sync implements zapcore.Core.
func (c *core) Sync() error {
	c.limiter.flush()
	return c.inner.Sync()
}

// identities are the keys of fields that identify the peer with the problem, the most specific
// first: a node that is away is one problem, however many topics the node has.
var identities = [...]string{
	"publisher", "peer", "from", "subscriber", "node", "master", "uri", "callerid",
	"topic", "service", "name", "trigger", "file", "bag", "command", "operation", "option",
}

// marked reports whether one of the fields is a mark with a key.
func marked(fields []zap.Field, key string) bool {
	for _, f := range fields {
		if f.Type == zapcore.SkipType && f.Key == key {
			return true
		}
	}
	return false
}

// identify returns the peer that fields name and the rank of its key, if that rank is better than
// the known rank.
func identify(fields []zap.Field, peer string, rank int) (string, int) {
	for _, f := range fields {
		for i, key := range identities[:rank] {
			if f.Key == key {
				peer, rank = text(f), i
				if key == "peer" {
					peer = hostOf(peer) // each connection has another port
				}
				break
			}
		}
	}
	return peer, rank
}

// told returns the fields that describe the lines that were left out.
func told(lines, peers int, ago time.Duration) (fields []zap.Field) {
	if lines > 0 {
		fields = append(fields, zap.Int("suppressed", lines))
	}
	if peers > 1 {
		fields = append(fields, zap.Int("peers", peers))
	}
	if ago > 0 {
		fields = append(fields, zap.Duration("ago", ago.Round(time.Millisecond)))
	}
	return fields
}
