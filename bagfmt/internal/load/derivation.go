package load

import (
	"errors"
	"io"

	"github.com/gorosbag/gorosbag/bagfmt/internal/codec"
	"github.com/gorosbag/gorosbag/bagfmt/internal/old"
	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// derivation makes index entries from the data of a segment.
type derivation struct {
	bag     *table.Table
	keep    []bool
	q       rosbag.Query
	records bool // entries shall point at records, not at frames

	list    []Entry // sorted by time and place
	found   uint64  // messages of kept connections, at any time
	stopped error   // of table.Options.Interrupted
}

// run adds the messages in data, as far as it can be read. whole reports whether all of it could be read.
func (d *derivation) run(kind table.Kind, data []byte) (whole bool) {
	switch {
	case d.bag.MCAP != nil:
		whole = d.mcap(d.bag.MCAP, data)
	case kind == table.KindOld:
		whole = d.old(d.bag.Old, data)
	default:
		whole = d.chunk(data)
	}
	if d.stopped != nil {
		return false
	}
	sortEntries(d.list)
	return whole
}

// chunk adds the messages of a chunk of a bag of version 2.0. whole is as in run.
func (d *derivation) chunk(data []byte) (whole bool) {
	w := wire.ChunkWalk{Data: data}
	pause := codec.Pause{Interrupted: d.bag.Options.Interrupted}
	for whole = true; ; {
		at := w.At
		if d.stopped = pause.Reached(at); d.stopped != nil {
			return false
		}
		h, frame, err := w.Next()
		if errors.Is(err, io.EOF) {
			return whole
		}
		if err != nil {
			whole = false
			continue
		}
		if h.Op != rosbag.OpMessage {
			continue
		}
		conn, ok := d.bag.ByID[h.Conn]
		if !ok {
			whole = false
			continue
		}
		d.add(conn, h.Time, at, w.At-len(frame))
	}
}

// add notes one message.
func (d *derivation) add(conn int32, t rosbag.Time, record, frame int) {
	if !d.keep[conn] {
		return
	}
	d.found++
	if !covers(&d.q, TimeKey(t)) {
		return
	}
	if d.records {
		frame = record
	}
	d.list = append(d.list, Entry{TimeKey(t), uint32(frame), conn})
}

// old goes over the messages of a segment.
func (d *derivation) old(f *old.Format, data []byte) (whole bool) {
	var rec old.Record
	var key []byte
	for at := 0; at < len(data); {
		head, err := f.Cut(data[at:], &rec)
		if err != nil && !rec.Framed || rec.Length > int64(len(data)-at-head) {
			return false
		}
		end := at + head + int(rec.Length)
		if err == nil && rec.Op == rosbag.OpMessage {
			var conn int32
			var ok bool
			if conn, key, ok = f.Find(&rec, key); ok {
				d.add(conn, rec.Time, at, at+head-4)
			}
		}
		at = end
	}
	return true
}
