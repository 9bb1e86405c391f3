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

	"github.com/gorosbag/gorosbag/internal/queue/inorder"
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
	chunk   *chunk                        // the chunk that is filled; nil between chunks
	schemas int
	lastID  int // of channels
	start   uint64
	end     uint64
	total   uint64   // messages
	count   []uint64 // messages by number of the channel
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

// AddSchema writes a schema and returns its number, from 1 on.
func (w *Writer) AddSchema(name, encoding string, data []byte) (uint16, error) {
	if w.schemas == math.MaxUint16 {
		return 0, errIDs
	}
	w.schemas++
	id := uint16(w.schemas)
	return id, w.w.WriteSchema(&mcap.Schema{ID: id, Name: name, Encoding: encoding, Data: data})
}

// AddChannel writes a channel and returns its number, from 1 on: some readers take 0 for none.
func (w *Writer) AddChannel(
	schema uint16, topic, encoding string, metadata map[string]string,
) (uint16, error) {
	if w.lastID == math.MaxUint16 {
		return 0, errIDs
	}
	w.lastID++
	id := uint16(w.lastID)
	return id, w.w.WriteChannel(&mcap.Channel{
		ID: id, SchemaID: schema, Topic: topic,
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
	if w.total == 0 {
		w.start = at
	}
	w.total++
	for int(channel) >= len(w.count) {
		w.count = append(w.count, 0)
	}
	w.count[channel]++
	w.start, w.end = min(w.start, at), max(w.end, at)
	if len(w.chunk.records) >= w.limit {
		w.handOver()
	}
	return nil
}

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
