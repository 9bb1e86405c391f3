package mcapread

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt/internal/codec"
	"github.com/gorosbag/gorosbag/bagfmt/internal/load"
	"github.com/gorosbag/gorosbag/bagfmt/internal/mcap"
	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Scan opens an MCAP file without its summary: it reads its records once. It skips the data of
// chunks whose message indexes follow, and unpacks only those with unknown channels or without valid
// indexes. complete reports whether it met the end of the messages.
func Scan(bag *table.Table) (complete bool, err error) {
	x := scan{bag: bag, foreign: make(map[uint16]bool), seg: table.New(bag, table.KindRecords)}
	index, stated, before := bag.IndexPos, bag.MCAP.Stated, len(bag.Damage)
	bag.IndexPos, bag.IndexEnd, bag.DataEnd, bag.Chunks = 0, 0, bag.Size, nil
	x.s = wire.NewFileStream(bag.File, bag.Size, wire.ScanBufferBytes)
	x.s.SeekTo(int64(len(wire.MCAPMagic)))
	bag.MCAP = &mcap.File{
		MCAPInfo: rosbag.MCAPInfo{Stated: stated},
		Channels: mcap.Channels{KeepForeign: bag.Options.KeepForeign},
	}
	x.channels = &bag.MCAP.Channels
	for more := true; more; {
		if more, err = x.next(); err != nil {
			if err = bag.Tolerate(err); err != nil {
				return false, err
			}
		}
	}
	if err := x.endChunk(); err != nil {
		return false, err
	}
	lost := slices.ContainsFunc(bag.Damage[before:],
		func(err error) bool { bad := wire.AsCorrupt(err); return bad == nil || !bad.Recovered })
	if stated != nil && !lost {
		if err := x.found.Compare(stated, x.channels, index); err != nil {
			bag.Damaged(err)
		}
	}
	conns, wrong := x.channels.Connections(func(id uint16) bool { return x.foreign[id] })
	for _, err := range wrong {
		bag.Damaged(err)
	}
	bag.SetConnections(conns)
	x.seg.Finish()
	return x.complete, nil
}

// scan is the state of Scan.
type scan struct {
	bag      *table.Table
	s        *wire.Stream
	seg      table.List
	channels *mcap.Channels
	load     load.Loader
	chunk    openChunk
	// messages, those of other encodings included
	found mcap.Found
	// channels of other encodings that have messages
	foreign map[uint16]bool
	// offset of a record of an unknown kind that may have been a chunk, 0 if there is none
	passed int64
	// the end of the data section was read
	complete bool
	// the file ends in a chunk, whose records are read
	torn bool
}

// openChunk is a chunk whose message indexes are being read.
type openChunk struct {
	place     wire.ChunkPlace
	info      table.Chunk
	open      bool
	index     table.Tally
	indexed   bool  // the chunk has message indexes
	bad       error // damage of the message indexes
	uncertain bool  // some message indexes may be missing
}

// next reads one record. more is false at the end.
func (x *scan) next() (more bool, err error) {
	start := x.s.Off
	if b, _ := x.s.R.Peek(len(wire.MCAPMagic)); string(b) == wire.MCAPMagic && start > 0 {
		return false, x.another(start)
	}
	op, n, err := mcap.ReadHead(x.s)
	if err == nil && n > x.bag.Size-x.s.Off && op != mcap.OpChunk {
		err = wire.Torn(start, op.Bag(), "content", x.bag.Size-x.s.Off, n)
	}
	x.chunk.uncertain = x.chunk.uncertain || err != nil || !op.Known()
	switch {
	case err != nil && wire.AsCorrupt(err) == nil && wire.IsEnd(err):
		// without the record that ends the messages
		return false, x.end(mcap.NoEnd(start))
	case err != nil:
		return false, x.end(err)
	}
	if op != mcap.OpMessageIndex {
		if err := x.endChunk(); err != nil {
			return false, err
		}
	}
	switch op { //nolint:exhaustive // the others are passed over
	case mcap.OpChunk:
		return x.startChunk(n, start)
	case mcap.OpMessageIndex:
		return true, x.messageIndex(n, start)
	case mcap.OpMessage:
		return true, x.message(n, start)
	case mcap.OpSchema, mcap.OpChannel:
		err = x.definition(op, n, start)
		x.seg.Record(start, x.s.Off)
		return true, err
	case mcap.OpHeader:
		var b []byte
		if b, err = mcap.Grab(x.s, op, n, start); err == nil {
			x.bag.MCAP.Profile, x.bag.MCAP.Library, _ = mcap.ParseHeader(b) // damage of it loses nothing
		}
	case mcap.OpAttachment, mcap.OpMetadata:
		err = x.extra(op, n, start)
	case mcap.OpDataEnd, mcap.OpFooter:
		if err = op.Misplaced(n, start); err == nil {
			x.complete = true
			return false, nil
		}
	default:
		if err = op.Misplaced(n, start); !op.Known() {
			x.passed = start
		}
	}
	return true, x.skip(start+mcap.HeadBytes+n-x.s.Off, start, op, err)
}

