package bagfmt_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/fields"
)

// readAny opens a bag with or without an index and returns all messages in time order,
// and all errors: of opening, then of reading.
func readAny(tb testing.TB, b []byte, q bagfmt.Query) (msgs []msg, errs []error) {
	tb.Helper()
	r, err := openAny(b)
	if err != nil {
		return nil, []error{err}
	}
	errs = slices.Clone(r.Damage())
	for m, err := range r.All(q) {
		if err != nil {
			if errs = append(errs, err); len(errs) > len(b) {
				tb.Fatal("errors without end")
			}
			continue
		}
		msgs = append(msgs, asMsg(m))
	}
	return msgs, errs
}

// faults leaves out that a bag has no index.
func faults(errs []error) []error {
	return slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return errors.Is(err, bagfmt.ErrUnindexed) })
}

// unindexed sets the index position of a bag to 0, as while it was recorded.
func unindexed(tb testing.TB, b []byte) []byte {
	tb.Helper()
	return setU64(b, recordsOf(tb, b, 3)[0].fields["index_pos"], 0)
}

// TestScanningReader opens bags without a good index: with an index position of 0, cut
// before the index section, with a damaged one, as stock leaves them when it is killed.
func TestScanningReader(t *testing.T) {
	t.Parallel()
	_, msgs := sample(30)
	want := byTime(msgs)
	for _, comp := range compressions {
		full := sampleBag(t, comp)
		chunks := recordsOf(t, full, 5)
		last := chunks[len(chunks)-1]
		section := recordsOf(t, full, 7)[0].off
		tests := map[string]struct {
			bag    []byte
			reason error // why the index was not used
			faults int
		}{
			"active":           {unindexed(t, full)[:section:section], bagfmt.ErrUnindexed, 0},
			"index position 0": {unindexed(t, full), bagfmt.ErrUnindexed, 0},
			"index cut off":    {full[:section:section], bagfmt.ErrCorrupt, 0},
			"index cut":        {full[: len(full)-10 : len(full)-10], bagfmt.ErrCorrupt, 0},
			"index position":   {setU64(full, recordsOf(t, full, 3)[0].fields["index_pos"], uint64(last.off+7)), bagfmt.ErrCorrupt, 0},
			"no index data":    {unindexed(t, withoutIndexData(t, full)), bagfmt.ErrUnindexed, 0},
		}
		if comp == bagfmt.CompressionNone {
			killed := slices.Concat(full[:last.off], rawChunkHeader(), last.data)
			tests["killed"] = struct {
				bag    []byte
				reason error
				faults int
			}{unindexed(t, killed), bagfmt.ErrUnindexed, 0}
		}
		for name, tc := range tests {
			t.Run(string(comp)+"/"+name, func(t *testing.T) {
				t.Parallel()
				r, err := openAny(tc.bag)
				if err != nil {
					t.Fatal(err)
				}
				if r.Indexed() || r.IndexPos() != 0 || r.Elapsed() || r.Version() != "2.0" {
					t.Errorf("indexed %v at %d, elapsed %v, version %s", r.Indexed(), r.IndexPos(), r.Elapsed(), r.Version())
				}
				if d := r.Damage(); len(d) != 1+tc.faults || !errors.Is(d[0], tc.reason) {
					t.Errorf("damage %v", d)
				}
				got, errs := readAny(t, tc.bag, bagfmt.Query{})
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("messages (-want +got):\n%s", d)
				}
				if len(errs) != 1+tc.faults {
					t.Errorf("errors %v", errs)
				}
				checkDerived(t, r, want)
				if _, err := openBag(tc.bag); !errors.Is(err, tc.reason) {
					t.Errorf("index only: %v", err)
				}
			})
		}
	}
}

// withoutIndexData removes all index data records.
func withoutIndexData(tb testing.TB, b []byte) []byte {
	tb.Helper()
	out := slices.Clone(b[:recordsOf(tb, b, 3)[0].off])
	for _, r := range records(tb, b) {
		if r.op != 4 {
			out = append(out, b[r.off:r.dataAt+4+len(r.data)]...)
		}
	}
	return out
}

