package opening_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/internal/opening"
	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/internal/testkit/mcapfile"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// closedBag is a bag of three chunks with one message each.
func closedBag(t *testing.T) []byte {
	t.Helper()
	var b buffer
	w, err := bagfmt.NewWriter(&b, bagfmt.WriterOptions{ChunkBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.AddConnection("/a", rosbag.Header{{Key: "type", Value: "a/A"}, {Key: "md5sum", Value: "*"}, {Key: "message_definition", Value: ""}})
	if err != nil {
		t.Fatal(err)
	}
	for sec := range uint32(3) {
		if err := w.Write(c, rosbag.Time{Sec: 10 + sec}, []byte("message")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// buffer is a file in memory whose header can be written again.
type buffer struct{ bytes.Buffer }

func (b *buffer) WriteAt(p []byte, off int64) (int, error) { return copy(b.Bytes()[off:], p), nil }

func open(b []byte, o table.Options) (*table.Table, error) {
	return opening.Open(bytes.NewReader(b), int64(len(b)), o)
}

// TestFormats tells formats by their first bytes.
func TestFormats(t *testing.T) {
	t.Parallel()
	const md5 = "992ce8a1687cec8c8bd883ec73ca41d1"
	bag := closedBag(t)
	future := bytes.Replace(bag, []byte("V2.0"), []byte("V2.1"), 1)
	for name, tc := range map[string]struct {
		in       []byte
		o        table.Options
		version  string
		messages uint64
		mcap     bool
		elapsed  bool
	}{
		"2.0":      {in: bag, version: "2.0", messages: 3},
		"2.1":      {in: future, o: table.Options{FutureVersion: true}, version: "2.1", messages: 3},
		"MCAP":     {in: mcapfile.Form{Chunks: true}.Make(), version: "mcap", messages: mcapfile.Messages, mcap: true},
		"0":        {in: []byte("/a\n" + md5 + "\nstd_msgs/String\n" + strings.Repeat("\x00", 12)), version: "0", messages: 1, elapsed: true},
		"1.0":      {in: []byte("#ROSLOG V1.0\n0001\n/a\nstd_msgs/String\n" + md5 + "\n"), version: "1.0", elapsed: true},
		"multilog": {in: []byte("##MULTILOG##\n0001\n/a\nstd_msgs/String\n" + md5 + "\n"), version: "1.0", elapsed: true},
		"1.1":      {in: []byte("#ROSRECORD V1.1\n"), version: "1.1"},
		"1.1 log":  {in: []byte("#ROSLOG V1.1\n"), version: "1.1", elapsed: true},
		"1.2":      {in: []byte("#ROSRECORD V1.2\n"), version: "1.2"},
	} {
		bag, err := open(tc.in, tc.o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if bag.Version != tc.version || bag.Messages != tc.messages || (bag.MCAP != nil) != tc.mcap || bag.Elapsed != tc.elapsed {
			t.Errorf("%s: version %s, %d messages, MCAP %v, elapsed %v", name, bag.Version, bag.Messages, bag.MCAP != nil, bag.Elapsed)
		}
	}
}

// TestOtherVersions: the error says which version a file has, or how much of its first line is there.
func TestOtherVersions(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in   string
		kind error
		text string
	}{
		"version 3":    {"#ROSBAG V3.0\n", rosbag.ErrVersion, "3.0"},
		"version 2.1":  {"#ROSBAG V2.1\n", rosbag.ErrVersion, "2.1"},
		"MCAP 9":       {"\x89MCAP9\r\n", rosbag.ErrVersion, `MCAP version "9"`},
		"torn version": {"#ROSBA", io.ErrUnexpectedEOF, "record at 0: file ends after 6 of 13 bytes of its version line"},
		"torn magic":   {"\x89MCAP", io.ErrUnexpectedEOF, "record at 0: file ends after 5 of 8 bytes of its magic"},
	} {
		if _, err := open([]byte(tc.in), table.Options{}); !errors.Is(err, tc.kind) || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %v, want %s", name, err, tc.text)
		}
	}
}

// TestTruncated cuts a bag at every byte: the index section is used only where it is whole, else the whole chunks are found, and with IndexOnly nothing is.
func TestTruncated(t *testing.T) {
	t.Parallel()
	full := closedBag(t)
	whole, err := open(full, table.Options{})
	if err != nil || !whole.Indexed || len(whole.Chunks) != 3 || whole.Damage != nil || whole.IndexEnd != int64(len(full)) {
		t.Fatalf("%v: %+v", err, whole)
	}
	for n := len(wire.VersionLine); n < len(full); n++ {
		bag, err := open(full[:n], table.Options{})
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		chunks := uint64(0)
		for i := range whole.Chunks {
			if int64(n) >= whole.ExtentEnd(i) {
				chunks++
			}
		}
		if bag.Indexed || bag.Messages < chunks || bag.Messages > chunks+1 || !errors.Is(errors.Join(bag.Damage...), io.ErrUnexpectedEOF) {
			t.Errorf("cut at %d: %d messages, %d whole chunks, %v", n, bag.Messages, chunks, bag.Damage)
		}
		if _, err := open(full[:n], table.Options{IndexOnly: true}); !errors.Is(err, rosbag.ErrCorrupt) || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut at %d: %v with IndexOnly", n, err)
		}
	}
}

// TestUnclosed: a bag that was not closed is unindexed, and all of it is found.
func TestUnclosed(t *testing.T) {
	t.Parallel()
	full := closedBag(t)
	whole, err := open(full, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	unclosed := append([]byte(wire.VersionLine), wire.AppendBagHeader(nil, &wire.RecordHeader{})...)
	unclosed = append(unclosed, full[len(unclosed):whole.IndexPos]...)
	bag, err := open(unclosed, table.Options{})
	if err != nil || bag.Indexed || bag.Messages != 3 || bag.Start.Sec != 10 || bag.End.Sec != 12 || !errors.Is(errors.Join(bag.Damage...), rosbag.ErrUnindexed) {
		t.Errorf("%v: %+v", err, bag)
	}
	if _, err := open(unclosed, table.Options{IndexOnly: true}); !errors.Is(err, rosbag.ErrUnindexed) {
		t.Errorf("%v with IndexOnly", err)
	}
}

// TestHostileHeader: a bag header that claims what the file cannot have is told with its place, and the bag is scanned.
func TestHostileHeader(t *testing.T) {
	t.Parallel()
	full := closedBag(t)
	for want, h := range map[string]wire.RecordHeader{
		"the index section is at 99999999":           {IndexPos: 99999999, ConnCount: 1, ChunkCount: 3},
		"the index section is at 20, inside":         {IndexPos: 20, ConnCount: 1, ChunkCount: 3},
		"claims 4294967295 connections and 3 chunks": {IndexPos: 4200, ConnCount: 1<<32 - 1, ChunkCount: 3},
		"claims 1 connections and 4294967295 chunks": {IndexPos: 4200, ConnCount: 1, ChunkCount: 1<<32 - 1},
	} {
		bad := bytes.Clone(full)
		copy(bad[len(wire.VersionLine):], wire.AppendBagHeader(nil, &h))
		bag, err := open(bad, table.Options{})
		if err != nil || bag.Messages != 3 || !strings.Contains(fmt.Sprint(bag.Damage), fmt.Sprintf("bag header at %d: %s", len(wire.VersionLine), want)) {
			t.Errorf("%s: %v: %+v", want, err, bag)
		}
	}
}
