package sublink

import (
	"encoding/binary"
	"net"
	"net/netip"
	"time"

	"github.com/gorosbag/gorosbag/tcpros/internal/linksink"
	"github.com/gorosbag/gorosbag/tcpros/internal/udpros"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// udpReader receives from one publisher.
type udpReader struct {
	conn   *net.UDPConn
	connID uint32
	origin udpros.Origin
	stats  *linkCounters
	sink   linksink.LinkSink
	lost   func(int) // may be nil

	onStranger func(netip.AddrPort)
	onTooLarge func(error)

	frames udpros.Assembler
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
		if n <= udpros.HeaderBytes || !r.admits(from, buf[:n]) {
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
			r.origin.Whole++
			linksink.Deliver(r.sink, frame, time.Now())
		}
	}
}

// admits reports whether a datagram is one of the publisher. A message whose first datagram is refused
// although it has the number of the connection may be the publisher's, and counts as lost.
func (r *udpReader) admits(from netip.AddrPort, datagram []byte) bool {
	from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
	if binary.LittleEndian.Uint32(datagram) != r.connID {
		r.onStranger(from)
		return false
	}
	tooLong := len(datagram) > udpros.DatagramBytes
	ok, moved := false, false
	if !tooLong {
		ok, moved = r.origin.Admits(from)
	}
	if !ok {
		if udpros.Begins(datagram) {
			r.report(1)
		}
		r.onStranger(from)
		return false
	}
	if moved {
		r.report(r.frames.Abandon())
		r.frames = udpros.Assembler{Max: r.frames.Max} // numbers its messages in its own way
	}
	return true
}

func (r *udpReader) report(lost int) {
	if lost != 0 && r.lost != nil {
		r.lost(lost)
	}
}
