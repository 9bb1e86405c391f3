package program_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/program/options"
	"github.com/gorosbag/gorosbag/internal/program/rosout"
	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/tcpros"
)

// rosoutLines collects "level msg" of what comes on /rosout. It implements tcpros.LinkSink.
type rosoutLines struct {
	typ *rosmsg.Type

	mu  sync.Mutex
	got []string
	at  []string // "file function" of each
}

// Frames implements tcpros.LinkSink.
func (r *rosoutLines) Frames(run []byte, _ int, _ time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(run) > 0 {
		size := 4 + int(run[0]) + int(run[1])<<8
		m := map[string]any{}
		text, err := r.typ.Message(run[4:size]).AppendJSON(nil)
		if err != nil || json.Unmarshal(text, &m) != nil {
			r.got = append(r.got, fmt.Sprintf("%v: %s", err, text))
			return
		}
		r.got = append(r.got, fmt.Sprint(m["level"], " ", m["msg"]))
		r.at = append(r.at, fmt.Sprint(m["file"], " ", m["function"]))
		run = run[size:]
	}
}

// Large implements tcpros.LinkSink.

// Closed implements tcpros.LinkSink.
func (r *rosoutLines) Closed(error) {}

func (r *rosoutLines) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.got...)
}

// TestRosout: lines of level info and above go out, whatever the level of the log, within its
// limits, and not those that would cause others. What the log itself has does not change.
func TestRosout(t *testing.T) {
	t.Parallel()
	typ, err := rosmsg.Parse(rosout.Type, rosout.Definition)
	if err != nil {
		t.Fatal(err)
	}
	var written bytes.Buffer
	o := program.LogOptions{Log: options.Log{LogFormat: options.LogFormat{Format: "text"}, LogLevel: "debug"}, Quiet: true, Rosout: program.NewRosout(false)}
	log := program.NewLog(&written, o)
	g, err := program.Join(t.Context(), tcpros.NodeOptions{BaseName: "talker", Log: zap.NewNop()}, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.PublishLog(o.Rosout)
	r := &rosoutLines{typ: typ}
	_, err = g.Node.Subscribe(tcpros.SubscribeOptions{Topic: "/rosout", Type: rosout.Type, MD5Sum: rosout.MD5Sum, Open: func(tcpros.LinkInfo) (tcpros.LinkSink, error) { return r, nil }})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); g.Node.Publication("/rosout").Subscribers() == 0; <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no subscriber")
		}
	}
	log.Debug("details")
	log.Info("Recording to", zap.String("file", "a b.bag"))
	for range 100 {
		log.With(zap.String("topic", "/camera")).Warn("messages dropped", zap.Int("messages", 3))
	}
	log.With(zap.String("topic", "/rosout")).Warn("messages dropped", zap.Int("messages", 3))
	log.Warn("messages dropped", zap.String("topic", "/rosout_agg"))
	log.Warn("the master has lost a registration", zap.String("name", "/rosout"))
	log.Error("sync failed")
	program.PublishSummary(o.Rosout, zap.WarnLevel, "3 messages were lost\nsee above")
	for deadline := time.Now().Add(time.Minute); len(r.lines()) < 4; <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("got %v", r.lines())
		}
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	want := []string{`2 Recording to file="a b.bag"`, "4 messages dropped topic=/camera messages=3", "8 sync failed", "4 3 messages were lost\nsee above"}
	if d := cmp.Diff(want, r.lines()); d != "" {
		t.Error(d)
	}
	for _, at := range r.at {
		if !strings.Contains(at, "internal/program/rosout_test.go ") || !strings.HasSuffix(at, "program_test.TestRosout") {
			t.Errorf("at %s", at)
		}
	}
	if strings.Contains(written.String(), "Recording to") || !strings.Contains(written.String(), "/rosout") || strings.Contains(written.String(), ".go") {
		t.Errorf("the log has\n%s", &written)
	}
}
