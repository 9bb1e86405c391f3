package faults_test

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// Limits of the log: see internal/loglimit.
const (
	longestLine = 4096
	linesAtOnce = 5
	lineEvery   = 10 * time.Second
	lastLines   = 2 // gorecord writes the lines that wait before and after it unregisters
)

// badMaster serves a master that a test answers for; what answer returns nil for is answered
// as by a master without anything.
func badMaster(g *harness.Graph, answer func(ctx context.Context, method string) any) (uri string) {
	g.T.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		g.T.Fatal(err)
	}
	s := xmlrpc.NewServer(func(ctx context.Context, _, method string, _ []any) (any, error) {
		if v := answer(ctx, method); v != nil {
			return v, nil
		}
		switch method {
		case "getPid":
			return []any{1, "", 7}, nil
		case "getParam", "lookupNode":
			return []any{-1, "no such thing", 0}, nil
		case "getSystemState":
			return []any{1, "", []any{[]any{}, []any{}, []any{}}}, nil
		}
		return []any{1, "", []any{}}, nil
	}, xmlrpc.ServerOptions{})
	go s.Serve(ln)
	g.T.Cleanup(func() { s.Close() })
	return "http://" + ln.Addr().String() + "/"
}

var logLine = regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d [\d:.]+ (WARN|ERROR|INFO) ([^{\n]*)`)

// checkLog fails if a line is too long, or if a kind of line, other than INFO, came more often
// than the limits allow. It returns how often each came.
func checkLog(t *testing.T, out string, took time.Duration) (kinds map[string]int) {
	t.Helper()
	for line := range strings.Lines(out) {
		if len(line) > longestLine {
			t.Errorf("a line of %d bytes: %.100s", len(line), line)
		}
	}
	kinds = map[string]int{}
	problem := map[string]bool{}
	for _, m := range logLine.FindAllStringSubmatch(out, -1) {
		text := strings.TrimSpace(m[2])
		kinds[text]++
		problem[text] = m[1] != "INFO"
	}
	for text, n := range kinds {
		if most := linesAtOnce + lastLines + int(took/lineEvery); problem[text] && n > most {
			t.Errorf("%d lines in %v: %s", n, took, text)
		}
	}
	return kinds
}

// TestNonsenseMaster: a master that answers some calls with nonsense does not fill the log.
func TestNonsenseMaster(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	var bad atomic.Int32
	uri := badMaster(g, func(_ context.Context, method string) any {
		if method != "registerSubscriber" {
			return nil
		}
		bad.Add(1)
		return "nonsense"
	})
	start := time.Now()
	rec := g.Start("gorecord", "/t", "-O", "out", "__master:="+uri)
	g.Eventually("fifteen bad answers", func() bool { return bad.Load() >= 15 })
	rec.Stop()
	kinds := checkLog(t, rec.Out.String(), time.Since(start))
	most := 1 + int(time.Since(start)/lineEvery)
	for text, n := range kinds {
		if strings.Contains(text, "to master at") || strings.Contains(text, "contact master at") {
			if n > most {
				t.Errorf("%d lines for %d bad answers: %s", n, bad.Load(), text)
			}
		}
	}
	harness.Contains(t, rec.Out.String(), "Failed to contact master at [")
}

// TestLongTopicName: a topic name of 6 kB is cut in the log, which says so.
func TestLongTopicName(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	name := "/" + strings.Repeat("x", 6_000)
	uri := badMaster(g, func(_ context.Context, method string) any {
		if method == "getPublishedTopics" {
			return []any{1, "", []any{[]any{name, "std_msgs/String"}}}
		}
		return nil
	})
	start := time.Now()
	rec := g.Start("gorecord", "-a", "-O", "out", "__master:="+uri)
	rec.Printed("topic not recorded")
	rec.Printed(" bytes cut]")
	rec.Signal(syscall.SIGINT)
	if code := rec.Wait(); code != 3 {
		t.Errorf("exit code %d: a topic that is not recorded is a loss", code)
	}
	checkLog(t, rec.Out.String(), time.Since(start))
}

// TestHungMasterCall: the master hangs in one call, which nobody else would tell.
func TestHungMasterCall(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	answer := make(chan struct{})
	uri := badMaster(g, func(ctx context.Context, method string) any {
		if method == "getPublishedTopics" {
			select {
			case <-answer:
			case <-ctx.Done():
			}
		}
		return nil
	})
	start := time.Now()
	rec := g.Start("gorecord", "-a", "-O", "out", "__master:="+uri)
	rec.Printed(`"method": "getPublishedTopics"`)
	close(answer)
	rec.Printed("the master answers its calls again")
	rec.Stop()
	checkLog(t, rec.Out.String(), time.Since(start))
	hung := regexp.MustCompile(`the master does not answer a call .*"method": "getPublishedTopics"`) // on a busy machine others are late, too
	if n := len(hung.FindAllString(rec.Out.String(), -1)); n != 1 {
		t.Errorf("%d lines of a call that hung", n)
	}
}

// TestUnreachablePublishers: a thousand publishers that are registered and away are counted in one line.
func TestUnreachablePublishers(t *testing.T) {
	t.Parallel()
	harness.Long(t, "waits half a minute, until each publisher was tried three times")
	g := harness.NewGraph(t, "gomaster")
	const publishers = 1024
	for i := range publishers {
		peers.Register(g, fmt.Sprintf("/dead%d", i), "/t", fmt.Sprintf("http://127.0.0.1:%d/", 1+i%1023)) // nobody listens there
	}
	start := time.Now()
	rec := g.Start("gorecord", "/t", "-O", "out", "__master:="+g.URI())
	counted := regexp.MustCompile(`not reached.*"unreached": (9[0-9][0-9]|10[0-9][0-9])\b`)
	g.Eventually("they are counted", func() bool { return counted.MatchString(rec.Out.String()) })
	rec.Stop()
	kinds := checkLog(t, rec.Out.String(), time.Since(start))
	t.Logf("in %v: %v", time.Since(start), kinds)
}
