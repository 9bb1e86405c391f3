package sublink

import (
	"encoding/binary"
	"net"
	"net/netip"
	"time"

	"github.com/gorosbag/gorosbag/tcpros/internal/udpros"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// udpReader receives from one publisher.
type udpReader struct {
	conn    *net.UDPConn
	connID  uint32
	allowed []netip.Addr // of the publisher's machine
	stats   *linkCounters
	sink    LinkSink
	lost    func(int) // may be nil

	onStranger func(netip.AddrPort)
	onTooLarge func(error)

	frames udpros.Assembler
	from   netip.AddrPort // the publisher's socket, once it has sent
}

// run reads until the socket is closed.
func (r *udpReader) run() error {
	buf := make([]byte, udpros.DatagramBytes+1) // one byte more, to detect longer datagrams
	for {
		r.stats.reading.Store(true)
		n, from, err := r.conn.ReadFromUDPAddrPort(buf)
		r.stats.reading.Store(false)
		if err != nil {
			r.report(r.frames.Abandon())
			return err
		}
		if n > udpros.DatagramBytes || n <= udpros.HeaderBytes || !r.admits(from, buf[:n]) {
			continue
		}
		r.stats.bytes.Add(uint64(n))
		frame, lost := r.frames.Add(buf[:n])
		r.report(lost)
		if r.frames.Large > 0 {
			r.onTooLarge(&wire.TooLargeError{Bytes: r.frames.Large, Limit: r.frames.Max})
			r.frames.Large = 0
		}
		if frame != nil {
			r.stats.frames.Add(1)
			Deliver(r.sink, frame, time.Now())
		}
	}
}

// admits reports whether a datagram comes from the publisher: the first datagram must come from the
// publisher's machine, all others from the socket that sent the first.
func (r *udpReader) admits(from netip.AddrPort, datagram []byte) bool {
	from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
	if from == r.from && binary.LittleEndian.Uint32(datagram) == r.connID {
		return true
	}
	for _, a := range r.allowed {
		if a == from.Addr() && !r.from.IsValid() && binary.LittleEndian.Uint32(datagram) == r.connID {
			r.from = from
			return true
		}
	}
	r.onStranger(from)
	return false
}

func (r *udpReader) report(lost int) {
	if lost != 0 && r.lost != nil {
		r.lost(lost)
	}
}
