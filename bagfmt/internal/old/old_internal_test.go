package old

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/rosbag"
)

const md5 = "0123456789abcdef0123456789ABCDEF"

// TestCutLines cuts messages of version 1.1, up to the limits of their lines.
func TestCutLines(t *testing.T) {
	t.Parallel()
	const stamp = "\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00"
	long := strings.Repeat("t", maxTextLineBytes)
	for in, want := range map[string]string{
		"/t\n*\na/B\n" + stamp + "abc": "",
		"/t\n*\n*\n" + stamp:           "",
		"/t\n*\n/B\n" + stamp:          "",
		long + "\n*\n*\n" + stamp:      "",
		long:                           errShort.Error(),
		long + "t":                     "topic of more than 1024 bytes",
		long + "t\n*\n*\n" + stamp:     "topic of more than 1024 bytes",
		"/t\n*\n" + long + "t\n":       "type of more than 1024 bytes",
		"\n*\n*\n" + stamp:             "empty topic",
		"\n":                           "empty topic",
		"/t\n\n*\n" + stamp:            "empty md5sum",
		"/ t\n*\n*\n" + stamp:          "topic has the byte 0x20 at 1",
		"/t\x7f\n*\n*\n" + stamp:       "topic has the byte 0x7f at 2",
		"/t\nx\na/B\n" + stamp:         `md5sum "x"`,
		"/t\n*\nx\n" + stamp:           `type "x"`,
	} {
		f := New(wire.BagVersion{Layout: wire.LayoutV11})
		var rec Record
		head, err := f.Cut([]byte(in), &rec)
		if want != "" {
			if err == nil || err.Error() != want || rec.Framed {
				t.Errorf("%.20q: %v, want %s", in, err, want)
			}
			continue
		}
		if err != nil || head != strings.Index(in, stamp)+len(stamp) || rec.Time != (rosbag.Time{Sec: 1, Nsec: 2}) || rec.Length != 3 || !rec.Framed {
			t.Errorf("%.20q: head of %d bytes, %v, %+v", in, head, err, rec)
		}
		for n := range head {
			if _, err := f.Cut([]byte(in)[:n:n], &rec); !errors.Is(err, errShort) {
				t.Errorf("%.20q cut at %d: %v", in, n, err)
			}
		}
	}
}

// TestCutV12 cuts records of version 1.2: each has to have the fields of its kind.
func TestCutV12(t *testing.T) {
	t.Parallel()
	field := func(key, value string) rosbag.Field { return rosbag.Field{Key: key, Value: value} }
	topic, sum, typ := field("topic", "/t"), field("md5", "*"), field("type", "a/B")
	pos := field("index_pos", "\x05\x00\x00\x00\x00\x00\x00\x00")
	for op, need := range map[rosbag.Op]fields.List{
		rosbag.OpMessageDefinition: {topic, sum, typ, field("def", "")},
		rosbag.OpMessage:           {topic, sum, typ, field("sec", "\x01\x00\x00\x00"), field("nsec", "\x02\x00\x00\x00")},
		rosbag.OpBagHeader:         {pos},
		rosbag.OpIndexData:         {topic},
	} {
		whole := recordV12(append(need[:len(need):len(need)], field("op", string(byte(op)))))
		var rec Record
		f := New(wire.BagVersion{Layout: wire.LayoutV12})
		if head, err := f.Cut(whole, &rec); err != nil || head != len(whole) || rec.Op != op || rec.Length != 7 || !rec.Framed {
			t.Errorf("%s: head of %d bytes, %v, %+v", op, head, err, rec)
		}
		for n := range whole {
			if _, err := f.Cut(whole[:n:n], &rec); !errors.Is(err, errShort) || rec.Framed {
				t.Errorf("%s, cut at %d: %v", op, n, err)
			}
		}
		for i := range need {
			b := recordV12(append(slices.Delete(slices.Clone(need), i, i+1), field("op", string(byte(op)))))
			if head, err := f.Cut(b, &rec); err == nil || !strings.Contains(err.Error(), "lacks fields") || head != len(b) || !rec.Framed {
				t.Errorf("%s without %s: head of %d bytes, %v", op, need[i].Key, head, err)
			}
		}
	}
	for want, b := range map[string][]byte{
		"header of 1048577 bytes, limit 1048576":     binary.LittleEndian.AppendUint32(nil, wire.MaxHeaderBytes+1),
		errShort.Error():                             binary.LittleEndian.AppendUint32(nil, wire.MaxHeaderBytes),
		"header byte 12: field of 255 bytes, 0 left": []byte("\x10\x00\x00\x00\x08\x00\x00\x00topic=/t\xff\x00\x00\x00\x00\x00\x00\x00"),
		"header field sec has 3 bytes":               recordV12(fields.List{field("sec", "123")}),
		wire.ErrNoOp.Error():                         recordV12(fields.List{topic}),
		errNotOld.Error():                            recordV12(fields.List{field("op", "\x05")}),
	} {
		var rec Record
		if _, err := rec.cutV12(b); err == nil || err.Error() != want {
			t.Errorf("%.20q: %v, want %s", b, err, want)
		}
	}
}

