package tcpros_test

import (
	"context"
	"encoding/binary"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/tcpros/master"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	stringType = "std_msgs/String"
	stringMD5  = "992ce8a1687cec8c8bd883ec73ca41d1"
	stringDef  = "string data\n"
	patience   = time.Minute // timeout of waitFor; passing tests never wait this long
	never      = time.Hour   // an interval that no test waits for
)

// brisk is for nodes that have to detect soon changes of which nobody notifies them.
var brisk = tcpros.Timing{Identify: 20 * time.Millisecond, Reconcile: 40 * time.Millisecond, LingerCheck: 20 * time.Millisecond}

// calm is for nodes whose Drain or Close has to succeed, however slow the machine is.
var calm = tcpros.Timing{Unregister: patience, Drain: patience, ServiceGrace: patience}

// noEnv is an environment without the ROS settings of the machine.
func noEnv(string) string { return "" }

func newMaster(t *testing.T) *master.Master {
	t.Helper()
	m, err := master.New(t.Context(), master.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// nodeOptions are for a node beside a master on loopback.
func nodeOptions(name, masterURI string) tcpros.NodeOptions {
	return tcpros.NodeOptions{BaseName: name, MasterURI: masterURI, Getenv: noEnv}
}

func newNode(t *testing.T, o tcpros.NodeOptions) *tcpros.Node {
	t.Helper()
	n, err := tcpros.NewNode(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close(context.Background()) })
	return n
}

// observedLog collects warnings and errors.
func observedLog() (*zap.Logger, *observer.ObservedLogs) {
	core, logs := observer.New(zap.InfoLevel)
	return zap.New(core), logs
}

// waitFor waits until cond is true.
func waitFor(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-deadline.C:
			t.Fatalf("timed out: %s", what)
		case <-tick.C:
		}
	}
}

// saidOnce checks how often a rate-limited line was logged since start.
func saidOnce(t *testing.T, what string, times int, start time.Time) {
	t.Helper()
	if most := 1 + int(time.Since(start)/loglimit.Interval); times < 1 || times > most {
		t.Errorf("said %q %d times in %v", what, times, time.Since(start))
	}
}

// frame makes a frame of a payload.
func frame(payload string) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}

// inbox collects the messages that a subscription receives.
type inbox struct {
	mu     sync.Mutex
	got    []string
	opened []tcpros.LinkInfo
	closed []error
	block  chan struct{} // when set, Frames waits until block is closed
}

func (b *inbox) open(i tcpros.LinkInfo) (tcpros.LinkSink, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opened = append(b.opened, i)
	return &boxSink{b: b}, nil
}

// reset forgets everything.
func (b *inbox) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got, b.opened, b.closed = nil, nil, nil
}

func (b *inbox) messages() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.got...)
}

func (b *inbox) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.got)
}

func (b *inbox) links() []tcpros.LinkInfo {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]tcpros.LinkInfo(nil), b.opened...)
}

func (b *inbox) ends() []error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]error(nil), b.closed...)
}

type boxSink struct{ b *inbox }

func (s *boxSink) Frames(run []byte, count int, _ time.Time) {
	if s.b.block != nil {
		<-s.b.block
	}
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	for range count {
		n := binary.LittleEndian.Uint32(run)
		s.b.got = append(s.b.got, string(run[4:4+n]))
		run = run[4+n:]
	}
	if len(run) != 0 {
		panic("bytes after the last frame")
	}
}

func (s *boxSink) Large(n int) tcpros.LargeFrame { return &boxLarge{s: s, buf: make([]byte, 0, n)} }

func (s *boxSink) Closed(err error) {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	s.b.closed = append(s.b.closed, err)
}

type boxLarge struct {
	s   *boxSink
	buf []byte
}

func (l *boxLarge) Room(n int) []byte {
	n = min(n, 50_000)
	at := len(l.buf)
	l.buf = l.buf[:at+n]
	return l.buf[at:]
}

func (l *boxLarge) Commit(received time.Time) { l.s.Frames(l.buf, 1, received) }

func (l *boxLarge) Abort() {}

func subscribe(t *testing.T, n *tcpros.Node, topic string, b *inbox) *tcpros.Subscription {
	t.Helper()
	s, err := n.Subscribe(tcpros.SubscribeOptions{Topic: topic, Open: b.open})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func advertise(t *testing.T, n *tcpros.Node, topic string, queue int) *tcpros.Publication {
	t.Helper()
	p, err := n.Advertise(tcpros.AdvertiseOptions{
		Topic: topic, Type: stringType, MD5Sum: stringMD5, MessageDefinition: stringDef, QueueFrames: queue,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func itoa(n int) string { return strconv.Itoa(n) }
