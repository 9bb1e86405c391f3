package recovery

import (
	"encoding/binary"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/bagfmt/recovery/internal/repeats"
)

// chunks that wait for connections, and messages in those that are damaged.
const maxDeferred, maxDeferredOffsets = 1 << 16, 1 << 22

// chunkStage holds a chunk until its index data has been read, and then writes its intact
// messages to the output.
type chunkStage struct {
	out      *recoverOutput
	report   *Report
	chunk    stagedChunk
	active   bool // chunk waits for its index data
	index    chunkIndex
	repeats  repeats.Finder
	deferred []deferredChunk
	offsets  int // of all deferred
	// retractable is the position of the last skipped range in the report if that range is
	// to count as trailing when a repeat follows, else 0.
	retractable int
}

// stagedChunk is a chunk whose index data may not have been read.
type stagedChunk struct {
	decodedChunk
	bag     *inputBag
	end     int64    // of its record
	err     error    // why the chunk is lost or incomplete
	indexed uint64   // messages that its index data counts
	offsets []uint32 // of these messages, if no checksum matched
	retried bool     // it was deferred before
}

// deferredChunk is a chunk with messages of connections that were unknown when it was read.
type deferredChunk struct {
	place   wire.ChunkPlace
	bag     *inputBag
	indexed uint64
	offsets []uint32 // as in stagedChunk, if a record of it could not be read
}

// hold takes over a chunk. The one before must have been released.
func (s *chunkStage) hold(c stagedChunk) {
	c.offsets = append(s.chunk.offsets[:0], c.offsets...)
	s.chunk, s.active = c, true
}

// needsOffsets reports whether index data may be needed to find messages in the chunk.
func (s *chunkStage) needsOffsets() bool { return s.active && !s.chunk.certain }

// addIndexData adds index data with count messages to the chunk. It reports false if there
// is no chunk.
func (s *chunkStage) addIndexData(count uint64, entries []byte) bool {
	if !s.active {
		return false
	}
	c := &s.chunk
	c.indexed += count
	for ; len(entries) >= wire.IndexEntryBytes &&
		len(c.offsets) < len(c.data)/wire.MinRecordBytes; entries = entries[wire.IndexEntryBytes:] {
		c.offsets = append(c.offsets, binary.LittleEndian.Uint32(entries[8:]))
	}
	return true
}

// release writes the intact messages of the chunk, and reports the others.
func (s *chunkStage) release() error {
	if !s.active {
		return nil
	}
	s.active = false
	c := &s.chunk
	expected := c.indexed
	if info, ok := c.bag.counts.take(c.place.Pos); ok && expected == 0 {
		expected = info
	}
	if c.data == nil {
		s.report.skip(c.place.Pos, c.end-c.place.Pos, expected, c.err)
		return nil
	}
	return s.write(c, expected)
}

// write writes the chunk as it is stored if possible, else message by message.
func (s *chunkStage) write(c *stagedChunk, expected uint64) error {
	if !c.retried && s.repeats.IsRepeat(c.crc, c.place.Data, c.stored) {
		s.report.Repeated++
		if s.retractable > 0 {
			s.report.setTrailing(s.retractable)
		}
		return nil
	}
	slices.Sort(c.offsets)
	x := &s.index
	x.read(c)
	if x.orphans > 0 && !c.retried && c.err == nil && s.postpone(c, expected) {
		return nil
	}
	s.report.Chunks++
	s.reportLoss(c, expected)
	if len(x.Entries) == 0 {
		return nil
	}
	if x.asStored && !x.oddTimes && !c.repack && x.err == nil && x.orphans == 0 && len(c.stored) > 0 &&
		x.complete(s.out) {
		return s.copy(c)
	}
	for _, e := range x.Entries {
		_, _, frame, _, _ := wire.MessageAt(c.data, int64(e.Offset)) // index has read it there
		if err := s.out.writeMessage(x.Slots[e.Slot].Conn, e.Time, wire.FrameAt(c.data, uint32(frame))[4:],
			c.place.Pos); err != nil {
			return err
		}
	}
	return nil
}

// postpone keeps the place of a chunk for later. It reports false if too much waits already.
func (s *chunkStage) postpone(c *stagedChunk, expected uint64) bool {
	var offsets []uint32
	if s.index.err != nil {
		offsets = c.offsets
	}
	if len(s.deferred) >= maxDeferred || len(offsets) > maxDeferredOffsets-s.offsets {
		return false
	}
	s.offsets += len(offsets)
	s.deferred = append(s.deferred, deferredChunk{c.place, c.bag, expected, slices.Clone(offsets)})
	return true
}

// reportLoss reports the missing messages of the chunk.
func (s *chunkStage) reportLoss(c *stagedChunk, expected uint64) {
	x := &s.index
	kept := uint64(len(x.Entries))
	dropped := max(expected, kept+x.orphans) - kept
	switch {
	case c.err != nil:
		s.report.skip(c.place.Pos+x.lostAt(c), x.lostBytes(c), dropped, c.err)
	case x.err != nil:
		s.report.skip(c.place.Pos+x.lostAt(c), x.lostBytes(c), dropped, x.err)
	case dropped > 0:
		s.report.skip(c.place.Pos, 0, dropped, x.missing(c, expected))
	}
}

// copy writes the chunk as it is stored, with a new header and index.
func (s *chunkStage) copy(c *stagedChunk) error {
	if err := s.out.copyChunk(c.buf.seal(&c.decodedChunk, &s.index)); err != nil {
		return err
	}
	for i, x := range s.index.Slots {
		if s.index.inChunk[i] {
			s.out.setRecorded(x.Conn.ID)
		}
	}
	return nil
}
