package bagfmt_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dsnet/compress/bzip2"
	"github.com/google/go-cmp/cmp"
	"github.com/pierrec/lz4/v4"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/recovery"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosbag"
)

// damageCase is damage, and what must be left and be said.
type damageCase struct {
	damage   func(b []byte) []byte
	lost     []int // messages; the others must all be there
	dropped  uint64
	offset   int // of the first skipped range; 0: none
	trailing bool
	lossy    bool
	repeated int
	repairs  bool
}

// damages are those of a bag of three chunks of 9, 12 and 9 messages.
func damages(tb testing.TB, full []byte) map[string]damageCase {
	tb.Helper()
	chunks, index := recordsOf(tb, full, 5), recordsOf(tb, full, 4)
	header := recordsOf(tb, full, 3)[0]
	second := make([]int, 12)
	for i := range second {
		second[i] = 9 + i
	}
	garbage := make([]byte, 3000)
	rnd := rand.NewChaCha8([32]byte{7})
	_, _ = rnd.Read(garbage)
	put := func(at int, b []byte) func([]byte) []byte {
		return func(in []byte) []byte { return slices.Concat(in[:at], b, in[at+len(b):]) }
	}
	add := func(tail []byte) func([]byte) []byte {
		return func(in []byte) []byte { return slices.Concat(in, tail) }
	}
	flip := func(at int) func([]byte) []byte { return put(at, []byte{full[at] ^ 0x40}) }
	u32 := func(at int, v uint32) func([]byte) []byte {
		return func(in []byte) []byte { return setU32(in, at, v) }
	}
	mid := chunks[1]
	return map[string]damageCase{
		"zero tail":         {damage: add(make([]byte, 10000)), offset: len(full), trailing: true},
		"garbage tail":      {damage: add(garbage), offset: len(full), trailing: true},
		"duplicated tail":   {damage: add(full[chunks[2].off-100:]), offset: len(full), lossy: false, repeated: 1, trailing: true},
		"chunk again":       {damage: add(full[chunks[2].off:index[6].off]), repeated: 1},
		"bag again":         {damage: add(full), repeated: 3, repairs: true},
		"index_pos 0":       {damage: put(header.fields["index_pos"], make([]byte, 8)), repairs: true},
		"index_pos wrong":   {damage: put(header.fields["index_pos"], []byte{0xff, 0x10, 0, 0, 0, 0, 0, 0}), repairs: true},
		"index_pos past":    {damage: put(header.fields["index_pos"], []byte{0, 0, 0, 9, 0, 0, 0, 0}), repairs: true},
		"version line":      {damage: flip(9), repairs: true},
		"version line gone": {damage: put(0, make([]byte, 13)), repairs: true},
		"bag header gone":   {damage: put(13, make([]byte, 4104)), repairs: true},
		"page of zeros": {
			damage: put(mid.off, make([]byte, 300)), lost: second, dropped: 12, offset: mid.off, lossy: true,
		},
		"chunk data": {damage: flip(mid.dataAt + 50), lost: second, dropped: 12, offset: mid.off, lossy: true},
		"chunk length long": {
			damage: u32(mid.dataAt, uint32(len(mid.data))+7), repairs: true,
		},
		"chunk length short":    {damage: u32(mid.dataAt, uint32(len(mid.data))-7), repairs: true},
		"chunk length huge":     {damage: u32(mid.dataAt, 1<<31), repairs: true},
		"chunk length 0":        {damage: u32(mid.dataAt, 0), repairs: true},
		"chunk size wrong":      {damage: u32(mid.fields["size"], 17), repairs: true},
		"chunk op":              {damage: flip(mid.fields["op"]), repairs: true},
		"chunk compression":     {damage: flip(mid.fields["compression"]), repairs: true},
		"chunk header length":   {damage: u32(mid.off, 1<<30), lost: second, dropped: 12, offset: mid.off, lossy: true},
		"index count":           {damage: u32(index[0].fields["count"], 1<<31), repairs: true},
		"index entries":         {damage: put(index[0].dataAt+4, make([]byte, 24))},
		"index data length":     {damage: u32(index[0].dataAt, 0)},
		"index section cut":     {damage: func(b []byte) []byte { return b[: len(b)-30 : len(b)-30] }, offset: recordsOf(tb, full, 6)[2].off, trailing: true},
		"index section missing": {damage: func(b []byte) []byte { return b[:recordsOf(tb, full, 7)[0].off] }, repairs: true},
	}
}

