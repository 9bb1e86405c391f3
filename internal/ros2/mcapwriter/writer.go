// Package mcapwriter writes MCAP files with indexes, statistics and checksums. Chunks are packed on
// other goroutines; the file is the same for any number of them.
//
// It knows no profile: its callers say what schemas, channels and metadata there are. It owns the
// numbers of schemas and channels, and the memory of chunks.
package mcapwriter

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/foxglove/mcap/go/mcap"

	stored "github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/internal/queue/inorder"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Options say how a file is written. The zero value of each field has a meaning.
type Options struct {
	Profile     string // such as "ros2"
	Compression string // "zstd", "lz4" or "none"; empty means zstd
	ChunkBytes  int    // a chunk ends with the message that reaches it; zero means 768 KiB
	Workers     int    // goroutines that pack chunks; zero means one
}

// Writer writes one file. Its methods may not be called at the same time.
type Writer struct {
	w       *mcap.Writer
	limit   int
	format  mcap.CompressionFormat
	packing *inorder.Queue[chunk, packer] // the chunks that are packed, or wait to be written
	queued  int64                         // bytes of these chunks before packing
	copied  chunk                         // the indexes of a chunk that is copied
	chunk   *chunk                        // the chunk that is filled; nil between chunks
	// ids of schemas and of channels
	schemas, channels ids
	start             uint64
	end               uint64
	total             uint64   // messages
	count             []uint64 // messages by number of the channel
}

// errIDs reports a limit of the format.
var errIDs = errors.New("MCAP has room for 65535 types and as many topics")

// New starts a file on w.
func New(w io.Writer, o Options) (*Writer, error) {
	packers, format, err := newPackers(o.Compression, max(o.Workers, 1))
	if err != nil {
		return nil, err
	}
	mw, err := mcap.NewWriter(w, &mcap.WriterOptions{IncludeCRC: true})
	if err != nil {
		return nil, err
	}
	if err := mw.WriteHeader(&mcap.Header{Profile: o.Profile, Library: "gorosbag"}); err != nil {
		return nil, err
	}
	limit := o.ChunkBytes
	if limit <= 0 {
		limit = 768 << 10
	}
	return &Writer{w: mw, limit: limit, format: format, packing: inorder.New(packers, (*chunk).pack)}, nil
}

// ids are the ids of one kind that are in use.
type ids struct {
	taken map[uint16]bool
	last  uint16 // all up to this one are taken, but for 0
}

// take takes an id, the lowest free one from 1 on if want is not that of an id that is free.
func (x *ids) take(want int) (uint16, error) {
	id := uint16(want)
	if !x.free(want) {
		for x.last < math.MaxUint16 && x.taken[x.last+1] {
			x.last++
		}
		if x.last == math.MaxUint16 {
			return 0, errIDs
		}
		id = x.last + 1
	}
	if x.taken == nil {
		x.taken = make(map[uint16]bool)
	}
	x.taken[id] = true
	return id, nil
}

// free reports whether want is that of an id that is free.
func (x *ids) free(want int) bool {
	return want >= 0 && want <= math.MaxUint16 && !x.taken[uint16(want)]
}

// AnyID is the id of a schema or channel that may have any.
const AnyID = -1

// HasSchema reports whether the file so far has a schema with that id.
func (w *Writer) HasSchema(id uint16) bool { return !w.schemas.free(int(id)) }

// HasChannel reports whether the file so far has a channel with that id.
func (w *Writer) HasChannel(id uint16) bool { return !w.channels.free(int(id)) }

// AddSchema writes a schema and returns its id: id if that is free, otherwise the lowest free one from 1
// on. 0 means none.
func (w *Writer) AddSchema(id int, name, encoding string, data []byte) (uint16, error) {
	if id == 0 {
		id = AnyID
	}
	got, err := w.schemas.take(id)
	if err != nil {
		return 0, err
	}
	return got, w.w.WriteSchema(&mcap.Schema{ID: got, Name: name, Encoding: encoding, Data: data})
}

// AddChannel writes a channel and returns its id, as AddSchema does. 0 is an id, but some readers take it
// for none.
func (w *Writer) AddChannel(
	id int, schema uint16, topic, encoding string, metadata map[string]string,
) (uint16, error) {
	got, err := w.channels.take(id)
	if err != nil {
		return 0, err
	}
	return got, w.w.WriteChannel(&mcap.Channel{
		ID: got, SchemaID: schema, Topic: topic,
		MessageEncoding: encoding, Metadata: metadata,
	})
}