// skip skips n bytes of the record at start. It returns wrong or, if that is nil, the error of skipping.
func (x *scan) skip(n, start int64, op mcap.Op, wrong error) error {
	if err := x.s.Skip(n, start, op.Bag()); wrong == nil {
		return err
	}
	return wrong
}

// another returns the error about a second file that starts at offset at.
func (x *scan) another(at int64) error {
	return wire.Corrupt(at, 0, "another MCAP file starts here")
}

// end ends the scan with err, unless the torn chunk was reported.
func (x *scan) end(err error) error {
	if x.torn && errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// definition reads a schema or a channel of n bytes.
func (x *scan) definition(op mcap.Op, n, start int64) error {
	b, err := mcap.Grab(x.s, op, n, start)
	switch {
	case errors.Is(err, rosbag.ErrLimit):
		return x.skip(n, start, op, err)
	case err != nil:
		return err
	case op == mcap.OpSchema:
		return x.channels.AddSchema(b, start)
	}
	return x.channels.AddChannel(b, start)
}

// extra reads the start of an attachment or a metadata record.
func (x *scan) extra(op mcap.Op, n, start int64) error {
	x.seg.Close()
	b, err := x.s.Grab(min(n, mcap.AttachmentHeadBytes), start, 0)
	if err != nil {
		return err
	}
	f := x.bag.MCAP
	var extra rosbag.MCAPExtra
	if op == mcap.OpAttachment {
		extra, err = mcap.ParseAttachment(b)
		f.Attachments = append(f.Attachments, extra)
	} else {
		extra, err = mcap.ParseMetadata(b, n)
		f.Metadata = append(f.Metadata, extra)
	}
	if err != nil && n <= mcap.AttachmentHeadBytes {
		return wire.Corrupt(start, 0, "%v", err)
	}
	return nil
}

// message adds a message outside chunks.
func (x *scan) message(n, start int64) error {
	if err := mcap.CheckMessageBytes(start, n); err != nil {
		return x.skip(n, start, mcap.OpMessage, err)
	}
	b, err := x.s.R.Peek(mcap.MessageHeadBytes)
	if err != nil {
		return wire.ReadError(x.s.Off, err)
	}
	channel, at := binary.LittleEndian.Uint16(b), binary.LittleEndian.Uint64(b[6:])
	if err := x.s.Skip(n, start, rosbag.OpMessage); err != nil {
		return err
	}
	x.found.Add(channel, 1)
	if !x.channels.Foreign(channel) {
		t, wrong := mcap.MessageTime(channel, at, start)
		if wrong == nil {
			x.seg.Message(rosbag.ConnID(channel), t, start, x.s.Off)
			return nil
		}
		err = wrong
	} else {
		x.foreign[channel] = true
	}
	x.seg.Record(start, x.s.Off) // it has no message, but the segment need not end here
	return err
}

// startChunk handles a chunk record at offset start and skips its data.
func (x *scan) startChunk(n, start int64) (more bool, err error) {
	x.seg.Close()
	b, _ := x.s.R.Peek(mcap.MaxChunkHeadBytes) // ParseChunkHead reports what is missing
	c := &x.chunk
	c.place, c.uncertain, x.passed = wire.ChunkPlace{Pos: start}, false, 0
	err = mcap.ParseChunkHead(b[:min(int64(len(b)), n)], n, &c.place)
	end := start + mcap.HeadBytes + n
	switch left := x.bag.Size - c.place.Data; {
	case err != nil && end > x.bag.Size:
		return false, x.end(wire.Torn(start, rosbag.OpChunk, "content", x.bag.Size-start-mcap.HeadBytes, n))
	case err != nil:
		err = wire.Corrupt(start, rosbag.OpChunk, "%v", err)
	case c.place.Stored > left && c.place.Compression == rosbag.CompressionNone:
		x.torn = true // its whole messages are good: what is there was written
		return true, x.skip(c.place.Data-x.s.Off, start, mcap.OpChunk,
			wire.Torn(start, rosbag.OpChunk, "data", left, c.place.Stored))
	case c.place.Stored > left:
		return false, wire.Torn(start, rosbag.OpChunk, "data", left, c.place.Stored)
	case !mcap.KnownCompression(c.place.Compression):
		err = wire.Corrupt(start, rosbag.OpChunk, "unknown compression %q", c.place.Compression)
	default:
		err = c.place.CheckSize(x.bag.Options.MaxChunkBytes)
	}
	c.open = err == nil
	c.info = table.Chunk{Span: rosbag.Span{Pos: start}, Bytes: end - start}
	return true, x.skip(end-x.s.Off, start, mcap.OpChunk, err)
}

// messageIndex adds a message index record of n bytes to the chunk before it.
func (x *scan) messageIndex(n, start int64) error {
	c := &x.chunk
	if !c.open {
		var err error
		if x.passed > 0 {
			err = wire.Corrupt(start, rosbag.OpIndexData, "index of a chunk that was passed over at %d",
				x.passed)
		}
		x.passed = 0
		x.seg.Close()
		return x.skip(n, start, mcap.OpMessageIndex, err)
	}
	b, err := mcap.Grab(x.s, mcap.OpMessageIndex, n, start)
	if err != nil {
		return err
	}
	c.info.IndexBytes += mcap.HeadBytes + n
	channel, entries, err := mcap.ParseMessageIndex(b)
	_, twice := c.index.ByID[rosbag.ConnID(channel)]
	c.indexed = true
	// the bytes after the entries may be entries
	c.uncertain = c.uncertain || len(b) > mcap.IndexHeadBytes-mcap.HeadBytes+len(entries)
	switch {
	case err != nil:
	case twice && len(entries) > 0:
		err = fmt.Errorf("channel %d again", channel)
	case !entryTimes(&c.index, rosbag.ConnID(channel), entries):
		err = fmt.Errorf("message of channel %d after the year 2106", channel)
	}
	if err != nil && c.bad == nil {
		c.bad = wire.Corrupt(start, rosbag.OpIndexData, "%v", err)
	}
	return nil
}

// endChunk adds the chunk whose indexes were read. It unpacks the chunk if they are not enough.
func (x *scan) endChunk() error {
	c := &x.chunk
	if !c.open {
		return nil
	}
	defer func() {
		c.open, c.indexed, c.bad = false, false, nil
		c.index.Reset()
	}()
	indexed := c.indexed && c.bad == nil
	if indexed && !c.uncertain && x.knows(c.index.ByID) {
		for id, n := range c.index.ByID {
			if x.found.Add(uint16(id), uint64(n)); n > 0 && x.channels.Foreign(uint16(id)) {
				x.foreign[uint16(id)] = true
			}
		}
		x.seg.Segment(c.info, &c.index)
		return nil
	}
	data, err := x.load.Read(x.bag, &c.place)
	if err != nil {
		return x.bag.Tolerate(err)
	}
	var found table.Tally
	wrong := x.walk(data, &found)
	x.load.Memory = data // no slice of it is kept
	maps.DeleteFunc(c.index.ByID,
		func(id rosbag.ConnID, _ uint32) bool { return x.channels.Foreign(uint16(id)) })
	switch {
	case wrong != nil && !wire.IsDamage(wrong): // interrupted
		return wrong
	case wrong != nil:
		x.bag.Damaged(wrong)
	case indexed && !found.Equal(&c.index):
		c.bad = wire.Corrupt(c.info.Pos, rosbag.OpChunk, "its message indexes count other messages")
	}
	if bad := wire.AsCorrupt(c.bad); bad != nil && wrong == nil {
		bad.Recovered = true
		x.bag.Damaged(bad)
	}
	if wrong != nil || c.bad != nil || !indexed {
		c.info.Kind = table.KindNoIndex
	}
	x.seg.Segment(c.info, &found)
	return nil
}

// knows reports whether all channels of counts are known.
func (x *scan) knows(counts map[rosbag.ConnID]uint32) bool {
	for id := range counts {
		if !x.channels.Known(uint16(id)) {
			return false
		}
	}
	return true
}

// walk counts the messages in chunk data and adds its channels. It returns the first error.
func (x *scan) walk(data []byte, found *table.Tally) (wrong error) {
	w := mcap.Walk{Data: data}
	pause := codec.Pause{Interrupted: x.bag.Options.Interrupted}
	pos := x.chunk.place.Pos
	for {
		if err := pause.Reached(w.At); err != nil {
			return err
		}
		at := w.At
		op, content, err := w.Next()
		switch {
		case errors.Is(err, io.EOF):
			return wrong
		case err != nil:
			err = wire.Corrupt(pos, rosbag.OpChunk, "%v", err)
		case op == mcap.OpSchema:
			err = x.channels.AddSchema(content, pos)
		case op == mcap.OpChannel:
			err = x.channels.AddChannel(content, pos)
		case op == mcap.OpMessage:
			m, e := mcap.MessageAt(data, int64(at))
			if e != nil {
				err = wire.Corrupt(pos, rosbag.OpChunk, "record at %d: message of %d bytes", at, len(content))
				break
			}
			x.found.Add(m.Channel, 1)
			if x.channels.Foreign(m.Channel) {
				x.foreign[m.Channel] = true
				break
			}
			var t rosbag.Time
			if t, err = mcap.MessageTime(m.Channel, m.LogTime, pos); err == nil {
				found.Add(rosbag.ConnID(m.Channel), 1, t, t)
			}
		}
		if wrong == nil {
			wrong = err
		}
	}
}
