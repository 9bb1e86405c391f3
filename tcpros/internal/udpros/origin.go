package udpros

import (
	"net/netip"
	"slices"
)

// Origin decides which socket is that of a publisher. A publisher of roscpp sends from another port than
// the one in its reply, so only its machine and the number of the connection say who sends. A single
// datagram of somebody else must not keep the publisher out.
type Origin struct {
	Allowed []netip.Addr // of the publisher's machine
	Port    uint16       // in the publisher's reply
	Whole   int          // messages that came whole from the publisher's socket; the caller counts them

	from   netip.AddrPort // the publisher's socket, once one has sent
	others int            // datagrams of another possible socket since the last one from it
}

const (
	provenMessages = 3  // whole messages after which a socket is the publisher's
	strayGone      = 3  // datagrams of another socket in a row after which one that is not proven makes way
	provenGone     = 64 // the same for a socket that is proven
)

// Admits reports whether a datagram with the number of the connection comes from the publisher. moved
// says that the datagrams before came from another socket.
//
// The socket in the reply is the publisher's. Without a datagram from there, it is the first socket of an
// allowed machine, until that is silent while others send.
func (o *Origin) Admits(from netip.AddrPort) (ok, moved bool) {
	if from == o.from {
		o.others = 0
		return true, false
	}
	if !slices.Contains(o.Allowed, from.Addr()) {
		return false, false
	}
	if o.from.IsValid() && from.Port() != o.Port {
		gone := provenGone
		if o.Whole < provenMessages {
			gone = strayGone
		}
		if o.others++; o.from.Port() == o.Port || o.others < gone {
			return false, false
		}
	}
	moved = o.from.IsValid()
	o.from, o.Whole, o.others = from, 0, 0
	return true, moved
}
