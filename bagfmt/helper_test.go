package bagfmt_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosbag"
)

// every goes beyond what GOROSBAG_FULL does, and takes minutes for some tests. It is for one run of
// "go test ./bagfmt -run 'Flips|Truncat|Cut' -every" after a change of a reader.
var every = flag.Bool("every", false, "damage every bit and cut at every byte, also where GOROSBAG_FULL does not")

// stride returns how far the places are apart that a test of damage visits: with GOROSBAG_FULL half
// of coarse, so 1 for most tests. Else it is coarse times 7, so that each record is hit at several
// places, and one bit of each byte, in turn.
func stride(coarse int) int {
	switch {
	case testkit.Race:
		return 13 // the detector makes the tests twenty times slower, and has nothing to find in them
	case *every:
		return 1
	case testkit.Full():
		return max(1, coarse/2)
	}
	return 7 * coarse
}

// cuts yields the lengths to which a test cuts a bag, ascending, up to one byte less than all.
func cuts(bag []byte, coarse int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 0; i < len(bag)-1; i += stride(coarse) {
			if !testkit.Full() && padding(bag, i) && i%256 >= stride(coarse) {
				continue // few of those many that are all the same
			}
			if !yield(i) {
				return
			}
		}
		yield(len(bag) - 1)
	}
}

// flips yields the bytes of bag[from:to] that a test damages, and the bits to be flipped:
// as many for each byte as are affordable, where all bytes are visited, and else one. A byte
// between the same bytes as an earlier one, as in the next record of a kind, is damaged in one bit.
func flips(bag []byte, from, to, coarse, affordable int) iter.Seq2[int, byte] {
	return func(yield func(int, byte) bool) {
		visited := map[string]bool{}
		for i := from; i < to; i += stride(coarse) {
			if padding(bag, i) {
				continue
			}
			around := string(bag[max(0, i-8):min(len(bag), i+8)])
			again := visited[around]
			visited[around] = true
			for bit := range 8 {
				first, second := bit == (i+i/8)%8, bit == i%8
				switch {
				case again && !*every && !first:
					continue
				case *every, testkit.Full() && affordable == 8:
				case testkit.Full() && affordable == 2 && (first || second):
				case first:
				default:
					continue
				}
				if !yield(i, 1<<bit) {
					return
				}
			}
		}
	}
}

// padding reports whether the byte at i is one of the many in a bag header.
func padding(bag []byte, i int) bool {
	const around = 8
	return i >= around && i+around < len(bag) && len(bytes.Trim(bag[i-around:i+around], " ")) == 0
}

// flipped returns bag with the bits of mask flipped in the byte at i.
func flipped(bag []byte, i int, mask byte) []byte {
	bag = slices.Clone(bag)
	bag[i] ^= mask
	return bag
}

var compressions = []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4, rosbag.CompressionBZ2}

// memFile is a file in memory.
type memFile struct {
	b     []byte
	syncs int
}

func (f *memFile) Write(p []byte) (int, error) {
	f.b = append(f.b, p...)
	return len(p), nil
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	if end := int(off) + len(p); end > len(f.b) {
		f.b = append(f.b, make([]byte, end-len(f.b))...)
	}
	return copy(f.b[off:], p), nil
}

func (f *memFile) Sync() error { f.syncs++; return nil }

// msg is a message as tests compare it.
type msg struct {
	Topic string
	Time  rosbag.Time
	Data  string
}

func asMsg(m *rosbag.Message) msg { return msg{m.Conn.Topic, m.Time, string(m.Data())} }

func header(typ string, more ...rosbag.Field) rosbag.Header {
	return append(rosbag.Header{
		{Key: "type", Value: typ},
		{Key: "md5sum", Value: "992ce8a1687cec8c8bd883ec73ca41d1"},
		{Key: "message_definition", Value: "string data\n"},
	}, more...)
}

// sample returns messages of three connections, two of them on one topic, with
// equal, zero and descending times among them.
func sample(n int) (conns []*rosbag.Connection, msgs []msg) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		t := rosbag.Time{Sec: 100 + uint32(i/4), Nsec: uint32(i%3) * 1000}
		if i == 0 {
			t = rosbag.Time{}
		}
		data := strings.Repeat(fmt.Sprintf("message %d;", i), rnd.IntN(8))
		msgs = append(msgs, msg{[]string{"/imu", "/odom", "/imu"}[i%3], t, data})
	}
	return []*rosbag.Connection{
		{ID: 0, Topic: "/imu", Header: header("a/Imu", rosbag.Field{Key: "callerid", Value: "/a"})},
		{ID: 1, Topic: "/odom", Header: header("a/Odom", rosbag.Field{Key: "latching", Value: "1"})},
		{ID: 2, Topic: "/imu", Header: header("a/Imu", rosbag.Field{Key: "callerid", Value: "/b"}, rosbag.Field{Key: "x", Value: "\x00\xff="})},
	}, msgs
}

