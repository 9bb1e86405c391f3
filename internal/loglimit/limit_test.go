package loglimit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/loglimit"
)

func observed() (*zap.Logger, *observer.ObservedLogs) {
	core, logs := observer.New(zap.InfoLevel)
	return loglimit.Logger(zap.New(core)), logs
}

// count returns the sum of a field over all lines.
func count(logs *observer.ObservedLogs, key string) (n int64) {
	for _, e := range logs.All() {
		if v, ok := e.ContextMap()[key].(int64); ok {
			n += v
		}
	}
	return n
}

// TestRepeated: the problem of one peer is written at once, then at growing intervals, and lines
// left out are counted.
func TestRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, logs := observed()
		link := log.With(zap.String("topic", "/t"))
		start := time.Now()
		const lines = 3000
		for range lines { // five minutes
			link.Warn("link lost", zap.String("publisher", "http://a:1/"))
			time.Sleep(100 * time.Millisecond)
			synctest.Wait() // for the timers that are due now
		}
		loglimit.Flush(log)
		last := time.Time{}
		for i, e := range logs.All() {
			if gap := e.Time.Sub(last); i > 0 && gap < loglimit.Interval && i < logs.Len()-1 {
				t.Errorf("line %d came %v after the one before", i, gap)
			}
			last = e.Time
		}
		if n := int64(logs.Len()) + count(logs, "suppressed"); n != lines {
			t.Errorf("%d of %d lines are told", n, lines)
		}
		if n := logs.Len(); n < 6 || n > 10 {
			t.Errorf("%d lines in %v", n, time.Since(start))
		}
		time.Sleep(3 * loglimit.MaxInterval)
		synctest.Wait() // for the timers that are due now
		before := logs.Len()
		link.Warn("link lost", zap.String("publisher", "http://a:1/"))
		if logs.Len() != before+1 {
			t.Error("a problem that was over for minutes does not come at once")
		}
	})
}

// TestProblems: warnings and errors are limited, unless they have a mark; a skipped field is no
// mark, nor is a field with the key of a mark.
func TestProblems(t *testing.T) {
	t.Parallel()
	log, logs := observed()
	for range 100 {
		log.Error("an error", zap.Skip())
		log.Warn("a warning", zap.Bool("each line", true))
		log.Info("a line", zap.Bool("line on request", true), zap.Skip())
	}
	for kind, want := range map[string]int{"an error": 1, "a warning": 1, "a line": 100} {
		if n := logs.FilterMessage(kind).Len(); n != want {
			t.Errorf("%d lines of 100 that say %q, want %d", n, kind, want)
		}
	}
}

// TestHeld: the last line that was left out is written when its time has come, with its original
// fields.
func TestHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, logs := observed()
		reason := []string{"first", "second", "third"}
		for i := range reason {
			log.Warn("refused", zap.String("peer", fmt.Sprintf("10.0.0.1:%d", 4000+i)), zap.String("reason", reason[i]))
			time.Sleep(time.Second)
			synctest.Wait() // for the timers that are due now
		}
		if logs.Len() != 1 {
			t.Errorf("%d lines at once of one host", logs.Len())
		}
		time.Sleep(loglimit.Interval)
		synctest.Wait() // for the timers that are due now
		if logs.Len() != 2 {
			t.Fatalf("%d lines later", logs.Len())
		}
		m := logs.All()[1].ContextMap()
		if m["reason"] != "third" || m["suppressed"] != int64(1) || m["ago"] != 8*time.Second {
			t.Errorf("the line that was kept says %v", m)
		}
	})
}

// TestManyPeers: of many peers with one problem the first are named, then they are counted.
func TestManyPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, logs := observed()
		const peers = 1024
		for i := range peers {
			log.Warn("publisher is listed but not reached", zap.String("publisher", fmt.Sprintf("http://a:%d/", i)))
		}
		if n := logs.Len(); n != 5 {
			t.Errorf("%d are named at once", n)
		}
		time.Sleep(loglimit.Interval)
		synctest.Wait() // for the timers that are due now
		if logs.Len() != 6 {
			t.Fatalf("%d lines", logs.Len())
		}
		if m := logs.All()[5].ContextMap(); m["suppressed"] != int64(peers-6) || m["peers"] != int64(peers-5) {
			t.Errorf("the line that counts says %v", m)
		}
		log.Warn("another problem", zap.String("publisher", "http://a:1/"))
		if logs.Len() != 7 {
			t.Error("another kind does not come at once")
		}
	})
}

