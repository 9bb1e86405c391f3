package mcapread

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt/internal/mcap"
	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// BySummary opens the file of bag through its summary. s is after the magic. An error that is wire.IsDamage
// says that there is no good summary.
func BySummary(bag *table.Table, s *wire.Stream) error { return (&summary{bag: bag}).open(s) }

// idCount is the number of messages of a channel.
type idCount struct {
	id rosbag.ConnID
	n  uint32
}

// summary reads the summary of an MCAP file.
type summary struct {
	bag    *table.Table
	list   []indexedChunk
	counts []idCount          // of all chunks
	found  mcap.Found         // messages in chunks
	stated *rosbag.MCAPCounts // nil without statistics
}

// indexedChunk is a chunk index record.
type indexedChunk struct {
	info  table.Chunk
	at    int64 // offset of the record
	first int   // in summary.counts
	n     int
}

// open opens the file through its summary. s is after the magic.
func (x *summary) open(s *wire.Stream) error {
	bag := x.bag
	bag.DataEnd = bag.Size
	bag.MCAP = &mcap.File{Channels: mcap.Channels{KeepForeign: bag.Options.KeepForeign}}
	f, err := x.footer()
	if err != nil {
		return err
	}
	start := s.Off
	b, err := mcap.ReadSmall(s, mcap.OpHeader)
	if err != nil {
		return err
	}
	if bag.MCAP.Profile, bag.MCAP.Library, err = mcap.ParseHeader(b); err != nil {
		return wire.Corrupt(start, rosbag.OpBagHeader, "%v", err)
	}
	bag.Prefetch(int64(f.Summary), bag.Size-int64(f.Summary))
	if err := x.read(f); err != nil {
		return err
	}
	bag.IndexPos, bag.IndexEnd, bag.DataEnd = int64(f.Summary), bag.Size, int64(f.Summary)
	bag.MCAP.Stated = x.stated
	// writers need not repeat schemas
	if channel, schema, missing := bag.MCAP.Channels.Incomplete(); missing {
		return fmt.Errorf("%w: the summary has no schema %d of channel %d", rosbag.ErrUnindexed, schema,
			channel)
	}
	used := make(map[rosbag.ConnID]bool)
	for _, n := range x.counts {
		used[n.id] = true
	}
	conns, wrong := bag.MCAP.Channels.Connections(func(id uint16) bool { return used[rosbag.ConnID(id)] })
	bag.SetConnections(conns)
	if err := x.finish(); err != nil {
		return err
	}
	for _, err := range wrong {
		bag.Damaged(err)
	}
	// the sums are equal: the index is good
	if err := x.found.Compare(x.stated, &bag.MCAP.Channels, bag.IndexPos); err != nil {
		bag.Damaged(err)
	}
	bag.Indexed = true
	return nil
}

// footer reads the end of the file.
func (x *summary) footer() (f mcap.Footer, err error) {
	var tail [mcap.TailBytes]byte
	at := x.bag.Size - int64(len(tail))
	if at < int64(len(wire.MCAPMagic)) {
		return f, rosbag.ErrUnindexed
	}
	if n, err := x.bag.File.ReadAt(tail[:], at); n < len(tail) {
		return f, wire.ReadError(at, err)
	}
	if string(tail[mcap.FooterBytes:]) != wire.MCAPMagic {
		return f, rosbag.ErrUnindexed // it was not closed
	}
	if op, n := mcap.ParseHead(tail[:]); op != mcap.OpFooter || n != mcap.FooterBytes-mcap.HeadBytes {
		return f, wire.Corrupt(at, 0, "record of kind %#02x with %d bytes, where the footer should be",
			byte(op), n)
	}
	f, err = mcap.ParseFooter(tail[mcap.HeadBytes:mcap.FooterBytes])
	switch {
	case err != nil:
		return f, wire.Corrupt(at, 0, "%v", err)
	case f.Summary == 0:
		return f, rosbag.ErrUnindexed
	case f.Summary > uint64(at) || f.Summary < uint64(len(wire.MCAPMagic)):
		return f, wire.Corrupt(at, 0, "footer: the summary is at %d, the footer at %d", f.Summary, at)
	}
	return f, nil
}

