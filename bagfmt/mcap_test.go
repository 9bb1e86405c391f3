package bagfmt_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/foxglove/mcap/go/mcap"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// mcapForm is a way to write an MCAP file that readers have to know.
type mcapForm struct {
	name    string
	options mcap.WriterOptions
	indexed bool // it is read by its index
}

// mcapForms are the ways of the library of the makers of MCAP.
var mcapForms = []mcapForm{
	{"plain", mcap.WriterOptions{Chunked: true, ChunkSize: 300}, true},
	{"crc", mcap.WriterOptions{Chunked: true, ChunkSize: 300, IncludeCRC: true}, true},
	{"lz4", mcap.WriterOptions{Chunked: true, ChunkSize: 300, IncludeCRC: true, Compression: mcap.CompressionLZ4}, true},
	{"zstd", mcap.WriterOptions{Chunked: true, ChunkSize: 300, IncludeCRC: true, Compression: mcap.CompressionZSTD}, true},
	{"one chunk", mcap.WriterOptions{Chunked: true, ChunkSize: 1 << 20, Compression: mcap.CompressionZSTD}, true},
	{"unchunked", mcap.WriterOptions{}, false},
	{"no message index", mcap.WriterOptions{Chunked: true, ChunkSize: 300, IncludeCRC: true, SkipMessageIndexing: true}, false},
	{"no statistics", mcap.WriterOptions{Chunked: true, ChunkSize: 300, IncludeCRC: true, SkipStatistics: true}, false},
	{"no channels in summary", mcap.WriterOptions{Chunked: true, ChunkSize: 300, SkipRepeatedChannelInfos: true, SkipRepeatedSchemas: true}, false},
	{"no chunk index", mcap.WriterOptions{Chunked: true, ChunkSize: 300, Compression: mcap.CompressionLZ4, SkipChunkIndex: true}, false},
	{"no summary", mcap.WriterOptions{
		Chunked: true, ChunkSize: 300, SkipMessageIndexing: true, SkipStatistics: true, SkipRepeatedChannelInfos: true, SkipRepeatedSchemas: true,
		SkipAttachmentIndex: true, SkipMetadataIndex: true, SkipChunkIndex: true, SkipSummaryOffsets: true,
	}, false},
}

const stringDefinition = "string data\n"

// mcapChannels are those of mcapFile, by id: those of other encodings are between those of ROS 1.
var mcapChannels = []mcap.Channel{
	{ID: 1, SchemaID: 1, Topic: "/a", MessageEncoding: "ros1", Metadata: map[string]string{
		"topic": "/a", "md5sum": "992ce8a1687cec8c8bd883ec73ca41d1", "callerid": "/one", "latching": "1", "x": "y",
	}},
	{ID: 2, SchemaID: 1, Topic: "/a", MessageEncoding: "ros1", Metadata: map[string]string{"callerid": "/two", "latching": "true"}},
	{ID: 8, SchemaID: 2, Topic: "/cdr", MessageEncoding: "cdr", Metadata: map[string]string{"offered_qos_profiles": "- x"}},
	{ID: 9, SchemaID: 0, Topic: "/json", MessageEncoding: "json"},
	{ID: 10, SchemaID: 2, Topic: "/wrong", MessageEncoding: "ros1"},
	{ID: 11, SchemaID: 1, Topic: "/b", MessageEncoding: "ros1", Metadata: map[string]string{"latching": "False"}},
}

// mcapMessages are the messages of mcapFile in file order: their times are out of order, also from
// chunk to chunk.
func mcapMessages() []mcap.Message {
	var list []mcap.Message
	for n := range 60 {
		c := mcapChannels[n%len(mcapChannels)].ID
		at := uint64(1e9 + (n^5)*1e6)
		text := fmt.Sprintf("%d %s", n, bytes.Repeat([]byte("x"), n%17))
		data := append([]byte{byte(len(text)), 0, 0, 0}, text...)
		list = append(list, mcap.Message{ChannelID: c, Sequence: uint32(n), LogTime: at, PublishTime: at + 5, Data: data})
	}
	return list
}

