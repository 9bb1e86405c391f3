package record_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// numberBox takes the numbered strings of sender.cpp.
type numberBox struct {
	bytes int           // of each string
	block chan struct{} // when set, the first message waits for it

	mu      sync.Mutex
	opened  []tcpros.LinkInfo
	numbers []int
	bad     string
	lost    int
}

func (b *numberBox) open(i tcpros.LinkInfo) (tcpros.LinkSink, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opened = append(b.opened, i)
	return b, nil
}

func (b *numberBox) Frames(run []byte, count int, _ time.Time) {
	if b.block != nil {
		<-b.block
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for range count {
		n := 4 + int(binary.LittleEndian.Uint32(run))
		b.take(run[4:n])
		run = run[n:]
	}
}

// take checks one std_msgs/String: <u32 length>, nine digits, a zero, then x.
func (b *numberBox) take(msg []byte) {
	n, err := strconv.Atoi(string(msg[4:13]))
	if err != nil || len(msg) != 4+b.bytes || bytes.Count(msg[14:], []byte("x")) != b.bytes-10 {
		b.bad = fmt.Sprintf("%d bytes, %.40q, %v", len(msg), msg, err)
	}
	b.numbers = append(b.numbers, n)
}

func (b *numberBox) Large(n int) tcpros.LargeFrame { return &numberLarge{b, make([]byte, 0, n)} }

func (b *numberBox) Closed(error) {}

func (b *numberBox) Lost(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost += n
}

type numberLarge struct {
	b   *numberBox
	buf []byte
}

func (l *numberLarge) Room(n int) []byte {
	at := len(l.buf)
	l.buf = l.buf[:at+n]
	return l.buf[at:]
}

func (l *numberLarge) Commit(received time.Time) { l.b.Frames(l.buf, 1, received) }

func (l *numberLarge) Abort() {}

// last returns the newest number, or -1.
func (b *numberBox) last() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.numbers) == 0 {
		return -1
	}
	return b.numbers[len(b.numbers)-1]
}

func (b *numberBox) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.numbers)
}

func (b *numberBox) links() []tcpros.LinkInfo {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]tcpros.LinkInfo(nil), b.opened...)
}

// judge checks that what came is whole and in order, and that what did not come from
// the first number on is counted. It returns how many came and how many did not.
func (b *numberBox) judge(t *testing.T) (came, lost int) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bad != "" || len(b.numbers) == 0 {
		t.Fatalf("%d messages, bad: %s", len(b.numbers), b.bad)
	}
	for i, n := range b.numbers[1:] {
		if n <= b.numbers[i] {
			t.Fatalf("%d after %d", n, b.numbers[i])
		}
	}
	came = len(b.numbers)
	if span := b.numbers[came-1] - b.numbers[0] + 1; span != came+b.lost {
		t.Errorf("%d of %d came, %d counted as lost", came, span, b.lost)
	}
	return came, b.lost
}

func receiveUDP(g *harness.Graph, n *tcpros.Node, topic string, b *numberBox) *tcpros.Subscription {
	g.T.Helper()
	s, err := n.Subscribe(tcpros.SubscribeOptions{Topic: topic, UDP: true, Open: b.open})
	if err != nil {
		g.T.Fatal(err)
	}
	return s
}

