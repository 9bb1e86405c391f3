// Package udpros makes messages and counts of losses of UDPROS datagrams. It is pure: its caller
// has the socket, the clock and the goroutine. Package sublink calls it; nothing else does.
//
// Decisions: ADR 0027.
package udpros

import (
	"encoding/binary"
	"hash/crc32"
)

// A UDPROS datagram is <u32 connection><u8 op><u8 message><u16 block> and a part of a frame.
// In the first datagram of a message, block is the number of datagrams; in the others it is
// their index. Message numbers run from 1 to 255 and wrap around, in goroslib to 0. Nothing
// is retransmitted.
const (
	HeaderBytes = 8
	// the first datagram of a message.
	udpData0 = 0
	// any later datagram; no implementation sends the other operations, 2 (ping) and 3 (error).
	udpDataN = 1

	udpIDs         = 255
	udpLate        = 16      // messages before the newest one that are recognized when they arrive late
	udpAhead       = 64      // datagrams that are kept while an earlier one is missing
	udpFirst       = 4 << 10 // bytes of the first allocation for a message
	udpRetainBytes = 4 << 20 // bytes of the largest buffer that is reused for the next message
)

// udpRecent records which of the messages before the newest one were delivered.
type udpRecent struct {
	count       int    // messages since the first, up to udpLate + 1
	newestLost  bool   // the newest message was counted as lost
	undelivered uint16 // bit i: message newest-1-i was not delivered
}

func (r *udpRecent) any() bool { return r.count > 0 }

// advance makes the message n numbers later the newest one.
func (r *udpRecent) advance(n int) {
	r.undelivered <<= n
	r.undelivered |= 1<<(n-1) - 1
	if r.newestLost {
		r.undelivered |= 1 << (n - 1)
	}
	if r.count == 0 {
		r.undelivered = ^uint16(0) // messages before the first one were neither delivered nor counted
	}
	r.newestLost = false
	r.count = min(r.count+n, udpLate+1)
}

// lost reports whether a message before the newest one was not delivered.
func (r *udpRecent) lost(behind int) bool { return r.undelivered>>(behind-1)&1 == 1 }

// markDelivered records a late delivery. It returns -1 if the message was counted as lost.
func (r *udpRecent) markDelivered(behind int) int {
	r.undelivered &^= 1 << (behind - 1)
	if behind >= r.count {
		return 0
	}
	return -1
}

// Assembler assembles the frames of one publisher, one at a time. It allocates memory for
// bytes that have arrived, not for announced ones.
//
// The Assembler counts losses by the message numbers: 255 messages lost in a row look like no loss,
// 256 like one lost message.
type Assembler struct {
	Max int64 // payload bytes of a message

	// number of the newest message
	id uint8
	// the publisher uses message number 0
	zero bool
	// payload bytes of the last message above the limit
	Large int64
	// the newest message is incomplete and may still be completed
	open   bool
	recent udpRecent
	// CRC of the first datagram of each message number: distinguishes a duplicate from a wrapped number
	sums [udpIDs + 1]uint32

	buf    []byte // the received part of the message
	total  int    // bytes of the whole frame
	size   int    // bytes in each datagram except the last
	blocks int
	next   int    // first missing block
	ahead  uint64 // bit i: block next+1+i has arrived
}

// Begins reports whether a datagram, which is longer than HeaderBytes, is the first one of a message.
func Begins(datagram []byte) bool { return datagram[4] == udpData0 }

