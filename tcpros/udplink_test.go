package tcpros_test

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/tcpros"
)

// fakeUDP is a publisher over UDPROS.
type fakeUDP struct {
	*fakePublisher
	t    *testing.T
	conn *net.UDPConn
	id   byte         // number of the last message
	port atomic.Int32 // in its replies

	mu    sync.Mutex
	asked [][]any // each UDPROS offer: name, header, host, port, datagram bytes
	known bool    // getBusInfo lists the link: until forget, and again after a new request
}

const fakeConnID = 77

func newFakeUDP(t *testing.T, masterURI string) *fakeUDP {
	t.Helper()
	p := &fakeUDP{fakePublisher: newFakePublisher(t, "/t", sends("/t")), t: t, conn: listenUDP(t, "127.0.0.1"), known: true}
	p.port.Store(1)
	p.answer = p.slave
	p.register(masterURI, "/fake")
	return p
}

func listenUDP(t *testing.T, host string) *net.UDPConn {
	t.Helper()
	c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(host), 0)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// slave answers as roscpp does.
func (p *fakeUDP) slave(method string, args []any) any {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch method {
	case "requestTopic":
		p.asked = append(p.asked, args[2].([]any)[0].([]any))
		p.known = true
		header := fields.List(without(goodHeader("/t"), "latching")).Append(nil)
		return []any{1, "", []any{"UDPROS", "127.0.0.1", int(p.port.Load()), fakeConnID, 1500, header}}
	case "getBusInfo":
		rows := []any{[]any{1, "/other", "o", "TCPROS", "/t", true, "x"}}
		if p.known {
			rows = append(rows, []any{2, "/sub", "o", "UDPROS", "/t", true, "x"})
		}
		return []any{1, "", rows}
	}
	return nil
}

func (p *fakeUDP) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = false
}

func (p *fakeUDP) offers() [][]any {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// to returns the address that the subscriber listens on.
func (p *fakeUDP) to() netip.AddrPort {
	offers := p.offers()
	o := offers[len(offers)-1]
	return netip.AddrPortFrom(netip.MustParseAddr(o[2].(string)), uint16(o[3].(int)))
}

// send publishes a message.
func (p *fakeUDP) send(payload string) {
	p.t.Helper()
	p.id = p.id%255 + 1
	sendUDP(p.t, p.conn, p.to(), fakeConnID, p.id, payload)
}

func sendUDP(t *testing.T, c *net.UDPConn, to netip.AddrPort, conn uint32, id byte, payload string) {
	t.Helper()
	f := frame(payload)
	const size = 1492
	blocks := (len(f) + size - 1) / size
	for i := range blocks {
		d := append(binary.LittleEndian.AppendUint32(nil, conn), 1, id)
		if i == 0 {
			d[4] = 0
			d = binary.LittleEndian.AppendUint16(d, uint16(blocks))
		} else {
			d = binary.LittleEndian.AppendUint16(d, uint16(i))
		}
		if _, err := c.WriteToUDPAddrPort(append(d, f[i*size:min((i+1)*size, len(f))]...), to); err != nil {
			t.Fatal(err)
		}
	}
}

// lossyBox is an inbox that counts the messages that UDPROS lost.
type lossyBox struct {
	inbox
	lost int
}

type lossySink struct {
	boxSink
	b *lossyBox
}

func (s *lossySink) Lost(n int) {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	s.b.lost += n
}

func (b *lossyBox) open(i tcpros.LinkInfo) (tcpros.LinkSink, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opened = append(b.opened, i)
	return &lossySink{boxSink{b: &b.inbox}, b}, nil
}

func (b *lossyBox) missing() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lost
}

// udpSubscriber starts a node with a subscription that prefers UDPROS.
func udpSubscriber(t *testing.T, o tcpros.NodeOptions) (*lossyBox, *tcpros.Subscription, func(text string) int) {
	t.Helper()
	log, logs := observedLog()
	o.Log = log
	b := &lossyBox{}
	s, err := newNode(t, o).Subscribe(tcpros.SubscribeOptions{Topic: "/t", UDP: true, Open: b.open})
	if err != nil {
		t.Fatal(err)
	}
	return b, s, func(text string) int { return logs.FilterMessageSnippet(text).Len() }
}

