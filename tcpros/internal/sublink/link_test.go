package sublink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
	"github.com/gorosbag/gorosbag/tcpros/internal/linksink"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// failingLink is a link of a node on host, without a connector that runs, and its log.
func failingLink(host string) (*link, *observer.ObservedLogs) {
	core, logs := observer.New(zap.DebugLevel)
	c := NewConnector(&Env{Log: zap.New(core), Host: host, Timing: DefaultTiming(), NextLink: func() int { return 1 }})
	return New(c, "/t", Options{}).newLink("http://10.0.0.7:1/"), logs
}

// What the log says when an attempt fails three times in a row, or when a link ends.
func TestFailuresInLog(t *testing.T) {
	t.Parallel()
	call := func(answered bool, err error) error {
		return &rosapi.CallError{Method: "requestTopic", Host: "h", Err: err, Answered: answered}
	}
	thrice := func(text string) []string { return []string{text, text, text} }
	third := func(text string) []string { return []string{"debug no link yet", "debug no link yet", text} }
	const cleanup = ": its node may have died, rosnode cleanup removes the nodes that have"
	const ended = "debug link ended"
	const loopback = "; it advertises a loopback address: if it runs on another machine, set ROS_HOSTNAME or ROS_IP there"
	for name, tt := range map[string]struct {
		err   error
		wasUp bool
		state func(l *link)
		want  []string
	}{
		"host is not known":      {err: call(false, &endpoint.ResolveError{Host: "robot"}), want: thrice("warn cannot resolve the host of a publisher: set ROS_HOSTNAME or ROS_IP on its machine to a name or address that is known here")},
		"no descriptor":          {err: errNoFile, want: thrice("warn no file descriptor is left for a publisher: allow more open files (ulimit -n, or LimitNOFILE= of systemd)")},
		"refuses":                {err: &wire.PeerError{Text: "no"}, want: thrice("warn publisher refuses the link")},
		"bad header":             {err: &wire.HeaderError{Reason: "no md5sum"}, want: thrice("warn publisher answers no proper connection header")},
		"no header":              {err: &wire.HeaderError{Reason: "closed", Err: io.EOF}, want: third("warn publisher is listed but not reached" + cleanup)},
		"large message":          {err: &wire.TooLargeError{Bytes: 2, Limit: 1}, wasUp: true, want: thrice("warn message too large: link closed")},
		"stalled":                {err: fmt.Errorf("x: %w", wire.ErrStalled), wasUp: true, want: thrice("warn publisher stopped in the middle of a message: link closed")},
		"ended":                  {err: io.EOF, wasUp: true, want: thrice(ended)},
		"ended inside a message": {err: io.ErrUnexpectedEOF, wasUp: true, want: thrice(ended)},
		"reset":                  {err: syscall.ECONNRESET, wasUp: true, want: thrice(ended)},
		"reset at once":          {err: syscall.ECONNRESET, want: third("warn publisher is listed but not reached" + cleanup)},
		"lost":                   {err: syscall.ETIMEDOUT, wasUp: true, want: thrice("warn link lost")},
		"refused":                {err: call(false, errRefusedPeer), want: third("warn publisher is listed but not reached" + cleanup)},
		"refused, and orphan":    {err: call(false, errRefusedPeer), state: func(l *link) { l.orphan.Store(true) }, want: third("warn publisher of an earlier master is not reached: it may be gone, or must register again")},
		"refused at loopback":    {err: call(false, errRefusedPeer), state: func(l *link) { l.hostport = "127.0.0.1:1" }, want: third("warn publisher is listed but not reached" + loopback)},
		"TCPROS at loopback":     {err: errRefusedPeer, state: func(l *link) { l.address = "localhost:1" }, want: third("warn publisher is listed but not reached" + loopback)},
		"no address":             {err: call(true, errors.New("answered 7")), want: third("warn publisher answers no usable TCPROS address")},
		"does not know it":       {err: call(true, rosapi.ErrStatus), want: third("warn publisher is listed but says that it does not offer the topic")},
		"not taken":              {err: fmt.Errorf("%w: full", errOpen), want: third("warn link to a publisher not taken by this node")},
		"not listed":             {err: errRefusedPeer, state: func(l *link) { l.listed.Store(false) }},
	} {
		l, logs := failingLink("10.0.0.1")
		if tt.state != nil {
			tt.state(l)
		}
		lived := time.Duration(0)
		if tt.wasUp {
			lived = 1
		}
		for range 3 {
			l.failed(tt.err, lived)
		}
		var got []string
		for _, e := range logs.All() {
			got = append(got, e.Level.String()+" "+e.Message)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	l, logs := failingLink("127.0.0.1") // the whole graph is on this machine
	l.hostport = "127.0.0.1:1"
	for range 3 {
		l.failed(errRefusedPeer, 0)
	}
	if got := logs.FilterMessageSnippet("publisher is listed but not reached: its node").Len(); got != 1 {
		t.Errorf("on one machine: %v", logs.All())
	}
}

// TestRefused: the owner of the subscription hears once, and only of reasons that are this node's.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err    error
		listed bool
		want   int
	}{
		"no descriptor":            {errNoFile, true, 1},
		"no descriptor for a call": {&rosapi.CallError{Method: "requestTopic", Err: &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.ENFILE)}}, true, 1},
		"not taken":                {fmt.Errorf("%w: full", errOpen), true, 1},
		"header too long":          {&wire.HeaderError{Reason: "2 bytes, limit 1", Err: wire.ErrHeaderTooLong}, true, 1},
		"not listed":               {errNoFile, false, 0},
		"away":                     {errRefusedPeer, true, 0},
		"refuses":                  {&wire.PeerError{Text: "no"}, true, 0},
	} {
		l, _ := failingLink("10.0.0.1")
		heard := 0
		l.sub.opts.Refused = func(uri string, err error) {
			if heard++; uri != l.uri || !errors.Is(err, tt.err) {
				t.Errorf("%s: %s: %v", name, uri, err)
			}
		}
		l.listed.Store(tt.listed)
		for range 3 {
			l.failed(tt.err, 0)
		}
		if heard != tt.want {
			t.Errorf("%s: heard %d times, want %d", name, heard, tt.want)
		}
	}
}

