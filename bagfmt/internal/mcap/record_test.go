package mcap_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt/internal/mcap"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/internal/testkit/mcapfile"
	"github.com/gorosbag/gorosbag/rosbag"
)

// placed is a record of a file.
type placed struct {
	at      int64
	content []byte
}

// recordsOf cuts a file in its records, of which each kind but the channels is there once.
func recordsOf(t *testing.T, file []byte) map[mcap.Op]placed {
	t.Helper()
	all := map[mcap.Op]placed{}
	w := mcap.Walk{Data: file[:len(file)-len(wire.MCAPMagic)], At: len(wire.MCAPMagic)}
	for {
		at := int64(w.At)
		op, content, err := w.Next()
		switch {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		}
		all[op] = placed{at, content}
	}
}

// TestRecords reads the fields of each record of a file, also of records that newer writers made longer.
func TestRecords(t *testing.T) {
	t.Parallel()
	for _, longer := range []bool{false, true} {
		file := mcapfile.Form{Chunks: true, MessageIndexes: true, ChunkIndexes: true, Statistics: true, Metadata: true, Longer: longer}.Make()
		all := recordsOf(t, file)
		check := func(what string, want, got any, err error) {
			t.Helper()
			if d := cmp.Diff(want, got); d != "" || err != nil {
				t.Errorf("longer %v, %s: %v, %s", longer, what, err, d)
			}
		}
		profile, library, err := mcap.ParseHeader(all[mcap.OpHeader].content)
		check("header", []string{"ros1", "test"}, []string{profile, library}, err)

		c := all[mcap.OpChunk]
		p := wire.ChunkPlace{Pos: c.at}
		err = mcap.ParseChunkHead(c.content, int64(len(c.content)), &p)
		data := bytes.Clone(file[p.Data : p.Data+p.Stored])
		check("chunk", wire.ChunkPlace{
			Pos: c.at, Op: rosbag.OpChunk, MCAP: true, Compression: rosbag.CompressionNone, Data: p.Data, Stored: p.Size, Size: p.Size,
			CRC: crc32.ChecksumIEEE(data), Checked: true,
		}, p, err)

		channel, entries, err := mcap.ParseMessageIndex(all[mcap.OpMessageIndex].content)
		check("message index", []int{1, mcapfile.Messages * mcap.IndexEntryBytes}, []int{int(channel), len(entries)}, err)
		x, err := mcap.ParseChunkIndex(all[mcap.OpChunkIndex].content)
		at := all[mcap.OpMessageIndex].at
		check("chunk index", mcap.ChunkIndex{
			Start: 1e9, End: 1e9 + mcapfile.Messages - 1, Pos: uint64(c.at), Length: uint64(at - c.at),
			Offsets: mcapfile.Fields(uint16(1), uint64(at)), IndexBytes: uint64(all[mcap.OpMetadata].at - at),
		}, x, err)
		channel, offset := x.Pair(0)
		check("pair", []uint64{1, uint64(at)}, []uint64{uint64(channel), offset}, nil)

		metadata := int64(len(all[mcap.OpMetadata].content))
		extra, err := mcap.ParseMetadata(all[mcap.OpMetadata].content, metadata)
		check("metadata", rosbag.MCAPExtra{Name: "name", Bytes: metadata}, extra, err)
		extra, err = mcap.ParseMetadataIndex(all[mcap.OpMetadataIndex].content)
		check("metadata index", rosbag.MCAPExtra{Name: "name", Bytes: metadata}, extra, err)
		counts, err := mcap.ParseStatistics(all[mcap.OpStatistics].content)
		check("statistics", &rosbag.MCAPCounts{Messages: mcapfile.Messages, Channels: map[rosbag.ConnID]uint64{1: mcapfile.Messages}}, counts, err)

		f, err := mcap.ParseFooter(all[mcap.OpFooter].content)
		crc := crc32.ChecksumIEEE(file[all[mcap.OpStatistics].at : len(file)-len(wire.MCAPMagic)-4])
		check("footer", mcap.Footer{Summary: uint64(all[mcap.OpStatistics].at), CRC: crc}, f, err)

		for n := range mcapfile.Messages {
			entry := entries[n*mcap.IndexEntryBytes:]
			m, err := mcap.MessageAt(data, int64(binary.LittleEndian.Uint64(entry[8:])))
			check("message", []uint64{1, binary.LittleEndian.Uint64(entry)}, []uint64{uint64(m.Channel), m.LogTime}, err)
			record := bytes.Clone(data)
			was, ok := mcap.MakeFrame(data, uint32(m.Frame))
			if !ok || !mcap.IsFrame(data, uint32(m.Frame)) {
				t.Errorf("no frame of message %d", n)
			}
			undone := bytes.Clone(data)
			mcap.UndoFrame(undone, uint32(m.Frame), was)
			check("undone", record, undone, nil)
			check("frame", mcapfile.Fields(string(mcapfile.Fields("m"))), wire.FrameAt(data, uint32(m.Frame)), nil)
		}
	}
	a, err := mcap.ParseAttachment(mcapfile.Fields(uint64(1), uint64(2), "photo", "image/png", uint64(9)))
	i, wrong := mcap.ParseAttachmentIndex(mcapfile.Fields(uint64(1), uint64(2), uint64(3), uint64(4), uint64(9), "photo", "image/png"))
	if want := (rosbag.MCAPExtra{Name: "photo", Type: "image/png", Bytes: 9}); a != want || i != want || err != nil || wrong != nil {
		t.Errorf("attachment %+v, %v, its index %+v, %v", a, err, i, wrong)
	}
}