// TestRecoverDamages is the table of what survives.
func TestRecoverDamages(t *testing.T) {
	t.Parallel()
	for _, comp := range compressions {
		full := sampleBag(t, comp)
		all, _ := scanAll(t, full)
		for name, tt := range damages(t, full) {
			t.Run(string(comp)+"/"+name, func(t *testing.T) {
				t.Parallel()
				b := tt.damage(full)
				out, rep, err := recoverBag(t, b)
				if err != nil {
					t.Fatal(err)
				}
				if comp == rosbag.CompressionNone && name == "chunk size wrong" {
					tt.repairs = false // nobody looks at it
				}
				var want []msg
				for i, m := range all {
					if !slices.Contains(tt.lost, i) {
						want = append(want, m)
					}
				}
				if d := cmp.Diff(want, soundBag(t, out)); d != "" {
					t.Errorf("(-want +got)\n%s", d)
				}
				if rep.Dropped != tt.dropped || rep.Lossy() != tt.lossy || rep.Repeated != tt.repeated || tt.repairs && len(rep.Repairs) == 0 {
					t.Errorf("%+v", rep)
				}
				if (tt.offset > 0) != (len(rep.Skipped) > 0) {
					t.Fatalf("skipped %+v", rep.Skipped)
				}
				if tt.offset > 0 && (rep.Skipped[0].Offset != int64(tt.offset) || rep.Skipped[0].Trailing != tt.trailing || !typed(rep.Skipped[0].Err)) {
					t.Errorf("skipped %+v, want %d first", rep.Skipped, tt.offset)
				}
			})
		}
	}
}

// TestRecoverTornCompressed cuts chunks of several compressed blocks.
func TestRecoverTornCompressed(t *testing.T) {
	testkit.SkipInRace(t, "one goroutine damages a bag at place after place")
	t.Parallel()
	conns, _ := sample(0)
	rnd := rand.NewChaCha8([32]byte{3})
	msgs := make([]msg, 40)
	for i := range msgs {
		data := make([]byte, 10_000)
		_, _ = rnd.Read(data)
		msgs[i] = msg{conns[i%3].Topic, rosbag.Time{Sec: uint32(i)}, string(data)}
	}
	none := chunked(t, rosbag.CompressionNone, conns, msgs, 40)
	for _, comp := range compressions {
		full := smallBlocks(t, none, comp)
		for at := 50_000; at < 390_000; at += 40_000 {
			cut := full[:at:at]
			out, rep, err := recoverBag(t, cut)
			if err != nil {
				t.Fatal(err)
			}
			got := soundBag(t, out)
			whole := (at - 4117) / 10_300 // with index and connections, and what does not shrink grows
			least := max(0, whole-11)     // of the block that the cut is in nothing is certain
			if len(got) < least || len(got) > whole+1 || !slices.Equal(got, msgs[:len(got)]) || !rep.Lossy() {
				t.Errorf("%s, cut at %d: %d messages, want %d to %d", comp, at, len(got), least, whole+1)
			}
		}
	}
}

// smallBlocks packs the only chunk of a bag again, in blocks of about 100 kB.
func smallBlocks(tb testing.TB, full []byte, comp rosbag.Compression) []byte {
	tb.Helper()
	chunk := recordsOf(tb, full, 5)[0]
	var packed bytes.Buffer
	var z io.WriteCloser
	switch comp {
	case rosbag.CompressionLZ4:
		w := lz4.NewWriter(&packed)
		if err := w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(true)); err != nil {
			tb.Fatal(err)
		}
		z = w
	case rosbag.CompressionBZ2:
		w, err := bzip2.NewWriter(&packed, &bzip2.WriterConfig{Level: 1})
		if err != nil {
			tb.Fatal(err)
		}
		z = w
	case rosbag.CompressionNone, rosbag.CompressionZstd:
		return full
	}
	if _, err := z.Write(chunk.data); err != nil {
		tb.Fatal(err)
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return append(slices.Clone(full[:chunk.off]), rec([]rosbag.Field{
		{Key: "compression", Value: string(comp)},
		{Key: "op", Value: "\x05"},
		{Key: "size", Value: u32s(uint32(len(chunk.data)))},
	}, packed.Bytes())...)
}

func TestRecoverTruncated(t *testing.T) {
	t.Parallel()
	bags := map[string][]byte{"cpp_killed": stockBags(t)["cpp_killed"], "python_none": stockBags(t)["python_none"]}
	for _, c := range compressions {
		bags["ours_"+string(c)] = tinyBag(t, c)
	}
	for name, full := range bags {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, _ := scanAll(t, full)
			before := 0
			for i := range cuts(append(slices.Clone(full), 0), coarse(name)) { // the whole bag, too
				if padding(full, i) {
					continue
				}
				out, _, err := recoverBag(t, full[:i:i])
				if err != nil {
					if !typed(err) || i > 4117 {
						t.Fatalf("cut at %d: %v", i, err)
					}
					continue
				}
				got := soundBag(t, out)
				if len(got) < before || len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
					t.Fatalf("cut at %d: %d messages after %d, or not a prefix", i, len(got), before)
				}
				before = len(got)
			}
			if before != len(want) {
				t.Errorf("%d of %d messages of the whole bag", before, len(want))
			}
		})
	}
}

