package program_test

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/program/options"
)

// TestLogFormats compares one line in each form, with its time replaced.
func TestLogFormats(t *testing.T) {
	t.Parallel()
	fields := []zap.Field{
		zap.String("topic", "/imu"), zap.String("reason", "no room\x1b[2J"), zap.Strings("files", []string{"a.bag", "b.bag"}),
		zap.Int("messages", 3), zap.Duration("after", 1500*time.Millisecond), zap.Error(errors.New("disk full")),
	}
	text := options.Log{LogFormat: options.LogFormat{Format: "text"}, LogLevel: "info"}
	for name, tc := range map[string]struct {
		o    program.LogOptions
		want string
	}{
		"pipe": {program.LogOptions{Log: text}, `DATE TIME.mmm INFO Recording to {"node": "/a", "topic": "/imu", "reason": "no room\u001b[2J", "files": ["a.bag", "b.bag"], "messages": 3, "after": "1.5s", "error": "disk full"}
DATE TIME.mmm WARN lost {"node": "/a"}
`},
		"quiet": {program.LogOptions{Log: text, Quiet: true}, "DATE TIME.mmm WARN lost {\"node\": \"/a\"}\n"},
		"terminal": {program.LogOptions{Log: text, Terminal: true}, `TIME Recording to node=/a topic=/imu reason="no room\x1b[2J" files=a.bag,b.bag messages=3 after=1.5s error="disk full"
TIME WARN lost node=/a
`},
		"colors": {program.LogOptions{Log: text, Terminal: true, Colors: true, Quiet: true}, "TIME \x1b[33mWARN\x1b[0m lost \x1b[2mnode=\x1b[0m/a\n"},
		"debug": {program.LogOptions{Log: options.Log{LogFormat: text.LogFormat, LogLevel: "debug"}, Terminal: true}, `TIME DEBUG options node=/a
TIME Recording to node=/a topic=/imu reason="no room\x1b[2J" files=a.bag,b.bag messages=3 after=1.5s error="disk full"
TIME WARN lost node=/a
`},
		"json": {program.LogOptions{Log: options.Log{LogFormat: options.LogFormat{Format: "json"}, LogLevel: "warn"}, Terminal: true, Colors: true}, `{"level":"warn","ts":"DATETTIME.mmm+0000","msg":"lost","node":"/a"}` + "\n"},
	} {
		var out bytes.Buffer
		log := program.NewLog(&out, tc.o).With(zap.String("node", "/a"))
		log.Debug("options")
		log.Info("Recording to", fields...)
		log.Warn("lost")
		got := regexp.MustCompile(`\d\d\d\d-\d\d-\d\d`).ReplaceAllString(out.String(), "DATE")
		got = regexp.MustCompile(`\d\d:\d\d:\d\d`).ReplaceAllString(got, "TIME")
		got = regexp.MustCompile(`TIME\.\d\d\d`).ReplaceAllString(got, "TIME.mmm")
		got = regexp.MustCompile(`mmm([+-]\d{4}|Z)`).ReplaceAllString(got, "mmm+0000")
		if got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, tc.want)
		}
	}
}

// TestTerminalLogBytes: a byte that is no UTF-8 may control a terminal, too: 0x9b is ESC [ for many.
func TestTerminalLogBytes(t *testing.T) {
	t.Parallel()
	const bad = "a\x9b2Jb"
	var out bytes.Buffer
	log := program.NewLog(&out, program.LogOptions{Log: options.Log{LogFormat: options.LogFormat{Format: "text"}, LogLevel: "info"}, Terminal: true})
	log.Info(bad, zap.String(bad, bad), zap.Strings("list", []string{bad}), zap.ByteString("bytes", []byte(bad)), zap.Error(errors.New(bad)), zap.Any("map", map[string]string{bad: bad}))
	(&program.Errors{W: &out, Name: "gorecord"}).Print(bad)
	if !utf8.Valid(out.Bytes()) || strings.Count(out.String(), `a\x9b2Jb`) != 9 {
		t.Errorf("%q", &out)
	}
}

// TestErrors: an error is one line, whatever is in it.
func TestErrors(t *testing.T) {
	t.Parallel()
	err := errors.Join(errors.New("no master"), errors.New("name \"\x1b[2J\""))
	var out bytes.Buffer
	e := program.Errors{W: &out, Name: "gorecord"}
	if code := e.Fail(program.ExitLoss, err); code != program.ExitLoss || out.String() != "gorecord: no master; name \"\\x1b[2J\"\n" {
		t.Errorf("%d, %q", code, &out)
	}
	out.Reset()
	if e.Fail(program.ExitUsage, config.Errors{errors.New("a: bad"), errors.New("b: bad")}); out.String() != "gorecord: a: bad\ngorecord: b: bad\n" {
		t.Errorf("%q", &out)
	}
	out.Reset()
	if e.Fail(program.ExitUsage, slices.Repeat(config.Errors{errors.New("bad")}, 60)); strings.Count(out.String(), "\n") != 51 || !strings.HasSuffix(out.String(), "gorecord: and 10 more errors\n") {
		t.Errorf("%q", &out)
	}
	out.Reset()
	e.JSON = true
	e.Print("no master")
	if want := regexp.MustCompile(`^\{"level":"error","ts":"[^"]+","msg":"no master","program":"gorecord"\}\n$`); !want.MatchString(out.String()) {
		t.Errorf("%s, want %v", &out, want)
	}
}
