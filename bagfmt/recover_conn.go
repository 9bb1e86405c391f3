package bagfmt

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"slices"
)

// connDigest tells connections apart: topic and every field, in any order. Fields
// that writers add when they are missing do not count while they are empty.
type connDigest [sha256.Size]byte

func digest(c *Connection) connDigest {
	list := slices.Clone(c.Header)
	slices.SortStableFunc(list, func(a, b Field) int { return cmp.Compare(a.Key, b.Key) })
	h := sha256.New()
	add := func(s string) {
		_, _ = h.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) // a hash takes everything
		_, _ = io.WriteString(h, s)
	}
	add(c.Topic)
	for _, f := range list {
		if f.Value == "" && slices.Contains(stockKeys[:], f.Key) {
			continue
		}
		add(f.Key)
		add(f.Value)
	}
	return connDigest(h.Sum(nil))
}

// connSpace is what connection ids mean in one bag of the input, and what its index
// section promises. A file may hold several bags.
type connSpace struct {
	ids      map[ConnID]spaceConn
	promised []promise // by chunk info, ascending by position
	open     bool      // the last chunk has no end: its records follow one by one
	ended    bool      // the walk is in the index section
	checked  bool      // some chunk has a crc32c field, as its writer gives it to all
	section  int       // chunk infos met by the walk
	bare     uint64    // messages kept outside chunks since the last chunk record
	stray    uint64    // messages since then that index data counts which has no chunk
	expected uint64    // messages of the open chunk, as its chunk info says
}

type spaceConn struct {
	digest connDigest
	out    *Connection // in the result; nil if it cannot be there
}

// promise is the number of messages in a chunk, as its chunk info says.
type promise struct {
	pos      int64
	messages uint64
	met      bool
}

func (v *recovery) newSpace() *connSpace {
	return &connSpace{ids: make(map[ConnID]spaceConn)}
}

// get returns the connection of the result that id means, nil if it is unknown.
func (s *connSpace) get(id ConnID) *Connection { return s.ids[id].out }

// learn takes in a connection record at offset at. If its id means something else
// already, it means the new connection from now on.
func (s *connSpace) learn(v *recovery, h *recordHeader, data []byte, at int64) (known spaceConn) {
	c, err := parseConnection(h, data)
	if err != nil {
		v.repair(corrupt(at, OpConnection, "%v", err))
		return spaceConn{}
	}
	d := digest(c)
	old, ok := s.ids[c.ID]
	if ok && old.digest == d {
		return old
	}
	if ok {
		v.repair(corrupt(at, OpConnection, "id %d is another connection before, of %.80q and %.80q", c.ID, topicOf(old.out), c.Topic))
	}
	out, err := v.claim(c, d)
	if err != nil {
		v.repair(&CorruptError{Offset: at, Op: OpConnection, Reason: "connection cannot be kept", Err: err})
	}
	s.ids[c.ID] = spaceConn{d, out}
	return s.ids[c.ID]
}

func topicOf(c *Connection) string {
	if c == nil {
		return ""
	}
	return c.Topic
}

// claim returns the connection of the result for c: under its own id if that is
// free, else the same one under another id.
func (v *recovery) claim(c *Connection, d connDigest) (*Connection, error) {
	taken, ok := v.w.conns[c.ID]
	switch {
	case !ok:
		if err := v.w.learn(c); err != nil {
			return nil, err
		}
	case v.claimed[c.ID] == d:
		return taken, nil
	case v.same[d] != nil:
		return v.same[d], nil
	default:
		var err error
		if c, err = v.w.AddConnection(c.Topic, c.Header); err != nil {
			return nil, err
		}
	}
	v.claimed[c.ID] = d
	if v.same[d] == nil {
		v.same[d] = c
	}
	return c, nil
}

// readIndex reads the index section that the bag header of the bag at base points
// at, as far as it can be read: the connections that chunks may lack, and what the
// chunks should hold. The walk itself does not rely on it.
func (s *connSpace) readIndex(v *recovery, base int64, h *recordHeader) {
	at := base + int64(min(h.indexPos, uint64(v.size)))
	if h.indexPos == 0 || base < 0 {
		v.repair(&CorruptError{Offset: base + int64(len(versionLine)), Op: OpBagHeader, Reason: "no index section", Err: ErrUnindexed})
		return
	}
	wrong := corrupt(base+int64(len(versionLine)), OpBagHeader, "no index section at %d, where it says", h.indexPos)
	if at >= v.size || !v.recordAt(at) {
		if h.indexPos != uint64(v.size-base) || h.chunkCount > 0 || h.connCount > 0 {
			v.repair(wrong)
		}
		return
	}
	section := newStream(io.NewSectionReader(v.r, at, v.size-at), at, streamBufferBytes)
	for n := 0; ; n++ {
		start := section.off
		var h recordHeader
		if section.next(&h) != nil || h.op != OpConnection && h.op != OpChunkInfo {
			if n == 0 {
				v.repair(wrong)
			}
			return
		}
		size, err := section.length(start, h.op)
		if err != nil || size > v.size-section.off || h.op == OpConnection && size > maxConnectionBytes {
			return
		}
		data, err := section.grab(size, start, h.op)
		switch {
		case err != nil:
			return
		case h.op == OpConnection:
			s.learn(v, &h, data, start)
		case int64(h.count)*countEntryBytes == size && h.chunkPos < uint64(v.size):
			s.promise(base+int64(h.chunkPos), data)
		}
	}
}

// promise notes what a chunk info with these counts says of the chunk at pos.
func (s *connSpace) promise(pos int64, counts []byte) {
	p := promise{pos: pos}
	for ; len(counts) >= countEntryBytes; counts = counts[countEntryBytes:] {
		p.messages += uint64(binary.LittleEndian.Uint32(counts[4:]))
	}
	if n := len(s.promised); n == 0 || s.promised[n-1].pos < pos {
		s.promised = append(s.promised, p)
	}
}

// meet returns what the index section promises of the chunk at pos.
func (s *connSpace) meet(pos int64) (messages uint64, ok bool) {
	i, ok := slices.BinarySearchFunc(s.promised, pos, func(p promise, pos int64) int { return cmp.Compare(p.pos, pos) })
	if !ok || s.promised[i].met {
		return 0, false
	}
	s.promised[i].met = true
	return s.promised[i].messages, true
}

// begin starts a chunk.
func (s *connSpace) begin(v *recovery) {
	s.settle(v)
	s.open, s.ended = false, false
}

// settle ends an open chunk, or index data whose chunk was not found: messages that
// they count and that were not kept are lost.
func (s *connSpace) settle(v *recovery) {
	want := s.stray
	if want == 0 {
		want = s.expected
	}
	if want > s.bare {
		v.report.Dropped += want - s.bare
	}
	s.stray, s.expected, s.bare = 0, 0, 0
}

// close counts the messages of the chunks that the walk did not come to.
func (s *connSpace) close(v *recovery) {
	s.settle(v)
	for _, p := range s.promised {
		if !p.met {
			v.report.Dropped += p.messages
		}
	}
	s.promised = nil
}
