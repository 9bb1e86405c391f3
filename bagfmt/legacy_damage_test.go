package bagfmt_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosbag"
)

const stringMD5 = "992ce8a1687cec8c8bd883ec73ca41d1"

// bagV11 is a bag of version 1.1 with n messages.
func bagV11(n int) []byte {
	b := []byte("#ROSRECORD V1.1\n")
	for i := range n {
		b = append(b, fmt.Sprintf("/t%d\n%s\nstd_msgs/String\n", i%2, stringMD5)...)
		data := fmt.Sprintf("message\n%d\n", i)
		b = append(b, u32s(uint32(100+i), uint32(i), uint32(len(data)))...)
		b = append(b, data...)
	}
	return b
}

// bagV12 is a bag of version 1.2 with n messages, the last ones latched.
func bagV12(n int, indexed bool) []byte {
	b := []byte("#ROSRECORD V1.2\n")
	if indexed {
		h := fields.List{{Key: "index_pos", Value: "\x00\x00\x00\x00\x00\x00\x00\x00"}, {Key: "op", Value: "\x03"}}
		b = append(b, rec(h, bytes.Repeat([]byte(" "), 4096-h.Size()))...)
	}
	index := make(map[string][]byte)
	topics := []string{"/t0", "/t1"}
	for i := range n {
		topic := topics[i%2]
		at := len(b)
		if index[topic] == nil {
			b = append(b, rec(fields.List{
				{Key: "def", Value: "string data\n"},
				{Key: "md5", Value: stringMD5},
				{Key: "op", Value: "\x01"},
				{Key: "topic", Value: topic},
				{Key: "type", Value: "std_msgs/String"},
			}, nil)...)
		}
		h := fields.List{
			{Key: "md5", Value: stringMD5},
			{Key: "nsec", Value: u32s(uint32(i))},
			{Key: "op", Value: "\x02"},
			{Key: "sec", Value: u32s(uint32(100 + i))},
			{Key: "topic", Value: topic},
			{Key: "type", Value: "std_msgs/String"},
		}
		if i > n/2 {
			h = append(fields.List{{Key: "callerid", Value: "/node"}, {Key: "latching", Value: "1"}}, h...)
		}
		b = append(b, rec(h, fmt.Appendf(nil, "message %d", i))...)
		index[topic] = append(index[topic], u32s(uint32(100+i), uint32(i), uint32(at), 0)...)
	}
	if !indexed {
		return b
	}
	at := len(b)
	for _, topic := range topics {
		if index[topic] != nil {
			b = append(b, rec(fields.List{
				{Key: "count", Value: u32s(uint32(len(index[topic]) / 16))},
				{Key: "op", Value: "\x04"},
				{Key: "topic", Value: topic},
				{Key: "type", Value: "std_msgs/String"},
				{Key: "ver", Value: u32s(0)},
			}, index[topic])...)
		}
	}
	binary.LittleEndian.PutUint64(b[bytes.Index(b, []byte("index_pos="))+len("index_pos="):], uint64(at))
	return b
}

// smallOldBags are a bag of each layout.
func smallOldBags() map[string][]byte {
	v0 := []byte("/t0\n" + stringMD5 + "\nstd_msgs/String\n")
	v10 := []byte("#ROSLOG V1.0\n0002\n/t0\nstd_msgs/String\n" + stringMD5 + "\n/t1\n*\n*\n")
	for i := range uint32(6) {
		message := u32s(i, i, 7) + "message"
		v0 = append(v0, message...)
		v10 = append(v10, fmt.Sprintf("/t%d\n%s", i%2, message)...)
	}
	return map[string][]byte{
		"0": v0, "1.0": v10, "1.1": bagV11(6), "1.2": bagV12(6, false), "1.2 indexed": bagV12(6, true),
	}
}

// agree reads b by Reader and Scanner, compares them and returns what they find, in
// file order, and the errors of both.
func agree(t *testing.T, what string, b []byte) (msgs []msg, errs []error) {
	t.Helper()
	msgs, errs = scanAll(t, b)
	got, more := readAny(t, b, rosbag.Query{})
	if !slices.Equal(byTime(msgs), got) {
		t.Fatalf("%s: the scanner finds %d messages, the reader %d; %v; %v", what, len(msgs), len(got), errs, more)
	}
	for _, err := range slices.Concat(errs, more) {
		if !typed(err) {
			t.Fatalf("%s: untyped %v", what, err)
		}
	}
	size := 0
	for _, m := range msgs {
		size += len(m.Data)
	}
	if size > len(b) {
		t.Fatalf("%s: %d bytes of messages in %d", what, size, len(b))
	}
	return msgs, slices.Concat(errs, more)
}

