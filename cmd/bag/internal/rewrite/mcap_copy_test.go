package rewrite_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/rewrite"
	"github.com/gorosbag/gorosbag/internal/testkit/mcapfile"
	"github.com/gorosbag/gorosbag/rosbag"
)

// mcapRecord makes a record.
func mcapRecord(op mcap.OpCode, fields ...any) []byte {
	content := mcapfile.Fields(fields...)
	return append(binary.LittleEndian.AppendUint64([]byte{byte(op)}, uint64(len(content))), content...)
}

// mcapText is the payload of a std_msgs/String.
func mcapText(s string) []byte { return mcapfile.Fields(s) }

const stringMD5 = "992ce8a1687cec8c8bd883ec73ca41d1"

func schemaRecord(id uint16, definition string) []byte {
	return mcapRecord(mcap.OpSchema, id, "std_msgs/String", "ros1msg", definition)
}

// channelRecord is as gobag writes one. first is metadata that comes before the other by its keys.
func channelRecord(id, schema uint16, topic string, first ...any) []byte {
	metadata := mcapfile.Fields(append(first, "md5sum", stringMD5, "topic", topic)...)
	return mcapRecord(mcap.OpChannel, id, schema, topic, "ros1", string(metadata))
}

func messageRecord(channel uint16, seq uint32, log, publish uint64, text string) []byte {
	return mcapRecord(mcap.OpMessage, channel, seq, log, publish, mcapText(text))
}

// mcapMaker writes an MCAP file record by record. It has no summary.
type mcapMaker struct{ b []byte }

func newMCAPMaker() *mcapMaker {
	return &mcapMaker{append([]byte("\x89MCAP0\r\n"), mcapRecord(mcap.OpHeader, "ros1", "test")...)}
}

func (m *mcapMaker) add(records ...[]byte) {
	for _, r := range records {
		m.b = append(m.b, r...)
	}
}

// chunkForm says how a chunk is stored.
type chunkForm struct {
	compression string
	noCRC       bool
	noIndex     bool
}

// chunk adds a chunk with records, and its message indexes.
func (m *mcapMaker) chunk(t testing.TB, o chunkForm, records ...[]byte) {
	t.Helper()
	data := slices.Concat(records...)
	stored := data
	switch o.compression {
	case "zstd":
		z, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		stored = z.EncodeAll(data, nil)
	case "lz4":
		var out bytes.Buffer
		z := lz4.NewWriter(&out)
		if _, err := z.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		stored = out.Bytes()
	}
	crc := crc32.ChecksumIEEE(data)
	if o.noCRC {
		crc = 0
	}
	index := map[uint16][]byte{}
	start, end := uint64(0), uint64(0)
	at := uint64(0)
	for _, r := range records {
		if mcap.OpCode(r[0]) == mcap.OpMessage {
			channel, log := binary.LittleEndian.Uint16(r[9:]), binary.LittleEndian.Uint64(r[15:])
			if len(index) == 0 {
				start, end = log, log
			}
			start, end = min(start, log), max(end, log)
			index[channel] = append(index[channel], mcapfile.Fields(log, at)...)
		}
		at += uint64(len(r))
	}
	m.add(mcapRecord(mcap.OpChunk, start, end, uint64(len(data)), crc, o.compression, uint64(len(stored)), stored))
	for _, channel := range slices.Sorted(maps.Keys(index)) {
		if !o.noIndex {
			m.add(mcapRecord(mcap.OpMessageIndex, channel, string(index[channel])))
		}
	}
}

// extras adds an attachment and a metadata record.
func (m *mcapMaker) extras() {
	head := mcapfile.Fields(uint64(1), uint64(2), "name", "text/plain", uint64(3), []byte("abc"))
	m.add(mcapRecord(mcap.OpAttachment, head, crc32.ChecksumIEEE(head)), mcapRecord(mcap.OpMetadata, "m", string(mcapfile.Fields("k", "v"))))
}