// checkDerived compares everything else that a Reader says with the messages in it.
func checkDerived(t *testing.T, r *bagfmt.Reader, want []msg) {
	t.Helper()
	if int(r.Messages()) != len(want) {
		t.Errorf("%d messages, want %d", r.Messages(), len(want))
	}
	if len(want) > 0 && (r.Start() != want[0].Time || r.End() != want[len(want)-1].Time) {
		t.Errorf("from %s to %s", r.Start(), r.End())
	}
	total, indexed := uint64(0), 0
	for i, c := range r.Chunks() {
		entries, err := r.ChunkIndex(i, nil)
		if err != nil {
			t.Fatal(err)
		}
		counts := make(map[*bagfmt.Connection]uint32)
		for n, e := range entries {
			counts[e.Conn]++
			if e.Time.Before(c.Start) || c.End.Before(e.Time) || n > 0 && e.Time.Before(entries[n-1].Time) {
				t.Errorf("segment %d from %s to %s has a message of %s", i, c.Start, c.End, e.Time)
			}
		}
		for _, n := range c.Counts {
			total += uint64(n.Count)
			if counts[n.Conn] != n.Count {
				t.Errorf("segment %d: %d messages of connection %d, want %d", i, counts[n.Conn], n.Conn.ID, n.Count)
			}
		}
		indexed += len(entries)
		h, err := r.ChunkHeader(i)
		if err != nil || h.StoredBytes <= 0 {
			t.Errorf("segment %d: %v, %v", i, h, err)
		}
	}
	if total != r.Messages() || indexed != len(want) {
		t.Errorf("%d messages counted and %d indexed, want %d", total, indexed, len(want))
	}
	for _, c := range r.Connections() {
		var last *msg
		q := bagfmt.Query{Keep: func(x *bagfmt.Connection) bool { return x == c }}
		for m, err := range r.All(q) {
			if err != nil {
				t.Fatal(err)
			}
			last = new(msg)
			*last = asMsg(m)
		}
		m, err := r.LastBefore(c.ID, r.End())
		if err != nil || (m == nil) != (last == nil) || m != nil && asMsg(m) != *last {
			t.Errorf("last of connection %d: %v, %v, want %v", c.ID, m, err, last)
		}
	}
	var ahead []msg
	for m, err := range r.All(bagfmt.Query{Workers: 3}) {
		if err != nil {
			t.Fatal(err)
		}
		ahead = append(ahead, asMsg(m))
	}
	if !slices.Equal(want, ahead) {
		t.Errorf("%d messages read ahead, want %d, or others", len(ahead), len(want))
	}
	if len(want) < 3 {
		return
	}
	from, to := want[len(want)/3].Time, want[2*len(want)/3].Time
	var in []msg
	for _, m := range want {
		if !m.Time.Before(from) && !to.Before(m.Time) {
			in = append(in, m)
		}
	}
	var got []msg
	for m, err := range r.All(bagfmt.Query{Start: from, End: to}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, asMsg(m))
	}
	if d := cmp.Diff(in, got); d != "" {
		t.Errorf("from %s to %s (-want +got):\n%s", from, to, d)
	}
}

// TestStockKilledFile opens what stock's recorder left when it was killed.
func TestStockKilledFile(t *testing.T) {
	t.Parallel()
	b := readFile(t, "testdata/cpp_killed.bag")
	scanned, errs := scanAll(t, b)
	got, more := readAny(t, b, bagfmt.Query{})
	if d := cmp.Diff(byTime(scanned), got); d != "" || len(got) == 0 {
		t.Errorf("%d messages (-scanner +reader):\n%s", len(got), d)
	}
	if len(errs) != len(faults(more)) {
		t.Errorf("reader %v, scanner %v", more, errs)
	}
}

// TestScanTruncatedEverywhere cuts bags at each byte: a Reader finds what a Scanner
// finds, and nothing else.
func TestScanTruncatedEverywhere(t *testing.T) {
	t.Parallel()
	for _, comp := range compressions {
		t.Run(string(comp), func(t *testing.T) {
			t.Parallel()
			full := sampleBag(t, comp)
			want, _ := scanAll(t, full)
			for i := 0; i < len(full); i += sparse {
				cut := full[:i:i]
				scanned, _ := scanAll(t, cut)
				got, errs := readAny(t, cut, bagfmt.Query{})
				if !slices.Equal(byTime(want[:len(scanned)]), got) {
					t.Fatalf("cut at %d: %d messages, the scanner has %d", i, len(got), len(scanned))
				}
				for _, err := range errs {
					if !typed(err) {
						t.Fatalf("cut at %d: untyped %v", i, err)
					}
				}
				if len(errs) == 0 || len(errs) > 3 {
					t.Fatalf("cut at %d: %v", i, errs)
				}
			}
		})
	}
}

