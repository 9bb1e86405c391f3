package bzip2

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
)

// repeatedByte times a byte is a word of eight of them.
const repeatedByte = 0x0101010101010101

// checksum is that of zip files with the bits of every byte, and of the result, in the
// other order.
type checksum struct {
	sum     uint32
	flipped [512]byte
}

func (c *checksum) add(p []byte) {
	const m1, m2, m4 = 0x55 * repeatedByte, 0x33 * repeatedByte, 0x0f * repeatedByte
	for len(p) > 0 {
		n := min(len(p), len(c.flipped))
		i := 0
		for ; i+8 <= n; i += 8 {
			x := binary.LittleEndian.Uint64(p[i:])
			x = x>>1&m1 | x&m1<<1
			x = x>>2&m2 | x&m2<<2
			binary.LittleEndian.PutUint64(c.flipped[i:], x>>4&m4|x&m4<<4)
		}
		for ; i < n; i++ {
			c.flipped[i] = bits.Reverse8(p[i])
		}
		c.sum = crc32.Update(c.sum, crc32.IEEETable, c.flipped[:n])
		p = p[n:]
	}
}

func (c *checksum) reset() { c.sum = 0 }

func (c *checksum) value() uint32 { return bits.Reverse32(c.sum) }