// writeBag writes msgs[i] on conns[i%len(conns)].
func writeBag(tb testing.TB, o bagfmt.WriterOptions, conns []*rosbag.Connection, msgs []msg) []byte {
	tb.Helper()
	var f memFile
	w, err := bagfmt.NewWriter(&f, o)
	if err != nil {
		tb.Fatal(err)
	}
	var own []*rosbag.Connection
	for _, c := range conns {
		oc, err := w.AddConnection(c.Topic, c.Header)
		if err != nil {
			tb.Fatal(err)
		}
		own = append(own, oc)
	}
	for i, m := range msgs {
		if err := w.Write(own[i%len(own)], m.Time, []byte(m.Data)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return f.b
}

// sampleBag is a bag of a few small chunks.
func sampleBag(tb testing.TB, c rosbag.Compression) []byte {
	tb.Helper()
	conns, msgs := sample(30)
	return writeBag(tb, bagfmt.WriterOptions{Compression: c, ChunkBytes: 1000}, conns, msgs)
}

// openBag opens a bag through its index only.
func openBag(b []byte) (*bagfmt.Reader, error) {
	return bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{IndexOnly: true})
}

// openAny opens a bag with or without an index.
func openAny(b []byte) (*bagfmt.Reader, error) {
	return bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
}

// readAll returns all messages in time order, and all errors but io.EOF.
func readAll(tb testing.TB, b []byte, q rosbag.Query) (msgs []msg, errs []error) {
	tb.Helper()
	r, err := openBag(b)
	if err != nil {
		return nil, []error{err}
	}
	for m, err := range rosbag.Messages(r, q) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		msgs = append(msgs, asMsg(m))
	}
	return msgs, errs
}

// scanAll returns all messages in file order, and all errors but io.EOF.
func scanAll(tb testing.TB, b []byte) (msgs []msg, errs []error) {
	tb.Helper()
	return scanWith(tb, b, bagfmt.ScannerOptions{})
}

// byTime sorts messages as a Cursor gives them, if they are in file order.
func byTime(msgs []msg) []msg {
	msgs = slices.Clone(msgs)
	slices.SortStableFunc(msgs, func(a, b msg) int { return a.Time.Compare(b.Time) })
	return msgs
}

// typed reports whether err is of the kinds that a damaged bag may cause.
func typed(err error) bool {
	for _, e := range []error{rosbag.ErrCorrupt, rosbag.ErrLimit, rosbag.ErrNotBag, rosbag.ErrVersion, rosbag.ErrUnindexed, rosbag.ErrEncrypted} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// record is a top level record as this test's own parser sees it.
type record struct {
	off    int
	op     byte
	fields map[string]int // offset of the value
	length map[string]int
	dataAt int // offset of the length word of the data
	data   []byte
}

// records cuts a sound bag in its top level records.
func records(tb testing.TB, b []byte) []record {
	tb.Helper()
	var list []record
	for off := bytes.IndexByte(b, '\n') + 1; off < len(b); {
		r := cutRecord(tb, b, off)
		list = append(list, r)
		off = r.dataAt + 4 + len(r.data)
	}
	return list
}

func cutRecord(tb testing.TB, b []byte, off int) record {
	tb.Helper()
	r := record{off: off, fields: map[string]int{}, length: map[string]int{}}
	end := off + 4 + int(binary.LittleEndian.Uint32(b[off:]))
	for at := off + 4; at < end; {
		key, value, rest, err := fields.Next(b[at:end])
		if err != nil {
			tb.Fatalf("record at %d: %v", off, err)
		}
		r.fields[string(key)] = at + 4 + len(key) + 1
		r.length[string(key)] = len(value)
		at = end - len(rest)
	}
	r.op = b[r.fields["op"]]
	r.dataAt = end
	n := int(binary.LittleEndian.Uint32(b[end:]))
	r.data = b[end+4 : end+4+n]
	return r
}

// recordsOf returns the records with an op.
func recordsOf(tb testing.TB, b []byte, op byte) []record {
	tb.Helper()
	return slices.DeleteFunc(records(tb, b), func(r record) bool { return r.op != op })
}

func setU32(b []byte, at int, v uint32) []byte {
	b = slices.Clone(b)
	binary.LittleEndian.PutUint32(b[at:], v)
	return b
}

func setU64(b []byte, at int, v uint64) []byte {
	b = slices.Clone(b)
	binary.LittleEndian.PutUint64(b[at:], v)
	return b
}

// rec encodes a record.
func rec(h fields.List, data []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(h.Size()))
	b = h.Append(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	return append(b, data...)
}

func u32s(v ...uint32) string {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return string(b)
}

// lastOf returns the latest message of a connection with a time of at most t.
func lastOf(r rosbag.Latest, id rosbag.ConnID, t rosbag.Time) (*rosbag.Message, error) {
	for _, found := range r.Latest(t, func(c *rosbag.Connection) bool { return c.ID == id }) {
		return found.Message, found.Err
	}
	return nil, nil
}

// steady returns n messages of the connections of sample with times that rise by 1 s
// every third message.
func steady(n, from int) (conns []*rosbag.Connection, msgs []msg) {
	conns, _ = sample(0)
	for i := range n {
		msgs = append(msgs, msg{conns[i%3].Topic, rosbag.Time{Sec: uint32(from + i/3)}, fmt.Sprintf("message %d of %d", i, from)})
	}
	return conns, msgs
}
