package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/gorosbag/gorosbag/bagfmt/internal/codec"
	"github.com/gorosbag/gorosbag/bagfmt/internal/mcap"
	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// mcapPlace reads the head of the chunk record of segment i.
func (l *Loader) mcapPlace(bag *table.Table, i int) (wire.ChunkPlace, error) {
	c := &bag.Chunks[i]
	p := wire.ChunkPlace{Pos: c.Pos, Op: rosbag.OpChunk, MCAP: true}
	n := int(min(c.Bytes, mcap.HeadBytes+mcap.MaxChunkHeadBytes, bag.Size-c.Pos))
	if cap(l.head) < n {
		l.head = make([]byte, mcap.HeadBytes+mcap.MaxChunkHeadBytes)
	}
	l.head = l.head[:n]
	if err := readAt(l.from, l.head, c.Pos, p); err != nil {
		return p, err
	}
	if op, length := mcap.ParseHead(l.head); op != mcap.OpChunk || length != uint64(c.Bytes-mcap.HeadBytes) {
		return p, wire.Corrupt(c.Pos, rosbag.OpChunk,
			"record of kind %#02x with %d bytes, where the index has a chunk of %d bytes",
			byte(op), length, c.Bytes-mcap.HeadBytes)
	}
	if err := mcap.ParseChunkHead(l.head[mcap.HeadBytes:], c.Bytes-mcap.HeadBytes, &p); err != nil {
		return p, wire.Corrupt(c.Pos, rosbag.OpChunk, "%v", err)
	}
	return p, nil
}

// checkMCAP compares the data of a chunk of MCAP with its checksum.
func checkMCAP(p *wire.ChunkPlace, data []byte) error {
	if !p.MCAP || !p.Checked {
		return nil
	}
	if crc := crc32.ChecksumIEEE(data); crc != p.CRC {
		return wire.Corrupt(p.Pos, rosbag.OpChunk, "crc32 of its data is %08x, its record says %08x", crc,
			p.CRC)
	}
	return nil
}

// mcapIndex reads the message index records of chunk i. l.s is at their start.
func (l *Loader) mcapIndex(bag *table.Table, i int, keep []bool, dst []Entry) ([]Entry, error) {
	l.merger.begin()
	missing := len(bag.Chunks[i].Counts)
	for end := bag.ExtentEnd(i); l.s.Off < end; {
		start := l.s.Off
		b, err := mcap.ReadSmall(l.s, mcap.OpMessageIndex)
		if err != nil {
			return dst, err
		}
		channel, entries, err := mcap.ParseMessageIndex(b)
		if err != nil {
			return dst, wire.Corrupt(start, rosbag.OpIndexData, "%v", err)
		}
		conn, known := bag.ByID[rosbag.ConnID(channel)]
		switch n := uint64(len(entries) / mcap.IndexEntryBytes); {
		case !known && bag.MCAP.Channels.Foreign(channel):
			continue
		case !known:
			return dst, wire.Corrupt(start, rosbag.OpIndexData, "index of unknown channel %d", channel)
		case l.expect[conn] == 0 && n == 0:
			continue
		case l.expect[conn] == 0:
			return dst, wire.Corrupt(start, rosbag.OpIndexData, "channel %d again, or not in the chunk index",
				channel)
		case l.expect[conn] != n+1:
			return dst, wire.Corrupt(start, rosbag.OpIndexData,
				"%d messages of channel %d, the chunk index says %d", n, channel, l.expect[conn]-1)
		}
		l.expect[conn] = 0
		missing--
		if !keep[conn] {
			continue
		}
		l.merger.startRun(len(dst))
		for ; len(entries) > 0; entries = entries[mcap.IndexEntryBytes:] {
			t, ok := mcap.TimeOf(binary.LittleEndian.Uint64(entries))
			offset := binary.LittleEndian.Uint64(entries[8:])
			if !ok || offset > math.MaxInt32 {
				return dst, wire.Corrupt(start, rosbag.OpIndexData,
					"entry of a message of channel %d at time %s and offset %d", channel, t, offset)
			}
			dst = append(dst, Entry{TimeKey(t), uint32(offset), conn})
		}
	}
	if missing > 0 {
		return dst, wire.Corrupt(bag.Chunks[i].Pos, rosbag.OpChunk,
			"message indexes of %d channels are missing", missing)
	}
	l.merger.sort(dst)
	return dst, nil
}

// makeFrames is resolve for MCAP, and makes the frames that the entries point at then. It changes no
// data before all entries were found good. over is as in remakeFrames.
func makeFrames(bag *table.Table, entries []Entry, data []byte, over *[]uint32) error {
	for i := range entries {
		e := &entries[i]
		m, err := mcap.MessageAt(data, int64(e.Offset))
		if err != nil {
			return fmt.Errorf("record at %d: %w", e.Offset, err)
		}
		if t, ok := mcap.TimeOf(m.LogTime); !ok || t != e.Time() {
			return fmt.Errorf("message at %d is of time %s, its index entry of %s", e.Offset, t, e.Time())
		}
		if id := bag.Conns[e.Conn].ID; rosbag.ConnID(m.Channel) != id {
			return fmt.Errorf("message at %d is of channel %d, its index entry of %d", e.Offset, m.Channel, id)
		}
		e.Offset = uint32(m.Frame)
	}
	remakeFrames(bag, entries, data, over)
	for i := range entries {
		if !mcap.IsFrame(data, entries[i].Offset) {
			return errSharedRecords
		}
	}
	return nil
}

// remakeFrames makes the frames that the entries of a chunk of MCAP point at, if they are there: in a
// chunk that was loaded again others may be. It appends what each frame overwrites to over, unless that is
// nil.
func remakeFrames(bag *table.Table, entries []Entry, data []byte, over *[]uint32) {
	if bag.MCAP == nil {
		return
	}
	for i := range entries {
		was, _ := mcap.MakeFrame(data, entries[i].Offset)
		if over != nil {
			*over = append(*over, was)
		}
	}
}

// mcap goes over records of MCAP.
func (d *derivation) mcap(f *mcap.File, data []byte) (whole bool) {
	w := mcap.Walk{Data: data}
	pause := codec.Pause{Interrupted: d.bag.Options.Interrupted}
	for whole = true; ; {
		at := w.At
		if d.stopped = pause.Reached(at); d.stopped != nil {
			return false
		}
		op, _, err := w.Next()
		if errors.Is(err, io.EOF) {
			return whole
		}
		if err != nil {
			return false
		}
		if op != mcap.OpMessage {
			continue
		}
		m, err := mcap.MessageAt(data, int64(at))
		t, ok := mcap.TimeOf(m.LogTime)
		if err != nil || !ok {
			whole = false
			continue
		}
		conn, known := d.bag.ByID[rosbag.ConnID(m.Channel)]
		if !known {
			whole = whole && f.Channels.Foreign(m.Channel)
			continue
		}
		d.add(conn, t, at, m.Frame)
	}
}
