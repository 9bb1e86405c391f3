package load

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sort"

	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Entry is one entry of a chunk's index.
type Entry struct {
	Key uint64 // TimeKey of the time
	// Offset in the chunk data: of the message record as long as only index data is
	// known, of the frame in it once the data was loaded and checked.
	Offset uint32
	Conn   int32 // index in Table.Conns
}

// TimeKey returns a time as a number that sorts.
func TimeKey(t rosbag.Time) uint64 { return uint64(t.Sec)<<32 | uint64(t.Nsec) }

// Time returns the time of the message.
func (e Entry) Time() rosbag.Time {
	return rosbag.Time{Sec: uint32(e.Key >> 32), Nsec: uint32(e.Key)}
}

func sortEntries(list []Entry) {
	slices.SortFunc(list, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Offset, b.Offset))
	})
}

// LastAt returns the number of the last entry with a time of at most t, or -1.
func LastAt(list []Entry, t rosbag.Time) int {
	return sort.Search(len(list), func(i int) bool { return list[i].Key > TimeKey(t) }) - 1
}

// Entries reads the index of chunk i, for the connections in keep, sorted by time
// and place, into dst.
func (l *Loader) Entries(bag *table.Table, i int, keep []bool, dst []Entry) ([]Entry, error) {
	dst = dst[:0]
	p, err := l.Place(bag, i)
	if err != nil {
		return dst, err
	}
	at, end := p.Data+p.Stored, bag.ExtentEnd(i)
	if bag.MCAP != nil { // a chunk record may have bytes after its data
		at = bag.Chunks[i].Pos + bag.Chunks[i].Bytes
	}
	l.section = *io.NewSectionReader(l.from, at, max(end-at, 0))
	section := &l.section
	switch {
	case l.s == nil && l.once:
		l.s = wire.NewStream(section, at,
			int(min(max(section.Size(), wire.SmallBufferBytes), wire.StreamBufferBytes)))
	case l.s == nil:
		l.s = wire.NewStream(section, at, wire.StreamBufferBytes)
	default:
		l.s.Reset(section, at)
	}
	l.expectCounts(bag, i)
	if bag.MCAP != nil {
		return l.mcapIndex(bag, i, keep, dst)
	}
	l.merger.begin()
	for n := 0; n < len(bag.Chunks[i].Counts); {
		start := l.s.Off
		var h wire.RecordHeader
		switch err := l.s.Next(&h); {
		case errors.Is(err, io.EOF):
			return dst, wire.Corrupt(p.Pos, rosbag.OpChunk, "%d of %d index data records follow", n,
				len(bag.Chunks[i].Counts))
		case err != nil:
			return dst, err
		}
		if h.Op != rosbag.OpIndexData {
			size, err := l.s.Length(start, h.Op)
			if err == nil {
				err = l.s.Skip(size, start, h.Op)
			}
			if err != nil {
				return dst, err
			}
			continue
		}
		n++
		if dst, err = l.indexData(bag, &h, start, keep, dst); err != nil {
			return dst, err
		}
	}
	l.merger.sort(dst)
	return dst, nil
}

// expectCounts sets expect for chunk i.
func (l *Loader) expectCounts(bag *table.Table, i int) {
	if l.expect == nil {
		l.expect = make([]uint64, len(bag.Conns))
	}
	// an error leaves some; all would take too long in a bag of many
	for _, n := range bag.Chunks[l.expectOf].Counts {
		l.expect[bag.ByID[n.Conn.ID]] = 0
	}
	l.expectOf = i
	for _, n := range bag.Chunks[i].Counts {
		l.expect[bag.ByID[n.Conn.ID]] = uint64(n.Count) + 1
	}
}

// indexData adds the entries of one index data record to dst.
func (l *Loader) indexData(bag *table.Table, h *wire.RecordHeader, start int64, keep []bool,
	dst []Entry,
) ([]Entry, error) {
	if h.Ver != wire.IndexVersion {
		return dst, wire.Corrupt(start, rosbag.OpIndexData, "version %d, want %d", h.Ver, wire.IndexVersion)
	}
	conn, known := bag.ByID[h.Conn]
	if !known {
		return dst, wire.Corrupt(start, rosbag.OpIndexData, "index of unknown connection %d", h.Conn)
	}
	switch promised := l.expect[conn]; promised {
	case 0: // what was in its place is missing
		return dst, wire.Corrupt(start, rosbag.OpIndexData, "connection %d again, or not in the chunk info",
			h.Conn)
	case uint64(h.Count) + 1:
		l.expect[conn] = 0
	default:
		return dst, wire.Corrupt(start, rosbag.OpIndexData,
			"%d messages of connection %d, the chunk info says %d", h.Count, h.Conn, promised-1)
	}
	if _, err := l.s.IndexData(h, start, keep[conn]); err != nil || !keep[conn] {
		return dst, err
	}
	b := l.s.Data
	l.merger.startRun(len(dst))
	dst = slices.Grow(dst, len(b)/wire.IndexEntryBytes)
	for ; len(b) >= wire.IndexEntryBytes; b = b[wire.IndexEntryBytes:] {
		dst = append(dst, Entry{TimeKey(wire.GetTime(b)), binary.LittleEndian.Uint32(b[8:]), conn})
	}
	return dst, nil
}
