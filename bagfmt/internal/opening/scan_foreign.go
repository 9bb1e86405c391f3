package opening

import (
	"io"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
)

// firstChunkPos is the offset of the first chunk of a bag.
const firstChunkPos = int64(len(wire.VersionLine)) + wire.BagHeaderBytes + wire.MinRecordBytes

// startsBag reports whether the chunk at offset at is the first one of a bag of its own.
func (x *bagScan) startsBag(at int64) bool {
	var b [len(wire.VersionLine)]byte
	if at <= firstChunkPos {
		return false
	}
	n, _ := x.bag.File.ReadAt(b[:], at-firstChunkPos) // after an error the chunk is handled like any other
	return string(b[:n]) == wire.VersionLine
}

// contradicts reports whether a connection record that could not be added means that the
// records that follow belong to another bag. Their connection ids then have other meanings.
func (x *bagScan) contradicts(h *wire.RecordHeader, data []byte) bool {
	if !x.resynced || x.table.Get(h.Conn) == nil {
		return false
	}
	_, err := wire.ParseConnection(h, data)
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
	if err != nil && !wire.IsEnd(err) && r.err == nil {
		r.err = wire.ReadError(off, err)
	}
	return n, err
}