// TestUDPROS receives from roscpp over UDPROS: messages of one datagram, of many, and
// more than the kernel has room for.
func TestUDPROS(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs nodes in Python for seconds")
	harness.NeedROS(t)
	g := harness.NewGraph(t, "gomaster")
	sender := compile(g, "sender.cpp")
	for name, tt := range map[string]struct{ bytes, messages, hz int }{
		"100 B":  {100, 2000, 1000},
		"20 kB":  {20_000, 300, 200},
		"100 kB": {100_000, 100, 50},
		"1 MB":   {1_000_000, 60, 30},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.bytes > 100_000 && udpRoom(t) < 2<<20 {
				t.Skip("the kernel has no room for a message of 1 MB: net.core.rmem_max is below 2 MiB")
			}
			b := &numberBox{bytes: tt.bytes}
			n := peers.Node(g, "udp")
			receiveUDP(g, n, "/t", b)
			stalls := g.Stalls()
			p := g.Start(sender, "/t", strconv.Itoa(tt.bytes), strconv.Itoa(tt.messages), strconv.Itoa(tt.hz))
			p.Printed("done")
			harness.Eventually(t, "a message after the end", func() bool { return b.last() >= tt.messages })
			still := stalls()
			came, lost := b.judge(t)
			t.Logf("%d came, %d were lost; this process stood still for %v at most", came, lost, still)
			// What the kernel has room for lasts some ten milliseconds.
			if tt.bytes <= 20_000 && came < tt.messages*9/10 && still < 20*time.Millisecond {
				t.Errorf("%d of %d came", came, tt.messages)
			}
			info := b.links()[0]
			typ, _ := info.Header.Get("type")
			caller, _ := info.Header.Get("callerid")
			if def, _ := info.Header.Get("message_definition"); info.Transport != "UDPROS" || typ != "std_msgs/String" || caller != "/sender" || def != "string data\n" {
				t.Errorf("opened with %+v", info)
			}
			harness.Contains(t, g.Run("rosnode", "info", "/udp"), "transport: UDPROS")
			if err := n.Close(t.Context()); err != nil {
				t.Error(err)
			}
			p.Stop()
		})
	}
	t.Run("overflow", func(t *testing.T) {
		b := &numberBox{bytes: 200_000, block: make(chan struct{})}
		receiveUDP(g, peers.Node(g, "udp"), "/t", b)
		const messages = 200
		p := g.Start(sender, "/t", "200000", strconv.Itoa(messages), "50")
		g.Eventually("the link", func() bool { return len(b.links()) == 1 })
		p.Printed("done") // 40 MB
		close(b.block)
		g.Eventually("messages after the end", func() bool { return b.last() >= messages && b.count() >= 50 })
		came, lost := b.judge(t)
		t.Logf("%d came, %d were lost", came, lost)
		if lost < 10 || came < 50 {
			t.Errorf("%d came, %d were lost", came, lost)
		}
	})
}

// udpRoom returns how many bytes the kernel lets a socket hold.
func udpRoom(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/sys/net/core/rmem_max")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestUDPROSRest checks that a publisher at rest keeps its link, and that one that was
// killed and comes back is received again.
func TestUDPROSRest(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs nodes in Python for seconds")
	harness.EachMasterForROS(t, func(t *testing.T, g *harness.Graph) {
		sender := compile(g, "sender.cpp")
		b := &numberBox{bytes: 50}
		s := receiveUDP(g, peers.Node(g, "udp"), "/t", b)
		p := g.Start(sender, "/t", "50", "0", "0")
		g.Eventually("the latched message", func() bool { return b.last() == 0 })
		start := time.Now()
		g.Eventually("two looks at a publisher at rest", func() bool { return time.Since(start) > 12*time.Second })
		if got := len(b.links()); got != 1 || s.Publishers() != 1 {
			t.Errorf("%d links were made, %d are up", got, s.Publishers())
		}
		p.Signal(syscall.SIGKILL)
		p.Wait()
		g.Start(sender, "/t", "50", "0", "0")
		g.Eventually("the message of its successor", func() bool { return len(b.links()) >= 2 && b.count() >= 2 })
	})
}

// TestUDPROSWithRospy checks that a publisher without UDPROS is received over TCPROS.
func TestUDPROSWithRospy(t *testing.T) {
	t.Parallel()
	harness.NeedROS(t)
	g := harness.NewGraph(t, "gomaster")
	var mu sync.Mutex
	var got []string
	_, err := peers.Node(g, "udp").Subscribe(tcpros.SubscribeOptions{Topic: "/p", UDP: true, Open: func(i tcpros.LinkInfo) (tcpros.LinkSink, error) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, i.Transport)
		return &numberBox{bytes: 20}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	g.StartPython("publish.py", "talker", "/p,std_msgs/String,10,0,20").Printed("ready")
	g.Eventually("the link", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(got) == 1 && got[0] == "TCPROS"
	})
}