// TestOldTruncatedEverywhere cuts old bags at each byte: whole messages are read, and a
// cut record is an error with its place.
func TestOldTruncatedEverywhere(t *testing.T) {
	t.Parallel()
	bags := smallOldBags()
	for _, name := range []string{"v11_rosrecord", "v12_indexed", "v12_unindexed_cpp"} {
		bags[name] = readFile(t, "testdata/old/"+name+".bag")
	}
	for name, full := range bags {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, errs := agree(t, "whole", full)
			if len(want) < 6 || len(errs) > 0 {
				t.Fatalf("%d messages, %v", len(want), errs)
			}
			n, step := 0, 1
			if len(full) > 10_000 && !*every {
				step = 7 // the small ones are cut everywhere
			}
			before := 0
			for i := range cuts(full, 1) {
				if n++; n%step != 0 {
					continue
				}
				got, errs := agree(t, fmt.Sprint("cut at ", i), full[:i:i])
				if len(got) < before || !slices.Equal(got, want[:len(got)]) {
					t.Fatalf("cut at %d: %d messages after %d, or not a prefix", i, len(got), before)
				}
				before = len(got)
				for _, err := range errs {
					var bad *rosbag.CorruptError
					if errors.As(err, &bad) && (bad.Offset < 0 || bad.Offset > int64(i)) {
						t.Fatalf("cut at %d: offset %d", i, bad.Offset)
					}
				}
			}
		})
	}
}

// TestOldBitFlips flips every bit of old bags. No checksum covers anything in them, but
// both ways to read a bag have to agree.
func TestOldBitFlips(t *testing.T) {
	t.Parallel()
	for name, full := range smallOldBags() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, _ := agree(t, "whole", full)
			for i, mask := range flips(full, 0, len(full), 1, 8) {
				got, errs := agree(t, fmt.Sprintf("bits %#x of byte %d", mask, i), flipped(full, i, mask))
				if len(got) < len(want) && len(errs) == 0 {
					t.Fatalf("bits %#x of byte %d: %d of %d messages without an error", mask, i, len(got), len(want))
				}
			}
		})
	}
}

// TestOldMemory: lengths in a bag must not cost more memory than the bag has bytes.
func TestOldMemory(t *testing.T) { // not parallel: it looks at what all goroutines allocate
	if testkit.Race {
		t.Skip("the race detector allocates, too")
	}
	bags := smallOldBags()
	for name, full := range smallOldBags() {
		for i := range cuts(full[:len(full)-3], 2) {
			if padding(full, i) {
				continue
			}
			bags[fmt.Sprint(name, " at ", i)] = setU32(full, i, 1<<31-1)
			bags[fmt.Sprint(name, " of 1 MB at ", i)] = setU32(full, i, 1_000_000)
		}
	}
	many := []byte("#ROSLOG V1.1\n")
	for i := range 50_000 { // a connection for each message
		many = append(many, fmt.Sprintf("/%x\n*\n*\n%s", i, u32s(0, 0, 0))...)
	}
	bags["connections"] = many
	bags["some connections"] = many[:20_000]
	bags["table"] = append([]byte("#ROSLOG V1.0\n9999999999\n"), bytes.Repeat([]byte("a\nb\nc\n"), 1000)...)
	bags["topics"] = append([]byte("#ROSLOG V1.0\n0000\n"), many[13:]...)
	bags["no line"] = append([]byte("#ROSLOG V1.1\n"), bytes.Repeat([]byte("x"), 1<<20)...)
	bags["long line"] = append([]byte("#ROSLOG V1.0\n"), bytes.Repeat([]byte("1"), 1<<20)...)
	for name, b := range bags {
		for who, read := range map[string]func(){
			"scanner": func() {
				s, err := bagfmt.NewScanner(bytes.NewReader(b), bagfmt.ScannerOptions{})
				for err == nil {
					if _, err = s.Next(); !errors.Is(err, io.EOF) {
						err = nil
					}
				}
			},
			"opening":   func() { _, _ = openAny(b) },
			"one chunk": func() { readFirst(b) },
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			read()
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > 8*uint64(len(b))+1<<20 {
				t.Errorf("%s: %s: %d bytes allocated for a bag of %d", name, who, got, len(b))
			}
		}
	}
}