// TestNotLimited: lines that are no problem, or have the mark Each, are always written.
func TestNotLimited(t *testing.T) {
	t.Parallel()
	log, logs := observed()
	for range 100 {
		log.Info("Subscribing to", zap.String("topic", "/t"))
		log.Warn("Closing", loglimit.Each(), zap.String("file", "x.bag"))
	}
	if logs.Len() != 200 {
		t.Errorf("%d of 200 lines", logs.Len())
	}
	if again := loglimit.Logger(log.With(zap.Int("a", 1))); again.Core() == nil || loglimit.Logger(again) != again {
		t.Error("limits are put over limits")
	}
}

// TestOnRequest: of lines on request, for all peers together, the first lines are written at once,
// then one in each interval. After a minute without a line, the limits start anew.
func TestOnRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, logs := observed()
		marked := log.With(loglimit.OnRequest(), zap.String("service", "~pause"))
		for i := range 100 {
			log.Info("web command", loglimit.OnRequest(), zap.String("peer", fmt.Sprintf("10.0.0.%d:1", i)))
			marked.Info("service call", zap.Int("n", i))
		}
		if n := logs.FilterMessage("web command").Len(); n != 20 {
			t.Errorf("%d lines at once", n)
		}
		if n := logs.FilterMessage("service call").Len(); n != 20 {
			t.Errorf("%d lines at once of a logger with the mark", n)
		}
		time.Sleep(loglimit.Interval)
		synctest.Wait() // for the timers that are due now
		all := logs.FilterMessage("service call").All()
		if len(all) != 21 {
			t.Fatalf("%d lines later", len(all))
		}
		if m := all[20].ContextMap(); m["n"] != int64(99) || m["suppressed"] != int64(79) || m["ago"] != loglimit.Interval || m["service"] != "~pause" {
			t.Errorf("the line that was kept says %v", m)
		}
		for range 12 { // a user who does something twice in each interval
			marked.Info("service call")
			marked.Info("service call")
			time.Sleep(loglimit.Interval)
			synctest.Wait() // for the timers that are due now
		}
		if n := logs.FilterMessage("service call").Len(); n != 21+12 {
			t.Errorf("%d lines of 24 in two minutes", n-21)
		}
		time.Sleep(loglimit.MaxInterval)
		for range 100 {
			marked.Info("service call")
		}
		if n := logs.FilterMessage("service call").Len(); n != 21+12+20 {
			t.Errorf("%d lines at once, a minute later", n-21-12)
		}
		for range 100 { // the marks are for lines that are no problem
			marked.Warn("refused", loglimit.Each())
			marked.Debug("detail")
		}
		if n := logs.FilterMessage("refused").Len(); n != 100 {
			t.Errorf("%d of 100 problems that happen once", n)
		}
	})
}

// TestMadeUp: peers that make up names and texts fill neither the log nor the memory.
func TestMadeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, logs := observed()
		for i := range 100_000 {
			log.Warn("refused", zap.String("topic", fmt.Sprint("/", i)))
		}
		if logs.Len() != 5 {
			t.Errorf("%d lines of one kind", logs.Len())
		}
		if kinds, peers := loglimit.Remembered(log); kinds > 256 || peers > 8<<10 {
			t.Errorf("%d kinds and %d peers are remembered", kinds, peers)
		}
		for i := range 10_000 {
			log.Warn(fmt.Sprint("text of a peer ", i))
		}
		if logs.Len() > 300 {
			t.Errorf("%d lines", logs.Len())
		}
		if kinds, peers := loglimit.Remembered(log); kinds > 257 || peers > 8<<10 {
			t.Errorf("%d kinds and %d peers are remembered", kinds, peers)
		}
		time.Sleep(time.Hour)
		synctest.Wait() // for the timers that are due now
		for i := range 256 {
			log.Warn(fmt.Sprint("later ", i), zap.String("topic", "/t"))
		}
		if kinds, peers := loglimit.Remembered(log); kinds > 257 || peers > 512 {
			t.Errorf("an hour later %d kinds and %d peers are remembered", kinds, peers)
		}
	})
}

// TestForgotten: peers that said nothing for long make room for others, whose first lines are written at once.
func TestForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, logs := observed()
		for i := range 10_000 { // more than are remembered
			log.Warn("refused", zap.String("topic", fmt.Sprint("/", i)))
		}
		time.Sleep(time.Hour)
		synctest.Wait() // for the timers that are due now
		before := logs.Len()
		for i := range 5 {
			log.Warn("refused", zap.String("topic", fmt.Sprint("/later/", i)))
		}
		if n := logs.Len() - before; n != 5 {
			t.Errorf("%d of the first 5 lines, an hour later", n)
		}
	})
}