// mcapFile writes messages as one file with an attachment and a metadata record.
func mcapFile(t testing.TB, o mcap.WriterOptions, messages []mcap.Message) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := mcap.NewWriter(&b, &o)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	check(w.WriteHeader(&mcap.Header{Profile: "ros1", Library: "test"}))
	check(w.WriteSchema(&mcap.Schema{ID: 1, Name: "std_msgs/String", Encoding: "ros1msg", Data: []byte(stringDefinition)}))
	check(w.WriteSchema(&mcap.Schema{ID: 2, Name: "std_msgs/msg/String", Encoding: "ros2msg", Data: []byte(stringDefinition)}))
	for i := range mcapChannels {
		check(w.WriteChannel(&mcapChannels[i]))
	}
	for i := range messages {
		check(w.WriteMessage(&messages[i]))
		if i == 20 {
			check(w.WriteAttachment(&mcap.Attachment{Name: "map.png", MediaType: "image/png", DataSize: 5, Data: bytes.NewReader([]byte("12345"))}))
			check(w.WriteMetadata(&mcap.Metadata{Name: "site", Metadata: map[string]string{"a": "b"}}))
		}
	}
	check(w.Close())
	return b.Bytes()
}

// wantMCAP returns what a reader makes of messages: those of ROS 1 in the order of time.
func wantMCAP(messages []mcap.Message, keep func(id uint16) bool) []msg {
	sorted := slices.Clone(messages)
	slices.SortStableFunc(sorted, func(a, b mcap.Message) int { return cmp.Compare(a.LogTime, b.LogTime) })
	var list []msg
	for _, m := range sorted {
		if keep(m.ChannelID) {
			i := slices.IndexFunc(mcapChannels, func(c mcap.Channel) bool { return c.ID == m.ChannelID })
			list = append(list, msg{mcapChannels[i].Topic, rosbag.Time{Sec: uint32(m.LogTime / 1e9), Nsec: uint32(m.LogTime % 1e9)}, string(m.Data)})
		}
	}
	return list
}

func ofROS1(id uint16) bool { return id < 8 || id == 11 }

// lostOf returns the errors of a list that are neither of other encodings nor about an index alone.
func lostOf(list []error) []error {
	return slices.DeleteFunc(slices.Clone(list), func(err error) bool {
		var encoding *rosbag.EncodingError
		var corrupt *rosbag.CorruptError
		return errors.As(err, &encoding) || errors.Is(err, rosbag.ErrUnindexed) || errors.As(err, &corrupt) && corrupt.Recovered
	})
}

func TestMCAPForms(t *testing.T) {
	t.Parallel()
	messages := mcapMessages()
	want := wantMCAP(messages, ofROS1)
	for _, form := range mcapForms {
		for _, workers := range []int{0, 2} {
			t.Run(fmt.Sprintf("%s/%d", form.name, workers), func(t *testing.T) {
				t.Parallel()
				b := mcapFile(t, form.options, messages)
				r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{CacheBytes: 1})
				if err != nil {
					t.Fatal(err)
				}
				if r.Info().Format != "mcap" || r.Info().Indexed != form.indexed || int(r.Info().Messages) != len(want) {
					t.Errorf("version %s, indexed %t, %d messages, want %d; damage %v", r.Info().Format, r.Info().Indexed, r.Info().Messages, len(want), r.Info().Damage)
				}
				var foreign []string
				for _, err := range r.Info().Damage {
					var e *rosbag.EncodingError
					if errors.As(err, &e) {
						foreign = append(foreign, e.Topic+" "+e.Encoding+" "+e.SchemaEncoding)
					}
				}
				if want := []string{"/cdr cdr ros2msg", "/json json ", "/wrong ros1 ros2msg"}; !slices.Equal(foreign, want) {
					t.Errorf("other encodings %q, want %q", foreign, want)
				}
				if lost := lostOf(r.Info().Damage); len(lost) > 0 {
					t.Errorf("damage %v", lost)
				}
				if got, errs := scanWith(t, b, bagfmt.ScannerOptions{Reuse: workers > 0}); !slices.Equal(byTime(got), want) || len(lostOf(errs)) > 0 || len(errs) != 3 {
					t.Errorf("scanner: errors %v, %d messages", errs, len(got))
				}
				got, errs := readOpen(r, rosbag.Query{Workers: workers, Reuse: workers > 0})
				if !slices.Equal(got, want) || len(errs) > 0 {
					t.Errorf("errors %v, got %d messages, want %d\n%v\n%v", errs, len(got), len(want), got, want)
				}
			})
		}
	}
}

