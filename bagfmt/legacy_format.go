package bagfmt

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Limits on bags of old versions.
const (
	maxTextLineBytes = 1 << 10 // a topic, md5sum or type that is a line
	// A connection costs memory out of proportion to the few bytes of a message that
	// names it, so that a file may have this many and one more for each bytesPerConn bytes.
	freeConns    = 768
	bytesPerConn = 256
)

// oldRecord is a parsed record of an old version, up to its data. Slices share the
// memory that it was parsed from.
type oldRecord struct {
	op          rosbag.Op
	has         oldFields
	topic       []byte
	md5         []byte
	typ         []byte
	def         []byte // of a message definition
	callerID    []byte // may be empty and there
	latching    []byte
	time        rosbag.Time
	count       uint32 // of index data
	indexPos    uint64 // of a file header
	length      int64  // of the data
	framed      bool   // its extent is known even if its header is bad
	needsResync bool   // no record was found: oldFormat.resync may find the next one
}

// oldFormat is what has to be known to read the records of one file.
type oldFormat struct {
	layout          wire.Layout
	lateDefinitions bool // connections are used after everything was read: definitions may follow them
	conns           []*rosbag.Connection
	keys            map[string]int32  // index in conns, by what makes a connection: see appendKey
	defs            map[string]string // by type and md5sum
	undeclared      map[string]*undeclared
	overLimit       bool      // there were more connections than the limit
	key             []byte    // memory of connection
	rec             oldRecord // memory of a Scanner
	probe           oldRecord // memory of resync
}

// undeclared counts messages of a topic that the table of a 1.0 bag does not have.
type undeclared struct {
	first int64 // offset of the first one
	count uint64
}

func newOldFormat(v wire.BagVersion) *oldFormat {
	f := &oldFormat{layout: v.Layout, keys: make(map[string]int32)}
	if v.Single != nil {
		f.conns = []*rosbag.Connection{v.Single}
	}
	return f
}

// cut parses the record at the start of b up to its data, which starts at head.
// errShort says that b ends before.
func (f *oldFormat) cut(b []byte, rec *oldRecord) (head int, err error) {
	if f.layout == wire.LayoutV12 {
		return rec.cutV12(b)
	}
	return rec.cutLines(b, f.layout)
}

// appendKey adds what tells connections apart to dst. No two records that differ in
// it have the same key.
func (rec *oldRecord) appendKey(dst []byte, l wire.Layout) []byte {
	if l == wire.LayoutV10 {
		return append(dst, rec.topic...)
	}
	dst = append(dst, byte(rec.has&(hasCallerID|hasLatching)))
	for _, v := range [...][]byte{rec.topic, rec.md5, rec.typ, rec.callerID} {
		dst = binary.AppendUvarint(dst, uint64(len(v)))
		dst = append(dst, v...)
	}
	return append(dst, rec.latching...)
}

// find returns the connection of a message, as an index in conns. key is memory for
// the caller to keep.
func (f *oldFormat) find(rec *oldRecord, key []byte) (conn int32, keyMemory []byte, ok bool) {
	if f.layout == wire.LayoutV0 {
		return 0, key, true
	}
	key = rec.appendKey(key[:0], f.layout)
	conn, ok = f.keys[string(key)]
	return conn, key, ok
}

// connection is find for the first pass over a file, which makes the connections. It
// returns -1 for a message that has none: of an undeclared topic, or one too many. Only
// the first one of a topic is an error.
func (f *oldFormat) connection(rec *oldRecord, at int64) (conn int32, err error) {
	var ok bool
	if conn, f.key, ok = f.find(rec, f.key); ok {
		return conn, nil
	}
	if f.layout == wire.LayoutV10 {
		return -1, f.missing(string(rec.topic), at)
	}
	if err := f.room(at); err != nil {
		if f.overLimit {
			err = nil // reported before
		}
		f.overLimit = true
		return -1, err
	}
	return f.add(rec), nil
}

// missing counts a message of an undeclared topic.
func (f *oldFormat) missing(topic string, at int64) error {
	if u := f.undeclared[topic]; u != nil {
		u.count++
		return nil
	}
	if f.undeclared == nil {
		f.undeclared = make(map[string]*undeclared)
	}
	if len(f.undeclared) == maxDamage {
		return nil
	}
	f.undeclared[topic] = &undeclared{at, 1}
	return wire.Corrupt(at, rosbag.OpMessage, "messages of topic %q, which the bag does not declare", topic)
}

