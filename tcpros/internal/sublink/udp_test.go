package sublink

import (
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/tcpros/internal/udpros"
)

// datagram returns the only datagram of a message.
func datagram(conn uint32, id byte, payload string) []byte {
	b := append(binary.LittleEndian.AppendUint32(nil, conn), 0, id, 1, 0)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(payload))), payload...)
}

func listenLoopback(t *testing.T) *net.UDPConn {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// textSink sends the payload of each frame to a channel.
type textSink struct {
	LinkSink
	got chan string
}

func (s textSink) Frames(b []byte, _ int, _ time.Time) { s.got <- string(b[4:]) }

// A datagram that is too short or too long does not make its sender the publisher. Lost messages are
// reported, those above the limit with their size.
func TestUDPReader(t *testing.T) {
	t.Parallel()
	const conn = 7
	for name, counts := range map[string]bool{"losses are counted": true, "losses are not counted": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here, stranger, publisher := listenLoopback(t), listenLoopback(t), listenLoopback(t)
			got := make(chan string, 100)
			r := &udpReader{
				conn: here, connID: conn, allowed: []netip.Addr{netip.MustParseAddr("127.0.0.1")}, stats: &linkCounters{}, sink: textSink{got: got},
				frames:     udpros.Assembler{Max: 100},
				onStranger: func(netip.AddrPort) { got <- "a stranger" },
				onTooLarge: func(err error) { got <- err.Error() },
			}
			var want []string
			add := func(text string) { want = append(want, text) }
			lost := func() {
				if counts {
					add("one lost")
				}
			}
			if counts {
				r.lost = func(n int) {
					if n != 1 {
						t.Errorf("%d lost", n)
					}
					got <- "one lost"
				}
			}
			ended := make(chan error, 1)
			go func() { ended <- r.run() }()
			send := func(from *net.UDPConn, b []byte) {
				if _, err := from.WriteToUDP(b, here.LocalAddr().(*net.UDPAddr)); err != nil {
					t.Fatal(err)
				}
			}
			whole := datagram(conn, 1, "first")
			send(stranger, whole[:3])
			send(stranger, whole[:udpros.HeaderBytes])
			send(stranger, append(whole, make([]byte, udpros.DatagramBytes)...))
			send(publisher, whole)
			add("first")
			send(stranger, datagram(conn, 2, "of a stranger"))
			add("a stranger")
			send(publisher, datagram(conn, 3, "after a gap"))
			lost()
			add("after a gap")
			send(publisher, datagram(conn, 4, string(make([]byte, 101))))
			lost()
			add("message of 101 bytes, limit 100")
			send(publisher, datagram(conn, 5, "last"))
			add("last")
			var all []string
			for range want {
				select {
				case text := <-got:
					all = append(all, text)
				case <-time.After(10 * time.Second):
					t.Fatalf("got %q, want %q", all, want)
				}
			}
			_ = here.Close()
			<-ended
			if diff := cmp.Diff(want, all); diff != "" || len(got) > 0 {
				t.Errorf("%d more: %s", len(got), diff)
			}
		})
	}
}

// Only the row of this link says that the publisher sends to it.
func TestSendsTo(t *testing.T) {
	t.Parallel()
	l, _ := failingLink("10.0.0.1")
	l.sub.connector.env.CallerID = "/n"
	row := func(to, direction, transport, topic string) any {
		return []any{1, to, direction, transport, topic, true}
	}
	mine := row("/n", "o", "UDPROS", "/t")
	for _, tt := range []struct {
		reply any
		want  bool
	}{
		{[]any{mine}, true},
		{[]any{row("/m", "o", "UDPROS", "/t"), []any{}, "x", mine}, true},
		{[]any{row("/m", "o", "UDPROS", "/t")}, false},
		{[]any{row("/n", "i", "UDPROS", "/t")}, false},
		{[]any{row("/n", "o", "TCPROS", "/t")}, false},
		{[]any{row("/n", "o", "UDPROS", "/u")}, false},
		{[]any{}, false},
		{"x", false},
	} {
		if got := l.sendsTo(tt.reply); got != tt.want {
			t.Errorf("%v: %v", tt.reply, got)
		}
	}
}