// readFirst reads the first message of a bag.
func readFirst(b []byte) {
	r, err := openAny(b)
	if err != nil {
		return
	}
	_, _ = r.Cursor(rosbag.Query{}).Next()
}

// TestOldNotABag has files that are no bags, or look like one of version 0.
func TestOldNotABag(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in   string
		want error // nil: it is a bag
	}{
		"text":               {"hello\n", rosbag.ErrNotBag},
		"three lines":        {"hello\nworld\nagain\n", rosbag.ErrNotBag},
		"no type":            {"/a\n*\nhello\n", rosbag.ErrNotBag},
		"no md5sum":          {"/a\nhello\nstd_msgs/String\n", rosbag.ErrNotBag},
		"no topic":           {"a topic\n*\n*\n", rosbag.ErrNotBag},
		"two lines":          {"/a\n*\n", rosbag.ErrNotBag},
		"long line":          {"/" + strings.Repeat("a", 300) + "\n*\n*\n", rosbag.ErrNotBag},
		"version 0":          {"/a\n*\n*\n", nil},
		"version 0, md5sum":  {"/a\nstd_msgs/String\n" + stringMD5 + "\n", nil},
		"script":             {"#!/bin/sh\necho\n", rosbag.ErrNotBag},
		"comment":            {"# a\n# b\n", rosbag.ErrNotBag},
		"no version":         {"# anything\n1\n/a\n*\n*\n", nil},
		"half a first line":  {"#ROSREC", rosbag.ErrCorrupt},
		"half of MULTILOG":   {"##MULT", rosbag.ErrCorrupt},
		"version 0.9":        {"#ROSLOG V0.9\n", rosbag.ErrVersion},
		"version 1.3":        {"#ROSRECORD V1.3\n", rosbag.ErrVersion},
		"version 1.4":        {"#ROSRECORD V1.4\n", rosbag.ErrVersion},
		"another name":       {"#ROSANYTHING V1.1\n", nil},
		"1.0 without number": {"#ROSLOG V1.0\nnumber\n", rosbag.ErrCorrupt},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, errs := scanAll(t, []byte(tc.in))
			if tc.want == nil && errs != nil || tc.want != nil && (len(errs) != 1 || !errors.Is(errs[0], tc.want)) {
				t.Errorf("scanner: %v, want %v", errs, tc.want)
			}
			_, errs = readAny(t, []byte(tc.in), rosbag.Query{})
			if tc.want == nil && errs != nil || tc.want != nil && (len(errs) != 1 || !errors.Is(errs[0], tc.want)) {
				t.Errorf("reader: %v, want %v", errs, tc.want)
			}
		})
	}
}

// TestOldHeaders looks at what old bags say about connections and times.
func TestOldHeaders(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		elapsed, indexed bool
		defs             bool
		damage           error
	}{
		"v0_strings":             {elapsed: true},
		"v10_multilog":           {elapsed: true},
		"v10_undeclared_topic":   {elapsed: true, damage: rosbag.ErrCorrupt},
		"v11_roslog":             {elapsed: true},
		"v11_rosrecord":          {},
		"v12_indexed":            {indexed: true, defs: true},
		"v12_indexed_backwards":  {indexed: true, defs: true},
		"v12_indexed_empty":      {indexed: true},
		"v12_indexed_notype":     {indexed: true, defs: true},
		"v12_indexed_badpos":     {defs: true, damage: rosbag.ErrCorrupt},
		"v12_indexed_cut_index":  {defs: true, damage: io.ErrUnexpectedEOF},
		"v12_indexed_notclosed":  {defs: true, damage: rosbag.ErrUnindexed},
		"v12_unindexed_cpp":      {defs: true},
		"v12_unindexed_emptydef": {defs: true},
		"v12_unindexed_nodefs":   {},
		"v12_unindexed_rosrebag": {defs: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := readFile(t, "testdata/old/"+name+".bag")
			r, err := openAny(b)
			if err != nil {
				t.Fatal(err)
			}
			if r.Info().Elapsed != tc.elapsed || r.Info().Indexed != tc.indexed {
				t.Errorf("elapsed %v, indexed %v", r.Info().Elapsed, r.Info().Indexed)
			}
			if d := r.Info().Damage; (len(d) > 0) != (tc.damage != nil) || tc.damage != nil && !slices.ContainsFunc(d, func(e error) bool { return errors.Is(e, tc.damage) }) {
				t.Errorf("damage %v, want %v", d, tc.damage)
			}
			for _, c := range r.Connections() {
				if _, ok := c.Header.Get("message_definition"); ok != tc.defs {
					t.Errorf("definition of %s: %v, want %v", c.Topic, ok, tc.defs)
				}
			}
			if _, err := openBag(b); tc.indexed && err != nil || !tc.indexed && !errors.Is(err, rosbag.ErrUnindexed) && !errors.Is(err, rosbag.ErrCorrupt) {
				t.Errorf("index only: %v", err)
			}
			msgs, _ := scanAll(t, b)
			checkDerived(t, r, byTime(msgs))
		})
	}
}