// readOpen reads what q selects.
func readOpen(r *bagfmt.Reader, q rosbag.Query) (list []msg, errs []error) {
	for m, err := range rosbag.Messages(r, q) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, asMsg(m))
	}
	return list, errs
}

// TestMCAPConnections compares the headers of connections with those that their publishers had.
func TestMCAPConnections(t *testing.T) {
	t.Parallel()
	const md5 = "992ce8a1687cec8c8bd883ec73ca41d1"
	common := func(topic string, more ...rosbag.Field) rosbag.Header {
		return append(rosbag.Header{
			{Key: "topic", Value: topic}, {Key: "type", Value: "std_msgs/String"}, {Key: "md5sum", Value: md5}, {Key: "message_definition", Value: stringDefinition},
		}, more...)
	}
	foreign := func(topic, typ, encoding, schema, definition string, more ...rosbag.Field) rosbag.Header {
		return append(rosbag.Header{
			{Key: "topic", Value: topic},
			{Key: "type", Value: typ},
			{Key: rosbag.KeyMCAPEncoding, Value: encoding},
			{Key: rosbag.KeyMCAPSchemaEncoding, Value: schema},
			{Key: rosbag.KeyMCAPSchema, Value: definition},
		}, more...)
	}
	want := []*rosbag.Connection{
		{ID: 1, Topic: "/a", Header: common("/a", rosbag.Field{Key: "callerid", Value: "/one"}, rosbag.Field{Key: "latching", Value: "1"}, rosbag.Field{Key: "x", Value: "y"})},
		{ID: 2, Topic: "/a", Header: common("/a", rosbag.Field{Key: "callerid", Value: "/two"}, rosbag.Field{Key: "latching", Value: "1"})},
		{ID: 8, Topic: "/cdr", Header: foreign("/cdr", "std_msgs/msg/String", "cdr", "ros2msg", stringDefinition, rosbag.Field{Key: "mcap.metadata.offered_qos_profiles", Value: "- x"})},
		{ID: 9, Topic: "/json", Header: foreign("/json", "", "json", "", "")},
		{ID: 10, Topic: "/wrong", Header: foreign("/wrong", "std_msgs/msg/String", "ros1", "ros2msg", stringDefinition)},
		{ID: 11, Topic: "/b", Header: common("/b", rosbag.Field{Key: "latching", Value: "0"})},
	}
	messages := mcapMessages()
	for _, form := range mcapForms {
		b := mcapFile(t, form.options, messages)
		for _, keep := range []bool{false, true} {
			r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{KeepForeign: keep})
			if err != nil {
				t.Fatal(err)
			}
			want := want
			if !keep {
				want = slices.DeleteFunc(slices.Clone(want), func(c *rosbag.Connection) bool { return !ofROS1(uint16(c.ID)) })
			}
			if diff := gocmp.Diff(want, r.Connections()); diff != "" {
				t.Errorf("%s: %s", form.name, diff)
			}
		}
		all := wantMCAP(messages, func(uint16) bool { return true })
		r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{KeepForeign: true})
		if err != nil {
			t.Fatal(err)
		}
		if got, errs := readOpen(r, rosbag.Query{}); len(errs) > 0 || !slices.Equal(got, all) || len(lostOf(r.Info().Damage)) > 0 {
			t.Errorf("%s: errors %v, damage %v, %d messages", form.name, errs, r.Info().Damage, len(got))
		}
	}
}

