package bagfmt_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosbag"
)

// readAny opens a bag with or without an index and returns all messages in time order,
// and all errors: of opening, then of reading.
func readAny(tb testing.TB, b []byte, q rosbag.Query) (msgs []msg, errs []error) {
	tb.Helper()
	r, err := openAny(b)
	if err != nil {
		return nil, []error{err}
	}
	errs = slices.Clone(r.Info().Damage)
	for m, err := range rosbag.Messages(r, q) {
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
	return slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return errors.Is(err, rosbag.ErrUnindexed) })
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
			"active":           {unindexed(t, full)[:section:section], rosbag.ErrUnindexed, 0},
			"index position 0": {unindexed(t, full), rosbag.ErrUnindexed, 0},
			"index cut off":    {full[:section:section], rosbag.ErrCorrupt, 0},
			"index cut":        {full[: len(full)-10 : len(full)-10], rosbag.ErrCorrupt, 0},
			"index position":   {setU64(full, recordsOf(t, full, 3)[0].fields["index_pos"], uint64(last.off+7)), rosbag.ErrCorrupt, 0},
			"no index data":    {unindexed(t, withoutIndexData(t, full)), rosbag.ErrUnindexed, 0},
		}
		if comp == rosbag.CompressionNone {
			killed := slices.Concat(full[:last.off], rawChunkHeader(), last.data)
			tests["killed"] = struct {
				bag    []byte
				reason error
				faults int
			}{unindexed(t, killed), rosbag.ErrUnindexed, 0}
		}
		for name, tc := range tests {
			t.Run(string(comp)+"/"+name, func(t *testing.T) {
				t.Parallel()
				r, err := openAny(tc.bag)
				if err != nil {
					t.Fatal(err)
				}
				if r.Info().Indexed || r.IndexPos() != 0 || r.Info().Elapsed || r.Info().Version != "2.0" {
					t.Errorf("indexed %v at %d, elapsed %v, version %s", r.Info().Indexed, r.IndexPos(), r.Info().Elapsed, r.Info().Version)
				}
				if d := r.Info().Damage; len(d) != 1+tc.faults || !errors.Is(d[0], tc.reason) {
					t.Errorf("damage %v", d)
				}
				got, errs := readAny(t, tc.bag, rosbag.Query{})
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
	if int(r.Info().Messages) != len(want) {
		t.Errorf("%d messages, want %d", r.Info().Messages, len(want))
	}
	if len(want) > 0 && (r.Info().Start != want[0].Time || r.Info().End != want[len(want)-1].Time) {
		t.Errorf("from %s to %s", r.Info().Start, r.Info().End)
	}
	total, indexed := uint64(0), 0
	for i := range r.NumSpans() {
		c := r.Span(i)
		entries, err := r.Index(i, nil)
		if err != nil {
			t.Fatal(err)
		}
		counts := make(map[*rosbag.Connection]uint32)
		for n, e := range entries {
			counts[e.Conn]++
			if n > 0 && e.Time.Before(entries[n-1].Time) {
				t.Errorf("segment %d has a message of %s after one of %s", i, e.Time, entries[n-1].Time)
			}
		}
		if n := len(entries); n > 0 && (c.Start != entries[0].Time || c.End != entries[n-1].Time) {
			t.Errorf("segment %d from %s to %s has messages from %s to %s", i, c.Start, c.End, entries[0].Time, entries[n-1].Time)
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
	if total != r.Info().Messages || indexed != len(want) {
		t.Errorf("%d messages counted and %d indexed, want %d", total, indexed, len(want))
	}
	for _, c := range r.Connections() {
		var last *msg
		q := rosbag.Query{Keep: func(x *rosbag.Connection) bool { return x == c }}
		for m, err := range rosbag.Messages(r, q) {
			if err != nil {
				t.Fatal(err)
			}
			last = new(msg)
			*last = asMsg(m)
		}
		m, err := lastOf(r, c.ID, r.Info().End)
		if err != nil || (m == nil) != (last == nil) || m != nil && asMsg(m) != *last {
			t.Errorf("last of connection %d: %v, %v, want %v", c.ID, m, err, last)
		}
	}
	var ahead []msg
	for m, err := range rosbag.Messages(r, rosbag.Query{Workers: 3}) {
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
	for m, err := range rosbag.Messages(r, rosbag.Query{Start: from, End: to}) {
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
	got, more := readAny(t, b, rosbag.Query{})
	if d := cmp.Diff(byTime(scanned), got); d != "" || len(got) == 0 {
		t.Errorf("%d messages (-scanner +reader):\n%s", len(got), d)
	}
	if len(errs) != len(faults(more)) {
		t.Errorf("reader %v, scanner %v", more, errs)
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
				got, errs := readAny(t, b, rosbag.Query{})
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
	var known []msg // of all connections but the last
	for i, m := range msgs {
		if i%3 != 2 {
			known = append(known, m)
		}
		messages = append(messages, rec(fields.List{
			{Key: "conn", Value: u32s(uint32(i % 3))}, {Key: "op", Value: "\x02"}, {Key: "time", Value: u32s(m.Time.Sec, m.Time.Nsec)},
		}, []byte(m.Data))...)
	}
	var section []byte
	last := 0 // where the record of the last connection starts
	for _, c := range conns {
		last = len(section)
		section = append(section, rec(fields.List{
			{Key: "conn", Value: u32s(uint32(c.ID))}, {Key: "op", Value: "\x07"}, {Key: "topic", Value: c.Topic},
		}, fields.List(c.Header).Append(nil))...)
	}
	empty := writeBag(t, bagfmt.WriterOptions{}, nil, nil)
	chunk := rec(fields.List{{Key: "compression", Value: "none"}, {Key: "op", Value: "\x05"}, {Key: "size", Value: u32s(uint32(len(messages)))}}, messages)
	for name, b := range map[string][]byte{
		"chunk": slices.Concat(unindexed(t, empty), chunk),
		"bare":  slices.Concat(unindexed(t, empty), rawChunkHeader(), messages),
	} {
		got, errs := readAny(t, slices.Concat(b, section), rosbag.Query{})
		if d := cmp.Diff(byTime(msgs), got); d != "" || len(faults(errs)) > 0 {
			t.Errorf("%s: %v (-want +got):\n%s", name, errs, d)
		}
		// A section that lacks a connection costs the messages of this one.
		got, errs = readAny(t, slices.Concat(b, section[:last]), rosbag.Query{})
		if d := cmp.Diff(byTime(known), got); d != "" || len(faults(errs)) != 1 {
			t.Errorf("%s without a connection: %v (-want +got):\n%s", name, errs, d)
		}
	}
	// Without the section nothing is delivered, and each connection is reported.
	got, errs := readAny(t, slices.Concat(unindexed(t, empty), chunk), rosbag.Query{})
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
	testkit.SkipInRace(t, "one goroutine damages a bag at place after place")
	t.Parallel()
	conns, _ := sample(0)
	big := string(make([]byte, 1<<20))
	var msgs []msg
	for i := range 40 {
		msgs = append(msgs, msg{conns[0].Topic, rosbag.Time{Sec: uint32(i)}, big})
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
		if err != nil || r.Info().Messages != 40 {
			t.Fatalf("%s: %v, %v", name, r, err)
		}
		if most := int64(len(b) / 15); f.n > most {
			t.Errorf("%s: %d of %d bytes read, want less than %d", name, f.n, len(b), most)
		}
		if r.NumSpans() < 40 {
			t.Errorf("%s: %d segments", name, r.NumSpans())
		}
	}
}