// TestScanBitFlips flips bits of bags without an index section: a wrong or missing
// message must not come without an error.
func TestScanBitFlips(t *testing.T) {
	t.Parallel()
	for _, comp := range compressions {
		t.Run(string(comp), func(t *testing.T) {
			t.Parallel()
			full := sampleBag(t, comp)
			section := recordsOf(t, full, 7)[0].off
			full = unindexed(t, full)[:section:section]
			want, _ := scanAll(t, full)
			known := make(map[msg]int)
			for _, m := range want {
				known[m]++
			}
			for i := 0; i < len(full); i += sparse {
				if i > 100 && i < 4117 {
					continue // padding
				}
				for bit := range 8 {
					if !*every && comp != bagfmt.CompressionLZ4 && bit != i%8 && bit != i/8%8 {
						continue // all bits take a minute: see every
					}
					b := slices.Clone(full)
					b[i] ^= 1 << bit
					got, errs := readAny(t, b, bagfmt.Query{})
					checkFlip(t, "reader", i, known, len(want), got, faults(errs))
				}
			}
		})
	}
}

// TestScanGoesOn damages one chunk of a bag without an index section: the others are
// read, and there is an error with the place of that one.
func TestScanGoesOn(t *testing.T) {
	t.Parallel()
	for _, comp := range compressions {
		full := unindexed(t, sampleBag(t, comp))
		chunks := recordsOf(t, full, 5)
		in := countMessages(t, full, chunks[1])
		tests := map[string]struct {
			bag  []byte
			lost int
		}{
			"header length":   {setU32(full, chunks[1].off, 1<<31), in},
			"header length 0": {setU32(full, chunks[1].off, 0), in},
			"field length":    {setU32(full, chunks[1].off+4, 1<<31), in},
			"op":              {setOp(full, chunks[1], 99), in},
			"op of index":     {setOp(full, chunks[1], 4), in},
			"data":            {replace(full, chunks[1].dataAt+4+len(chunks[1].data)/2, "\xff\x00\xff\x00\xff"), in},
			"data length":     {setU32(full, chunks[1].dataAt, 1<<31), in},
			"data length - 1": {setU32(full, chunks[1].dataAt, uint32(len(chunks[1].data)-1)), in},
			"compression":     {replace(full, chunks[1].fields["compression"], "zip"), in},
			"zeros":           {slices.Concat(full[:chunks[1].off], make([]byte, 100), full[chunks[1].off+100:]), in},
			"cut out":         {slices.Concat(full[:chunks[1].off+3], full[chunks[2].off:]), in},
		}
		for name, tc := range tests {
			t.Run(string(comp)+"/"+name, func(t *testing.T) {
				t.Parallel()
				got, errs := readAny(t, tc.bag, bagfmt.Query{})
				errs = faults(errs)
				// Records of an uncompressed chunk can be read without the chunk.
				salvaged := comp == bagfmt.CompressionNone && len(got) == 30
				if len(got) != 30-tc.lost && !salvaged {
					t.Errorf("%d messages, want %d", len(got), 30-tc.lost)
				}
				if len(errs) == 0 || len(errs) > 3 {
					t.Fatalf("errors %v", errs)
				}
				var bad *bagfmt.CorruptError
				if !errors.As(errs[0], &bad) || bad.Offset < int64(chunks[1].off) || bad.Offset > int64(chunks[2].off) {
					t.Errorf("damage in the chunk at %d: %v", chunks[1].off, errs)
				}
			})
		}
	}
}