// coarse is how much less is tried with a bag of stock than with one of ours: they differ
// in the order of fields, and are many.
func coarse(name string) int {
	if strings.HasPrefix(name, "ours") {
		return 1
	}
	return 3
}

// TestRecoverFlips flips bits of each byte: what comes is what was written, wherever
// a checksum can tell, and a flip costs no more than the chunk that it is in.
func TestRecoverFlips(t *testing.T) {
	testkit.SkipInRace(t, "one goroutine damages a bag at place after place")
	t.Parallel()
	bags := stockBags(t)
	delete(bags, "cpp_killed")
	for _, c := range compressions {
		bags["ours_"+string(c)] = tinyBag(t, c)
	}
	for name, full := range bags {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, _ := scanAll(t, full)
			most := 9 // messages in the largest chunk
			switch {
			case strings.HasPrefix(name, "ours"):
				most = 3
			case strings.HasPrefix(name, "cpp"):
				most = len(want)
			}
			results := make(map[string][]msg) // many flips come to the same
			affordable := 1
			if strings.HasPrefix(name, "ours") && name != "ours_bz2" {
				affordable = 8
			}
			for i, mask := range flips(full, 0, len(full), coarse(name), affordable) {
				out, rep, err := recoverBag(t, flipped(full, i, mask))
				if err != nil {
					t.Fatalf("byte %d, bits %#x: %v", i, mask, err)
				}
				got, ok := results[string(out)]
				if !ok {
					got = soundBag(t, out)
					results[string(out)] = got
				}
				if err := checkRecovered(want, got, most, !strings.HasSuffix(name, "_none") || affordable == 8, rep); err != nil {
					t.Fatalf("byte %d, bits %#x: %v: %+v", i, mask, err, rep)
				}
			}
		})
	}
}

// TestRecoverLengthToRecord gives a chunk a length that ends where another record begins:
// the chunks between are not in it.
func TestRecoverLengthToRecord(t *testing.T) {
	t.Parallel()
	for _, c := range []rosbag.Compression{rosbag.CompressionLZ4, rosbag.CompressionBZ2} {
		b := tinyBag(t, c)
		want, _ := scanAll(t, b)
		r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		const chunk = 4117
		length := chunk + 4 + binary.LittleEndian.Uint32(b[chunk:])
		binary.LittleEndian.PutUint32(b[length:], uint32(r.IndexPos())-length-4)
		out, rep, err := recoverBag(t, b)
		if err != nil {
			t.Fatal(err)
		}
		if got := soundBag(t, out); !slices.Equal(got, want) {
			t.Errorf("%s: %d of %d messages: %+v", c, len(got), len(want), rep)
		}
	}
}

// checkRecovered checks what was made of a bag of the messages want with one fault.
func checkRecovered(want, got []msg, most int, checked bool, rep recovery.Report) error {
	for _, s := range rep.Skipped {
		if !typed(s.Err) {
			return fmt.Errorf("untyped %w", s.Err)
		}
	}
	for _, err := range rep.Repairs {
		if !typed(err) {
			return fmt.Errorf("untyped %w", err)
		}
	}
	if rep.Messages != uint64(len(got)) {
		return fmt.Errorf("%d messages", len(got))
	}
	if checked && !subsequence(got, want) {
		return errors.New("messages that were never written, or in another order")
	}
	if checked && len(got)+most < len(want) {
		return fmt.Errorf("%d of %d messages", len(got), len(want))
	}
	if len(got) < len(want) && !rep.Lossy() {
		return errors.New("nothing is said")
	}
	return nil
}

// subsequence reports whether list is what is left of all when some are taken out.
func subsequence(list, all []msg) bool {
	for _, m := range all {
		if len(list) > 0 && list[0] == m {
			list = list[1:]
		}
	}
	return len(list) == 0
}

// TestRecoverCutInIndexSection: what is cut off the index section is no loss of messages.
func TestRecoverCutInIndexSection(t *testing.T) {
	t.Parallel()
	full := sampleBag(t, rosbag.CompressionNone)
	want, _ := scanAll(t, full)
	r, err := openBag(full)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range records(t, full) {
		if int64(rec.off) < r.IndexPos() {
			continue
		}
		for _, end := range []int{rec.off, rec.off + 1, rec.off + 3, rec.off + 4, rec.dataAt - 1, rec.dataAt, rec.dataAt + 4, rec.dataAt + 3 + len(rec.data)} {
			out, rep, err := recoverBag(t, full[:end])
			if err != nil {
				t.Fatal(err)
			}
			if got := soundBag(t, out); !slices.Equal(got, want) || rep.Lossy() {
				t.Errorf("cut at %d, in the record of kind %d at %d: %d of %d messages, lossy %v: %+v", end, rec.op, rec.off, len(got), len(want), rep.Lossy(), rep.Skipped)
			}
		}
	}
}
