package bagfmt_test

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/rosbag"
)

var update = flag.Bool("update", false, "rewrite the golden dumps in testdata")

// TestGolden compares dumps of bags with those in testdata. The python_* and cpp_*
// bags were made with rosbag 1.15.15, cpp_killed by killing its recorder; the
// others are written here.
func TestGolden(t *testing.T) {
	t.Parallel()
	bags := map[string][]byte{}
	names, err := filepath.Glob("testdata/*.bag*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		bags[strings.SplitN(filepath.Base(name), ".", 2)[0]] = b
	}
	if len(bags) < 7 {
		t.Fatalf("only %d bags in testdata", len(bags))
	}
	for _, comp := range compressions {
		bags["ours_"+string(comp)] = sampleBag(t, comp)
	}
	for name, b := range bags {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := dump(t, b)
			path := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("differs (-want +got):\n%s", d)
			}
		})
	}
}

// dump lists the records of a bag with this test's own parser, then the messages
// as the Reader and the Scanner find them.
func dump(t *testing.T, b []byte) string {
	t.Helper()
	var s strings.Builder
	fmt.Fprintf(&s, "%6d magic    %s\n", 0, b[:12])
	for off := 13; off < len(b); {
		r := cutRecord(t, b, off)
		fmt.Fprintf(&s, "%6d %s\n", off, describe(b, r))
		off = r.dataAt + 4 + len(r.data)
	}
	msgs, errs := readAll(t, b, rosbag.Query{})
	dumpMessages(&s, "reader", msgs, errs)
	msgs, errs = scanAll(t, b)
	dumpMessages(&s, "scanner", msgs, errs)
	return s.String()
}

func describe(b []byte, r record) string {
	u32 := func(key string) uint32 { return binary.LittleEndian.Uint32(b[r.fields[key]:]) }
	u64 := func(key string) uint64 { return binary.LittleEndian.Uint64(b[r.fields[key]:]) }
	stamp := func(key string) rosbag.Time { return rosbag.Time{Sec: u32(key), Nsec: uint32(u64(key) >> 32)} }
	text := func(key string) string { return string(b[r.fields[key] : r.fields[key]+r.length[key]]) }
	switch rosbag.Op(r.op) {
	case rosbag.OpBagHeader:
		return fmt.Sprintf("bag      index_pos=%d conns=%d chunks=%d pad=%d", u64("index_pos"), u32("conn_count"), u32("chunk_count"), len(r.data))
	case rosbag.OpChunk:
		crc := ""
		if _, ok := r.fields["crc32c"]; ok {
			crc = fmt.Sprintf(" crc32c=%08x", u32("crc32c"))
		}
		return fmt.Sprintf("chunk    %s size=%d->%d%s", text("compression"), u32("size"), len(r.data), crc)
	case rosbag.OpIndexData:
		first, last := r.data, r.data[len(r.data)-12:]
		return fmt.Sprintf("index    conn=%d ver=%d count=%d first=%d last=%d", u32("conn"), u32("ver"), u32("count"),
			binary.LittleEndian.Uint32(first[8:]), binary.LittleEndian.Uint32(last[8:]))
	case rosbag.OpConnection:
		return fmt.Sprintf("conn     %d %s %q", u32("conn"), text("topic"), r.data)
	case rosbag.OpChunkInfo:
		return fmt.Sprintf("info     chunk=%d ver=%d %s to %s count=%d % x", u64("chunk_pos"), u32("ver"), stamp("start_time"), stamp("end_time"), u32("count"), r.data)
	case rosbag.OpMessage:
		return fmt.Sprintf("msg      conn=%d %s %q", u32("conn"), stamp("time"), r.data)
	case rosbag.OpMessageDefinition: // no bag of ours has one
	}
	return fmt.Sprintf("op %d", r.op)
}

func dumpMessages(w io.Writer, who string, msgs []msg, errs []error) {
	fmt.Fprintf(w, "%s: %d messages\n", who, len(msgs))
	for _, m := range msgs {
		fmt.Fprintf(w, "  %s %s %q\n", m.Time, m.Topic, m.Data)
	}
	for _, err := range errs {
		fmt.Fprintf(w, "  error: %v, torn: %v\n", err, errors.Is(err, io.ErrUnexpectedEOF))
	}
}
