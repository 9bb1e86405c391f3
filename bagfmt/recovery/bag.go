package recovery

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt/internal/identity"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// inputBag is the state of the bag that Recover is reading. A file may contain several
// bags, one after the other.
type inputBag struct {
	conns  inputConns
	counts expectedCounts

	index        int64 // where the index section begins, according to the bag header; 0 if it does not say
	unterminated bool  // the last chunk has no known end: its records are read one by one
	inIndex      bool  // the index section has started
	checksums    bool  // a chunk had a crc32c field; its writer then gives one to all chunks
	chunkInfos   int   // chunk info records read
}

func newInputBag(out *recoverOutput) *inputBag {
	return &inputBag{
		conns:  inputConns{out: out, byID: make(map[rosbag.ConnID]inputConn)},
		counts: expectedCounts{report: out.report},
	}
}

// beginChunk prepares for the next chunk.
func (b *inputBag) beginChunk() {
	b.counts.endChunk()
	b.unterminated, b.inIndex = false, false
}

// readIndex reads the index section that h, the bag header of the bag at base, points at,
// as far as possible: connections whose records chunks may lack, and the number of
// messages that each chunk should contain. The walk does not rely on it.
func (b *inputBag) readIndex(in *recoverInput, base int64, h *wire.RecordHeader) {
	report := b.counts.report
	at := base + int64(min(h.IndexPos, uint64(in.size)))
	if h.IndexPos == 0 || base < 0 {
		report.repair(&rosbag.CorruptError{
			Offset: base + int64(len(wire.VersionLine)),
			Op:     rosbag.OpBagHeader, Reason: "no index section", Err: rosbag.ErrUnindexed,
		})
		return
	}
	b.index = at
	wrong := wire.Corrupt(base+int64(len(wire.VersionLine)), rosbag.OpBagHeader,
		"no index section at %d, where it says", h.IndexPos)
	if at >= in.size || !in.recordAt(at) {
		if h.IndexPos != uint64(in.size-base) || h.ChunkCount > 0 || h.ConnCount > 0 {
			report.repair(wrong)
		}
		return
	}
	section := wire.NewStream(in.section(at), at, wire.StreamBufferBytes)
	for n := 0; ; n++ {
		start := section.Off
		var h wire.RecordHeader
		if section.Next(&h) != nil || h.Op != rosbag.OpConnection && h.Op != rosbag.OpChunkInfo {
			if n == 0 {
				report.repair(wrong)
			}
			return
		}
		size, err := section.Length(start, h.Op)
		if err != nil || size > in.size-section.Off || h.Op == rosbag.OpConnection &&
			size > wire.MaxConnectionBytes {
			return
		}
		data, err := section.Grab(size, start, h.Op)
		switch {
		case err != nil:
			return
		case h.Op == rosbag.OpConnection:
			old, ok := b.conns.byID[h.Conn]
			if c := b.conns.add(&h, data, start); ok && old.digest != c.digest && old.out != nil &&
				c.out != nil {
				b.conns.doubt(h.Conn, old.out, c.out, start)
			}
		case int64(h.Count)*wire.CountEntryBytes == size && h.ChunkPos < uint64(in.size):
			b.counts.addChunkInfo(base+int64(h.ChunkPos), data)
		}
	}
}

// inputConns maps the connection ids of a bag of the input to connections of the output.
type inputConns struct {
	out    *recoverOutput
	byID   map[rosbag.ConnID]inputConn
	doubts map[rosbag.ConnID]error // ids that two definitions before their messages claim
}

// inputConn is what a connection id of the input means.
type inputConn struct {
	digest identity.Digest
	out    *rosbag.Connection // in the output; nil if it cannot be there
	alone  bool               // defined outside of chunks, and no message outside of chunks has followed
	edited bool               // by Options.Edit
}

// get returns the connection of the output for id, nil if id is unknown.
func (t *inputConns) get(id rosbag.ConnID) *rosbag.Connection { return t.byID[id].out }

// doubt notes that the messages of an id may be of either of two connections: both definitions, the
// second one at offset at, come before them.
func (t *inputConns) doubt(id rosbag.ConnID, first, second *rosbag.Connection, at int64) {
	if first.Topic == second.Topic && first.Header.MD5Sum() == second.Header.MD5Sum() {
		return
	}
	if t.doubts == nil {
		t.doubts = make(map[rosbag.ConnID]error)
	}
	t.doubts[id] = wire.Corrupt(at, rosbag.OpConnection,
		"id %d is both %.80s (%.80s) and %.80s (%.80s); its messages may be of either, and are kept as those of the last",
		id, first.Topic, first.Header.Type(), second.Topic, second.Header.Type())
}