// TestOldLatched: latching and callerid are stored with each message of a 1.2 bag, so
// that a topic has a connection for each of them.
func TestOldLatched(t *testing.T) {
	t.Parallel()
	r, err := openAny(bagV12(6, true))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, c := range r.Connections() {
		if c.ID != rosbag.ConnID(i) {
			t.Errorf("connection %d has id %d", i, c.ID)
		}
		got = append(got, fmt.Sprintf("%s %v %q", c.Topic, c.Header.Latching(), c.Header.CallerID()))
	}
	if d := cmp.Diff([]string{`/t0 false ""`, `/t1 false ""`, `/t0 true "/node"`, `/t1 true "/node"`}, got); d != "" {
		t.Errorf("connections (-want +got):\n%s", d)
	}
	for _, c := range r.Connections()[2:] {
		want := rosbag.Header{
			{Key: "topic", Value: c.Topic},
			{Key: "type", Value: "std_msgs/String"},
			{Key: "md5sum", Value: stringMD5},
			{Key: "message_definition", Value: "string data\n"},
			{Key: "callerid", Value: "/node"},
			{Key: "latching", Value: "1"},
		}
		if d := cmp.Diff(want, c.Header); d != "" {
			t.Errorf("header (-want +got):\n%s", d)
		}
	}
}

// TestOldGoesOn damages one record header of a 1.2 bag: the others are read.
func TestOldGoesOn(t *testing.T) {
	t.Parallel()
	full := bagV12(6, false)
	at := bytes.LastIndex(full, []byte("topic=/t0"))
	got, errs := agree(t, "topic", replace(full, at, "tapic"))
	if len(got) != 5 || len(errs) != 2 {
		t.Errorf("%d messages, %v", len(got), errs)
	}
	at = bytes.LastIndex(full, []byte("sec="))
	got, errs = agree(t, "field length", setU32(full, at-4, 1<<31))
	if len(got) != 5 || len(errs) != 2 {
		t.Errorf("%d messages, %v", len(got), errs)
	}
}

// TestOldFindsItsPlaceAgain has a message whose length is wrong: those after the next
// one or two are read, and there is one error.
func TestOldFindsItsPlaceAgain(t *testing.T) {
	t.Parallel()
	for name, full := range map[string][]byte{"1.1": bagV11(200), "1.2": bagV12(200, false), "1.2 indexed": bagV12(200, true)} {
		want, _ := scanAll(t, full)
		at := bytes.Index(full, []byte(want[20].Data))
		for _, length := range []uint32{0, 1, 5, 9, 12, 100, 150, 200, 1000} {
			what := fmt.Sprintf("%s, length %d", name, length)
			got, errs := agree(t, what, setU32(full, at-4, length))
			if len(errs) == 0 {
				if len(got) < 180 || name != "1.1" { // the lines of 1.1 say little
					t.Errorf("%s: no error", what)
				}
				continue
			}
			lost := int(length)/60 + 3 // inside the wrong length
			if len(got) < 200-lost || !slices.Equal(got[:20], want[:20]) || !slices.Equal(got[len(got)-170:], want[30:]) {
				t.Errorf("%s: %d messages, %v", what, len(got), errs)
			}
		}
	}
}

// TestOldSearchIsLinear makes resync look at all kinds of things that are no message: in
// no more memory than they have bytes.
func TestOldSearchIsLinear(t *testing.T) { // not parallel: it looks at what all goroutines allocate
	if testkit.Race {
		t.Skip("the race detector allocates, too")
	}
	for name, junk := range map[string]string{
		"zeros":     "\x00",
		"slashes":   "/",
		"topics":    "/t0\n",
		"lines":     "/t0\n*\n",
		"types":     "/t0\n*\nx\n",
		"unknown":   "/u0\n*\na/b\n",
		"headers":   u32s(48) + u32s(4) + "op=\x02",
		"long ones": u32s(1000) + u32s(4) + "op=\x02" + u32s(4) + "xy=z",
	} {
		for version, b := range map[string][]byte{"1.1": bagV11(4), "1.2": bagV12(4, false)} {
			tail := b[bytes.IndexByte(b, '\n')+1:]
			b = slices.Concat(b, []byte("\xff\xff\xff\xff"), bytes.Repeat([]byte(junk), 1<<20/len(junk)), tail)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := openAny(b)
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; err != nil || got > 8*uint64(len(b))+1<<20 {
				t.Errorf("%s, %s: %v, %d bytes allocated for a bag of %d", version, name, err, got, len(b))
			}
		}
	}
}