// TestPace: the intervals double while a problem continues, and start anew after it was absent.
func TestPace(t *testing.T) {
	t.Parallel()
	var p loglimit.Pace
	at, begun := time.Unix(1000, 0), time.Unix(1000, 0)
	var took []time.Duration
	for range 300 { // five minutes
		if p.Take(at) {
			took = append(took, at.Sub(begun)/time.Second)
		}
		at = at.Add(time.Second)
	}
	if want := []time.Duration{0, 10, 30, 70, 130, 190, 250}; !slices.Equal(took, want) {
		t.Errorf("reports at %d, want %d", took, want)
	}
	at = at.Add(time.Hour)
	for _, tt := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {loglimit.Interval - 1, false}, {loglimit.Interval, true}} {
		if got := p.Take(at.Add(tt.after)); got != tt.want {
			t.Errorf("an hour later, after %v: %v", tt.after, got)
		}
	}
}

// TestLines: no line is longer than 4 kB, for any parts, and a shortened line says how much was
// cut.
func TestLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1_000_000)
	texts := map[string]string{
		"long": long, "zeros": strings.Repeat("\x00", 1_000_000), "quotes": strings.Repeat(`"`, 5000),
		"umlauts": strings.Repeat("ü", 100_000), "invalid": strings.Repeat("\xc3", 100_000), "escapes": strings.Repeat("\x1b", 4000), "cut": strings.Repeat("€", 1300),
	}
	encoders := map[string]func() zapcore.Encoder{
		"console": func() zapcore.Encoder { return zapcore.NewConsoleEncoder(zap.NewDevelopmentEncoderConfig()) },
		"json":    func() zapcore.Encoder { return zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()) },
	}
	for kind, encoder := range encoders {
		for name, text := range texts {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				var out bytes.Buffer
				log := loglimit.Logger(zap.New(zapcore.NewCore(encoder(), zapcore.AddSync(&out), zap.InfoLevel)))
				many := make([]zap.Field, 100)
				for i := range many {
					many[i] = zap.String(fmt.Sprint("option", i), text)
				}
				err := fmt.Errorf("topic %q: %w", text, errors.Join(errors.New("one"), errors.New(text)))
				log.Warn("topic not recorded", zap.String("topic", text), zap.Error(err))
				log.Info(text)
				log.With(zap.String("topic", text), zap.String("publisher", text)).With(zap.String("node", text)).Error(text, zap.String("a", text), zap.Error(err), zap.Int("n", 1))
				log.Info("options", many...)
				log.Info("list", zap.Strings("names", []string{text, text, "c"}), zap.Stringer("text", stringer(text)), zap.Any("tree", map[string]any{"a": text}), zap.ByteString("raw", []byte(text)))
				log.Warn("the same", zap.String("topic", text))
				log.Warn("the same", zap.String("topic", text))
				loglimit.Flush(log)
				lines := strings.SplitAfter(strings.TrimSuffix(out.String(), "\n"), "\n")
				for _, line := range lines {
					if len(line) > 4096 {
						t.Errorf("a line of %d bytes: %.100q", len(line), line)
					}
					if !strings.Contains(line, "cut]") {
						t.Errorf("not said what is cut: %.200q", line)
					}
					if kind == "json" && !json.Valid([]byte(line)) {
						t.Errorf("no JSON: %.200q", line)
					}
				}
				if len(lines) != 7 {
					t.Errorf("%d lines", len(lines))
				}
			})
		}
	}
}

type stringer string

func (s stringer) String() string { return string(s) }

func TestCut(t *testing.T) {
	t.Parallel()
	if got := loglimit.Cut("short", 100); got != "short" {
		t.Error(got)
	}
	if got, want := loglimit.Cut(strings.Repeat("ü", 500), 101), strings.Repeat("ü", 24)+"... [952 of 1000 bytes cut]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestEpisode: a state that begins and ends often is logged now and then, and its end only if its
// beginning was logged.
func TestEpisode(t *testing.T) {
	t.Parallel()
	var e loglimit.Episode
	begun, ended, earlier := 0, 0, 0
	now := time.Now()
	for i := range 1200 { // a minute
		if i%2 == 0 {
			for range 3 {
				if log, n := e.Begin(now); log {
					begun++
					earlier += n
				}
			}
		} else if log, lasted := e.End(now); log {
			ended++
			if lasted != 50*time.Millisecond {
				t.Errorf("lasted %v", lasted)
			}
		}
		now = now.Add(50 * time.Millisecond)
	}
	if begun != 3 || ended != 3 || earlier != 298 {
		t.Errorf("begun %d times, ended %d, %d not told", begun, ended, earlier)
	}
	if log, _ := e.End(now); log {
		t.Error("an end without a beginning")
	}
}
