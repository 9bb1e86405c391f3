package recovery

import (
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/gorosbag/gorosbag/bagfmt/internal/codec"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
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
	r       io.ReaderAt
	size    int64
	limit   int64                    // bytes of a chunk, stored or unpacked; larger ones are not read ahead
	loaders chan *codec.Decompressor // the idle ones
	queue   []*recoverJob            // started and not yet taken, in file order
	free    []*recoverJob
	next    int64 // offset of the next record; 0 if that is damaged or not a compressed chunk
	head    [wire.FirstHeadBytes]byte
	header  wire.RecordHeader
}

// recoverJob is a chunk that is read ahead, with its memory.
type recoverJob struct {
	place wire.ChunkPlace
	buf   chunkBuffer // stored data
	crc   uint32
	plain []byte        // memory for unpacked data
	data  []byte        // unpacked data; nil if the chunk is not intact
	done  chan struct{} // receives one value when the job is done
}

func newRecoverAhead(r io.ReaderAt, size int64, workers int) *recoverAhead {
	n := min(workers, maxRecoverAhead)
	a := &recoverAhead{r: r, size: size, limit: recoverAheadBytes / 2 / int64(n), loaders: make(chan *codec.Decompressor, n)}
	for range n {
		a.loaders <- new(codec.Decompressor)
	}
	return a
}

// take returns the chunk at p, if it was read ahead and is intact. With more set it starts
// reading the chunks behind it.
func (a *recoverAhead) take(p *wire.ChunkPlace, more bool) *recoverJob {
	var j *recoverJob
	if len(a.queue) > 0 && a.queue[0].place == *p {
		j = a.first()
	} else {
		a.close() // Recover is at another chunk
	}
	if len(a.queue) == 0 {
		a.next = p.Data + p.Stored
	}
	for more && a.next > 0 && len(a.queue) < cap(a.loaders) {
		if !a.startNext() {
			a.next = 0
		}
	}
	if j != nil && j.data == nil {
		a.recycle(j)
		return nil
	}
	return j
}

// first waits for the first chunk of the queue and removes it.
func (a *recoverAhead) first() *recoverJob {
	j := a.queue[0]
	a.queue = a.queue[:copy(a.queue, a.queue[1:])]
	<-j.done
	return j
}

// recycle frees the memory of j for another chunk.
func (a *recoverAhead) recycle(j *recoverJob) { a.free = append(a.free, j) }

// close waits for all goroutines.
func (a *recoverAhead) close() {
	for len(a.queue) > 0 {
		a.recycle(a.first())
	}
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
	p := wire.ChunkPlace{
		Pos: a.next, Data: a.next + length + wire.MinRecordBytes, Stored: int64(binary.LittleEndian.Uint32(head[4+length:])),
		Size: int64(h.Size), Compression: wire.CompressionNamed(h.Compression), CRC: h.CRC, Checked: h.Has&wire.HasCRC32C != 0, Op: rosbag.OpChunk,
	}
	a.next = p.Data + p.Stored
	switch {
	case a.next > a.size:
		return false
	case h.Op == rosbag.OpIndexData:
		return true
	case h.Op != rosbag.OpChunk || p.Compression == rosbag.CompressionNone || p.Stored == 0 || max(p.Stored, p.Size) > a.limit:
		return false // an uncompressed chunk is not worth another goroutine
	}
	a.start(&p)
	return true
}

// start starts a job for the chunk at p.
func (a *recoverAhead) start(p *wire.ChunkPlace) {
	j := &recoverJob{done: make(chan struct{}, 1)}
	if last := len(a.free) - 1; last >= 0 {
		j, a.free = a.free[last], a.free[:last]
	}
	j.place = *p
	a.queue = append(a.queue, j)
	// owner: Recover; ends when the chunk is unpacked, and take or close waits for that.
	go func() {
		d := <-a.loaders
		j.load(a.r, d)
		a.loaders <- d
		j.done <- struct{}{}
	}()
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
