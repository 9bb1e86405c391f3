package tcpros

import (
	"encoding/binary"
	"hash/crc32"
)

// A UDPROS datagram is <u32 connection><u8 op><u8 message><u16 block> and a part of a
// frame. The first datagram of a message says in block how many there are; each other
// one is numbered there. Message numbers run from 1 to 255 and begin anew; those of
// goroslib have a 0 in between. Nothing is ever sent again.
const (
	udpHeaderBytes = 8
	udpData0       = 0 // the first datagram of a message
	udpDataN       = 1 // any other; what else there is, 2 for ping and 3 for error, nobody sends

	udpIDs   = 255
	udpLate  = 16      // messages behind the newest one that are known when they come late
	udpAhead = 64      // datagrams kept in front of one that is missing
	udpFirst = 4 << 10 // bytes for a message that has begun
	udpKeep  = 4 << 20 // bytes kept from one message to the next
)

// udpRecent remembers which messages behind the newest one were lost.
type udpRecent struct {
	count      int    // messages since the first, up to udpLate + 1
	newestLost bool   // the newest message was counted as lost
	missed     uint16 // bit i: message newest-1-i was not delivered
}

func (r *udpRecent) any() bool { return r.count > 0 }

// advance makes the message that is n numbers ahead the newest one.
func (r *udpRecent) advance(n int) {
	r.missed <<= n
	r.missed |= 1<<(n-1) - 1
	if r.newestLost {
		r.missed |= 1 << (n - 1)
	}
	if r.count == 0 {
		r.missed = ^uint16(0) // what came before the first was not delivered, nor counted
	}
	r.newestLost = false
	r.count = min(r.count+n, udpLate+1)
}

// lost reports whether a message behind the newest one was not delivered.
func (r *udpRecent) lost(behind int) bool { return r.missed>>(behind-1)&1 == 1 }

// found notes that it was delivered after all. It returns -1 if it was counted as lost.
func (r *udpRecent) found(behind int) int {
	r.missed &^= 1 << (behind - 1)
	if behind >= r.count {
		return 0
	}
	return -1
}

// udpAssembler puts the frames of one publisher together, one at a time. Memory
// follows what came, not what a datagram says is to come.
//
// Losses are told from the message numbers: 255 messages lost in a row look like none,
// 256 like one.
type udpAssembler struct {
	max int64 // payload bytes of a message

	id    uint8 // of the newest message
	zero  bool  // there is a message 0
	large int64 // payload bytes of the last message above the limit
	open  bool  // that message is incomplete and may still be completed
	known udpRecent
	sums  [udpIDs + 1]uint32 // of the first datagram of each message: tells a copy from a round later

	buf    []byte // of the message, as far as it came
	total  int    // frame bytes
	size   int    // bytes in each datagram but the last
	blocks int
	next   int    // first block that is missing
	ahead  uint64 // bit i: block next+1+i is here
}

// add takes a datagram. It returns the frame that it completes, valid until the next
// call, or nil, and how many messages it shows to be lost: -1 is one that was counted
// and came late.
func (a *udpAssembler) add(datagram []byte) (frame []byte, lost int) {
	if len(datagram) <= udpHeaderBytes {
		return nil, 0
	}
	op, id, block := datagram[4], datagram[5], binary.LittleEndian.Uint16(datagram[6:])
	body := datagram[udpHeaderBytes:]
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
	case !a.known.any():
		ahead = 1
	case ahead == 0 && a.open:
		if op == udpData0 {
			block = 0
		}
		return a.place(block, body), 0
	case ahead == 0 && (a.known.newestLost || op != udpData0 || crc32.ChecksumIEEE(body) == a.sums[id]):
		return nil, 0 // the rest of a message that is lost already, or a copy
	case ahead == 0:
		ahead = ring
	case behind <= udpLate && a.late(op, id, behind, body):
		// There is no place for parts any more, but a whole message is good.
		if frame = wholeFrame(body, a.max); frame == nil || op != udpData0 || !a.known.lost(behind) {
			return nil, 0
		}
		a.sums[id] = crc32.ChecksumIEEE(body)
		return frame, a.known.found(behind)
	}
	lost = ahead - 1 + a.abandon()
	a.known.advance(ahead)
	a.id = id
	if op != udpData0 || !a.begin(block, body) {
		a.known.newestLost = true
		return nil, lost + 1
	}
	a.sums[id] = crc32.ChecksumIEEE(body)
	return a.place(0, body), lost
}

// late reports whether a datagram whose number is a little behind is late, or a copy,
// and not a round ahead.
func (a *udpAssembler) late(op, id uint8, behind int, body []byte) bool {
	return op != udpData0 || a.known.lost(behind) || crc32.ChecksumIEEE(body) == a.sums[id]
}

// abandon gives up the message that is under way and returns how many that are.
func (a *udpAssembler) abandon() int {
	if !a.open {
		return 0
	}
	a.open, a.known.newestLost = false, true
	return 1
}

// wholeFrame returns body if it is one frame.
func wholeFrame(body []byte, most int64) []byte {
	if len(body) < 4 || int64(binary.LittleEndian.Uint32(body)) != int64(len(body)-4) || int64(len(body)-4) > most {
		return nil
	}
	return body
}

// begin starts a message with its first datagram.
func (a *udpAssembler) begin(blocks uint16, body []byte) bool {
	if len(body) < 4 {
		return false
	}
	payload := int64(binary.LittleEndian.Uint32(body))
	if payload > a.max {
		a.large = payload
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
	if cap(a.buf) > udpKeep {
		a.buf = nil
	}
	a.buf = a.buf[:0]
	a.open, a.next, a.ahead = true, 0, 0
	return true
}

// place puts a datagram's part where it belongs and returns the frame if that was the
// last one missing. Parts may come in another order within udpAhead.
func (a *udpAssembler) place(block uint16, body []byte) []byte {
	i := int(int16(block - uint16(a.next))) // the distance on a ring of 65536
	at := a.next + i
	if i < 0 || i > udpAhead || at >= a.blocks || len(body) != min(a.size, a.total-at*a.size) {
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

// grow makes the buffer n bytes long at least.
func (a *udpAssembler) grow(n int) {
	if n > cap(a.buf) {
		b := make([]byte, n, min(max(n, 2*cap(a.buf), udpFirst), max(a.total, n)))
		copy(b, a.buf)
		a.buf = b
	}
	if n > len(a.buf) {
		a.buf = a.buf[:n]
	}
}