// TestRefusedForAMoment: a publisher for which a descriptor is found soon was not refused; one that had to wait was.
func TestRefusedForAMoment(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration][]error{shortWhile - 1: {errNoFile, nil}, shortWhile: {errNoFile}} {
		synctest.Test(t, func(t *testing.T) {
			l, _ := failingLink("10.0.0.1")
			var heard []error
			l.sub.opts.Refused = func(_ string, err error) { heard = append(heard, err) }
			up := func() {
				if _, err := l.receive(t.Context(), linkTitle{}, "", &closedSink{}, func() error { return io.EOF }); !errors.Is(err, io.EOF) {
					t.Error(err)
				}
			}
			up()
			l.failed(errNoFile, 0)
			time.Sleep(wait)
			up()
			up()
			if !slices.Equal(heard, want) {
				t.Errorf("after %v: %v, want %v", wait, heard, want)
			}
			l.failed(errNoFile, 0)
			if len(heard) != len(want)+1 {
				t.Errorf("after %v and a link: %v", wait, heard)
			}
		})
	}
}

// The log counts the publishers of the topic that were not reached, if there are several.
func TestUnreachedInLog(t *testing.T) {
	t.Parallel()
	for failing, want := range []any{0: nil, 1: nil, 2: int64(2), 3: int64(3)} {
		l, logs := failingLink("10.0.0.1")
		for i := range 4 {
			l.sub.links = append(l.sub.links, &link{sched: linkSchedule{failing: i < failing}})
		}
		for range 3 {
			l.failed(errRefusedPeer, 0)
		}
		if got := logs.FilterLevelExact(zap.WarnLevel).All()[0].ContextMap()["unreached"]; got != want {
			t.Errorf("%d publishers: unreached=%v, want %v", failing, got, want)
		}
	}
}

// A link that was up for long is retried soon.
func TestWaitAfterFailure(t *testing.T) {
	t.Parallel()
	l, _ := failingLink("10.0.0.1")
	healthy, first := l.backoff.timing.Healthy, l.backoff.timing.First
	for _, tt := range []struct {
		lived time.Duration
		times int // first
	}{{0, 1}, {0, 2}, {healthy - 1, 4}, {healthy, 1}, {0, 2}, {healthy + 1, 1}} {
		want := time.Duration(tt.times) * first
		if got := l.failed(io.EOF, tt.lived); got < want*8/10 || got > want*12/10 {
			t.Errorf("after %v: waits for %v, want about %v", tt.lived, got, want)
		}
	}
}

// closedSink is a sink that notes how its link ended.
type closedSink struct {
	linksink.LinkSink
	err error
}

func (s *closedSink) Closed(err error) { s.err = err }

// A link is up while its messages are read. A link that the node itself ends has no error.
func TestLinkIsUpWhileItReceives(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	for ctx, want := range map[context.Context]error{t.Context(): io.EOF, ended: nil} {
		l, _ := failingLink("10.0.0.1")
		l.sub.links = []*link{l}
		sink := &closedSink{err: errOpen}
		lived, err := l.receive(ctx, linkTitle{"TCPROS", "a title"}, "peer", sink, func() error {
			if !l.isUp.Load() || l.sub.Publishers() != 1 {
				t.Errorf("up %v, %d publishers", l.isUp.Load(), l.sub.Publishers())
			}
			if row := l.sub.Rows()[0]; !row.Up || row.Transport != "TCPROS" || row.Title != "a title" {
				t.Errorf("while it is up: %+v", row)
			}
			return io.EOF
		})
		if row := l.sub.Rows()[0]; row.Up || row.Transport != "" || row.Title != "" {
			t.Errorf("after its end: %+v", row)
		}
		if l.isUp.Load() || l.sub.Publishers() != 0 || lived <= 0 {
			t.Errorf("up %v, %d publishers, lived %v", l.isUp.Load(), l.sub.Publishers(), lived)
		}
		if !errors.Is(err, want) || sink.err != err { //nolint:errorlint // the same error
			t.Errorf("%v, the sink %v, want %v", err, sink.err, want)
		}
	}
}
