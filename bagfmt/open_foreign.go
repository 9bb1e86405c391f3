package bagfmt

import "io"

// firstChunkPos is where the first chunk of a bag is.
const firstChunkPos = int64(len(versionLine)) + bagHeaderBytes + minRecordBytes

// startsBag reports whether the chunk at offset at is the first one of a bag of its own.
func (x *bagScan) startsBag(at int64) bool {
	var b [len(versionLine)]byte
	if at <= firstChunkPos {
		return false
	}
	n, _ := x.r.r.ReadAt(b[:], at-firstChunkPos) // without it the chunk is looked at as any other
	return string(b[:n]) == versionLine
}

// contradicts reports whether a connection record that could not be added tells that
// what follows is of another bag: then its messages have nothing to do with the
// connections that are known.
func (x *bagScan) contradicts(h *recordHeader, data []byte) bool {
	if !x.wary || x.table.get(h.conn) == nil {
		return false
	}
	_, err := parseConnection(h, data)
	return err == nil
}

// notingReader remembers why it could not be read.
type notingReader struct {
	io.ReaderAt
	err error
}

// ReadAt implements io.ReaderAt.
func (r *notingReader) ReadAt(b []byte, off int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(b, off)
	if err != nil && !isEnd(err) && r.err == nil {
		r.err = readError(off, err)
	}
	return n, err
}