// TestIndexDataLength reads bags as ros 1.1.5 to 1.1.14 wrote them: the data length of
// index data counts structs of 20 or 24 bytes, while 12 bytes follow for each.
func TestIndexDataLength(t *testing.T) {
	t.Parallel()
	_, msgs := sample(30)
	want := byTime(msgs)
	for _, comp := range compressions {
		for _, size := range []int{20, 24} {
			full := sampleBag(t, comp)
			for _, r := range recordsOf(t, full, 4) {
				full = setU32(full, r.dataAt, uint32(len(r.data)/12*size))
			}
			open := setU64(full, bytes.Index(full, []byte("index_pos="))+len("index_pos="), 0)
			for name, b := range map[string][]byte{"closed": full, "open": open} {
				got, errs := readAny(t, b, bagfmt.Query{})
				if d := cmp.Diff(want, got); d != "" || len(faults(errs)) > 0 {
					t.Errorf("%s, %s, %d bytes: %v (-want +got):\n%s", comp, name, size, errs, d)
				}
				if got, errs := scanAll(t, b); len(got) != 30 || errs != nil {
					t.Errorf("%s, %s, %d bytes: scanner: %d messages, %v", comp, name, size, len(got), errs)
				}
			}
		}
	}
}

// TestConnectionsInIndexOnly reads bags of stock's recorder with --split, which may have
// the connection records in the index section alone.
func TestConnectionsInIndexOnly(t *testing.T) {
	t.Parallel()
	conns, msgs := sample(12)
	var messages []byte
	for i, m := range msgs {
		messages = append(messages, rec(fields.List{
			{Key: "conn", Value: u32s(uint32(i % 3))}, {Key: "op", Value: "\x02"}, {Key: "time", Value: u32s(m.Time.Sec, m.Time.Nsec)},
		}, []byte(m.Data))...)
	}
	var section []byte
	for _, c := range conns {
		section = append(section, rec(fields.List{
			{Key: "conn", Value: u32s(uint32(c.ID))}, {Key: "op", Value: "\x07"}, {Key: "topic", Value: c.Topic},
		}, fields.List(c.Header).Append(nil))...)
	}
	empty := writeBag(t, bagfmt.WriterOptions{}, nil, nil)
	chunk := rec(fields.List{{Key: "compression", Value: "none"}, {Key: "op", Value: "\x05"}, {Key: "size", Value: u32s(uint32(len(messages)))}}, messages)
	for name, b := range map[string][]byte{
		"chunk": slices.Concat(unindexed(t, empty), chunk, section),
		"bare":  slices.Concat(unindexed(t, empty), rawChunkHeader(), messages, section),
	} {
		got, errs := readAny(t, b, bagfmt.Query{})
		if d := cmp.Diff(byTime(msgs), got); d != "" || len(faults(errs)) > 0 {
			t.Errorf("%s: %v (-want +got):\n%s", name, errs, d)
		}
	}
	// Without the section nothing is delivered, and each connection is reported.
	got, errs := readAny(t, slices.Concat(unindexed(t, empty), chunk), bagfmt.Query{})
	if len(got) != 0 || len(faults(errs)) != 3 {
		t.Errorf("%d messages, %v", len(got), errs)
	}
}

// countingFile counts the bytes that are read.
type countingFile struct {
	*bytes.Reader
	n int64
}

func (f *countingFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.Reader.ReadAt(p, off)
	f.n += int64(n)
	return n, err
}

// TestScanPassesOver makes sure that a scan does not read what it does not need.
func TestScanPassesOver(t *testing.T) {
	t.Parallel()
	conns, _ := sample(0)
	big := string(make([]byte, 1<<20))
	var msgs []msg
	for i := range 40 {
		msgs = append(msgs, msg{conns[0].Topic, bagfmt.Time{Sec: uint32(i)}, big})
	}
	var old bytes.Buffer
	old.WriteString("#ROSRECORD V1.1\n")
	for i := range uint32(40) {
		old.WriteString("/image\n*\nsensor_msgs/Image\n" + u32s(i, 0, 1<<20))
		old.WriteString(big)
	}
	bags := map[string][]byte{"1.1": old.Bytes(), "2.0": unindexed(t, writeBag(t, bagfmt.WriterOptions{}, conns[:1], msgs))}
	for name, b := range bags {
		f := &countingFile{Reader: bytes.NewReader(b)}
		r, err := bagfmt.NewReader(f, int64(len(b)), bagfmt.ReaderOptions{})
		if err != nil || r.Messages() != 40 {
			t.Fatalf("%s: %v, %v", name, r, err)
		}
		if most := int64(len(b) / 15); f.n > most {
			t.Errorf("%s: %d of %d bytes read, want less than %d", name, f.n, len(b), most)
		}
		if len(r.Chunks()) < 40 {
			t.Errorf("%s: %d segments", name, len(r.Chunks()))
		}
	}
}

