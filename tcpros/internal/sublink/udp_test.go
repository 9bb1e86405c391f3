package sublink

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
	"github.com/gorosbag/gorosbag/tcpros/internal/linksink"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
	"github.com/gorosbag/gorosbag/tcpros/internal/udpros"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
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
	linksink.LinkSink
	got chan string
}

func (s textSink) Frames(b []byte, _ int, _ time.Time) { s.got <- string(b[4:]) }

// A datagram that is too short or too long, or that comes before the publisher's, does not make its sender the
// publisher. Lost messages are reported, those above the limit with their size, and those that are refused although
// they may be the publisher's.
func TestUDPReader(t *testing.T) {
	t.Parallel()
	const conn = 7
	for name, counts := range map[string]bool{"losses are counted": true, "losses are not counted": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here, stranger, publisher := listenLoopback(t), listenLoopback(t), listenLoopback(t)
			got := make(chan string, 100)
			r := &udpReader{
				conn: here, connID: conn, stats: &linkCounters{}, sink: textSink{got: got},
				frames:     udpros.Assembler{Max: 100},
				origin:     udpros.Origin{Allowed: []netip.Addr{netip.MustParseAddr("127.0.0.1")}, Port: uint16(publisher.LocalAddr().(*net.UDPAddr).Port)},
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
			lost()
			add("a stranger")
			send(stranger, datagram(conn+1, 1, "of another connection"))
			add("a stranger")
			send(stranger, datagram(conn, 77, "too early"))
			add("too early")
			send(publisher, whole)
			add("first")
			send(stranger, datagram(conn, 2, "of a stranger"))
			lost()
			add("a stranger")
			part := datagram(conn, 2, "a later part of the message of a stranger")
			part[4] = 1
			send(stranger, part)
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

// UDPROS is received on the address that the node is bound to, also over IPv6.
func TestUDPListens(t *testing.T) {
	t.Parallel()
	for bind, want := range map[string]string{"": "0.0.0.0", "127.0.0.1": "127.0.0.1", "::1": "::1"} {
		l, _ := failingLink("10.0.0.1")
		l.sub.connector.env.Bind = bind
		c, err := l.listenUDP(t.Context())
		if errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) {
			t.Logf("this machine has no %s: %v", bind, err)
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", bind, err)
			continue
		}
		if got := c.LocalAddr().(*net.UDPAddr).IP.String(); got != want {
			t.Errorf("%q: listens on %s", bind, got)
		}
		_ = c.Close()
	}
}

// The publisher's reply has to name a host, a port, and datagrams no longer than those of the offer.
func TestUDPSource(t *testing.T) {
	t.Parallel()
	header := fields.List{{Key: "md5sum", Value: "*"}, {Key: "type", Value: "*"}}
	block := header.Append(nil)
	const noAddress, noSize = "not a UDPROS address", "were asked for"
	for name, tt := range map[string]struct {
		proto []any
		want  string // part of the error
	}{
		"good":                {[]any{"UDPROS", "h", 7, 9, 1500, block}, ""},
		"lowest port":         {[]any{"UDPROS", "h", 0, 9, 1500, block}, ""},
		"highest port":        {[]any{"UDPROS", "h", 65535, 9, 1500, block}, ""},
		"negative connection": {[]any{"UDPROS", "h", 7, -1, 1500, block}, ""},
		"smallest datagrams":  {[]any{"UDPROS", "h", 7, 9, udpros.HeaderBytes + 1, block}, ""},
		"no host":             {[]any{"UDPROS", "", 7, 9, 1500, block}, noAddress},
		"host is a number":    {[]any{"UDPROS", 1, 7, 9, 1500, block}, noAddress},
		"port is a text":      {[]any{"UDPROS", "h", "7", 9, 1500, block}, noAddress},
		"port too low":        {[]any{"UDPROS", "h", -1, 9, 1500, block}, noAddress},
		"port too high":       {[]any{"UDPROS", "h", 65536, 9, 1500, block}, noAddress},
		"connection is text":  {[]any{"UDPROS", "h", 7, "9", 1500, block}, noAddress},
		"size is a text":      {[]any{"UDPROS", "h", 7, 9, "1500", block}, noAddress},
		"header is a text":    {[]any{"UDPROS", "h", 7, 9, 1500, "x"}, noAddress},
		"nothing but headers": {[]any{"UDPROS", "h", 7, 9, udpros.HeaderBytes, block}, noSize},
		"larger datagrams":    {[]any{"UDPROS", "h", 7, 9, udpros.DatagramBytes + 1, block}, noSize},
		"broken header":       {[]any{"UDPROS", "h", 7, 9, 1500, block[:3]}, "invalid fields"},
		"header without type": {[]any{"UDPROS", "h", 7, 9, 1500, header[:1].Append(nil)}, "required element: type"},
	} {
		src, err := parseUDPSource(tt.proto)
		switch {
		case tt.want != "":
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want %q", name, err, tt.want)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		default:
			id, _ := tt.proto[3].(int)
			port, _ := tt.proto[2].(int)
			want := udpSource{fmt.Sprint("h:", port), uint16(port), uint32(id), wire.Header(header)}
			if diff := cmp.Diff(want, *src, cmp.AllowUnexported(udpSource{})); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

// A publisher sends from its host, from that of its slave API, or from this machine. Names that are
// not known do not matter if one is.
func TestUDPAllowed(t *testing.T) {
	t.Parallel()
	unknown := errors.New("unknown")
	dialer := endpoint.NewDialer(func(_ context.Context, host string) ([]netip.Addr, error) {
		if host != "robot" {
			return nil, unknown
		}
		return []netip.Addr{netip.MustParseAddr("127.0.1.1"), netip.MustParseAddr("::1")}, nil
	}, time.Second)
	for name, tt := range map[string]struct {
		reply, api, here string
		want             []string
		err              string
	}{
		"addresses":    {"10.0.0.9", "10.0.0.7", "10.0.0.1", []string{"10.0.0.9", "10.0.0.7", "10.0.0.1"}, ""},
		"this machine": {"robot", "10.0.0.7", "10.0.0.1", []string{"127.0.1.1", "::1", "127.0.0.1", "10.0.0.7", "10.0.0.1"}, ""},
		"one is known": {"x", "y", "10.0.0.1", []string{"10.0.0.1"}, ""},
		"none":         {"x", "y", "z", nil, `host "x" has no address here: unknown`},
		"no host":      {"x]y", "10.0.0.7", "10.0.0.1", nil, "address x]y:1: unexpected ']' in address"},
	} {
		l, _ := failingLink(tt.here)
		l.hostport, l.sub.connector.env.Dialer = tt.api+":1", dialer
		addrs, err := l.udpAllowed(t.Context(), &udpSource{hostport: tt.reply + ":1"})
		var got []string
		for _, a := range addrs {
			got = append(got, a.String())
		}
		if text := fmt.Sprint(err); err == nil != (tt.err == "") || err != nil && text != tt.err || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// A publisher that does not say to whom it sends is gone after udpMaxUnanswered requests in a row.
func TestUDPPublisherThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	answers := []bool{false, false, true, false, false, false}
	var calls atomic.Int32
	server := xmlrpc.NewServer(func(context.Context, string, string, []any) (any, error) {
		if n := int(calls.Add(1)); n > len(answers) || !answers[n-1] {
			return []any{-1, "no", 0}, nil
		}
		return []any{1, "", []any{[]any{1, "/n", "o", "UDPROS", "/t", true}}}, nil
	}, xmlrpc.ServerOptions{})
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	// owner: this function; ends when the server is closed.
	go func() { ended <- server.Serve(ln) }()
	l, _ := failingLink("127.0.0.1")
	l.uri = "http://" + ln.Addr().String() + "/"
	env := l.sub.connector.env
	env.CallerID, env.Timing.UDPIdle = "/n", time.Millisecond
	env.Master = rosapi.NewMaster(l.uri, ln.Addr().String(), "/n", endpoint.NewDialer(nil, time.Minute), rosapi.NewHangWatch(zap.NewNop(), time.Minute))
	if err := l.watchSender(t.Context()); !errors.Is(err, rosapi.ErrStatus) || int(calls.Load()) != len(answers) {
		t.Errorf("gone after %d requests, want %d: %v", calls.Load(), len(answers), err)
	}
	env.Master.Close()
	if err := errors.Join(server.Close(), <-ended); err != nil {
		t.Error(err)
	}
}