// TestShortRecords cuts the content of each record at every byte: it ends inside its fields, and the error says of what.
func TestShortRecords(t *testing.T) {
	t.Parallel()
	none := uint64(0)
	for what, tc := range map[string]struct {
		content []byte
		parse   func(b []byte) error
	}{
		"header":           {mcapfile.Fields("ros1", "x"), func(b []byte) error { _, _, err := mcap.ParseHeader(b); return err }},
		"footer":           {mcapfile.Fields(none, none, uint32(0)), func(b []byte) error { _, err := mcap.ParseFooter(b); return err }},
		"schema":           {mcapfile.Fields(uint16(1), "a/A", "ros1msg", "d"), func(b []byte) error { return new(mcap.Channels).AddSchema(b, 7) }},
		"channel":          {mcapfile.Fields(uint16(1), uint16(1), "/a", "ros1", "d"), func(b []byte) error { return new(mcap.Channels).AddChannel(b, 7) }},
		"message index":    {mcapfile.Fields(uint16(1), string(make([]byte, 16))), func(b []byte) error { _, _, err := mcap.ParseMessageIndex(b); return err }},
		"chunk index":      {mcapfile.Fields(none, none, none, none, string(make([]byte, 10)), none), func(b []byte) error { _, err := mcap.ParseChunkIndex(b); return err }},
		"attachment":       {mcapfile.Fields(none, none, "a", "t", none), func(b []byte) error { _, err := mcap.ParseAttachment(b); return err }},
		"attachment index": {mcapfile.Fields(none, none, none, none, none, "a", "t"), func(b []byte) error { _, err := mcap.ParseAttachmentIndex(b); return err }},
		"metadata":         {mcapfile.Fields("name"), func(b []byte) error { _, err := mcap.ParseMetadata(b, 0); return err }},
		"metadata index":   {mcapfile.Fields(none, none, "name"), func(b []byte) error { _, err := mcap.ParseMetadataIndex(b); return err }},
		"statistics":       {mcapfile.Fields(none), func(b []byte) error { _, err := mcap.ParseStatistics(b); return err }},
		"chunk": {mcapfile.Fields(none, none, none, uint32(0), "lz4", none), func(b []byte) error {
			return mcap.ParseChunkHead(b, int64(len(b)), new(wire.ChunkPlace))
		}},
	} {
		for n := range tc.content {
			if err := tc.parse(tc.content[:n]); err == nil || !strings.HasSuffix(err.Error(), what+" ends inside its fields") {
				t.Errorf("%s of %d bytes: %v", what, n, err)
			}
		}
	}
}