// done ends the file. It has no summary, as a file that was cut.
func (m *mcapMaker) done() []byte {
	m.add(mcapRecord(mcap.OpDataEnd, uint32(0)), mcapRecord(mcap.OpFooter, uint64(0), uint64(0), uint32(0)))
	return append(m.b, "\x89MCAP0\r\n"...)
}

// countedMCAP counts the chunks that are copied.
type countedMCAP struct {
	*rewrite.MCAPSink
	copied int
}

func (c *countedMCAP) CopyChunk(x rosbag.Chunk, as func(*rosbag.Connection) *rosbag.Connection) (bool, error) {
	ok, err := c.MCAPSink.CopyChunk(x, as)
	if ok {
		c.copied++
	}
	return ok, err
}

// copyMCAP copies inputs chunk by chunk where that is possible, and message by message. It checks that both have the same
// messages and that the first is an MCAP file without faults, and returns it with the number of chunks that were copied.
func copyMCAP(t *testing.T, o rewrite.Options, to rewrite.MCAPOptions, inputs ...[]byte) (out []byte, copied int) {
	t.Helper()
	o.Damaged = func(string, error) error { return nil } // both ways lose the same
	to.KeepIDs = true
	var outputs [2]file
	var sums [2]rewrite.Summary
	for i := range outputs {
		sink, err := rewrite.NewMCAP(&outputs[i], to)
		if err != nil {
			t.Fatal(err)
		}
		c := &countedMCAP{MCAPSink: sink}
		var list []rewrite.Input
		for _, b := range inputs {
			list = append(list, rewrite.Input{Source: open(t, b)})
		}
		target := rosbag.Sink(c)
		if i == 0 {
			target = struct{ rosbag.Sink }{sink} // without CopyChunk
		}
		if sums[i], err = rewrite.Copy(list, o, target); err != nil {
			t.Fatal(err)
		}
		copied = c.copied
	}
	if d := cmp.Diff(fullMessages(open(t, outputs[0].b)), fullMessages(open(t, outputs[1].b))); d != "" {
		t.Fatalf("messages (-one by one +by chunks):\n%.3000s", d)
	}
	if d := cmp.Diff(sums[0], sums[1], cmpopts.IgnoreFields(rewrite.Summary{}, "Written")); d != "" {
		t.Fatalf("summary (-one by one +by chunks):\n%s", d)
	}
	checkMCAP(t, outputs[1].b, sums[1].Messages+sums[1].Repeated)
	return outputs[1].b, copied
}

