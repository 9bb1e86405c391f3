package sublink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros/internal/linksink"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
	"github.com/gorosbag/gorosbag/tcpros/internal/udpros"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

const (
	udpReadBuffer    = 4 << 20 // requested from the kernel, which limits it to net.core.rmem_max
	udpMaxUnanswered = 3       // failed requests in a row after which a publisher counts as gone
)

// errNoSender says that a publisher does not know our UDPROS link any more.
var errNoSender = errors.New("the publisher does not send to this link any more")

// udpReply bounds the reply to a request that offers UDPROS: the reply contains the publisher's
// header, with the message definition.
var udpReply = xmlrpc.Limits{BodyBytes: 2 << 20, Depth: 4, Values: 256}

// udpSource is the publisher's reply to a request for UDPROS.
type udpSource struct {
	hostport string
	port     uint16
	connID   uint32
	header   wire.Header
}

// listenUDP opens a port for one publisher. The kernel chooses the port, so that an attacker has to
// guess its number.
func (l *link) listenUDP(ctx context.Context) (*net.UDPConn, error) {
	n := l.sub.connector.env
	network := "udp4"
	if ip, err := netip.ParseAddr(n.Bind); err == nil && ip.Is6() {
		network = "udp6"
	}
	var lc net.ListenConfig
	pc, err := lc.ListenPacket(ctx, network, net.JoinHostPort(n.Bind, "0"))
	if err != nil {
		return nil, fmt.Errorf("UDPROS: %w", err)
	}
	conn := pc.(*net.UDPConn)
	_ = conn.SetReadBuffer(udpReadBuffer) // a smaller buffer loses more datagrams, which are counted
	return conn, nil
}

// request asks the publisher for the topic, with UDPROS as the first choice if conn
// is set. It returns a source, or the address for TCPROS.
func (l *link) request(ctx context.Context, conn *net.UDPConn) (*udpSource, string, error) {
	m := l.sub.connector.env.Master
	if conn == nil {
		address, err := m.RequestTopic(ctx, l.hostport, l.sub.topic)
		return nil, address, err
	}
	hello := fields.List{
		{Key: "callerid", Value: l.sub.connector.env.CallerID},
		{Key: "md5sum", Value: l.sub.opts.MD5Sum},
		{Key: "topic", Value: l.sub.topic},
		{Key: "type", Value: l.sub.opts.Type},
	}.Append(nil)
	port := conn.LocalAddr().(*net.UDPAddr).Port
	offer := []any{
		[]any{"UDPROS", hello, l.sub.connector.env.Host, port, udpros.DatagramBytes},
		[]any{"TCPROS"},
	}
	v, err := m.Raw(ctx, l.uri, udpReply, "requestTopic", l.sub.topic, offer)
	if network := net.Error(nil); err != nil && !errors.As(err, &network) && ctx.Err() == nil {
		// The publisher may reject the request only because of UDPROS.
		address, err := m.RequestTopic(ctx, l.hostport, l.sub.topic)
		return nil, address, err
	}
	if err != nil {
		return nil, "", err
	}
	proto, _ := v.([]any)
	if name, _ := rosapi.Arg[string](proto, 0); name == "UDPROS" {
		src, err := parseUDPSource(proto)
		if err != nil {
			return nil, "", &rosapi.CallError{
				Method: "requestTopic", Host: l.hostport, Err: err,
				Answered: true,
			}
		}
		return src, src.hostport, nil
	}
	address, err := rosapi.TCPROSAddress(proto)
	if err != nil {
		return nil, "", &rosapi.CallError{Method: "requestTopic", Host: l.hostport, Err: err, Answered: true}
	}
	return nil, address, nil
}

// parseUDPSource reads ["UDPROS", host, port, connection, datagram bytes, header].
func parseUDPSource(proto []any) (*udpSource, error) {
	host, ok1 := rosapi.Arg[string](proto, 1)
	port, ok2 := rosapi.Arg[int](proto, 2)
	id, ok3 := rosapi.Arg[int](proto, 3)
	size, ok4 := rosapi.Arg[int](proto, 4)
	block, ok5 := rosapi.Arg[[]byte](proto, 5)
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || host == "" || port < 0 || port >= 1<<16 {
		return nil, fmt.Errorf("answered %.100q, not a UDPROS address", fmt.Sprint(proto))
	}
	if size <= udpros.HeaderBytes || size > udpros.DatagramBytes {
		return nil, fmt.Errorf("answered datagrams of %d bytes, %d were asked for", size,
			udpros.DatagramBytes)
	}
	list, err := fields.Parse(block)
	if err != nil {
		return nil, &wire.HeaderError{Reason: "invalid fields", Err: err}
	}
	h := wire.Header(list)
	return &udpSource{net.JoinHostPort(host, strconv.Itoa(port)), uint16(port), uint32(int32(id)), h},
		h.CheckPublisher()
}