func TestUDPLink(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	p := newFakeUDP(t, m.URI())
	b, s, _ := udpSubscriber(t, nodeOptions("sub", m.URI()))
	waitFor(t, "the link", func() bool { return s.Publishers() == 1 })
	offer := p.offers()[0]
	hello, err := fields.Parse(offer[1].([]byte))
	if err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(fields.List{
		{Key: "callerid", Value: "/sub"}, {Key: "md5sum", Value: "*"}, {Key: "topic", Value: "/t"}, {Key: "type", Value: "*"},
	}, hello); diff != "" || offer[0] != "UDPROS" || offer[4] != 1500 {
		t.Errorf("offered %v: %s", offer, diff)
	}
	want := tcpros.LinkInfo{Topic: "/t", PublisherURI: p.uri, Peer: "127.0.0.1:1", Header: without(goodHeader("/t"), "latching"), Transport: "UDPROS"}
	if diff := cmp.Diff(want, b.links()[0]); diff != "" {
		t.Error(diff)
	}
	rows := call(t, s2uri(t, m.URI()), "getBusInfo", "/x").([]any)
	row := rows[0].([]any)
	if title := fmt.Sprintf("UDPROS connection on port %d to [127.0.0.1:1]", p.to().Port()); len(rows) != 1 || row[3] != "UDPROS" || row[6] != title {
		t.Errorf("bus info: %v", rows)
	}

	sent := []string{"", "x", strings.Repeat("y", 1488), strings.Repeat("z", 1489), strings.Repeat("large ", 30_000)}
	for i, text := range sent {
		p.send(text)
		waitFor(t, fmt.Sprint("message ", i), func() bool { return b.count() == i+1 })
	}
	if diff := cmp.Diff(sent, b.messages()); diff != "" || b.missing() != 0 {
		t.Errorf("%d lost: %.500s", b.missing(), diff)
	}
	p.id += 3
	p.send("after a gap")
	waitFor(t, "the message", func() bool { return b.count() == len(sent)+1 })
	if b.missing() != 3 {
		t.Errorf("%d lost, not 3", b.missing())
	}
	s.Close()
	if got := b.ends(); len(got) != 1 || got[0] != nil {
		t.Errorf("ended with %v", got)
	}
	port := p.to().Port()
	if c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(port)}); err != nil {
		t.Errorf("the port is still taken: %v", err)
	} else {
		_ = c.Close()
	}
}

// Datagrams of others are ignored, even if they know all numbers. Messages with the number of the connection may be the
// publisher's, and count as lost.
func TestUDPStrangers(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	p := newFakeUDP(t, m.URI())
	start := time.Now()
	b, s, said := udpSubscriber(t, nodeOptions("sub", m.URI()))
	waitFor(t, "the link", func() bool { return s.Publishers() == 1 })
	other, near := listenUDP(t, "127.0.0.2"), listenUDP(t, "127.0.0.1")
	sendUDP(t, other, p.to(), fakeConnID, 1, "from another machine")
	sendUDP(t, near, p.to(), fakeConnID+1, 1, "of another connection")
	p.send("first")
	waitFor(t, "the message", func() bool { return b.count() == 1 })
	sendUDP(t, near, p.to(), fakeConnID, 2, "from another socket")
	_, _ = near.WriteToUDPAddrPort([]byte("short"), p.to())
	_, _ = near.WriteToUDPAddrPort(make([]byte, 9000), p.to())
	_, _ = p.conn.WriteToUDPAddrPort(make([]byte, 1501), p.to())
	p.send("second")
	waitFor(t, "the message", func() bool { return b.count() == 2 })
	if diff := cmp.Diff([]string{"first", "second"}, b.messages()); diff != "" || b.missing() != 2 {
		t.Errorf("%d lost, want 2: %s", b.missing(), diff)
	}
	saidOnce(t, "not the publisher's", said("not the publisher's"), start)
}

// TestUDPStrayDatagram: a datagram of somebody else before the publisher's first one does not keep the publisher out,
// whether it sends from the port in its reply or, as roscpp, from another one.
func TestUDPStrayDatagram(t *testing.T) {
	t.Parallel()
	const messages = 500
	for name, tt := range map[string]struct {
		replied bool
		lost    int
	}{"the port of the reply": {true, 0}, "another port": {false, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMaster(t)
			p := newFakeUDP(t, m.URI())
			if tt.replied {
				p.port.Store(int32(p.conn.LocalAddr().(*net.UDPAddr).Port))
			}
			b, s, _ := udpSubscriber(t, nodeOptions("sub", m.URI()))
			waitFor(t, "the link", func() bool { return s.Publishers() == 1 })
			sendUDP(t, listenUDP(t, "127.0.0.1"), p.to(), fakeConnID, 99, "stray")
			waitFor(t, "the stray message", func() bool { return b.count() == 1 })
			for i := range messages {
				p.send("x")
				waitFor(t, fmt.Sprint("message ", i), func() bool { return b.count()+b.missing() == i+2 })
			}
			if b.count() != 1+messages-tt.lost || b.missing() != tt.lost {
				t.Errorf("%d messages, %d lost, want %d and %d", b.count(), b.missing(), 1+messages-tt.lost, tt.lost)
			}
		})
	}
}

// A message above the limit is lost, counted and logged; the link survives.
func TestUDPTooLarge(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	p := newFakeUDP(t, m.URI())
	o := nodeOptions("sub", m.URI())
	log, logs := observedLog()
	o.Log = log
	b := &lossyBox{}
	s, err := newNode(t, o).Subscribe(tcpros.SubscribeOptions{Topic: "/t", UDP: true, MaxMessageBytes: 5000, Open: b.open})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the link", func() bool { return s.Publishers() == 1 })
	for _, n := range []int{5000, 5001, 6000, 10} {
		p.send(strings.Repeat("x", n))
	}
	waitFor(t, "the messages", func() bool { return b.count() == 2 })
	if n := logs.FilterMessageSnippet("message too large").Len(); n != 1 || b.missing() != 2 || len(b.ends()) != 0 {
		t.Errorf("said %d times, %d lost, ends: %v", n, b.missing(), b.ends())
	}
}