// addAlone adds the connection of a record at offset at that is in no chunk.
func (t *inputConns) addAlone(h *wire.RecordHeader, data []byte, at int64) {
	old := t.byID[h.Conn]
	c := t.add(h, data, at)
	if old.alone && old.digest != c.digest && old.out != nil && c.out != nil {
		t.doubt(h.Conn, old.out, c.out, at)
	}
	if c.out != nil {
		c.alone = true
		t.byID[h.Conn] = c
	}
}

// message notes a message of an id outside of chunks.
func (t *inputConns) message(id rosbag.ConnID) {
	t.settle(id)
	if c := t.byID[id]; c.alone {
		c.alone = false
		t.byID[id] = c
	}
}

// settle reports the doubt about an id that has messages, once.
func (t *inputConns) settle(id rosbag.ConnID) {
	if len(t.doubts) == 0 || t.doubts[id] == nil {
		return
	}
	bad := wire.AsCorrupt(t.doubts[id])
	delete(t.doubts, id)
	t.out.report.skip(bad.Offset, 0, 0, bad)
}

// add adds the connection in the record at offset at. If its id is in use for another
// connection, it means the new one from now on.
func (t *inputConns) add(h *wire.RecordHeader, data []byte, at int64) inputConn {
	report := t.out.report
	c, err := wire.ParseConnection(h, data)
	if err != nil {
		report.repair(wire.Corrupt(at, rosbag.OpConnection, "%v", err))
		return inputConn{}
	}
	d := identity.Of(c)
	delete(t.doubts, c.ID)
	old, ok := t.byID[c.ID]
	if ok && old.digest == d {
		return old
	}
	if ok {
		before := ""
		if old.out != nil {
			before = old.out.Topic
		}
		report.repair(wire.Corrupt(at, rosbag.OpConnection,
			"id %d is another connection before, of %.80q and %.80q", c.ID, before, c.Topic))
	}
	out, err := t.out.connection(c, d)
	if err != nil {
		report.repair(&rosbag.CorruptError{
			Offset: at, Op: rosbag.OpConnection,
			Reason: "connection cannot be kept", Err: err,
		})
	}
	t.byID[c.ID] = inputConn{digest: d, out: out, edited: t.out.edits.Has(out)}
	return t.byID[c.ID]
}

// expectedCounts holds the message counts of chunk infos and index data, and reports
// messages that they count but that were not kept as dropped.
type expectedCounts struct {
	report  *Report
	infos   []infoCount // ascending by position
	open    uint64      // count of the chunk info for the unterminated chunk
	indexed uint64      // counts of index data without a chunk, since the last chunk record
	kept    uint64      // messages kept outside chunks, since the last chunk record
}

// infoCount is the number of messages in a chunk, according to its chunk info.
type infoCount struct {
	pos      int64
	messages uint64
	taken    bool
}

// addChunkInfo adds the chunk info for the chunk at pos, whose data is counts.
func (e *expectedCounts) addChunkInfo(pos int64, counts []byte) {
	p := infoCount{pos: pos}
	for ; len(counts) >= wire.CountEntryBytes; counts = counts[wire.CountEntryBytes:] {
		p.messages += uint64(binary.LittleEndian.Uint32(counts[4:]))
	}
	if n := len(e.infos); n == 0 || e.infos[n-1].pos < pos {
		e.infos = append(e.infos, p)
	}
}

// find returns the index of the chunk info for the chunk at pos. There is one, for example, of a chunk
// that was added after the first index section.
func (e *expectedCounts) find(pos int64) (i int, ok bool) {
	return slices.BinarySearchFunc(e.infos, pos,
		func(p infoCount, pos int64) int { return cmp.Compare(p.pos, pos) })
}

// take returns the count of the chunk info for the chunk at pos. A second call for the same
// chunk returns nothing.
func (e *expectedCounts) take(pos int64) (messages uint64, ok bool) {
	i, ok := e.find(pos)
	if !ok || e.infos[i].taken {
		return 0, false
	}
	e.infos[i].taken = true
	return e.infos[i].messages, true
}

// endChunk reports the missing messages of an unterminated chunk, or of index data whose
// chunk was not found.
func (e *expectedCounts) endChunk() {
	want := cmp.Or(e.indexed, e.open)
	e.report.Dropped += max(want, e.kept) - e.kept
	e.indexed, e.open, e.kept = 0, 0, 0
}

// close reports the messages of the chunks that were not found.
func (e *expectedCounts) close() {
	e.endChunk()
	for _, p := range e.infos {
		if !p.taken {
			e.report.Dropped += p.messages
		}
	}
	e.infos = nil
}