// read reads all records of the summary and checks its checksum.
func (x *summary) read(f mcap.Footer) error {
	bag, from := x.bag, int64(f.Summary)
	end := bag.Size - int64(mcap.TailBytes)
	sum := crc32.NewIEEE()
	section := io.NewSectionReader(bag.File, from, end+mcap.FooterBytes-4-from)
	s := wire.NewStream(io.TeeReader(section, sum), from, wire.StreamBufferBytes)
	for s.Off < end {
		start := s.Off
		op, n, err := mcap.ReadHead(s)
		switch {
		case err != nil && !wire.IsDamage(err) && wire.IsEnd(err):
			return wire.Torn(start, 0, "summary", start-from, end-from)
		case err != nil:
			return err
		case n > end-s.Off:
			return wire.Corrupt(start, op.Bag(), "record of the summary has %d bytes, %d are left", n,
				end-s.Off)
		}
		if err := x.record(s, op, n, start); err != nil {
			return err
		}
	}
	if err := s.Skip(end+mcap.FooterBytes-4-s.Off, end, 0); err != nil {
		return err
	}
	if got := sum.Sum32(); f.CRC != 0 && got != f.CRC {
		return wire.Corrupt(from, 0, "crc32 of the summary is %08x, the footer says %08x", got, f.CRC)
	}
	return nil
}

// record reads the content of one record.
func (x *summary) record(s *wire.Stream, op mcap.Op, n, start int64) error {
	f := x.bag.MCAP
	switch op { //nolint:exhaustive // the others are passed over
	case mcap.OpSchema, mcap.OpChannel, mcap.OpChunkIndex, mcap.OpStatistics, mcap.OpAttachmentIndex,
		mcap.OpMetadataIndex:
	default:
		return s.Skip(n, start, op.Bag())
	}
	b, err := mcap.Grab(s, op, n, start)
	if err != nil {
		return err
	}
	var extra rosbag.MCAPExtra
	switch op { //nolint:exhaustive // the others were passed over
	case mcap.OpSchema:
		return f.Channels.AddSchema(b, start)
	case mcap.OpChannel:
		return f.Channels.AddChannel(b, start)
	case mcap.OpChunkIndex:
		return x.chunk(b, start)
	case mcap.OpStatistics:
		x.stated, err = mcap.ParseStatistics(b)
	case mcap.OpAttachmentIndex:
		extra, err = mcap.ParseAttachmentIndex(b)
		f.Attachments = append(f.Attachments, extra)
	default:
		extra, err = mcap.ParseMetadataIndex(b)
		f.Metadata = append(f.Metadata, extra)
	}
	if err != nil {
		return wire.Corrupt(start, 0, "%v", err)
	}
	return nil
}

// chunk adds the chunk of a chunk index record. The sizes of its message index records say how many
// messages of each channel it has.
func (x *summary) chunk(b []byte, at int64) error {
	c, err := mcap.ParseChunkIndex(b)
	size := uint64(x.bag.Size)
	switch {
	case err != nil:
		return wire.Corrupt(at, rosbag.OpChunkInfo, "%v", err)
	case c.Pos > size || c.Length > size-c.Pos || c.IndexBytes > size-c.Pos-c.Length ||
		c.Length < mcap.HeadBytes:
		return wire.Corrupt(at, rosbag.OpChunkInfo, "chunk at %d with %d and %d bytes in a file of %d bytes",
			c.Pos, c.Length, c.IndexBytes, size)
	}
	n := len(c.Offsets) / mcap.OffsetBytes
	places := make([]indexPlace, n)
	for i := range places {
		places[i].channel, places[i].at = c.Pair(i)
	}
	slices.SortFunc(places, func(a, b indexPlace) int { return cmp.Compare(a.at, b.at) })
	entry := indexedChunk{at: at, first: len(x.counts)}
	next, end := c.Pos+c.Length, c.Pos+c.Length+c.IndexBytes
	for i, p := range places {
		if p.at != next {
			return wire.Corrupt(at, rosbag.OpChunkInfo, "message index of channel %d at %d, want %d",
				p.channel, p.at, next)
		}
		if next = end; i+1 < n {
			next = places[i+1].at
		}
		switch {
		case next < p.at+mcap.IndexHeadBytes:
			return wire.Corrupt(at, rosbag.OpChunkInfo, "message index of channel %d from %d to %d",
				p.channel, p.at, next)
		case (next-p.at-mcap.IndexHeadBytes)%mcap.IndexEntryBytes != 0: // newer writers may add bytes
			return fmt.Errorf("%w: the message index of channel %d at %d has more than entries",
				rosbag.ErrUnindexed, p.channel, p.at)
		}
		if count := (next - p.at - mcap.IndexHeadBytes) / mcap.IndexEntryBytes; count > 0 {
			x.counts = append(x.counts, idCount{rosbag.ConnID(p.channel), uint32(count)})
			x.found.Add(p.channel, count)
			entry.n++
		}
	}
	if next != end {
		return wire.Corrupt(at, rosbag.OpChunkInfo, "%d bytes of message indexes, but no channels",
			c.IndexBytes)
	}
	own := x.counts[entry.first:]
	slices.SortFunc(own, func(a, b idCount) int { return cmp.Compare(a.id, b.id) })
	for i := 1; i < len(own); i++ {
		if own[i].id == own[i-1].id {
			return wire.Corrupt(at, rosbag.OpChunkInfo, "channel %d twice", own[i].id)
		}
	}
	entry.info = table.Chunk{
		Span: rosbag.Span{Pos: int64(c.Pos)}, Bytes: int64(c.Length),
		IndexBytes: int64(c.IndexBytes),
	}
	entry.info.Start, _ = mcap.TimeOf(c.Start)
	entry.info.End, _ = mcap.TimeOf(c.End)
	x.list = append(x.list, entry)
	return nil
}

