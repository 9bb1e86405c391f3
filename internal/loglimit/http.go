package loglimit

import (
	"bytes"
	stdlog "log" // the type of http.Server.ErrorLog

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// HTTPErrors returns a logger for http.Server.ErrorLog. All lines of net/http get the same message,
// because the message is the kind of a line, and the texts of net/http contain peers. The lines are
// logged at level, except panics of handlers: these are defects of our programs, and are logged as
// errors.
func HTTPErrors(log *zap.Logger, message string, level zapcore.Level) *stdlog.Logger {
	return stdlog.New(httpErrors{log, message, level}, "", 0)
}

type httpErrors struct {
	log     *zap.Logger
	message string
	level   zapcore.Level
}

// Write implements io.Writer.
func (h httpErrors) Write(b []byte) (int, error) {
	level := h.level
	if bytes.HasPrefix(b, []byte("http: panic")) {
		level = zap.ErrorLevel
	}
	h.log.Log(level, h.message, zap.ByteString("error", bytes.TrimSpace(b)))
	return len(b), nil
}