// TestMCAPLatest compares the latest messages before each time with those that a walk finds: the
// latched state after a seek.
func TestMCAPLatest(t *testing.T) {
	t.Parallel()
	messages := mcapMessages()
	want := wantMCAP(messages, ofROS1)
	for _, form := range mcapForms {
		b := mcapFile(t, form.options, messages)
		r, err := openAny(b)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range want {
			latest := make(map[string]msg)
			for m, err := range rosbag.Messages(r, rosbag.Query{End: m.Time, Keep: func(c *rosbag.Connection) bool { return c.Header.Latching() }}) {
				if err != nil {
					t.Fatal(err)
				}
				latest[m.Conn.Header.CallerID()] = asMsg(m)
			}
			got := make(map[string]msg)
			for c, found := range rosbag.Latched(r, m.Time, nil) {
				if found.Err != nil {
					t.Fatal(found.Err)
				}
				got[c.Header.CallerID()] = asMsg(found.Message)
			}
			if diff := gocmp.Diff(latest, got); diff != "" {
				t.Fatalf("%s at %s: %s", form.name, m.Time, diff)
			}
		}
	}
}

// countedReads counts what is read.
type countedReads struct {
	*bytes.Reader
	bytes, calls int
}

func (c *countedReads) ReadAt(p []byte, off int64) (int, error) {
	c.calls++
	n, err := c.Reader.ReadAt(p, off)
	c.bytes += n
	return n, err
}

// TestMCAPReadsIndex opens a file of many chunks and seeks in it: only the summary and a few chunks are
// read.
func TestMCAPReadsIndex(t *testing.T) {
	t.Parallel()
	var messages []mcap.Message
	for n := range 3000 {
		messages = append(messages, mcap.Message{ChannelID: 1 + uint16(n%2), LogTime: uint64(n) * 1e9, Data: bytes.Repeat([]byte{byte(n)}, 1000)})
	}
	b := mcapFile(t, mcap.WriterOptions{Chunked: true, ChunkSize: 2000, IncludeCRC: true}, messages)
	r, err := mcap.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	info, err := r.Info()
	if err != nil {
		t.Fatal(err)
	}
	summary := len(b) - int(info.Footer.SummaryStart)
	file := &countedReads{Reader: bytes.NewReader(b)}
	bag, err := bagfmt.NewReader(file, int64(len(b)), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const slack = 8 << 10
	if !bag.Info().Indexed || file.bytes > summary+slack {
		t.Errorf("indexed %t: opening reads %d bytes, the summary has %d", bag.Info().Indexed, file.bytes, summary)
	}
	file.bytes, file.calls = 0, 0
	start := rosbag.Time{Sec: 1500}
	c := bag.Cursor(rosbag.Query{Start: start})
	defer c.Close()
	m, err := c.Next()
	if err != nil || m.Time != start {
		t.Fatalf("%v, %v", m, err)
	}
	for _, found := range bag.Latest(start, nil) {
		if found.Err != nil || found.Message == nil {
			t.Errorf("latest: %+v", found)
		}
	}
	if file.bytes > 8*2000+slack || file.calls > 40 {
		t.Errorf("a seek reads %d bytes in %d calls", file.bytes, file.calls)
	}
}

// TestMCAPLateTime reads messages of times that a bag cannot have: they are told and passed over.
func TestMCAPLateTime(t *testing.T) {
	t.Parallel()
	messages := mcapMessages()
	want := wantMCAP(messages, ofROS1)
	messages = slices.Insert(messages, 30, mcap.Message{ChannelID: 1, LogTime: 1 << 63, Data: []byte{0, 0, 0, 0}})
	for _, form := range mcapForms {
		b := mcapFile(t, form.options, messages)
		r, err := openAny(b)
		if err != nil {
			t.Fatal(err)
		}
		got, errs := readOpen(r, rosbag.Query{})
		if lost := lostOf(append(errs, r.Info().Damage...)); !slices.Equal(got, want) || len(lost) == 0 {
			t.Errorf("%s: %d messages, want %d; told %v", form.name, len(got), len(want), lost)
		}
		got, errs = scanWith(t, b, bagfmt.ScannerOptions{})
		if lost := lostOf(errs); !slices.Equal(byTime(got), want) || len(lost) != 1 {
			t.Errorf("%s: scanner: %d messages, want %d; told %v", form.name, len(got), len(want), lost)
		}
	}
}