// TestNextV12 reads the start of records of version 1.2: what can be no header needs a search for the next record.
func TestNextV12(t *testing.T) {
	t.Parallel()
	u32 := func(n uint32) string { return string(binary.LittleEndian.AppendUint32(nil, n)) }
	first := func(key string) string {
		return string(recordV12(fields.List{{Key: key}, {Key: "op", Value: "\x04"}, {Key: "topic"}}))
	}
	for name, tt := range map[string]struct {
		in     string
		want   string // the error
		resync bool
	}{
		"message":             {string(messageV12(nil)), "", false},
		"first key a":         {first("a"), "", false},
		"first key z":         {first("z"), "", false},
		"first key before a":  {first("`"), "field that starts with the byte 0x60", true},
		"first key after z":   {first("{"), "field that starts with the byte 0x7b", true},
		"one field":           {u32(8) + u32(4) + "op=\x02" + u32(0), "header lacks fields", false},
		"field beyond header": {u32(8) + u32(5) + "op=\x02\x00" + u32(0), "field of 5 bytes in a header of 8", true},
		"longest header":      {u32(wire.MaxHeaderBytes) + u32(4) + "op=\x02", "file ends", false},
		"header too long":     {u32(wire.MaxHeaderBytes+1) + u32(4) + "op=\x02", "header of 1048577 bytes, limit 1048576", true},
		"cut":                 {u32(wire.MaxHeaderBytes+1) + u32(4), "header of 1048577 bytes, limit 1048576", false},
	} {
		f := New(wire.BagVersion{Layout: wire.LayoutV12})
		var rec Record
		err := f.Next(wire.NewStream(strings.NewReader(tt.in), 0, wire.SmallBufferBytes), &rec)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) || rec.NeedsResync != tt.resync {
			t.Errorf("%s: %v, resync %t, want %q", name, err, rec.NeedsResync, tt.want)
		}
	}
}

// TestTable reads tables of topics of version 1.0, up to the limits of their lines.
func TestTable(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("t", maxTextLineBytes)
	for in, tt := range map[string]struct {
		want string // the error
		at   int64
	}{
		"0\n":                           {},
		"1\n" + long + "\na/B\n*\nrest": {},
		"1\n" + long + "t\n*\n*\n":      {"topic of more than 1024 bytes", 2},
		"1\n/t\n" + strings.Repeat("t", 2*wire.SmallBufferBytes): {"md5sum of more than 1024 bytes", 2},
		"1\n/t\n*\nx":           {"file ends after 1 bytes of the type", 2},
		"1\n/t\n*\n":            {"file ends after 0 bytes of the type", 2},
		"2\n/t\n*\n*\n\n*\n*\n": {"empty topic", 9},
		"1\na b\n*\n*\n":        {"topic has the byte 0x20 at 1", 2},
		"x\n":                   {`number of topics "x"`, 0},
		"":                      {"file ends after 0 bytes of the number of topics", 0},
	} {
		f := New(wire.BagVersion{Layout: wire.LayoutV10})
		s := wire.NewStream(strings.NewReader(in), 0, wire.SmallBufferBytes)
		err := f.Start(s)
		var bad *rosbag.CorruptError
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%.20q: %v", in, err)
		case tt.want != "" && (!errors.As(err, &bad) || !strings.Contains(err.Error(), tt.want) || bad.Offset != tt.at):
			t.Errorf("%.20q: %v, want %s at %d", in, err, tt.want, tt.at)
		}
	}
	table := "3\n/t\na/B\n" + md5 + "\n/u\n" + md5 + "\nc/D\n/t\n*\n*\n"
	f := New(wire.BagVersion{Layout: wire.LayoutV10})
	s := wire.NewStream(strings.NewReader(table+"rest"), 0, wire.SmallBufferBytes)
	if err := f.Start(s); err != nil || s.Off != int64(len(table)) {
		t.Errorf("read up to %d of %d: %v", s.Off, len(table), err)
	}
	want := []*rosbag.Connection{wire.OldConnection(0, "/t", "a/B", md5), wire.OldConnection(1, "/u", "c/D", md5)}
	if d := cmp.Diff(want, f.Conns); d != "" {
		t.Errorf("connections (-want +got):\n%s", d)
	}
}

