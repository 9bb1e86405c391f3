package bagfmt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// placeholder handles a chunk whose length was never filled in: stock's recorder was
// killed while it was open.
func (v *recovery) placeholder(p chunkPlace) error {
	v.repair(corrupt(p.pos, OpChunk, "was not completed"))
	if p.compression == CompressionNone || v.recordAt(p.data) {
		v.space.open = true // its records follow, one by one
		return nil
	}
	return v.unbounded(p, corrupt(p.pos, OpChunk, "was not completed"))
}

// unbounded handles a chunk that does not end where its header says, as wrong tells,
// or at all.
func (v *recovery) unbounded(p chunkPlace, wrong error) error {
	if _, err := ParseCompression(string(p.compression)); err != nil {
		var magic [4]byte
		n, _ := v.r.ReadAt(magic[:], p.data) // what cannot be read is not lz4
		p.compression = guessCompression(magic[:n])
	}
	if p.compression == CompressionNone {
		return v.unboundedNone(p, wrong)
	}
	most := max(min(p.size, v.o.MaxChunkBytes), p.stored)
	if p.size == 0 {
		most = v.o.MaxChunkBytes
	}
	most = min(most+most/32+streamBufferBytes, v.size-p.data)
	if v.budget -= most; v.budget < 0 {
		return v.lost(p.pos, wrong)
	}
	for end, tries := p.data, 0; tries < endsToTry; tries++ {
		var ok bool
		if end, ok = findIndexData(v.r, end, p.data+most); !ok {
			break
		}
		q := p
		q.stored = end - p.data
		v.seek(p.data)
		if v.readStored(&q) == nil {
			if data, _, err := v.judge(&q); err == nil {
				v.repair(wrong)
				v.hold(q, data, true)
				return nil
			}
		}
		end++
	}
	data, err := v.unpackAll(p.compression, io.NewSectionReader(v.r, p.data, v.size-p.data), 0, v.unpackLimit(&p))
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) || len(data) == 0 {
		return v.lost(p.pos, wrong) // damaged before the end of the file: nothing of it is certain
	}
	v.held = heldChunk{offsets: v.held.offsets[:0]}
	v.hold(p, data, false)
	v.held.end, v.held.wrong = v.size, wrong
	v.seek(v.size)
	return nil
}

// unboundedNone finds where the records of an uncompressed chunk end. If they are
// what its checksum says, or it has none, or the file ends first, the walk goes over
// them one by one.
func (v *recovery) unboundedNone(p chunkPlace, wrong error) error {
	end, cut, messages := v.extent(&p)
	promised, known := v.space.meet(p.pos)
	if end == p.data { // not even one record
		v.report.Dropped += promised
		return v.lost(p.pos, wrong)
	}
	if p.checked && !cut && !v.proven(&p, end) {
		if !known {
			promised = messages
		}
		v.skipCounted(p.pos, end-p.pos, promised, wrong)
		v.space.open, v.space.bare = true, promised // index data that follows counts them again
		v.seek(end)
		return nil
	}
	v.repair(wrong)
	v.report.Chunks++
	v.space.open, v.space.expected = true, promised
	v.seek(p.data)
	return nil
}

// extent goes over the records that a chunk can hold, from the start of its data to
// the first other one. cut says that the file ends in that one.
func (v *recovery) extent(p *chunkPlace) (end int64, cut bool, messages uint64) {
	v.seek(p.data)
	if b, _ := v.s.r.Peek(firstHeadBytes); len(b) == firstHeadBytes { // without moving, if there is no such record
		if ok, op := plausibleHead(b, p.data, v.size); ok && op >= OpBagHeader && op != OpConnection {
			return p.data, false, 0
		}
	}
	for {
		var h recordHeader
		start := v.s.off
		if err := v.s.next(&h); err != nil {
			return start, isEnd(err), messages
		}
		if h.op != OpMessage && h.op != OpConnection && h.op != opMessageDefinition {
			return start, false, messages
		}
		n, err := v.s.length(start, h.op)
		if err != nil || n > v.size-v.s.off {
			return start, err == nil || isEnd(err), messages
		}
		if v.s.skip(n, start, h.op) != nil {
			return start, false, messages
		}
		if h.op == OpMessage {
			messages++
		}
	}
}

// proven reports whether the checksum of a chunk is right if its data ends at end.
func (v *recovery) proven(p *chunkPlace, end int64) bool {
	sum := crc32.New(castagnoli)
	_, err := io.Copy(sum, io.NewSectionReader(v.r, p.data, end-p.data))
	return err == nil && sum.Sum32() == p.crc
}

// findIndexData returns the offset of the next plausible index data record.
func findIndexData(r io.ReaderAt, from, to int64) (int64, bool) {
	const field = "\x04\x00\x00\x00op=\x04"
	buf := make([]byte, min(resyncBlock+firstHeadBytes, max(to-from, 0)))
	for at := from; at < to; at += resyncBlock {
		n, _ := r.ReadAt(buf[:min(int64(len(buf)), to-at)], at) // what cannot be read is looked over
		b := buf[:n]
		for i := 0; ; i++ {
			step := bytes.Index(b[i:], []byte(field))
			if step < 0 {
				break
			}
			i += step
			for pos := i - 4; pos >= 0 && i-pos < 64; pos-- {
				length := int(binary.LittleEndian.Uint32(b[pos:]))
				var h recordHeader
				if length >= len(field) && length < 128 && pos+4+length <= len(b) &&
					h.parse(b[pos+4:pos+4+length]) == nil && h.op == OpIndexData && h.ver == indexVersion {
					return at + int64(pos), true
				}
			}
		}
	}
	return 0, false
}
