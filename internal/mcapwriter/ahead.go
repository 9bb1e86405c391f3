package mcapwriter

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// ahead packs chunks on other goroutines while the Writer fills the next one. The Writer alone fills and writes
// chunks. It does not touch a chunk between handing it over and take.
type ahead struct {
	compression mcap.CompressionFormat
	packers     chan packer // the idle ones
	queue       []*chunk    // handed over and not yet taken, in file order
	free        []*chunk
	chunks      int // made so far, the one being filled included
}

// packer appends the packed form of records to dst.
type packer func(dst, records []byte) ([]byte, error)

func newAhead(compression string, workers int) (*ahead, error) {
	a := &ahead{packers: make(chan packer, workers)}
	for range workers {
		p, err := a.packer(compression)
		if err != nil {
			return nil, err
		}
		a.packers <- p
	}
	return a, nil
}

// packer returns a packer for the name of a compression, and sets that of the file.
func (a *ahead) packer(compression string) (packer, error) {
	switch compression {
	case "none":
		a.compression = mcap.CompressionNone
		return nil, nil
	case "lz4":
		a.compression = mcap.CompressionLZ4
		return newLZ4(), nil
	case "", "zstd":
		a.compression = mcap.CompressionZSTD
		z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
		if err != nil {
			return nil, err
		}
		return func(dst, records []byte) ([]byte, error) { return z.EncodeAll(records, dst), nil }, nil
	}
	return nil, fmt.Errorf("MCAP knows the compressions zstd, lz4 and none, not %q", compression)
}

func newLZ4() packer {
	z := lz4.NewWriter(nil)
	return func(dst, records []byte) ([]byte, error) {
		out := bytes.NewBuffer(dst)
		z.Reset(out)
		_, err := z.Write(records)
		err = errors.Join(err, z.Close()) // writes the end of the frame
		return out.Bytes(), err
	}
}

// chunk has all the memory that a chunk needs.
type chunk struct {
	records    []byte
	indexes    map[uint16]*mcap.MessageIndex // by channel; those of channels without messages are empty
	latest     *mcap.MessageIndex            // of the message added last; nil before the first
	start, end uint64
	crc        uint32
	data       []byte // packed
	err        error
	done       chan struct{} // gets one token when the chunk is packed
}

// full reports whether there is no memory for another chunk: one chunk is being filled, each packer packs one, and
// one waits for its turn.
func (a *ahead) full() bool { return len(a.free) == 0 && a.chunks >= cap(a.packers)+2 }

// chunk returns an empty chunk.
func (a *ahead) chunk() *chunk {
	if n := len(a.free); n > 0 {
		c := a.free[n-1]
		a.free = a.free[:n-1]
		return c
	}
	a.chunks++
	return &chunk{indexes: make(map[uint16]*mcap.MessageIndex), done: make(chan struct{}, 1)}
}

// begin hands c over to the next idle packer.
func (a *ahead) begin(c *chunk) {
	a.queue = append(a.queue, c)
	// owner: Writer; ends when the chunk is packed, and take waits for that.
	go func() {
		p := <-a.packers
		c.crc = crc32.ChecksumIEEE(c.records)
		if p != nil {
			c.data, c.err = p(c.data[:0], c.records)
		}
		a.packers <- p
		c.done <- struct{}{}
	}()
}

func (a *ahead) waiting() bool { return len(a.queue) > 0 }

// take returns the chunk that was handed over first, packed.
func (a *ahead) take() *chunk {
	c := a.queue[0]
	a.queue = slices.Delete(a.queue, 0, 1)
	<-c.done
	return c
}

// release gives back the memory of a chunk that was taken. That of a very large message is freed.
func (a *ahead) release(c *chunk) {
	const keep = 16 << 20
	if cap(c.records) > keep {
		c.records, c.data = nil, nil
	}
	c.records = c.records[:0]
	for _, index := range c.indexes {
		index.Reset()
	}
	a.free = append(a.free, c)
}

// unwritten returns the size of all chunks that wait, before packing.
func (a *ahead) unwritten() (n int64) {
	for _, c := range a.queue {
		n += int64(len(c.records))
	}
	return n
}

// add appends the record of a message.
func (c *chunk) add(channel uint16, sequence uint32, at uint64, data []byte) {
	if len(c.records) == 0 {
		c.start, c.end = at, at
	}
	c.start, c.end = min(c.start, at), max(c.end, at)
	if c.latest == nil || c.latest.ChannelID != channel {
		c.latest = c.index(channel)
	}
	start := len(c.records)
	c.latest.Add(at, uint64(start))
	c.records = slices.Grow(c.records, messageBytes+len(data))
	head := c.records[start : start+messageBytes]
	head[0] = byte(mcap.OpMessage)
	binary.LittleEndian.PutUint64(head[1:], uint64(messageBytes-9+len(data))) // without operation and length
	binary.LittleEndian.PutUint16(head[9:], channel)
	binary.LittleEndian.PutUint32(head[11:], sequence)
	binary.LittleEndian.PutUint64(head[15:], at) // log time
	binary.LittleEndian.PutUint64(head[23:], at) // publish time
	c.records = append(c.records[:start+messageBytes], data...)
}

// messageBytes is the size of a message record without its data.
const messageBytes = 1 + 8 + 2 + 4 + 8 + 8

// index returns the index of a channel.
func (c *chunk) index(channel uint16) *mcap.MessageIndex {
	index := c.indexes[channel]
	if index == nil {
		index = &mcap.MessageIndex{ChannelID: channel}
		c.indexes[channel] = index
	}
	return index
}

// packed returns the chunk as a record.
func (c *chunk) packed(compression mcap.CompressionFormat) *mcap.Chunk {
	data := c.data
	if compression == mcap.CompressionNone {
		data = c.records
	}
	return &mcap.Chunk{
		MessageStartTime: c.start, MessageEndTime: c.end, UncompressedSize: uint64(len(c.records)),
		UncompressedCRC: c.crc, Compression: string(compression), Records: data,
	}
}

// sortedIndexes returns the indexes of the channels with messages.
func (c *chunk) sortedIndexes() (all []*mcap.MessageIndex) {
	for _, id := range slices.Sorted(maps.Keys(c.indexes)) {
		if index := c.indexes[id]; !index.IsEmpty() {
			all = append(all, index)
		}
	}
	return all
}
