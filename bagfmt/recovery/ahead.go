package recovery

import (
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/gorosbag/gorosbag/bagfmt/internal/codec"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/internal/queue/inorder"
	"github.com/gorosbag/gorosbag/rosbag"
)

const (
	recoverAheadBytes = 64 << 20 // limit for chunks that Recover reads ahead, stored plus unpacked
	maxRecoverAhead   = 16       // limit for their number
)

// recoverAhead reads and unpacks chunks ahead of Recover. It finds them by the headers of
// consecutive records. It returns intact chunks only; all others Recover reads itself, as
// it does without workers. So the result does not depend on workers.
type recoverAhead struct {
	r    io.ReaderAt
	size int64
	// bytes of a chunk, stored or unpacked; larger ones are not read ahead
	limit int64
	// in file order
	queue *inorder.Queue[recoverJob, *codec.Decompressor]
	// offset of the next record; 0 if that is damaged or not a compressed chunk
	next   int64
	head   [wire.FirstHeadBytes]byte
	header wire.RecordHeader
}

// recoverJob is a chunk that is read ahead, with its memory.
type recoverJob struct {
	place wire.ChunkPlace
	buf   chunkBuffer // stored data
	crc   uint32
	plain []byte // memory for unpacked data
	data  []byte // unpacked data; nil if the chunk is not intact
}

func newRecoverAhead(r io.ReaderAt, size int64, workers int) *recoverAhead {
	loaders := make([]*codec.Decompressor, min(workers, maxRecoverAhead))
	for i := range loaders {
		loaders[i] = new(codec.Decompressor)
	}
	queue := inorder.New(loaders, func(j *recoverJob, d *codec.Decompressor) { j.load(r, d) })
	return &recoverAhead{r: r, size: size, limit: recoverAheadBytes / 2 / int64(len(loaders)), queue: queue}
}

// take returns the chunk at p, if it was read ahead and is intact. With more set it starts
// reading the chunks after it.
func (a *recoverAhead) take(p *wire.ChunkPlace, more bool) *recoverJob {
	var j *recoverJob
	if first := a.queue.First(); first != nil && first.place == *p {
		j = a.queue.Take()
	} else {
		a.queue.Close() // Recover is at another chunk
	}
	if a.queue.Len() == 0 {
		a.next = p.Data + p.Stored
	}
	for more && a.next > 0 && a.queue.Len() < a.queue.Workers() {
		if !a.startNext() {
			a.next = 0
		}
	}
	if j != nil && j.data == nil {
		a.queue.Recycle(j)
		return nil
	}
	return j
}

// startNext starts reading the next record if it is a compressed chunk, and skips it if it
// is index data. It reports false if it is another record.
func (a *recoverAhead) startNext() bool {
	head := a.head[:min(wire.FirstHeadBytes, max(a.size-a.next, 0))]
	n, _ := a.r.ReadAt(head, a.next) // as much as there is
	if n < wire.MinRecordBytes {
		return false
	}
	h, length := &a.header, int64(binary.LittleEndian.Uint32(head))
	if length > int64(n)-wire.MinRecordBytes || h.Parse(head[4:4+length]) != nil {
		return false
	}
	p := h.ChunkPlace(a.next)
	p.Data, p.Stored = a.next+length+wire.MinRecordBytes, int64(binary.LittleEndian.Uint32(head[4+length:]))
	a.next = p.Data + p.Stored
	switch {
	case a.next > a.size:
		return false
	case h.Op == rosbag.OpIndexData:
		return true
	case h.Op != rosbag.OpChunk || p.Compression == rosbag.CompressionNone || p.Stored == 0 ||
		max(p.Stored, p.Size) > a.limit:
		return false // an uncompressed chunk is not worth another goroutine
	}
	j := a.queue.Job()
	j.place = p
	a.queue.Start(j)
	return true
}

// load reads and unpacks the chunk.
func (j *recoverJob) load(r io.ReaderAt, d *codec.Decompressor) {
	stored := j.buf.resize(j.place.Stored)
	if n, _ := r.ReadAt(stored, j.place.Data); n < len(stored) { // Recover reports the error
		j.data = nil
		return
	}
	j.crc = crc32.Checksum(stored, wire.Castagnoli)
	j.data = unpackIntact(d, &j.place, stored, j.crc, &j.plain)
}