// TestConnectionsBySize: the size of a file limits its connections. The first that is too many is an error.
func TestConnectionsBySize(t *testing.T) {
	t.Parallel()
	f := New(wire.BagVersion{Layout: wire.LayoutV11})
	n := 0
	next := func(at int64) (int32, error) {
		n++
		return f.Connection(&Record{Topic: fmt.Append(nil, n)}, at)
	}
	for i := range int32(freeConns + 1) {
		if conn, err := next(bytesPerConn); conn != i || err != nil {
			t.Fatalf("connection %d: got %d, %v", i, conn, err)
		}
	}
	if conn, err := next(2*bytesPerConn - 1); conn != -1 || err == nil || !strings.Contains(err.Error(), "more than 769 connections") {
		t.Errorf("one too many: got %d, %v", conn, err)
	}
	if conn, err := next(bytesPerConn); conn != -1 || err != nil {
		t.Errorf("two too many: got %d, %v", conn, err)
	}
	if conn, err := next(2 * bytesPerConn); conn != freeConns+1 || err != nil {
		t.Errorf("in a larger file: got %d, %v", conn, err)
	}
}

// TestUndeclared: messages of a topic that a bag of version 1.0 does not declare have no connection. The first of
// a topic is an error, and all are counted.
func TestUndeclared(t *testing.T) {
	t.Parallel()
	f := New(wire.BagVersion{Layout: wire.LayoutV10})
	for _, topic := range []string{"/a", "/b"} {
		f.key = []byte(topic)
		f.add(&Record{Topic: []byte(topic)})
	}
	for i, topic := range []string{"/x", "/y", "/x", "/b", "/x"} {
		conn, err := f.Connection(&Record{Topic: []byte(topic)}, int64(i))
		want := int32(-1)
		if topic == "/b" {
			want = 1
		}
		if conn != want || (err != nil) != (i < 2) {
			t.Errorf("message %d of %s: connection %d, %v", i, topic, conn, err)
		}
	}
	got := fmt.Sprint(f.UndeclaredErrors())
	if x, y := strings.Index(got, `3 messages of topic "/x"`), strings.Index(got, `1 messages of topic "/y"`); x < 0 || y < x {
		t.Errorf("got %s", got)
	}
}

// TestEmptyFields: a field that is empty makes another connection than one that is not there.
func TestEmptyFields(t *testing.T) {
	t.Parallel()
	f := New(wire.BagVersion{Layout: wire.LayoutV12})
	more := []fields.List{nil, {{Key: "callerid"}}, {{Key: "latching"}}, {{Key: "callerid"}, {Key: "latching"}}}
	for range 2 {
		for i, more := range more {
			conn, err := f.Connection(cutMessage(t, f, more), 0)
			if err != nil || conn != int32(i) {
				t.Fatalf("%v: connection %d, %v, want %d", more, conn, err, i)
			}
		}
	}
	for i, c := range f.Conns {
		if got := c.Header[3:]; len(got) != len(more[i]) {
			t.Errorf("%v: header %v", more[i], c.Header)
		}
	}
}

