package old

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
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

	maxUndeclared = 1000 // topics that the table of a 1.0 bag lacks and that are reported
)

// Record is a parsed record of an old version, up to its data. Slices share the
// memory that it was parsed from.
type Record struct {
	Op          rosbag.Op
	has         fieldSet
	Topic       []byte
	md5         []byte
	typ         []byte
	def         []byte // of a message definition
	callerID    []byte // may be empty and there
	latching    []byte
	Time        rosbag.Time
	Count       uint32 // of index data
	IndexPos    uint64 // of a file header
	Length      int64  // of the data
	Framed      bool   // its extent is known even if its header is bad
	NeedsResync bool   // no record was found: Format.Resync may find the next one
}

// Format is what has to be known to read the records of one file.
type Format struct {
	Layout          wire.Layout
	LateDefinitions bool // connections are used after everything was read: definitions may follow them
	Conns           []*rosbag.Connection
	keys            map[string]int32  // index in conns, by what makes a connection: see appendKey
	defs            map[string]string // by type and md5sum
	undeclared      map[string]*undeclared
	overLimit       bool   // there were more connections than the limit
	key             []byte // memory of connection
	Rec             Record // memory of a Scanner
	probe           Record // memory of Resync
}

// undeclared counts messages of a topic that the table of a 1.0 bag does not have.
type undeclared struct {
	first int64 // offset of the first one
	count uint64
}

// New returns what has to be known to read a file of version v.
func New(v wire.BagVersion) *Format {
	f := &Format{Layout: v.Layout, keys: make(map[string]int32)}
	if v.Single != nil {
		f.Conns = []*rosbag.Connection{v.Single}
	}
	return f
}

// Cut parses the record at the start of b up to its data, which starts at head.
// errShort says that b ends before.
func (f *Format) Cut(b []byte, rec *Record) (head int, err error) {
	if f.Layout == wire.LayoutV12 {
		return rec.cutV12(b)
	}
	return rec.cutLines(b, f.Layout)
}

// appendKey appends what distinguishes connections to dst. No two records that differ in
// it have the same key.
func (rec *Record) appendKey(dst []byte, l wire.Layout) []byte {
	if l == wire.LayoutV10 {
		return append(dst, rec.Topic...)
	}
	dst = append(dst, byte(rec.has&(hasCallerID|hasLatching)))
	for _, v := range [...][]byte{rec.Topic, rec.md5, rec.typ, rec.callerID} {
		dst = binary.AppendUvarint(dst, uint64(len(v)))
		dst = append(dst, v...)
	}
	return append(dst, rec.latching...)
}

// Find returns the connection of a message, as an index in Conns. It uses the memory of key,
// and returns it for the next call.
func (f *Format) Find(rec *Record, key []byte) (conn int32, keyMemory []byte, ok bool) {
	if f.Layout == wire.LayoutV0 {
		return 0, key, true
	}
	key = rec.appendKey(key[:0], f.Layout)
	conn, ok = f.keys[string(key)]
	return conn, key, ok
}

// Connection is Find for the first pass over a file, which makes the connections. It
// returns -1 for a message that has none: of an undeclared topic, or one too many. Only
// the first one of a topic is an error.
func (f *Format) Connection(rec *Record, at int64) (conn int32, err error) {
	var ok bool
	if conn, f.key, ok = f.Find(rec, f.key); ok {
		return conn, nil
	}
	if f.Layout == wire.LayoutV10 {
		return -1, f.missing(string(rec.Topic), at)
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
func (f *Format) missing(topic string, at int64) error {
	if u := f.undeclared[topic]; u != nil {
		u.count++
		return nil
	}
	if f.undeclared == nil {
		f.undeclared = make(map[string]*undeclared)
	}
	if len(f.undeclared) == maxUndeclared {
		return nil
	}
	f.undeclared[topic] = &undeclared{at, 1}
	return wire.Corrupt(at, rosbag.OpMessage, "messages of topic %q, which the bag does not declare", topic)
}

// room reports whether there may be one more connection at offset at.
func (f *Format) room(at int64) error {
	if limit := freeConns + at/bytesPerConn; int64(len(f.Conns)) >= limit {
		return wire.Corrupt(at, rosbag.OpMessage, "more than %d connections", limit)
	}
	return nil
}

// add makes the connection of rec, whose key is in f.key.
func (f *Format) add(rec *Record) int32 {
	n := int32(len(f.Conns))
	topic, typ, md5 := string(rec.Topic), string(rec.typ), string(rec.md5)
	c := wire.OldConnection(rosbag.ConnID(n), topic, typ, md5)
	if rec.has&hasCallerID != 0 {
		c.Header = append(c.Header, rosbag.Field{Key: rosbag.KeyCallerID, Value: string(rec.callerID)})
	}
	if rec.has&hasLatching != 0 {
		c.Header = append(c.Header, rosbag.Field{Key: rosbag.KeyLatching, Value: string(rec.latching)})
	}
	if !f.LateDefinitions {
		f.addDefinition(c)
	}
	f.Conns = append(f.Conns, c)
	f.keys[string(f.key)] = n
	return n
}

// Define keeps the text of a message definition record.
func (f *Format) Define(rec *Record) {
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
func (f *Format) addDefinition(c *rosbag.Connection) {
	if def, ok := f.defs[c.Header.Type()+"\x00"+c.Header.MD5Sum()]; ok {
		c.Header = slices.Insert(c.Header, 3, rosbag.Field{Key: rosbag.KeyMessageDefinition, Value: def})
	}
}

// Finish completes the connections of a file that was read wholly.
func (f *Format) Finish() {
	for _, c := range f.Conns {
		f.addDefinition(c)
	}
}

// UndeclaredErrors describes the messages of undeclared topics, in file order.
func (f *Format) UndeclaredErrors() []error {
	byPlace := func(a, b string) int { return cmp.Compare(f.undeclared[a].first, f.undeclared[b].first) }
	var errs []error
	for _, topic := range slices.SortedFunc(maps.Keys(f.undeclared), byPlace) {
		u := f.undeclared[topic]
		errs = append(errs,
			wire.Corrupt(u.first, rosbag.OpMessage, "%d messages of topic %q, which the bag does not declare",
				u.count, topic))
	}
	return errs
}

// Next reads the record at the start of the stream into rec, up to its data. At the
// end of the input it returns io.EOF. After an error rec.Framed reports whether the
// record can be passed over, rec.NeedsResync whether Resync may find another one.
func (f *Format) Next(s *wire.Stream, rec *Record) error {
	if f.Layout == wire.LayoutV12 {
		return rec.readV12(s)
	}
	return rec.readLines(s, f.Layout)
}

// Start reads what is before the first record.
func (f *Format) Start(s *wire.Stream) error {
	if f.Layout != wire.LayoutV10 {
		return nil
	}
	return f.readTable(s)
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