// Write adds a message of a channel; at is in nanoseconds since 1970. It does not keep data.
func (w *Writer) Write(channel uint16, sequence uint32, at uint64, data []byte) error {
	if int64(len(data)) > math.MaxUint32-1<<10 {
		return fmt.Errorf("a message of %d bytes; chunks end at 4 GiB", len(data))
	}
	if w.chunk == nil {
		// one is filled, each worker packs one, and one waits for its turn
		if w.packing.Spare(w.packing.Workers()+2) == 0 {
			if err := w.take(); err != nil {
				return err
			}
		}
		w.chunk = w.packing.Job()
	}
	w.chunk.add(channel, sequence, at, data)
	w.counted(channel, at)
	if len(w.chunk.records) >= w.limit {
		w.handOver()
	}
	return nil
}

// counted counts a message.
func (w *Writer) counted(channel uint16, at uint64) {
	if w.total == 0 {
		w.start = at
	}
	w.total++
	for int(channel) >= len(w.count) {
		w.count = append(w.count, 0)
	}
	w.count[channel]++
	w.start, w.end = min(w.start, at), max(w.end, at)
}

// Copy writes a chunk of another file as it is stored. The ids in it have to be those of this file, and the
// records of its schemas and channels the same.
func (w *Writer) Copy(c *stored.MCAP) error {
	if err := w.flush(); err != nil {
		return err
	}
	format := string(c.Compression)
	if c.Compression == rosbag.CompressionNone {
		format = ""
	}
	first, last := nanoseconds(c.Entries[0].Time), nanoseconds(c.Entries[len(c.Entries)-1].Time)
	for i := range c.Entries {
		e := &c.Entries[i]
		at := nanoseconds(e.Time)
		w.copied.index(uint16(e.Conn.ID)).Add(at, uint64(e.Offset))
		w.counted(uint16(e.Conn.ID), at)
	}
	err := w.w.WriteChunkWithIndexes(&mcap.Chunk{
		MessageStartTime: first, MessageEndTime: last, UncompressedSize: uint64(c.Bytes),
		UncompressedCRC: c.CRC, Compression: format, Records: c.Stored,
	}, w.copied.sortedIndexes())
	w.copied.reset()
	return err
}

func nanoseconds(t rosbag.Time) uint64 { return uint64(t.Sec)*1e9 + uint64(t.Nsec) }

// handOver hands the chunk that was filled over to be packed.
func (w *Writer) handOver() {
	w.queued += int64(len(w.chunk.records))
	w.packing.Start(w.chunk)
	w.chunk = nil
}

// take writes the chunk that was handed over first.
func (w *Writer) take() error {
	c := w.packing.Take()
	w.queued -= int64(len(c.records))
	err := c.err
	if err == nil {
		err = w.w.WriteChunkWithIndexes(c.packed(w.format), c.sortedIndexes())
	}
	c.reset()
	w.packing.Recycle(c)
	return err
}

// flush writes all chunks.
func (w *Writer) flush() error {
	if w.chunk != nil {
		w.handOver()
	}
	for w.packing.Len() > 0 {
		if err := w.take(); err != nil {
			return err
		}
	}
	return nil
}

// AddMetadata writes a metadata record after the messages so far.
func (w *Writer) AddMetadata(name string, values map[string]string) error {
	if err := w.flush(); err != nil {
		return err
	}
	return w.w.WriteMetadata(&mcap.Metadata{Name: name, Metadata: values})
}

// Size returns the bytes written so far. Chunks that are not packed yet count with their size before packing.
func (w *Writer) Size() int64 {
	n := int64(w.w.Offset()) + w.queued
	if w.chunk != nil {
		n += int64(len(w.chunk.records))
	}
	return n
}

// Close writes the pending chunks and the summary. It does not close the underlying writer.
func (w *Writer) Close() error {
	if err := w.flush(); err != nil {
		return err
	}
	s := w.w.Statistics
	s.MessageStartTime, s.MessageEndTime = w.start, w.end
	s.MessageCount = w.total
	for id, n := range w.count {
		if n > 0 {
			s.ChannelMessageCounts[uint16(id)] = n
		}
	}
	return w.w.Close()
}

// Abort ends the goroutines of a file that will not be used. It is called instead of Close, or
// after Close failed.
func (w *Writer) Abort() { w.packing.Close() }