// cutMessage returns a message record of version 1.2 with more fields than it needs.
func cutMessage(t *testing.T, f *Format, more fields.List) *Record {
	t.Helper()
	b := messageV12(more)
	rec := new(Record)
	head, err := f.Cut(b, rec)
	if err != nil || head != len(b) || rec.Length != 7 || rec.Time != (rosbag.Time{Sec: 1, Nsec: 2}) || string(rec.Topic) != "/t" {
		t.Fatalf("head of %d bytes, %v, %+v", head, err, rec)
	}
	return rec
}

// messageV12 encodes a message record up to its data.
func messageV12(more fields.List) []byte {
	h := append(fields.List{
		{Key: "md5", Value: "*"},
		{Key: "nsec", Value: "\x02\x00\x00\x00"},
		{Key: "op", Value: "\x02"},
		{Key: "sec", Value: "\x01\x00\x00\x00"},
		{Key: "topic", Value: "/t"},
		{Key: "type", Value: "a/B"},
	}, more...)
	return recordV12(h)
}

// recordV12 encodes a record up to its data of 7 bytes.
func recordV12(h fields.List) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(h.Size()))
	return binary.LittleEndian.AppendUint32(h.Append(b), 7)
}

// TestResync finds the next message wherever it starts, but not at the first byte.
func TestResync(t *testing.T) {
	t.Parallel()
	const lines = "/t\n*\na/B\n"
	message := lines + strings.Repeat("\x00", stampBytes)
	v12 := string(messageV12(nil))
	pad := func(size int) string { // a message whose header has size bytes
		return string(messageV12(fields.List{{Key: "callerid", Value: strings.Repeat("c", size-len(v12)+8-len("1234callerid="))}}))
	}
	index := strings.Replace(v12, "op=\x02", "op=\x04", 1)
	type test struct {
		in   string
		want int // -1: none
	}
	tests := map[wire.Layout]map[string]test{
		wire.LayoutV10: {"unknown": {"x" + message, -1}},
		wire.LayoutV11: {
			"empty":           {"", -1},
			"the next":        {message + message, len(message)},
			"md5sum":          {"x" + strings.Replace(message, "*", md5, 1), 1},
			"other topic":     {"x/u" + message[2:], -1},
			"other type":      {"x" + strings.Replace(message, "a/B", "a/C", 1), -1},
			"no md5sum":       {"x" + strings.Replace(message, "*", "+", 1) + message, 1 + len(message)},
			"cut":             {"x" + message[:len(message)-1], -1},
			"cut in its line": {"x" + message[:4], -1},
		},
		wire.LayoutV12: {
			"empty":         {"", -1},
			"the next":      {v12 + v12, len(v12)},
			"index data":    {"x" + index + v12, 1 + len(index)},
			"no op":         {"x" + strings.Replace(v12, "op=", "oq=", 1) + v12, 1 + len(v12)},
			"no topic":      {"x" + strings.Replace(v12, "topic", "tapic", 1) + v12, 1 + len(v12)},
			"cut":           {"x" + v12[:len(v12)-1], -1},
			"longest":       {"x" + pad(maxHeader-wire.MinRecordBytes), 1},
			"one byte more": {"x" + pad(maxHeader-wire.MinRecordBytes+1), -1},
		},
	}
	for n := 1; n < 5*maxHeader; n += 13 {
		name := fmt.Sprint("after ", n)
		tests[wire.LayoutV11][name] = test{strings.Repeat("/", n) + message + "data", n}
		tests[wire.LayoutV12][name] = test{strings.Repeat("\x00", n) + v12 + "data", n}
	}
	for layout, tests := range tests {
		for name, tt := range tests {
			f := New(wire.BagVersion{Layout: layout})
			for _, sum := range []string{"*", md5} {
				rec := Record{Topic: []byte("/t"), md5: []byte(sum), typ: []byte("a/B")}
				if _, err := f.Connection(&rec, 0); err != nil && layout != wire.LayoutV10 {
					t.Fatal(err)
				}
			}
			s := wire.NewStream(strings.NewReader(tt.in), 0, wire.SmallBufferBytes)
			err := f.Resync(s)
			if tt.want < 0 && !errors.Is(err, io.EOF) || tt.want >= 0 && (err != nil || s.Off != int64(tt.want)) {
				t.Errorf("layout %d, %s: at %d, %v, want %d", layout, name, s.Off, err, tt.want)
			}
		}
	}
}
