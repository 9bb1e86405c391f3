package faults_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// The bound of reliability.md on what peers can make a recorder hold: its buffer and this.
const (
	attackBuffer  = 64 << 20
	besideBuffers = 64 << 20
)

// healthy publishes numbered messages at 100 Hz, and returns when all are sent and read.
func healthy(g *harness.Graph, topic string, count int) (published chan error) {
	published = make(chan error, 1)
	pub := peers.Offer(g.T.Context(), g, topic)
	go func() {
		published <- pub.Pace(g.T.Context(), 1000, count, 10*time.Millisecond, func(int) {})
	}()
	return published
}

// survived ends a recorder that was attacked: it took little memory, ends in two seconds,
// and has lost nothing of the healthy topic.
func survived(g *harness.Graph, rec *harness.Process, count, code int, texts ...string) {
	g.T.Helper()
	peak := peakMemory(g.T, rec.Cmd.Process.Pid)
	stalls := g.Stalls(rec)
	start := time.Now()
	rec.Signal(syscall.SIGINT)
	rec.Ended(code, texts...)
	took, still := time.Since(start), stalls()
	g.T.Logf("at most %d MiB of memory, ended in %v (the machine stood still for %v)", peak>>20, took, still)
	if took > 2*time.Second+still {
		g.T.Errorf("it ended in %v, %v of which the machine stood still", took, still)
	}
	if peak > attackBuffer+besideBuffers {
		g.T.Errorf("%d MiB of memory with a buffer of %d MiB", peak>>20, attackBuffer>>20)
	}
	if got := len(bags.Read(g.T, filepath.Join(g.Dir, "out.bag"))["/healthy"].Messages); got != count {
		g.T.Errorf("%d of %d messages of the healthy topic", got, count)
	}
}

// peakMemory returns the most memory that a process has had.
func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatal("the kernel does not tell the most memory of a process")
	return 0
}

// reply is the header of a publisher of strings.
func reply(node, topic, definition string) []byte {
	return tcpros.AppendHeader(nil, tcpros.Header{
		{Key: "callerid", Value: node},
		{Key: "latching", Value: "0"},
		{Key: "md5sum", Value: peers.StringMD5},
		{Key: "message_definition", Value: definition},
		{Key: "topic", Value: topic},
		{Key: "type", Value: "std_msgs/String"},
	})
}

// TestAnnouncedMessages: publishers that announce messages of nearly half of the buffer and
// hardly send them hold nobody up, whatever happens when the buffer is full.
func TestAnnouncedMessages(t *testing.T) {
	t.Parallel()
	harness.Long(t, "takes seconds of processor time")
	for _, overflow := range []string{"drop", "block"} {
		t.Run(overflow, func(t *testing.T) {
			t.Parallel()
			g := harness.NewGraph(t, "gomaster")
			const announced, sent, liars, count = 30_000_000, 200_000, 2, 500
			var begun atomic.Int32
			for i := range liars {
				node, topic := fmt.Sprintf("/liar%d", i), fmt.Sprintf("/large%d", i)
				peers.FakePublisher(g, node, topic, func(_ tcpros.Header, conn net.Conn) {
					message := binary.LittleEndian.AppendUint32(reply(node, topic, "string data\n"), announced)
					if _, err := conn.Write(append(message, make([]byte, sent)...)); err != nil {
						return
					}
					begun.Add(1)
					trickle(conn)
				})
			}
			rec := g.Start("gorecord", "/healthy", "/large0", "/large1", "-O", "out", "-b", "64", "--overflow", overflow)
			g.Eventually("the messages have begun", func() bool { return begun.Load() == liars })
			if err := <-healthy(g, "/healthy", count); err != nil {
				t.Fatal(err)
			}
			survived(g, rec, count, 0, "lost: none")
		})
	}
}

// trickle sends a byte a second until the other side closes.
func trickle(conn net.Conn) {
	go func() {
		io.Copy(io.Discard, conn)
		conn.Close()
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for range tick.C {
		if _, err := conn.Write([]byte{0}); err != nil {
			return
		}
	}
}

// TestChangingHeaders: publishers whose large headers differ at each connection are refused
// in the end, which costs nobody else anything.
func TestChangingHeaders(t *testing.T) {
	t.Parallel()
	harness.Long(t, "takes seconds of processor time")
	g := harness.NewGraph(t, "gomaster")
	const publishers, headerBytes, count = 100, 1_000_000, 500
	var links atomic.Int64
	filler := strings.Repeat("# x\n", headerBytes/4)
	for i := range publishers {
		node := fmt.Sprintf("/bad%d", i)
		peers.FakePublisher(g, node, "/bad", func(_ tcpros.Header, conn net.Conn) {
			defer conn.Close()
			n := links.Add(1)
			conn.Write(append(reply(node, "/bad", fmt.Sprint("# ", n, "\nstring data\n", filler)), peers.StringFrame("x")...))
		})
	}
	rec := g.Start("gorecord", "/healthy", "/bad", "-O", "out", "-b", "64")
	published := healthy(g, "/healthy", count)
	g.Eventually("each publisher was linked to twice", func() bool { return links.Load() >= 2*publishers })
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	survived(g, rec, count, 3, "refused, their connection headers hold too much memory: /bad", "lost: none")
}
