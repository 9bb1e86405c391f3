package main

import (
	"io"
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"

	"github.com/gorosbag/gorosbag/internal/loglimit"
)

func newLog(level string, w io.Writer) *zap.Logger {
	l, err := zapcore.ParseLevel(level)
	if err != nil {
		panic("master: " + err.Error()) // kong checked it
	}
	cfg := zap.NewProductionEncoderConfig()
	cfg.EncodeTime = zapcore.ISO8601TimeEncoder
	enc := zapcore.NewJSONEncoder(cfg)
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		cfg.EncodeLevel = zapcore.CapitalLevelEncoder
		enc = zapcore.NewConsoleEncoder(cfg)
	}
	return zap.New(loglimit.Core(zapcore.NewCore(enc, zapcore.Lock(zapcore.AddSync(w)), l)))
}