// A publisher without UDPROS is received over TCPROS.
func TestUDPFallsBack(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(p *fakePublisher, method string, args []any) any{
		"TCPROS answered": func(*fakePublisher, string, []any) any { return nil },
		"UDPROS not understood": func(_ *fakePublisher, method string, args []any) any {
			if method == "requestTopic" && len(args[2].([]any)) == 2 {
				return []any{-1, "what is that", 0}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMaster(t)
			p := newFakePublisher(t, "/t", sends("/t", frame("x")))
			p.answer = func(method string, args []any) any { return answer(p, method, args) }
			p.register(m.URI(), "/fake")
			b, _, _ := udpSubscriber(t, nodeOptions("sub", m.URI()))
			waitFor(t, "the message", func() bool { return b.count() == 1 })
			if got := b.links()[0].Transport; got != "TCPROS" {
				t.Errorf("received over %s", got)
			}
		})
	}
}

// Nonsense in the answer to an offer ends the attempt, not the node.
func TestUDPHostileAnswers(t *testing.T) {
	t.Parallel()
	header := fields.List(goodHeader("/t")).Append(nil)
	for name, proto := range map[string][]any{
		"nothing":          {},
		"another protocol": {"SHMROS", "h", 1},
		"name only":        {"UDPROS"},
		"no header":        {"UDPROS", "127.0.0.1", 1, 2, 1500},
		"text as header":   {"UDPROS", "127.0.0.1", 1, 2, 1500, "x"},
		"broken header":    {"UDPROS", "127.0.0.1", 1, 2, 1500, []byte("x")},
		"empty header":     {"UDPROS", "127.0.0.1", 1, 2, 1500, []byte{}},
		"refusal":          {"UDPROS", "127.0.0.1", 1, 2, 1500, fields.List{{Key: "error", Value: "no"}}.Append(nil)},
		"no host":          {"UDPROS", "", 1, 2, 1500, header},
		"bad port":         {"UDPROS", "127.0.0.1", 70000, 2, 1500, header},
		"text as port":     {"UDPROS", "127.0.0.1", "1", 2, 1500, header},
		"large datagrams":  {"UDPROS", "127.0.0.1", 1, 2, 1501, header},
		"small datagrams":  {"UDPROS", "127.0.0.1", 1, 2, 8, header},
		"bad size":         {"UDPROS", "127.0.0.1", 1, 2, -1, header},
		"large header":     {"UDPROS", "127.0.0.1", 1, 2, 1500, append(header, fields.List{{Key: "x", Value: strings.Repeat("x", 2<<20)}}.Append(nil)...)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMaster(t)
			p := newFakePublisher(t, "/t", sends("/t"))
			p.answer = func(method string, _ []any) any {
				if method == "requestTopic" {
					return []any{1, "", proto}
				}
				return nil
			}
			p.register(m.URI(), "/fake")
			b, s, said := udpSubscriber(t, nodeOptions("sub", m.URI()).With(tcpros.Timing{RetryFirst: 10 * time.Millisecond}))
			waitFor(t, "the complaint", func() bool { return said("publisher") > 0 })
			if len(b.links()) != 0 || s.Publishers() != 0 {
				t.Error("a link is up")
			}
		})
	}
}

// The header in the reply may be longer than a reply over TCPROS: it has the message definition.
func TestUDPLongDefinition(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	p := newFakePublisher(t, "/t", sends("/t"))
	header := fields.List(append(goodHeader("/t"), tcpros.Header{{Key: "long", Value: strings.Repeat("x", 1<<20)}}...)).Append(nil)
	p.answer = func(method string, _ []any) any {
		if method == "requestTopic" {
			return []any{1, "", []any{"UDPROS", "127.0.0.1", 1, fakeConnID, 1500, header}}
		}
		return nil
	}
	p.register(m.URI(), "/fake")
	_, s, _ := udpSubscriber(t, nodeOptions("sub", m.URI()))
	waitFor(t, "the link", func() bool { return s.Publishers() == 1 })
}

// The node repeats its request to a publisher that no longer knows the link.
func TestUDPForgotten(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	p := newFakeUDP(t, m.URI())
	const quiet = 100 * time.Millisecond
	start := time.Now()
	b, s, _ := udpSubscriber(t, nodeOptions("sub", m.URI()).With(tcpros.Timing{UDPQuiet: quiet}))
	waitFor(t, "the link", func() bool { return s.Publishers() == 1 })
	p.forget()
	waitFor(t, "another attempt", func() bool { return len(p.offers()) > 1 && s.Publishers() == 1 })
	if took := time.Since(start); took < quiet {
		t.Errorf("asked again after %v", took)
	}
	p.id = 100 // a new link has new numbers
	p.send("x")
	waitFor(t, "the message", func() bool { return b.count() == 1 })
	if got := b.ends(); len(got) == 0 || got[0] == nil || !strings.Contains(got[0].Error(), "does not send") || b.missing() != 0 {
		t.Errorf("ended with %v, %d lost", got, b.missing())
	}
}