// TestHostileFields: what a record says about lengths is not believed.
func TestHostileFields(t *testing.T) {
	t.Parallel()
	none := uint64(0)
	chunkHead := func(size uint64, compression string, stored uint64) error {
		b := mcapfile.Fields(none, none, size, uint32(0), compression, stored)
		return mcap.ParseChunkHead(b, int64(len(b))+10, &wire.ChunkPlace{})
	}
	_, _, index := mcap.ParseMessageIndex(mcapfile.Fields(uint16(1), string(make([]byte, 17))))
	_, chunkIndex := mcap.ParseChunkIndex(mcapfile.Fields(none, none, none, none, string(make([]byte, 11)), none))
	for want, err := range map[string]error{
		"<nil>":                                chunkHead(99, "zstd", 10),
		"11 bytes of data in a record":         chunkHead(99, "zstd", 11),
		"18446744073709551615 bytes of data":   chunkHead(99, "zstd", math.MaxUint64),
		"unpacked size of 9223372036854775808": chunkHead(1<<63, "zstd", 10),
		"compression has 65 bytes":             chunkHead(99, strings.Repeat("z", 65), 10),
		"which is not compressed, of 99 bytes": chunkHead(99, "", 10),
		"17 bytes of entries":                  index,
		"11 bytes of offsets":                  chunkIndex,
	} {
		if got := fmt.Sprint(err); !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	message := append(mcapfile.Fields(uint8(mcap.OpMessage), uint64(mcap.MessageHeadBytes+1)), make([]byte, mcap.MessageHeadBytes+1)...)
	for n, tc := range map[uint64]bool{mcap.MessageHeadBytes + 1: true, mcap.MessageHeadBytes - 1: false, mcap.MessageHeadBytes + 2: false, math.MaxUint64: false} {
		copy(message[1:], mcapfile.Fields(n))
		_, err := mcap.MessageAt(message, 0)
		frame := uint32(mcap.HeadBytes + mcap.MessageHeadBytes - 4)
		if _, made := mcap.MakeFrame(bytes.Clone(message), frame); (err == nil) != tc || made != tc {
			t.Errorf("message record of %d bytes: %v, frame %v", n, err, made)
		}
		w := mcap.Walk{Data: message}
		_, _, err = w.Next()
		if _, _, end := w.Next(); n > mcap.MessageHeadBytes+1 && (!errors.Is(err, io.ErrUnexpectedEOF) || !errors.Is(end, io.EOF)) {
			t.Errorf("walk over a record of %d bytes: %v, then %v", n, err, end)
		}
	}
	for _, at := range []int64{-1, 2, math.MaxInt64} {
		if _, err := mcap.MessageAt(message, at); err == nil {
			t.Errorf("message at %d of %d bytes", at, len(message))
		}
	}
	for _, frame := range []uint32{0, uint32(len(message)), math.MaxUint32} {
		if _, made := mcap.MakeFrame(message, frame); made || frame > 0 && mcap.IsFrame(message, frame) {
			t.Errorf("frame at %d of %d bytes", frame, len(message))
		}
	}
}

// TestReadHostile reads records of a stream whose heads claim too much: the error says where, and nothing is read.
func TestReadHostile(t *testing.T) {
	t.Parallel()
	const at = 100
	for name, tc := range map[string]struct {
		in   []byte
		want mcap.Op
		kind error
		text string
	}{
		"good":      {mcapfile.Fields(uint8(1), uint64(2), uint16(7)), mcap.OpHeader, nil, "<nil>"},
		"end":       {nil, mcap.OpHeader, io.ErrUnexpectedEOF, "at 100: file ends after 0 of 9 bytes of its head"},
		"torn head": {[]byte{1, 0, 0}, mcap.OpHeader, io.ErrUnexpectedEOF, "at 100: file ends after 3 of 9 bytes of its head"},
		"torn":      {mcapfile.Fields(uint8(1), uint64(2), uint8(7)), mcap.OpHeader, io.ErrUnexpectedEOF, "at 100: file ends after 1 of 2 bytes of its data"},
		"kind 0":    {mcapfile.Fields(uint8(0), uint64(0)), mcap.OpHeader, rosbag.ErrCorrupt, "at 100: record of kind 0x00 with 0 bytes"},
		"other":     {mcapfile.Fields(uint8(2), uint64(0)), mcap.OpHeader, rosbag.ErrCorrupt, "at 100: record of kind 0x02, not 0x01"},
		"endless":   {mcapfile.Fields(uint8(1), uint64(math.MaxUint64)), mcap.OpHeader, rosbag.ErrCorrupt, "with 18446744073709551615 bytes"},
		"large":     {mcapfile.Fields(uint8(1), uint64(mcap.MaxSmallBytes+1)), mcap.OpHeader, rosbag.ErrLimit, "at 100: record of kind 0x01"},
		"index":     {mcapfile.Fields(uint8(7), uint64(1<<31)), mcap.OpMessageIndex, rosbag.ErrCorrupt, "at 100: message index of 2147483648 bytes"},
	} {
		_, err := mcap.ReadSmall(wire.NewStream(bytes.NewReader(tc.in), at, wire.SmallBufferBytes), tc.want)
		if got := fmt.Sprint(err); !errors.Is(err, tc.kind) || !strings.Contains(got, tc.text) {
			t.Errorf("%s: %s, want %s", name, got, tc.text)
		}
	}
	for n, kind := range map[int64]error{mcap.MessageHeadBytes: nil, mcap.MessageHeadBytes - 1: rosbag.ErrCorrupt, math.MaxInt64: rosbag.ErrLimit} {
		if err := mcap.CheckMessageBytes(at, n); !errors.Is(err, kind) {
			t.Errorf("message record of %d bytes: %v", n, err)
		}
	}
}

// TestMisplaced: what belongs behind the messages is an error among them, and a kind that nobody knows is not.
func TestMisplaced(t *testing.T) {
	t.Parallel()
	const fits = 20 // bytes of a footer, and of a data end that is longer than today's
	for op := mcap.Op(1); op < 20; op++ {
		var wrong bool
		switch op { //nolint:exhaustive // the others may be there
		case mcap.OpChunkIndex, mcap.OpAttachmentIndex, mcap.OpStatistics, mcap.OpMetadataIndex, mcap.OpSummaryOffset:
			wrong = true
		}
		ends := op == mcap.OpFooter || op == mcap.OpDataEnd
		if err := op.Misplaced(fits, 5); (err != nil) != wrong {
			t.Errorf("kind %d: %v", op, err)
		}
		if err := op.Misplaced(1000, 5); (err != nil) != (wrong || ends) {
			t.Errorf("kind %d of 1000 bytes: %v", op, err)
		}
		if op.Known() != (op <= mcap.OpDataEnd) {
			t.Errorf("kind %d: known %v", op, op.Known())
		}
	}
}

// TestTimes: a bag has 32 bits for seconds.
func TestTimes(t *testing.T) {
	t.Parallel()
	const last = math.MaxUint32*1_000_000_000 + 999_999_999
	if got, ok := mcap.TimeOf(last); !ok || got != (rosbag.Time{Sec: math.MaxUint32, Nsec: 999_999_999}) {
		t.Errorf("%v, %v", got, ok)
	}
	_, err := mcap.MessageTime(3, last+1, 77)
	var bad *rosbag.CorruptError
	if !errors.As(err, &bad) || bad.Offset != 77 || !strings.Contains(bad.Reason, "channel 3 at 4294967296.000000000 s") {
		t.Errorf("%v", err)
	}
}