// indexPlace is where the message index record of a channel is.
type indexPlace struct {
	channel uint16
	at      uint64
}

// finish makes the chunks of the bag, whose connections are known now.
func (x *summary) finish() error {
	bag := x.bag
	switch {
	case x.stated == nil:
		return fmt.Errorf("%w: the summary has no statistics", rosbag.ErrUnindexed)
	case x.stated.Messages > x.found.Messages:
		return fmt.Errorf("%w: %d of %d messages are in no chunk with an index", rosbag.ErrUnindexed,
			x.stated.Messages-x.found.Messages, x.stated.Messages)
	case x.stated.Messages < x.found.Messages:
		// perhaps message indexes have more than entries; a scan counts
		return fmt.Errorf("%w: chunk indexes know of %d messages, the statistics of %d", rosbag.ErrUnindexed,
			x.found.Messages, x.stated.Messages)
	}
	slices.SortStableFunc(x.list, func(a, b indexedChunk) int { return cmp.Compare(a.info.Pos, b.info.Pos) })
	end := int64(len(wire.MCAPMagic))
	bag.Chunks = make([]table.Chunk, 0, len(x.list))
	all := make([]rosbag.ConnCount, 0, len(x.counts))
	for _, c := range x.list {
		if c.info.Pos < end {
			return wire.Corrupt(c.at, rosbag.OpChunkInfo, "chunk at %d, inside what is before %d", c.info.Pos, end)
		}
		if end = c.info.Pos + c.info.Bytes + c.info.IndexBytes; end > bag.IndexPos {
			return wire.Corrupt(c.at, rosbag.OpChunkInfo, "chunk at %d reaches into the summary at %d",
				c.info.Pos, bag.IndexPos)
		}
		first := len(all)
		for _, n := range x.counts[c.first : c.first+c.n] {
			at, ok := bag.ByID[n.id]
			switch {
			case ok:
				all = append(all, rosbag.ConnCount{Conn: bag.Conns[at], Count: n.n})
			case !bag.MCAP.Channels.Foreign(uint16(n.id)): // writers need not repeat channels
				return fmt.Errorf("%w: the summary has no channel %d", rosbag.ErrUnindexed, n.id)
			}
		}
		c.info.Counts = slices.Clip(all[first:])
		bag.Chunks = append(bag.Chunks, c.info)
	}
	return nil
}

// entryTimes adds the entries of a message index record to t. It reports false if a bag has no such
// times.
func entryTimes(t *table.Tally, id rosbag.ConnID, entries []byte) bool {
	if len(entries) == 0 {
		return true
	}
	first := binary.LittleEndian.Uint64(entries)
	last, n := first, len(entries)/mcap.IndexEntryBytes
	for ; len(entries) > 0; entries = entries[mcap.IndexEntryBytes:] {
		at := binary.LittleEndian.Uint64(entries)
		first, last = min(first, at), max(last, at)
	}
	start, _ := mcap.TimeOf(first)
	end, ok := mcap.TimeOf(last)
	t.Add(id, uint32(n), start, end)
	return ok
}
