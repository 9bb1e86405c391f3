package bagfmt

import (
	"encoding/binary"
	"hash/crc32"
	"io"
)

const (
	recoverAheadBytes = 64 << 20 // chunks, stored and unpacked, that Recover holds at most before it comes to them
	maxRecoverAhead   = 16       // chunks of them
)

// recoverAhead unpacks chunks before Recover comes to them. It finds them by the
// headers of records, as long as one follows the other. It delivers chunks without any
// fault only: all others Recover reads itself, and judges them as without. So the result
// stays the same.
type recoverAhead struct {
	r       io.ReaderAt
	size    int64
	limit   int64              // bytes of a chunk, stored or unpacked; larger ones are left to Recover
	loaders chan *decompressor // the idle ones
	queue   []*recoverJob      // started and not yet taken, in file order
	free    []*recoverJob
	next    int64 // the record to look at; 0: what is there makes no sense, or is no compressed chunk
	head    [firstHeadBytes]byte
	header  recordHeader
}

// recoverJob is a chunk with the memory that it needs.
type recoverJob struct {
	place chunkPlace
	buf   []byte // headroom, then its data as stored
	crc   uint32
	plain []byte        // memory for its data
	data  []byte        // unpacked; nil if it is not without fault
	done  chan struct{} // gets one token
}

func newRecoverAhead(r io.ReaderAt, size int64, workers int) *recoverAhead {
	n := min(workers, maxRecoverAhead)
	a := &recoverAhead{r: r, size: size, limit: recoverAheadBytes / 2 / int64(n), loaders: make(chan *decompressor, n)}
	for range n {
		a.loaders <- new(decompressor)
	}
	return a
}

// take returns the chunk at p if it was unpacked ahead and is without fault. It starts
// with those behind it if more is set.
func (a *recoverAhead) take(p *chunkPlace, more bool) *recoverJob {
	var j *recoverJob
	if len(a.queue) > 0 && a.queue[0].place == *p {
		j = a.first()
	} else {
		a.close() // the walk is somewhere else
	}
	if len(a.queue) == 0 {
		a.next = p.data + p.stored
	}
	for more && a.next > 0 && len(a.queue) < cap(a.loaders) {
		if !a.look() {
			a.next = 0
		}
	}
	if j != nil && j.data == nil {
		a.recycle(j)
		return nil
	}
	return j
}

// first waits for the first chunk of the queue and takes it out.
func (a *recoverAhead) first() *recoverJob {
	j := a.queue[0]
	a.queue = a.queue[:copy(a.queue, a.queue[1:])]
	<-j.done
	return j
}

// recycle makes the memory of j free for another chunk.
func (a *recoverAhead) recycle(j *recoverJob) { a.free = append(a.free, j) }

// close waits for all goroutines.
func (a *recoverAhead) close() {
	for len(a.queue) > 0 {
		a.recycle(a.first())
	}
}

// look passes over index data, or starts with a compressed chunk. It reports false if
// the next record is something else.
func (a *recoverAhead) look() bool {
	head := a.head[:min(firstHeadBytes, max(a.size-a.next, 0))]
	n, _ := a.r.ReadAt(head, a.next) // as much as there is
	if n < minRecordBytes {
		return false
	}
	h, length := &a.header, int64(binary.LittleEndian.Uint32(head))
	if length > int64(n)-minRecordBytes || h.parse(head[4:4+length]) != nil {
		return false
	}
	p := chunkPlace{
		pos: a.next, data: a.next + length + minRecordBytes, stored: int64(binary.LittleEndian.Uint32(head[4+length:])),
		size: int64(h.size), compression: compressionNamed(h.compression), crc: h.crc, checked: h.has&hasCRC32C != 0, op: OpChunk,
	}
	a.next = p.data + p.stored
	switch {
	case a.next > a.size:
		return false
	case h.op == OpIndexData:
		return true
	case h.op != OpChunk || p.compression == CompressionNone || p.stored == 0 || max(p.stored, p.size) > a.limit:
		return false // a chunk that is not packed is not worth another core
	}
	a.start(&p)
	return true
}

// start reads and unpacks the chunk at p.
func (a *recoverAhead) start(p *chunkPlace) {
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
func (j *recoverJob) load(r io.ReaderAt, d *decompressor) {
	n := chunkHeadroom + int(j.place.stored)
	if cap(j.buf) < n {
		j.buf = make([]byte, n+n/8+4096) // with room for the index
	}
	j.buf = j.buf[:n]
	stored := j.buf[chunkHeadroom:]
	if n, _ := r.ReadAt(stored, j.place.data); n < len(stored) { // Recover tells why
		j.data = nil
		return
	}
	j.crc = crc32.Checksum(stored, castagnoli)
	j.data = unpackSound(d, &j.place, stored, j.crc, &j.plain)
}