// udpAllowed returns the addresses that a publisher may send from: those of the host in the reply,
// those of the slave API, and those of this machine, where the publisher may run.
func (l *link) udpAllowed(ctx context.Context, src *udpSource) ([]netip.Addr, error) {
	n := l.sub.connector.env
	var all []netip.Addr
	var first error
	for _, at := range []string{src.hostport, l.hostport, net.JoinHostPort(n.Host, "0")} {
		host, _, err := net.SplitHostPort(at)
		if err != nil {
			return nil, err
		}
		addrs, err := n.Dialer.Resolve(ctx, host)
		if err != nil && first == nil {
			first = err
		}
		all = append(all, addrs...)
		for _, a := range addrs {
			// Debian resolves a machine's own name to 127.0.1.1, but packets to it come from 127.0.0.1
			if a.IsLoopback() && a.Is4() {
				all = append(all, netip.AddrFrom4([4]byte{127, 0, 0, 1}))
			}
		}
	}
	if len(all) == 0 {
		return nil, first
	}
	return all, nil
}

// receiveUDP runs one UDPROS session, from the publisher's reply to its end.
func (l *link) receiveUDP(ctx context.Context, conn *net.UDPConn, src *udpSource) (time.Duration, error) {
	allowed, err := l.udpAllowed(ctx, src)
	if err != nil {
		return 0, err
	}
	l.sub.connector.reached(l)
	sink, err := l.open(src.hostport, "UDPROS", src.header)
	if err != nil {
		return 0, err
	}
	r := &udpReader{
		conn: conn, connID: src.connID, origin: udpros.Origin{Allowed: allowed, Port: src.port},
		stats: &l.stats, sink: sink,
		frames: udpros.Assembler{Max: int64(l.sub.opts.MaxMessageBytes)},
		onStranger: func(from netip.AddrPort) {
			l.sub.logger().Warn("datagrams that are not the publisher's are ignored",
				zap.String("publisher", l.uri), zap.Stringer("from", from))
		},
		onTooLarge: func(err error) {
			l.sub.logger().Warn("message too large: dropped", zap.String("publisher", l.uri), zap.Error(err))
		},
	}
	if s, ok := sink.(linksink.LostSink); ok {
		r.lost = s.Lost
	}
	port := conn.LocalAddr().(*net.UDPAddr).Port
	name := linkTitle{
		"UDPROS",
		"UDPROS connection on port " + strconv.Itoa(port) + " to [" + src.hostport + "]",
	}
	return l.receive(ctx, name, src.hostport, sink, func() error {
		var wg sync.WaitGroup
		defer wg.Wait()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var gone error
		// owner: this function; ends with the reader, or ends it.
		wg.Go(func() {
			if gone = l.watchSender(ctx); gone != nil {
				_ = conn.Close()
			}
		})
		err := r.run()
		cancel()
		wg.Wait()
		return cmp.Or(gone, err)
	})
}

// watchSender returns an error when the publisher no longer sends to us. UDPROS does not signal the
// end of a publisher or a link, so watchSender asks an idle publisher for its links. It returns nil
// when ctx ends.
func (l *link) watchSender(ctx context.Context) error {
	tick := time.NewTicker(l.sub.connector.env.Timing.UDPIdle)
	defer tick.Stop()
	for last, silent := l.stats.bytes.Load(), 0; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if now := l.stats.bytes.Load(); now != last {
			last, silent = now, 0
			continue
		}
		rows, err := l.sub.connector.env.Master.Raw(ctx, l.uri, rosapi.SlaveReply, "getBusInfo")
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			if silent++; silent == udpMaxUnanswered {
				return err
			}
		case !l.sendsTo(rows):
			return errNoSender
		default:
			silent = 0
		}
	}
}

// sendsTo reports whether a publisher's reply to getBusInfo lists our link.
func (l *link) sendsTo(reply any) bool {
	rows, _ := reply.([]any)
	for i := range rows {
		row, _ := rosapi.Arg[[]any](rows, i)
		to, _ := rosapi.Arg[string](row, 1)
		direction, _ := rosapi.Arg[string](row, 2)
		transport, _ := rosapi.Arg[string](row, 3)
		topic, _ := rosapi.Arg[string](row, 4)
		if to == l.sub.connector.env.CallerID && direction == "o" && transport == "UDPROS" &&
			topic == l.sub.topic {
			return true
		}
	}
	return false
}