// TestOldSegments splits a bag in ranges of about 1 MiB, a large message alone.
func TestOldSegments(t *testing.T) {
	t.Parallel()
	b := []byte("#ROSLOG V1.1\n")
	var want []msg
	for i := range 1200 {
		data := strings.Repeat(string(rune('a'+i%26)), 3000)
		if i == 500 {
			data = strings.Repeat("z", 3<<20)
		}
		at := rosbag.Time{Sec: uint32(2000 - i)} // backwards
		b = append(b, "/t\n*\n*\n"+u32s(at.Sec, 0, uint32(len(data)))+data...)
		want = append(want, msg{"/t", at, data})
	}
	r, err := openAny(b)
	if err != nil {
		t.Fatal(err)
	}
	if n := r.NumSpans(); n < 5 || n > 8 {
		t.Errorf("%d segments", n)
	}
	next := int64(13)
	for i := range r.NumSpans() {
		c := r.Span(i)
		h, err := r.ChunkHeader(i)
		if err != nil || c.Pos != next || h.StoredBytes > 1<<20 && c.Counts[0].Count != 1 {
			t.Errorf("segment at %d, want %d: %v, %v", c.Pos, next, h, err)
		}
		next += h.StoredBytes
	}
	if next != int64(len(b)) {
		t.Errorf("segments end at %d of %d", next, len(b))
	}
	slices.Reverse(want)
	got, errs := readAny(t, b, rosbag.Query{})
	if !slices.Equal(want, got) || errs != nil {
		t.Errorf("%d messages, %v", len(got), errs)
	}
	checkDerived(t, r, want)
}

// realBags returns the folder of real bags, whose contents are not ours to keep here.
func realBags(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("GOROSBAG_BAGS")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "bags", "real")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no real bags: %v; GOROSBAG_BAGS names their folder", err)
	}
	return dir
}

// TestRealV12 reads a bag of 2010.
func TestRealV12(t *testing.T) {
	t.Parallel()
	b := readFile(t, filepath.Join(realBags(t), "v12-indexed-scan.bag"))
	msgs, errs := agree(t, "real", b)
	if len(errs) > 0 || len(msgs) == 0 {
		t.Fatalf("%d messages, %v", len(msgs), errs)
	}
	r, err := openAny(b)
	if err != nil {
		t.Fatal(err)
	}
	if r.Info().Version != "1.2" || !r.Info().Indexed || r.Info().Elapsed {
		t.Errorf("version %s, indexed %v", r.Info().Version, r.Info().Indexed)
	}
	for _, c := range r.Connections() {
		if c.Header.MessageDefinition() == "" || len(c.Header.MD5Sum()) != 32 {
			t.Errorf("connection %v", c)
		}
	}
	checkDerived(t, r, byTime(msgs))
}

// TestRealWithoutIndex reads real 2.0 bags by their index and without it.
func TestRealWithoutIndex(t *testing.T) {
	testkit.SkipInRace(t, "one goroutine damages a bag at place after place")
	t.Parallel()
	names, err := filepath.Glob(filepath.Join(realBags(t), "*.bag"))
	if err != nil || len(names) < 5 {
		t.Fatalf("%d bags, %v", len(names), err)
	}
	for _, name := range names {
		b := readFile(t, name)
		r, err := openBag(b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.Info().Version != "2.0" {
			continue
		}
		want, errs := readAny(t, b, rosbag.Query{})
		if len(errs) > 0 {
			t.Fatalf("%s: %v", name, errs)
		}
		open := unindexed(t, b)
		for what, b := range map[string][]byte{"closed": open, "open": open[:r.IndexPos():r.IndexPos()]} {
			got, errs := readAny(t, b, rosbag.Query{})
			if len(got) != len(want) || len(faults(errs)) > 0 {
				t.Errorf("%s, %s: %d messages, want %d: %v", name, what, len(got), len(want), errs)
				continue
			}
			if !slices.Equal(want, got) {
				t.Errorf("%s, %s: other messages", name, what)
			}
		}
	}
}