// Add processes a datagram. It returns the frame that the datagram completes, valid until the next
// call, or nil, and the number of messages that are lost as the datagram shows: -1 for a message
// that was counted as lost and arrives late.
func (a *Assembler) Add(datagram []byte) (frame []byte, lost int) {
	if len(datagram) <= HeaderBytes {
		return nil, 0
	}
	op, id, block := datagram[4], datagram[5], binary.LittleEndian.Uint16(datagram[6:])
	body := datagram[HeaderBytes:]
	if op > udpDataN {
		return nil, 0
	}
	a.zero = a.zero || id == 0
	ring := udpIDs
	if a.zero {
		ring++
	}
	ahead := (int(id) - int(a.id) + ring) % ring
	behind := ring - ahead
	switch {
	case !a.recent.any():
		ahead = 1
	case ahead == 0 && a.open:
		if op == udpData0 {
			block = 0
		}
		return a.addPart(block, body), 0
	case ahead == 0 && (a.recent.newestLost || op != udpData0 || crc32.ChecksumIEEE(body) == a.sums[id]):
		return nil, 0 // the rest of a lost message, or a duplicate
	case ahead == 0:
		ahead = ring
	case behind <= udpLate && a.isLate(op, id, behind, body):
		// Parts can no longer be assembled, but a complete message can be delivered.
		if frame = wholeFrame(body, a.Max); frame == nil || op != udpData0 || !a.recent.lost(behind) {
			return nil, 0
		}
		a.sums[id] = crc32.ChecksumIEEE(body)
		return frame, a.recent.markDelivered(behind)
	}
	lost = ahead - 1 + a.Abandon()
	a.recent.advance(ahead)
	a.id = id
	if op != udpData0 || !a.begin(block, body) {
		a.recent.newestLost = true
		return nil, lost + 1
	}
	a.sums[id] = crc32.ChecksumIEEE(body)
	return a.addPart(0, body), lost
}

// isLate reports whether a datagram with a slightly smaller number is late or a duplicate,
// and not from the next round of numbers.
func (a *Assembler) isLate(op, id uint8, behind int, body []byte) bool {
	return op != udpData0 || a.recent.lost(behind) || crc32.ChecksumIEEE(body) == a.sums[id]
}

// Abandon discards the incomplete message and returns the number of lost messages, 0 or 1.
func (a *Assembler) Abandon() int {
	if !a.open {
		return 0
	}
	a.open, a.recent.newestLost = false, true
	return 1
}

// wholeFrame returns body if it is one frame.
func wholeFrame(body []byte, most int64) []byte {
	if len(body) < 4 || int64(binary.LittleEndian.Uint32(body)) != int64(len(body)-4) ||
		int64(len(body)-4) > most {
		return nil
	}
	return body
}

// begin starts a message with its first datagram.
func (a *Assembler) begin(blocks uint16, body []byte) bool {
	if len(body) < 4 {
		return false
	}
	payload := int64(binary.LittleEndian.Uint32(body))
	if payload > a.Max {
		a.Large = payload
		return false
	}
	if payload+4 < int64(len(body)) {
		return false
	}
	a.total, a.size = int(payload)+4, len(body)
	a.blocks = (a.total + a.size - 1) / a.size
	if uint16(a.blocks) != blocks { // a message of more than 65535 datagrams wraps the count
		return false
	}
	if cap(a.buf) > udpRetainBytes {
		a.buf = nil
	}
	a.buf = a.buf[:0]
	a.open, a.next, a.ahead = true, 0, 0
	return true
}

// addPart stores a datagram's part of the frame, and returns the frame when the frame is complete.
// Parts may be reordered within udpAhead.
func (a *Assembler) addPart(block uint16, body []byte) []byte {
	i := int(int16(block - uint16(a.next))) // the distance on a ring of 65536
	at := a.next + i
	// after the last block no body fits: none is empty
	if i < 0 || i > udpAhead || len(body) != min(a.size, a.total-at*a.size) {
		return nil
	}
	a.grow(at*a.size + len(body))
	copy(a.buf[at*a.size:], body)
	if i > 0 {
		a.ahead |= 1 << (i - 1)
		return nil
	}
	for here := uint64(1); here != 0; {
		a.next++
		here = a.ahead & 1
		a.ahead >>= 1
	}
	if a.next < a.blocks {
		return nil
	}
	a.open = false
	return a.buf
}

// grow makes the buffer at least n bytes long.
func (a *Assembler) grow(n int) {
	if n > cap(a.buf) {
		b := make([]byte, n, min(max(n, 2*cap(a.buf), udpFirst), max(a.total, n)))
		copy(b, a.buf)
		a.buf = b
	}
	if n > len(a.buf) {
		a.buf = a.buf[:n]
	}
}

// DatagramBytes is the length of a datagram, its header included, that we ask publishers for, as
// roscpp does.
const DatagramBytes = 1500