// room reports whether there may be one more connection at offset at.
func (f *oldFormat) room(at int64) error {
	if limit := freeConns + at/bytesPerConn; int64(len(f.conns)) >= limit {
		return wire.Corrupt(at, rosbag.OpMessage, "more than %d connections", limit)
	}
	return nil
}

// add makes the connection of rec, whose key is in f.key.
func (f *oldFormat) add(rec *oldRecord) int32 {
	n := int32(len(f.conns))
	topic, typ, md5 := string(rec.topic), string(rec.typ), string(rec.md5)
	c := wire.OldConnection(rosbag.ConnID(n), topic, typ, md5)
	if rec.has&hasCallerID != 0 {
		c.Header = append(c.Header, rosbag.Field{Key: rosbag.KeyCallerID, Value: string(rec.callerID)})
	}
	if rec.has&hasLatching != 0 {
		c.Header = append(c.Header, rosbag.Field{Key: rosbag.KeyLatching, Value: string(rec.latching)})
	}
	if !f.lateDefinitions {
		f.addDefinition(c)
	}
	f.conns = append(f.conns, c)
	f.keys[string(f.key)] = n
	return n
}

// define keeps the text of a message definition record.
func (f *oldFormat) define(rec *oldRecord) {
	if f.defs == nil {
		f.defs = make(map[string]string)
	}
	f.key = append(append(append(f.key[:0], rec.typ...), 0), rec.md5...)
	// Python's writer has one record for each type, C++ the same text for each topic.
	if _, ok := f.defs[string(f.key)]; !ok {
		f.defs[string(f.key)] = string(rec.def)
	}
}

// addDefinition adds the definition of its type to the header of c, if it is known.
func (f *oldFormat) addDefinition(c *rosbag.Connection) {
	if def, ok := f.defs[c.Header.Type()+"\x00"+c.Header.MD5Sum()]; ok {
		c.Header = slices.Insert(c.Header, 3, rosbag.Field{Key: rosbag.KeyMessageDefinition, Value: def})
	}
}

// finish completes the connections of a file that was read wholly.
func (f *oldFormat) finish() {
	for _, c := range f.conns {
		f.addDefinition(c)
	}
}

// undeclaredErrors describes the messages of undeclared topics, in file order.
func (f *oldFormat) undeclaredErrors() []error {
	var list []*rosbag.CorruptError
	for topic, u := range f.undeclared {
		list = append(list, wire.Corrupt(u.first, rosbag.OpMessage, "%d messages of topic %q, which the bag does not declare", u.count, topic))
	}
	slices.SortFunc(list, func(a, b *rosbag.CorruptError) int { return cmp.Compare(a.Offset, b.Offset) })
	errs := make([]error, len(list))
	for i, e := range list {
		errs[i] = e
	}
	return errs
}

// next reads the record at the start of the stream into rec, up to its data. At the
// end of the input it returns io.EOF. After an error rec.framed tells whether the
// record can be passed over, rec.needsResync whether resync may find another one.
func (f *oldFormat) next(s *wire.Stream, rec *oldRecord) error {
	if f.layout == wire.LayoutV12 {
		return rec.readV12(s)
	}
	return rec.readLines(s, f.layout)
}

// start reads what is before the first record.
func (f *oldFormat) start(s *wire.Stream) error {
	if f.layout != wire.LayoutV10 {
		return nil
	}
	return f.readTable(s)
}

// old goes over the messages of a segment.
func (d *derivation) old(f *oldFormat, data []byte) (whole bool) {
	var rec oldRecord
	var key []byte
	for at := 0; at < len(data); {
		head, err := f.cut(data[at:], &rec)
		if err != nil && !rec.framed || rec.length > int64(len(data)-at-head) {
			return false
		}
		end := at + head + int(rec.length)
		if err == nil && rec.op == rosbag.OpMessage {
			var conn int32
			var ok bool
			if conn, key, ok = f.find(&rec, key); ok {
				d.add(conn, rec.time, at, at+head-4)
			}
		}
		at = end
	}
	return true
}

// checkText reports what is wrong with a line of text.
func checkText(what string, line []byte) error {
	if len(line) == 0 {
		return fmt.Errorf("empty %s", what)
	}
	for i, c := range line {
		if c <= ' ' || c == 0x7f {
			return fmt.Errorf("%s has the byte %#02x at %d", what, c, i)
		}
	}
	return nil
}