// checkMCAP checks that a file has so many messages, and no fault: by our reader, and by that of Foxglove.
func checkMCAP(t *testing.T, b []byte, messages uint64) {
	t.Helper()
	r := open(t, b)
	if info := r.Info(); !info.Indexed || len(info.Damage) > 0 || info.Messages != messages {
		t.Fatalf("%+v, want %d messages", info, messages)
	}
	v := r.Verifier()
	for i := range r.NumSpans() {
		if x := v.Verify(i); x.Err != nil || x.IndexErr != nil {
			t.Fatalf("chunk %d: %v, %v", i, x.Err, x.IndexErr)
		}
	}
	l, err := mcap.NewLexer(bytes.NewReader(b), &mcap.LexerOptions{ValidateChunkCRCs: true, ComputeAttachmentCRCs: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	found, defined, counts := uint64(0), map[string]string{}, map[uint16]uint64{}
	for {
		token, record, err := l.Next(nil)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		key := ""
		switch token { //nolint:exhaustive // the reader looks at the others
		case mcap.TokenMessage:
			m, err := mcap.ParseMessage(record)
			if err != nil {
				t.Fatal(err)
			}
			if defined[fmt.Sprint("channel ", m.ChannelID)] == "" {
				t.Fatalf("message of channel %d before it", m.ChannelID)
			}
			found++
			counts[m.ChannelID]++
		case mcap.TokenSchema:
			key = fmt.Sprint("schema ", binary.LittleEndian.Uint16(record))
		case mcap.TokenChannel:
			key = fmt.Sprint("channel ", binary.LittleEndian.Uint16(record))
			if schema := fmt.Sprint("schema ", binary.LittleEndian.Uint16(record[2:])); defined[schema] == "" {
				t.Fatalf("%s before its %s", key, schema)
			}
		}
		if old := defined[key]; key != "" && old != "" && old != string(record) {
			t.Fatalf("%s is %q and %q", key, old, record)
		}
		if defined[key] = string(record); key == "" {
			delete(defined, key)
		}
	}
	if found != messages {
		t.Fatalf("%d messages by lexer, want %d", found, messages)
	}
	reader, err := mcap.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	info, err := reader.Info()
	if err != nil {
		t.Fatal(err)
	}
	if messages > 0 && !cmp.Equal(info.Statistics.ChannelMessageCounts, counts) ||
		int(info.Statistics.ChannelCount)+int(info.Statistics.SchemaCount) != len(defined) {
		t.Fatalf("statistics %+v, found %v and %d definitions", info.Statistics, counts, len(defined))
	}
	for _, x := range info.ChunkIndexes {
		if x.MessageStartTime < info.Statistics.MessageStartTime || x.MessageEndTime > info.Statistics.MessageEndTime {
			t.Fatalf("chunk from %d to %d, file from %d to %d", x.MessageStartTime, x.MessageEndTime,
				info.Statistics.MessageStartTime, info.Statistics.MessageEndTime)
		}
	}
	it, err := reader.Messages(mcap.InOrder(mcap.LogTimeOrder), mcap.UsingIndex(true))
	if err != nil {
		t.Fatal(err)
	}
	found = 0
	for {
		if _, _, _, err := it.NextInto(nil); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		found++
	}
	if found != messages {
		t.Fatalf("%d messages by index, want %d", found, messages)
	}
}

// long makes a chunk large enough to be copied, also when it is compressed.
var long = func() string {
	b := make([]byte, 6000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return string(b)
}()

// three makes the records of three messages of channels in turn, from a second on.
func three(from uint64, channels ...uint16) (records [][]byte) {
	for i := range uint64(3) {
		channel := channels[i%uint64(len(channels))]
		at := (from + i) * 1e9
		// the publish time has other upper bytes than the log time, and the length of no message
		records = append(records, messageRecord(channel, uint32(100+from+i), at, at+1<<40+i, fmt.Sprint(channel, from, i, long)))
	}
	return records
}

var anything = rewrite.MCAPOptions{Compression: "zstd", ChunkBytes: 1 << 20, AnyCompression: true, AnySize: true}

// TestMCAPChunksAreCopied: which chunks are copied, and that nothing else changes.
func TestMCAPChunksAreCopied(t *testing.T) {
	t.Parallel()
	schema, a, b := schemaRecord(1, "string data"), channelRecord(1, 1, "/a"), channelRecord(2, 1, "/b")
	plain := func(o chunkForm) func(*testing.T, *mcapMaker) {
		return func(t *testing.T, m *mcapMaker) {
			t.Helper()
			m.add(schema, a, b)
			m.chunk(t, o, three(10, 1, 2)...)
			m.extras()
			m.chunk(t, o, three(20, 2)...)
		}
	}
	for name, tt := range map[string]struct {
		make func(*testing.T, *mcapMaker)
		o    rewrite.Options
		to   rewrite.MCAPOptions
		want int
	}{
		"none":            {make: plain(chunkForm{}), want: 2},
		"lz4":             {make: plain(chunkForm{compression: "lz4"}), want: 2},
		"zstd":            {make: plain(chunkForm{compression: "zstd"}), want: 2},
		"none, no crc":    {make: plain(chunkForm{noCRC: true}), want: 2},
		"zstd, no crc":    {make: plain(chunkForm{compression: "zstd", noCRC: true}), want: 2},
		"none, no index":  {make: plain(chunkForm{noIndex: true}), want: 2},
		"zstd, no index":  {make: plain(chunkForm{compression: "zstd", noIndex: true}), want: 2},
		"other wanted":    {make: plain(chunkForm{compression: "lz4"}), to: rewrite.MCAPOptions{Compression: "zstd", ChunkBytes: 10_000}},
		"same wanted":     {make: plain(chunkForm{compression: "zstd"}), to: rewrite.MCAPOptions{Compression: "zstd", ChunkBytes: 10_000}, want: 2},
		"none wanted":     {make: plain(chunkForm{}), to: rewrite.MCAPOptions{Compression: "none", ChunkBytes: 10_000}, want: 2},
		"larger wanted":   {make: plain(chunkForm{}), to: rewrite.MCAPOptions{Compression: "none", ChunkBytes: 50_000}},
		"smaller wanted":  {make: plain(chunkForm{}), to: rewrite.MCAPOptions{Compression: "none", ChunkBytes: 8000}},
		"any is not size": {make: plain(chunkForm{}), to: rewrite.MCAPOptions{Compression: "zstd", ChunkBytes: 8000, AnyCompression: true}},
		"a topic":         {make: plain(chunkForm{}), o: rewrite.Options{Keep: func(c *rosbag.Connection) bool { return c.Topic == "/b" }}, want: 1},
		"a window":        {make: plain(chunkForm{}), o: rewrite.Options{Start: rosbag.Time{Sec: 11}}, want: 1},
		"renamed": {make: plain(chunkForm{}), o: rewrite.Options{Rename: func(c *rosbag.Connection) string {
			return "/new" + c.Topic
		}}, want: 2},
		"all renamed to one": {make: plain(chunkForm{}), o: rewrite.Options{Rename: func(*rosbag.Connection) string { return "/b" }}, want: 0},
		"channel 0": {make: func(t *testing.T, m *mcapMaker) {
			t.Helper()
			m.add(schema, channelRecord(0, 1, "/zero"), channelRecord(65535, 1, "/last"))
			m.chunk(t, chunkForm{}, three(10, 0, 65535)...)
		}, want: 1},
		"definitions in each chunk": {make: func(t *testing.T, m *mcapMaker) {
			t.Helper()
			m.chunk(t, chunkForm{}, append([][]byte{schema, b, schema, a}, three(10, 1, 2)...)...)
			m.chunk(t, chunkForm{}, append([][]byte{schema, a}, three(20, 1)...)...)
			m.chunk(t, chunkForm{}, append([][]byte{a}, three(30, 1)...)...)
		}, want: 3},
		"renamed, with definitions": {make: func(t *testing.T, m *mcapMaker) {
			t.Helper()
			m.chunk(t, chunkForm{}, append([][]byte{schema, a}, three(10, 1)...)...)
			m.chunk(t, chunkForm{}, three(20, 1)...)
		}, o: rewrite.Options{Rename: func(*rosbag.Connection) string { return "/new" }}, want: 1},
		"definitions that the output does not have": {make: func(t *testing.T, m *mcapMaker) {
			t.Helper()
			none := mcapRecord(mcap.OpChannel, uint16(1), uint16(1), "/a", "ros1", "") // it gets an md5sum
			m.chunk(t, chunkForm{}, append([][]byte{schema, none}, three(10, 1)...)...)
			m.chunk(t, chunkForm{}, append([][]byte{schema}, three(20, 1)...)...)
			m.chunk(t, chunkForm{}, append([][]byte{none}, three(30, 1)...)...)
			m.chunk(t, chunkForm{}, three(40, 1)...)
		}, want: 1},
		"channel without messages": {make: func(t *testing.T, m *mcapMaker) {
			t.Helper()
			m.chunk(t, chunkForm{}, append([][]byte{schema, a, b}, three(10, 1)...)...)
			m.chunk(t, chunkForm{}, append([][]byte{schemaRecord(2, "string data")}, three(20, 1)...)...)
			m.chunk(t, chunkForm{}, three(30, 2)...)
		}, want: 1},
		"one definition twice": {make: func(t *testing.T, m *mcapMaker) {
			t.Helper()
			m.chunk(t, chunkForm{}, append([][]byte{schema, schemaRecord(7, "string data"), a, channelRecord(2, 7, "/b")}, three(10, 1, 2)...)...)
			m.chunk(t, chunkForm{}, append([][]byte{schemaRecord(7, "string data"), channelRecord(2, 7, "/b")}, three(20, 2)...)...)
			m.chunk(t, chunkForm{}, three(30, 1, 2)...)
		}, want: 1},
		"other metadata in a repeated channel": {make: func(t *testing.T, m *mcapMaker) {
			t.Helper()
			m.add(schema, a)
			m.chunk(t, chunkForm{}, append([][]byte{channelRecord(1, 1, "/a", "k", "v")}, three(10, 1)...)...)
			m.chunk(t, chunkForm{}, append([][]byte{channelRecord(1, 1, "/a", "topic", "/a")}, three(20, 1)...)...)
			order := mcapfile.Fields("topic", "/a", "md5sum", stringMD5)
			m.chunk(t, chunkForm{}, append([][]byte{mcapRecord(mcap.OpChannel, uint16(1), uint16(1), "/a", "ros1", string(order))}, three(30, 1)...)...)
		}},
		"longer definitions": {make: func(t *testing.T, m *mcapMaker) {
			t.Helper()
			longer := append(bytes.Clone(a), 1, 2)
			binary.LittleEndian.PutUint64(longer[1:], uint64(len(longer)-9))
			m.add(schema, a)
			m.chunk(t, chunkForm{}, append([][]byte{longer}, three(10, 1)...)...)
		}},
		"repeated definitions": {make: func(t *testing.T, m *mcapMaker) {
			t.Helper()
			m.add(schema, a)
			m.chunk(t, chunkForm{}, append(three(10, 1), bytes.Repeat(a, 1<<20/len(a)))...)
			// more of them could fill the memory: a few kB can unpack to a chunk full of them
			m.chunk(t, chunkForm{}, append(three(20, 1), bytes.Repeat(a, 1<<20/len(a)+1))...)
		}, want: 1},
		"unknown record": {make: func(t *testing.T, m *mcapMaker) {
			t.Helper()
			m.add(schema, a)
			m.chunk(t, chunkForm{}, append(three(10, 1), mcapRecord(0x81, "private"))...)
		}},
		"another encoding": {make: func(t *testing.T, m *mcapMaker) {
			t.Helper()
			m.add(schema, a, mcapRecord(mcap.OpChannel, uint16(2), uint16(0), "/json", "json", ""))
			m.chunk(t, chunkForm{}, three(10, 1, 2)...)
			m.chunk(t, chunkForm{}, three(20, 1)...)
		}, want: 1},
		"not in order": {make: func(t *testing.T, m *mcapMaker) {
			t.Helper()
			m.add(schema, a)
			m.chunk(t, chunkForm{}, append(three(20, 1), three(10, 1)...)...)
			m.chunk(t, chunkForm{}, three(30, 1)...)
		}, want: 1},
		"chunks overlap": {make: func(t *testing.T, m *mcapMaker) {
			t.Helper()
			m.add(schema, a)
			m.chunk(t, chunkForm{}, three(10, 1)...)
			m.chunk(t, chunkForm{}, three(11, 1)...)
			m.chunk(t, chunkForm{}, three(20, 1)...)
			m.add(messageRecord(1, 7, 2.1e10, 2.1e10, "outside"))
		}},
		"a crc that does not fit": {make: func(t *testing.T, m *mcapMaker) {
			t.Helper()
			m.add(schema, a)
			start := len(m.b)
			m.chunk(t, chunkForm{}, three(10, 1)...)
			m.b[start+9+24] ^= 1
			m.chunk(t, chunkForm{}, three(20, 1)...)
		}, want: 1},
		"an index that does not fit": {make: func(t *testing.T, m *mcapMaker) {
			t.Helper()
			m.add(schema, a)
			m.chunk(t, chunkForm{}, three(10, 1)...)
			m.b[len(m.b)-7]++ // the offset of the last message
			m.chunk(t, chunkForm{}, three(20, 1)...)
		}, want: 1},
		"cut": {make: func(t *testing.T, m *mcapMaker) {
			t.Helper()
			m.add(schema, a)
			m.chunk(t, chunkForm{}, three(10, 1)...)
			m.chunk(t, chunkForm{}, three(20, 1)...)
			m.b = m.b[:len(m.b)-3000]
		}, want: 1},
	} {
		for _, workers := range []int{0, 2} {
			t.Run(fmt.Sprintf("%s, workers %d", name, workers), func(t *testing.T) {
				t.Parallel()
				m := newMCAPMaker()
				tt.make(t, m)
				to, o := tt.to, tt.o
				if to.ChunkBytes == 0 {
					to = anything
				}
				o.Workers = workers
				if _, got := copyMCAP(t, o, to, m.done()); got != tt.want {
					t.Errorf("%d chunks are copied, want %d", got, tt.want)
				}
			})
		}
	}
}

// TestMCAPChunksAreUnchanged: a chunk that is copied has the bytes that it had, publish times included, and the crc that was
// missing.
func TestMCAPChunksAreUnchanged(t *testing.T) {
	t.Parallel()
	for _, o := range []chunkForm{{}, {compression: "lz4"}, {compression: "zstd"}, {noCRC: true}, {compression: "zstd", noCRC: true}} {
		m := newMCAPMaker()
		m.add(schemaRecord(1, "string data"), channelRecord(3, 1, "/a"))
		records := three(10, 3)
		m.chunk(t, o, records...)
		in := m.done()
		at := bytes.Index(in, mcapfile.Fields(uint64(10e9), uint64(12e9))) // the chunk
		n := int(binary.LittleEndian.Uint64(in[at-8:]))
		want := bytes.Clone(in[at : at+n])
		binary.LittleEndian.PutUint32(want[24:], crc32.ChecksumIEEE(slices.Concat(records...)))
		out, copied := copyMCAP(t, rewrite.Options{}, anything, in)
		if copied != 1 || !bytes.Contains(out, want) {
			t.Errorf("%+v: %d copied, unchanged %t", o, copied, bytes.Contains(out, want))
		}
	}
}

// TestMCAPSequenceContinues: messages that are written one by one continue the sequence numbers of a copied chunk.
func TestMCAPSequenceContinues(t *testing.T) {
	t.Parallel()
	m := newMCAPMaker()
	m.add(schemaRecord(1, "string data"), channelRecord(3, 1, "/a"))
	m.chunk(t, chunkForm{}, three(10, 3)...)
	m.add(messageRecord(3, 5, 20e9, 20e9, "outside"))
	out, copied := copyMCAP(t, rewrite.Options{}, anything, m.done())
	if want := mcapfile.Fields(uint16(3), uint32(113), uint64(20e9)); copied != 1 || !bytes.Contains(open0(t, out), want) {
		t.Errorf("%d copied; the message outside does not have the sequence number 113", copied)
	}
}

// TestMCAPCopyIsReproducible: schemas that a chunk brings with it are written in the same order each time.
func TestMCAPCopyIsReproducible(t *testing.T) {
	t.Parallel()
	m := newMCAPMaker()
	var records [][]byte
	for id := range uint16(3) {
		records = append(records, mcapRecord(mcap.OpSchema, id+1, fmt.Sprintf("pkg/T%d", id), "ros1msg", "string data"),
			channelRecord(id, id+1, fmt.Sprintf("/%d", id)))
	}
	m.chunk(t, chunkForm{}, append(records, three(10, 0, 1, 2)...)...)
	in := m.done()
	first, copied := copyMCAP(t, rewrite.Options{}, anything, in)
	for range 5 {
		if again, _ := copyMCAP(t, rewrite.Options{}, anything, in); copied != 1 || !bytes.Equal(first, again) {
			t.Errorf("%d chunks are copied, and the same bytes come out: %v", copied, bytes.Equal(first, again))
		}
	}
}

// open0 returns the records in the last chunk of a file.
func open0(t *testing.T, b []byte) []byte {
	t.Helper()
	l, err := mcap.NewLexer(bytes.NewReader(b), &mcap.LexerOptions{EmitChunks: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var last []byte
	for {
		token, record, err := l.Next(nil)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if token == mcap.TokenChunk {
			c, err := mcap.ParseChunk(record)
			if err != nil {
				t.Fatal(err)
			}
			last = bytes.Clone(c.Records)
			if c.Compression == "zstd" {
				z, err := zstd.NewReader(nil)
				if err != nil {
					t.Fatal(err)
				}
				last, err = z.DecodeAll(c.Records, nil)
				if err != nil {
					t.Fatal(err)
				}
				z.Close()
			}
		}
	}
	return last
}

// TestFormatsOfChunks: a chunk of MCAP does not get into a bag, nor one of a bag into MCAP, though both may be lz4 or not
// compressed.
func TestFormatsOfChunks(t *testing.T) {
	t.Parallel()
	for _, compression := range []string{"none", "lz4"} {
		form := chunkForm{compression: compression}
		if compression == "none" {
			form.compression = ""
		}
		m := newMCAPMaker()
		m.add(schemaRecord(1, "string data"), channelRecord(3, 1, "/a"))
		m.chunk(t, form, three(10, 3)...)
		in := open(t, m.done())
		var asBag, back file
		o := bagfmt.WriterOptions{Compression: rosbag.Compression(compression), ChunkBytes: 10_000}
		sink, err := rewrite.NewBag(&asBag, o)
		if err != nil {
			t.Fatal(err)
		}
		c := &counted{BagSink: sink}
		if _, err := rewrite.Copy([]rewrite.Input{{Source: in}}, rewrite.Options{}, c); err != nil || c.copied != 0 {
			t.Fatalf("%d chunks are copied to a bag, %v", c.copied, err)
		}
		to := anything
		to.KeepIDs = true
		mcapSink, err := rewrite.NewMCAP(&back, to)
		if err != nil {
			t.Fatal(err)
		}
		x := &countedMCAP{MCAPSink: mcapSink}
		if _, err := rewrite.Copy([]rewrite.Input{{Source: open(t, asBag.b)}}, rewrite.Options{}, x); err != nil || x.copied != 0 {
			t.Fatalf("%d chunks of a bag are copied to MCAP, %v", x.copied, err)
		}
		if d := cmp.Diff(fullMessages(in), fullMessages(open(t, back.b))); d != "" {
			t.Errorf("%s (-want +got):\n%.2000s", compression, d)
		}
	}
}

// randomMCAP writes an MCAP file of some of four channels, whose ids and definitions other files may have, too.
func randomMCAP(t testing.TB, rnd *rand.Rand) []byte {
	t.Helper()
	topics := []string{"/a", "/b", "/c", "/d"}
	ids := []uint16{0, 1, 2, 7, 300, 65535}
	rnd.Shuffle(len(ids), func(a, b int) { ids[a], ids[b] = ids[b], ids[a] })
	schemas := map[uint16][]byte{}
	channels := map[uint16][]byte{}
	schemaOf := map[uint16]uint16{}
	m := newMCAPMaker()
	for i, topic := range topics {
		id := uint16(1 + rnd.IntN(3))
		schemas[id] = schemaRecord(id, "string data")
		schemaOf[ids[i]] = id
		switch rnd.IntN(6) {
		case 0:
			channels[ids[i]] = mcapRecord(mcap.OpChannel, ids[i], id, topic, "ros1", "")
		case 1:
			channels[ids[i]] = channelRecord(ids[i], id, topic, "callerid", "/x", "latching", "true")
		default:
			channels[ids[i]] = channelRecord(ids[i], id, topic)
		}
	}
	outside := rnd.IntN(2) == 0
	if outside {
		for i := range topics {
			m.add(schemas[schemaOf[ids[i]]], channels[ids[i]])
		}
	}
	defined := map[uint16]bool{}
	repeat := rnd.IntN(3) == 0
	at := uint64(10+rnd.IntN(50)) * 1e9
	compressions := []string{"", "lz4", "zstd"}
	compression := compressions[rnd.IntN(3)]
	mixed := rnd.IntN(3) == 0
	for range 1 + rnd.IntN(12) {
		o := chunkForm{compression: compression, noCRC: rnd.IntN(4) == 0, noIndex: rnd.IntN(6) == 0}
		if rnd.IntN(5) == 0 {
			o.compression = compressions[rnd.IntN(3)]
		}
		var records [][]byte
		for range rnd.IntN(12) {
			c := ids[rnd.IntN(4)]
			if !outside && !defined[c] || repeat && rnd.IntN(3) == 0 {
				records = append(records, schemas[schemaOf[c]], channels[c])
				defined[c] = true
			}
			log := at
			if mixed && rnd.IntN(8) == 0 {
				log -= uint64(rnd.IntN(5)) * 1e9
			}
			data := long[:rnd.IntN(4000)]
			records = append(records, messageRecord(c, rnd.Uint32(), log, rnd.Uint64(), data))
			at += uint64(rnd.IntN(3)) * 5e8
		}
		if len(records) > 0 {
			m.chunk(t, o, records...)
		}
		if outside && rnd.IntN(8) == 0 {
			m.add(messageRecord(ids[rnd.IntN(4)], 0, at, at, "outside"))
		}
		if rnd.IntN(4) == 0 {
			m.extras()
		}
	}
	b := m.done()
	switch rnd.IntN(8) {
	case 0: // cut
		b = b[:len(b)-rnd.IntN(len(b)/2)]
	case 1: // damaged
		b[len(b)/3+rnd.IntN(len(b)/2)] ^= byte(1 + rnd.IntN(255))
	}
	return b
}

// TestMCAPChunksAreCopiedRandom: what the inputs are, the copy of chunks has what the copy of messages has.
func TestMCAPChunksAreCopiedRandom(t *testing.T) {
	t.Parallel()
	total := 0
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		var inputs [][]byte
		for range 1 + rnd.IntN(4)/2 {
			inputs = append(inputs, randomMCAP(t, rnd))
		}
		o := rewrite.Options{Workers: rnd.IntN(3)}
		if rnd.IntN(4) == 0 {
			o.Start = rosbag.Time{Sec: uint32(10 + rnd.IntN(60))}
			o.Latched = rnd.IntN(2) == 0
		}
		if rnd.IntN(4) == 0 {
			o.Keep = func(c *rosbag.Connection) bool { return c.Topic != "/b" }
		}
		if rnd.IntN(4) == 0 {
			o.Rename = func(c *rosbag.Connection) string { return c.Topic[:2] + "/x" }
		}
		to := anything
		if rnd.IntN(4) == 0 {
			to = rewrite.MCAPOptions{Compression: []string{"none", "lz4", "zstd"}[rnd.IntN(3)], ChunkBytes: 6000 + rnd.IntN(20_000), Workers: rnd.IntN(3)}
		}
		_, copied := copyMCAP(t, o, to, inputs...)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		total += copied
	}
	if total < 80 {
		t.Errorf("only %d chunks are copied", total)
	}
	t.Logf("%d chunks are copied", total)
}

// FuzzMCAPChunks: of any file, the copy of chunks has what the copy of messages has, and is sound.
func FuzzMCAPChunks(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(randomMCAP(f, rand.New(rand.NewPCG(seed, 5))))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
		if err != nil || r.MCAP() == nil {
			return
		}
		copyMCAP(t, rewrite.Options{}, anything, b)
	})
}
