package opening

import (
	"errors"
	"fmt"
	"io"

	"github.com/gorosbag/gorosbag/bagfmt/internal/old"
	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// openOld opens a bag of a legacy version. It reads it from front to back, but skips the
// messages.
func openOld(bag *table.Table, s *wire.Stream, v wire.BagVersion) error {
	if bag.Options.IndexOnly && v.Layout != wire.LayoutV12 {
		return fmt.Errorf("%w of version %s", rosbag.ErrUnindexed, v.Name)
	}
	f := old.New(v)
	f.LateDefinitions = true
	bag.Old = f
	x := oldScan{bag: bag, f: f, s: s, seg: table.New(bag, table.KindOld)}
	if bag.Size > wire.SmallBufferBytes {
		x.s = wire.NewFileStream(bag.File, bag.Size, wire.ScanBufferBytes)
		x.s.SeekTo(s.Off)
	}
	if err := x.run(); err != nil {
		return err
	}
	f.Finish()
	bag.SetConnections(f.Conns)
	x.seg.Finish()
	for _, err := range f.UndeclaredErrors() {
		bag.Damaged(err)
	}
	if v.Layout == wire.LayoutV12 {
		return x.checkIndex()
	}
	return nil
}

// oldScan is the state of openOld.
type oldScan struct {
	bag *table.Table
	f   *old.Format
	s   *wire.Stream
	seg table.List
	v12 indexV12
}

// indexV12 is the index of a 1.2 bag, as a scan has read it.
type indexV12 struct {
	header  int64             // offset of the file header, 0 if there is none
	pos     uint64            // where that says the index is
	first   int64             // where the first index record is, 0 if there is none
	records int               // of index data
	counts  map[string]uint64 // messages by topic, as index records say
	broken  bool              // index data of a wrong length
}

// run reads all records. It ends at damage that it cannot skip, and returns an error only
// if reading fails.
func (x *oldScan) run() error {
	if err := x.f.Start(x.s); err != nil {
		return x.bag.Tolerate(err)
	}
	var rec old.Record
	for {
		start := x.s.Off
		err := x.f.Next(x.s, &rec)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			if err := x.bag.Tolerate(err); err != nil || !rec.Framed && !rec.NeedsResync {
				return err
			}
			if rec.NeedsResync {
				err = x.f.Resync(x.s)
			} else {
				err = x.s.Skip(rec.Length, start, rec.Op)
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return x.bag.Tolerate(err)
			}
			continue
		}
		if err := x.record(&rec, start); err != nil {
			return x.bag.Tolerate(err)
		}
	}
}

// record skips the data of a record and adds it to the segments. An error ends the scan.
func (x *oldScan) record(rec *old.Record, start int64) error {
	conn := int32(-1)
	switch {
	case rec.Op == rosbag.OpMessage && rec.Length > wire.MaxMessageBytes:
		x.bag.Damaged(wire.CheckMessageBytes(start, rec.Length))
	case rec.Op == rosbag.OpMessage && rec.Length > x.bag.Size-x.s.Off:
		return wire.Torn(start, rosbag.OpMessage, "data", x.bag.Size-x.s.Off, rec.Length)
	case rec.Op == rosbag.OpMessage:
		var err error
		if conn, err = x.f.Connection(rec, start); err != nil && x.f.Layout != wire.LayoutV10 {
			x.bag.Damaged(err) // the others are counted
		}
	case rec.Op == rosbag.OpMessageDefinition:
		x.f.Define(rec)
	default:
		x.v12.record(rec, start)
	}
	if err := x.s.Skip(rec.Length, start, rec.Op); err != nil {
		return err
	}
	if conn >= 0 {
		x.seg.Message(rosbag.ConnID(conn), rec.Time, start, x.s.Off)
	}
	return nil
}

// record adds a record of the index.
func (v *indexV12) record(rec *old.Record, start int64) {
	switch {
	case rec.Op == rosbag.OpBagHeader && v.header == 0:
		v.header, v.pos = start, rec.IndexPos
	case rec.Op == rosbag.OpIndexData:
		if v.first == 0 {
			v.first = start
		}
		if v.counts == nil {
			v.counts = make(map[string]uint64)
		}
		v.records++
		v.counts[string(rec.Topic)] += uint64(rec.Count)
		v.broken = v.broken || rec.Length != int64(rec.Count)*old.IndexEntryBytes
	}
}

// checkIndex compares the index of a 1.2 bag with what is in it.
func (x *oldScan) checkIndex() error {
	err := x.indexError()
	if err == nil {
		x.bag.Indexed = true
		return nil
	}
	if x.bag.Options.IndexOnly {
		return err
	}
	if x.v12.header != 0 { // without a file header the bag needs no index
		x.bag.Damage = append([]error{err}, x.bag.Damage[:min(len(x.bag.Damage), table.MaxDamage-1)]...)
	}
	return nil
}

// indexError says what is wrong with the index of a 1.2 bag.
func (x *oldScan) indexError() error {
	v := &x.v12
	first := v.first
	if v.records == 0 {
		first = x.bag.Size // an index of no topics
	}
	switch {
	case v.header == 0: // of a release that made no index
		return rosbag.ErrUnindexed
	case v.pos == 0:
		return &rosbag.CorruptError{
			Offset: v.header, Op: rosbag.OpBagHeader,
			Reason: "the bag was not closed", Err: rosbag.ErrUnindexed,
		}
	case v.pos != uint64(first):
		return wire.Corrupt(v.header, rosbag.OpBagHeader, "the index is not at %d", v.pos)
	case v.broken:
		return wire.Corrupt(first, rosbag.OpIndexData, "index data of a wrong length")
	}
	found := make(map[string]uint64)
	for i := range x.bag.Chunks {
		for _, n := range x.bag.Chunks[i].Counts {
			found[n.Conn.Topic] += uint64(n.Count)
		}
	}
	for topic, n := range found {
		if v.counts[topic] != n {
			return wire.Corrupt(first, rosbag.OpIndexData, "%d messages of topic %q, there are %d",
				v.counts[topic], topic, n)
		}
	}
	if len(found) != len(v.counts) {
		return wire.Corrupt(first, rosbag.OpIndexData, "%d topics, there are %d", len(v.counts), len(found))
	}
	return nil
}
