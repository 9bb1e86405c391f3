package bagfmt

import (
	"bytes"
	"io"
	"slices"
)

// emit writes the chunk as it is stored if that is possible, else its messages.
func (v *recovery) emit(h *heldChunk, promised uint64) error {
	if v.repeats(h) {
		v.report.Repeated++
		if v.doubt > 0 && !v.report.Skipped[v.doubt-1].Trailing {
			v.report.Skipped[v.doubt-1].Trailing = true
			v.report.losses--
		}
		return nil
	}
	slices.Sort(h.offsets)
	x := &v.build
	x.read(v, h)
	if x.orphans > 0 && !h.deferred && len(v.late) < maxLate && h.wrong == nil {
		v.late = append(v.late, lateChunk{h.place, h.space, promised})
		return nil
	}
	v.report.Chunks++
	kept := uint64(len(x.entries))
	if h.wrong != nil || x.wrong != nil {
		err := h.wrong
		if err == nil {
			err = x.wrong
		}
		v.skipCounted(h.place.pos+x.lostAt(h), x.lostBytes(h), max(promised, kept+x.orphans)-kept, err)
	} else if promised > kept || x.orphans > 0 {
		v.skipCounted(h.place.pos, 0, max(promised, kept+x.orphans)-kept, x.why(h, promised))
	}
	if kept == 0 {
		return nil
	}
	if x.same && !h.odd && x.wrong == nil && x.orphans == 0 && len(h.stored) > 0 && x.present(v) {
		return v.copyChunk(h)
	}
	for _, e := range x.entries {
		if err := v.writeMessage(x.slots[e.slot].out, e.time, h.data[e.frame+4:e.end]); err != nil {
			return err
		}
	}
	return nil
}

// repeats reports whether the walk met the same chunk before, and is where that can
// be: behind the end of a bag, or where it was lost.
func (v *recovery) repeats(h *heldChunk) bool {
	if len(h.stored) == 0 || h.deferred {
		return false
	}
	key := chunkKey{h.crc, len(h.stored)}
	at, ok := v.seen[key]
	if !ok {
		if len(v.seen) < maxSeen {
			v.seen[key] = h.place.data
		}
		return false
	}
	if !v.seam {
		return false
	}
	old := io.NewSectionReader(v.r, at, int64(len(h.stored)))
	var buf [4096]byte
	for rest := h.stored; len(rest) > 0; {
		n, err := io.ReadFull(old, buf[:min(len(buf), len(rest))])
		if err != nil || !bytes.Equal(buf[:n], rest[:n]) {
			return false
		}
		rest = rest[n:]
	}
	return true
}

// copyChunk writes the chunk as it is stored, with a new header and index.
func (v *recovery) copyChunk(h *heldChunk) error {
	x := &v.build
	n := chunkHeadroom + len(h.stored)
	head := v.buf[chunkHeadroom-chunkHeaderBytes(h.place.compression) : chunkHeadroom : chunkHeadroom]
	appendChunkHeader(head[:0], h.place.compression, h.crc, len(h.data), len(h.stored))
	c := &SealedChunk{
		Compression: h.place.compression, UncompressedBytes: int64(len(h.data)), StoredBytes: int64(len(h.stored)),
		Start: x.start, End: x.end,
	}
	v.buf, c.Counts = x.append(v.buf[:n])
	c.Record = v.buf[chunkHeadroom-len(head):]
	if err := v.w.WriteChunk(c); err != nil {
		return writeError{err}
	}
	for i := range x.slots {
		if s := &x.slots[i]; s.record || s.count > 0 {
			v.present[s.out.ID] = struct{}{}
		}
	}
	for _, n := range c.Counts {
		v.keep(n.Conn, n.Count)
	}
	v.report.Copied++
	return nil
}

// writeMessage packs a message again.
func (v *recovery) writeMessage(c *Connection, t Time, data []byte) error {
	if err := v.w.WriteMessage(c, t, data); err != nil {
		return writeError{err}
	}
	v.present[c.ID] = struct{}{}
	v.keep(c, 1)
	return nil
}

func (v *recovery) keep(c *Connection, count uint32) {
	v.kept[c.ID] = struct{}{}
	v.report.Messages += uint64(count)
}

// retryLate reads the chunks again whose connections were not known when the walk
// came to them.
func (v *recovery) retryLate() error {
	for _, l := range v.late {
		p := l.place
		v.seek(p.data)
		if err := v.readStored(&p); err != nil {
			v.skipCounted(p.pos, p.data+p.stored-p.pos, l.indexed, err)
			continue
		}
		data, certain, err := v.judge(&p)
		v.space = l.space
		v.hold(p, data, certain)
		v.held.wrong, v.held.deferred, v.held.indexed = err, true, l.indexed
		if err != nil {
			v.held.data = nil
		}
		if err := v.release(); err != nil {
			return err
		}
	}
	return nil
}