// failingFile cannot be read behind an offset.
type failingFile struct {
	*bytes.Reader
	from int64
}

var errBroken = errors.New("broken")

func (f failingFile) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.from {
		return 0, errBroken
	}
	return f.Reader.ReadAt(p, off)
}

// TestScanReadError has a file that cannot be read: that is no damage.
func TestScanReadError(t *testing.T) {
	t.Parallel()
	bags := map[string][]byte{"2.0": unindexed(t, sampleBag(t, bagfmt.CompressionNone)), "1.1": readFile(t, "testdata/old/v11_rosrecord.bag")}
	for name, b := range bags {
		for _, from := range []int64{0, 5000} {
			_, err := bagfmt.NewReader(failingFile{bytes.NewReader(b), from}, int64(len(b)), bagfmt.ReaderOptions{})
			if !errors.Is(err, errBroken) || errors.Is(err, io.EOF) {
				t.Errorf("%s: from %d: %v", name, from, err)
			}
		}
	}
}

// TestDamageIsBounded opens a bag with more faults than anybody wants to read.
func TestDamageIsBounded(t *testing.T) {
	t.Parallel()
	b := []byte("#ROSLOG V1.0\n0001\n/known\n*\n*\n")
	for i := range 3000 {
		b = append(b, fmt.Sprintf("/t%d\n%s", i, u32s(0, 0, 0))...)
	}
	b = append(b, "/known\n"+u32s(1, 2, 0)...)
	r, err := openAny(b)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Damage()); n != 1000 || r.Messages() != 1 {
		t.Errorf("%d errors, %d messages", n, r.Messages())
	}
}

// TestScanMemory: opening a bag by a scan costs no more memory than the bag has bytes,
// whatever its lengths say.
func TestScanMemory(t *testing.T) { // not parallel: it looks at what all goroutines allocate
	if sparse > 1 {
		t.Skip("the race detector allocates, too")
	}
	full := unindexed(t, sampleBag(t, bagfmt.CompressionNone))
	bags := map[string][]byte{"sound": full}
	for _, r := range records(t, full) {
		for _, at := range []int{r.off, r.off + 4, r.dataAt, r.dataAt + 4, r.fields["size"], r.fields["count"]} {
			for _, v := range []uint32{0, 1, 1 << 20, 1<<31 - 1, 1<<32 - 1} {
				if at > 0 {
					bags[fmt.Sprintf("%d at %d", v, at)] = setU32(full, at, v)
				}
			}
		}
	}
	// As many connections and index data records as fit a file.
	many := slices.Clone(full[:4117])
	for i := range uint32(20_000) {
		many = append(many, rec(fields.List{{Key: "op", Value: "\x04"}, {Key: "ver", Value: u32s(1)}, {Key: "conn", Value: u32s(i)}, {Key: "count", Value: u32s(0)}}, nil)...)
	}
	bags["index data"] = many
	// As many fields as fit a file.
	var header, fielded []byte
	for range 270 {
		header = append(header, u32s(2)+"a="...)
	}
	for i := range uint32(1000) {
		fielded = append(fielded, rec(fields.List{{Key: "op", Value: "\x07"}, {Key: "conn", Value: u32s(i)}, {Key: "topic", Value: ""}}, header)...)
	}
	bags["fields"] = slices.Concat(full[:4117], fielded)
	chunk := recordsOf(t, full, 5)[0]
	torn := setU32(full[:chunk.dataAt+4], chunk.dataAt, 1<<31)
	bags["torn chunks"] = append(slices.Clone(full[:4117]), bytes.Repeat(torn[chunk.off:], 5000)...)
	for name, b := range bags {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := openAny(b)
		runtime.ReadMemStats(&after)
		if err != nil && !typed(err) {
			t.Errorf("%s: untyped %v", name, err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 8*uint64(len(b))+1<<20 {
			t.Errorf("%s: %d bytes allocated for a bag of %d", name, got, len(b))
		}
	}
}
