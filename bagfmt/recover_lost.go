package bagfmt

import "encoding/binary"

// search is the last search for a chunk. Where the walk is lost again before it comes
// to what was found, the same bytes are not searched again.
type search struct{ from, found int64 }

// nextChunk returns where the next chunk behind start is, or the end of the file.
func (v *recovery) nextChunk(start int64) (next int64, ok bool) {
	if x := &v.after; start < x.from || start >= x.found {
		x.from = start
		if x.found, ok = resync(v.r, start+1, v.size); !ok {
			x.found = v.size
		}
	}
	return v.after.found, v.after.found < v.size
}

// nextBare returns where the next record of an uncompressed chunk is between start and
// end, where the next chunk or the end of the file is. If the bag has checksums it looks
// for none: what it found could not be checked.
func (v *recovery) nextBare(start, end int64, chunk bool) (next int64, ok bool) {
	if v.space.ended || v.space.checked || chunk && v.checkedChunk(end) {
		return 0, false
	}
	next, ok = resyncBare(v.r, start+1, end, v.size, func(id ConnID) bool { return v.space.get(id) != nil })
	if !ok {
		return 0, false
	}
	if promised, known := v.space.meet(start); known { // the header of a chunk is lost
		v.space.begin(v)
		v.space.expected = promised
	}
	v.space.open = true
	return next, true
}

// checkedChunk reports whether the chunk at off has a checksum.
func (v *recovery) checkedChunk(off int64) bool {
	var buf [firstHeadBytes]byte
	n, _ := v.r.ReadAt(buf[:min(firstHeadBytes, v.size-off)], off) // as much as there is
	if n < 4 {
		return false
	}
	length := int64(binary.LittleEndian.Uint32(buf[:]))
	var h recordHeader
	return length <= int64(n-4) && h.parse(buf[4:4+length]) == nil && h.has&hasCRC32C != 0
}
