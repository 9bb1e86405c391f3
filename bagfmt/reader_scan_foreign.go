package bagfmt

import "io"

// firstChunkPos is the offset of the first chunk of a bag.
const firstChunkPos = int64(len(versionLine)) + bagHeaderBytes + minRecordBytes

// startsBag reports whether the chunk at offset at is the first one of a bag of its own.
func (x *bagScan) startsBag(at int64) bool {
	var b [len(versionLine)]byte
	if at <= firstChunkPos {
		return false
	}
	n, _ := x.r.r.ReadAt(b[:], at-firstChunkPos) // after an error the chunk is handled like any other
	return string(b[:n]) == versionLine
}

// contradicts reports whether a connection record that could not be added means that the
// records that follow belong to another bag. Their connection ids then have other meanings.
func (x *bagScan) contradicts(h *recordHeader, data []byte) bool {
	if !x.resynced || x.table.get(h.conn) == nil {
		return false
	}
	_, err := parseConnection(h, data)
	return err == nil
}

// errorKeeper is a ReaderAt that keeps its first read error.
type errorKeeper struct {
	io.ReaderAt
	err error
}

// ReadAt implements io.ReaderAt.
func (r *errorKeeper) ReadAt(b []byte, off int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(b, off)
	if err != nil && !isEnd(err) && r.err == nil {
		r.err = readError(off, err)
	}
	return n, err
}
