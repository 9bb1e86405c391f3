package bagfmt_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/dsnet/compress/bzip2"
	"github.com/google/go-cmp/cmp"
	"github.com/pierrec/lz4/v4"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// recoverBag returns the bag that Recover makes of b.
func recoverBag(tb testing.TB, b []byte) ([]byte, bagfmt.Recovery, error) {
	tb.Helper()
	return recoverWith(tb, b, 0)
}

func recoverWith(tb testing.TB, b []byte, workers int) ([]byte, bagfmt.Recovery, error) {
	tb.Helper()
	var f memFile
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	rep, err := bagfmt.Recover(bytes.NewReader(b), int64(len(b)), w, bagfmt.RecoverOptions{MaxChunkBytes: fuzzChunkBytes, Workers: workers})
	if err != nil {
		return nil, rep, err
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return f.b, rep, nil
}

// soundBag checks that a bag is without any fault and returns its messages in file order.
func soundBag(tb testing.TB, b []byte) []msg {
	tb.Helper()
	scanned, errs := scanAll(tb, b)
	if errs != nil {
		tb.Fatalf("scanning the result: %v", errs)
	}
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{IndexOnly: true})
	if err != nil {
		tb.Fatalf("opening the result: %v", err)
	}
	var read []msg
	for m, err := range r.All(bagfmt.Query{}) {
		if err != nil {
			tb.Fatalf("reading the result: %v", err)
		}
		read = append(read, asMsg(m))
	}
	if !slices.Equal(byTime(scanned), read) {
		tb.Fatalf("index and chunks of the result differ:\n%s", cmp.Diff(byTime(scanned), read))
	}
	return scanned
}

// stockBags are bags that stock tools wrote.
func stockBags(tb testing.TB) map[string][]byte {
	tb.Helper()
	paths, err := filepath.Glob("testdata/*.bag")
	if err != nil || len(paths) == 0 {
		tb.Fatal(paths, err)
	}
	bags := make(map[string][]byte)
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			tb.Fatal(err)
		}
		bags[strings.TrimSuffix(filepath.Base(p), ".bag")] = b
	}
	return bags
}

// tinyBag has three chunks of three messages.
func tinyBag(tb testing.TB, c bagfmt.Compression) []byte {
	tb.Helper()
	conns, msgs := sample(9)
	return chunked(tb, c, conns, msgs, 3)
}

// chunked writes msgs[i] on conns[i%len(conns)], n in each chunk.
func chunked(tb testing.TB, c bagfmt.Compression, conns []*bagfmt.Connection, msgs []msg, n int) []byte {
	tb.Helper()
	var f memFile
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	z, err := bagfmt.NewCompressor(c)
	if err != nil {
		tb.Fatal(err)
	}
	var records bagfmt.ConnRecords
	for at := 0; at < len(msgs); at += n {
		var b bagfmt.ChunkBuilder
		b.Reset(&records)
		for i := at; i < min(at+n, len(msgs)); i++ {
			b.AppendRun(conns[i%len(conns)], msgs[i].Time, frame(msgs[i].Data), 1)
		}
		chunk, err := b.Seal(z, nil)
		if err == nil {
			err = w.WriteChunk(chunk)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return f.b
}

func TestRecoverSound(t *testing.T) {
	t.Parallel()
	bags := stockBags(t)
	for _, c := range compressions {
		bags["ours_"+string(c)] = sampleBag(t, c)
	}
	for name, b := range bags {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, _ := scanAll(t, b)
			in := slices.Clone(b)
			out, rep, err := recoverBag(t, b)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, soundBag(t, out)); d != "" {
				t.Error(d)
			}
			if killed := name == "cpp_killed"; rep.Lossy() || !killed && (len(rep.Repairs) > 0 || rep.Copied != rep.Chunks || rep.Chunks == 0) {
				t.Errorf("%+v", rep)
			}
			if !bytes.Equal(in, b) {
				t.Error("the input was changed")
			}
		})
	}
}

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
				if comp == bagfmt.CompressionNone && name == "chunk size wrong" {
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

// sameRecovery checks that workers change nothing of what Recover makes of b.
func sameRecovery(tb testing.TB, b []byte, workers int) {
	tb.Helper()
	want, wantRep, wantErr := recoverWith(tb, b, 0)
	got, gotRep, gotErr := recoverWith(tb, b, workers)
	if fmt.Sprint(wantErr) != fmt.Sprint(gotErr) || fmt.Sprintf("%+v", wantRep) != fmt.Sprintf("%+v", gotRep) {
		tb.Fatalf("%d workers:\n%+v, %v\nnone:\n%+v, %v", workers, gotRep, gotErr, wantRep, wantErr)
	}
	if !bytes.Equal(want, got) {
		tb.Fatalf("%d workers: %d bytes, without %d or others", workers, len(got), len(want))
	}
}

// TestParallelRecoverIsTheSame recovers bags, sound and damaged, with any number of
// workers.
func TestParallelRecoverIsTheSame(t *testing.T) {
	t.Parallel()
	for name, full := range sequences(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, workers := range []int{1, 2, 40} {
				sameRecovery(t, full, workers)
				sameRecovery(t, slices.Concat(full, full), workers)
			}
			step := max(1, len(full)*sparse/100)
			for at := 0; at < len(full); at += step {
				bad := slices.Clone(full)
				bad[at] ^= 1 << (at % 8)
				sameRecovery(t, bad, 1+at%3)
				sameRecovery(t, full[:at:at], 1+at%3)
			}
		})
	}
	for _, comp := range compressions {
		full := sampleBag(t, comp)
		for _, tt := range damages(t, full) {
			sameRecovery(t, tt.damage(full), 2)
		}
	}
}

// TestParallelRecoverEnds ends while chunks are unpacked.
func TestParallelRecoverEnds(t *testing.T) {
	t.Parallel()
	conns, msgs := sample(60)
	b := chunked(t, bagfmt.CompressionBZ2, conns, msgs, 3)
	for left := 4200; left < recordsOf(t, b, 7)[0].off; left += 300 {
		w, err := bagfmt.NewWriter(&limitedWriter{left: left}, bagfmt.WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bagfmt.Recover(bytes.NewReader(b), int64(len(b)), w, bagfmt.RecoverOptions{Workers: 4}); !errors.Is(err, errFull) {
			t.Errorf("%d bytes of room: %v", left, err)
		}
	}
	w, err := bagfmt.NewWriter(&memFile{}, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bagfmt.Recover(bytes.NewReader(b), int64(len(b)), w, bagfmt.RecoverOptions{Workers: -1}); err == nil {
		t.Error("-1 workers")
	}
}

// TestRecoverTwoBags has the same ids mean other connections in the second bag.
func TestRecoverTwoBags(t *testing.T) {
	t.Parallel()
	for _, comp := range compressions {
		conns, msgs := sample(30)
		first := chunked(t, comp, conns, msgs, 7)
		other := slices.Clone(msgs)
		for i := range other {
			other[i].Time.Sec += 1000
			other[i].Topic = conns[(i+1)%3].Topic // which is also what conns of the second bag say
		}
		second := chunked(t, comp, []*bagfmt.Connection{
			{ID: 0, Topic: conns[1].Topic, Header: conns[1].Header},
			{ID: 1, Topic: conns[2].Topic, Header: conns[2].Header},
			{ID: 2, Topic: conns[0].Topic, Header: conns[0].Header},
		}, other, 7)
		for name, b := range map[string][]byte{
			"whole":                       slices.Concat(first, second),
			"second without version line": slices.Concat(first, second[4117:]),
			"first cut":                   slices.Concat(first[:recordsOf(t, first, 7)[0].off+33], second),
		} {
			out, rep, err := recoverBag(t, b)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(slices.Concat(msgs, other), soundBag(t, out)); d != "" || rep.Connections != 3 {
				t.Errorf("%s, %s: %d connections, %s", comp, name, rep.Connections, d)
			}
		}
	}
}

// TestRecoverLateConnections has connection records only behind the messages.
func TestRecoverLateConnections(t *testing.T) {
	t.Parallel()
	conns, msgs := sample(6)
	b := chunked(t, bagfmt.CompressionLZ4, conns, msgs, 3)
	chunks := recordsOf(t, b, 5)
	again := chunked(t, bagfmt.CompressionLZ4, conns, msgs[:3], 3) // its chunk has all records
	section := recordsOf(t, b, 7)[0].off
	for name, in := range map[string][]byte{
		"in a later chunk":                    slices.Concat(setU64(b, 13+4, 0)[:chunks[0].off], b[chunks[1].off:section], again[4117:recordsOf(t, again, 7)[0].off]),
		"in the index section":                slices.Concat(b[:chunks[0].off], b[chunks[1].off:]),
		"in the index section, without place": slices.Concat(setU64(b, recordsOf(t, b, 3)[0].fields["index_pos"], 0)[:chunks[0].off], b[chunks[1].off:]),
	} {
		out, _, err := recoverBag(t, in)
		if err != nil {
			t.Fatal(err)
		}
		got := soundBag(t, out)
		for _, m := range msgs[3:] {
			if !slices.Contains(got, m) {
				t.Errorf("%s: %+v is missing among %d", name, m, len(got))
			}
		}
	}
	out, rep, err := recoverBag(t, slices.Concat(b[:chunks[0].off], b[chunks[1].off:section]))
	if err != nil || rep.Dropped != 3 || !rep.Lossy() || len(soundBag(t, out)) != 0 {
		t.Errorf("unknown connections: %+v, %v", rep, err)
	}
}

// TestRecoverBagInBag has bags as messages: their chunks are not ours.
func TestRecoverBagInBag(t *testing.T) {
	t.Parallel()
	conns, msgs := sample(9)
	for i := range msgs {
		msgs[i].Data = string(tinyBag(t, bagfmt.CompressionNone))
	}
	full := chunked(t, bagfmt.CompressionNone, conns, msgs, 3)
	chunks := recordsOf(t, full, 5)
	for name, tt := range map[string]struct {
		in   []byte
		want []msg
	}{
		"sound":      {full, msgs},
		"damaged":    {setU32(full, chunks[1].dataAt+5000, 7), slices.Concat(msgs[:3], msgs[6:])},
		"bad length": {setU32(full, chunks[1].dataAt, 1<<31), msgs},
		"torn":       {full[:chunks[2].off+12000], msgs[:7]},
	} {
		out, _, err := recoverBag(t, tt.in)
		if err != nil {
			t.Fatal(err)
		}
		if got := soundBag(t, out); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %d messages, want %d", name, len(got), len(tt.want))
		}
	}
}

// TestRecoverTornCompressed cuts chunks of several compressed blocks.
func TestRecoverTornCompressed(t *testing.T) {
	t.Parallel()
	conns, _ := sample(0)
	rnd := rand.NewChaCha8([32]byte{3})
	msgs := make([]msg, 40)
	for i := range msgs {
		data := make([]byte, 10_000)
		_, _ = rnd.Read(data)
		msgs[i] = msg{conns[i%3].Topic, bagfmt.Time{Sec: uint32(i)}, string(data)}
	}
	none := chunked(t, bagfmt.CompressionNone, conns, msgs, 40)
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
func smallBlocks(tb testing.TB, full []byte, comp bagfmt.Compression) []byte {
	tb.Helper()
	chunk := recordsOf(tb, full, 5)[0]
	var packed bytes.Buffer
	var z io.WriteCloser
	switch comp {
	case bagfmt.CompressionLZ4:
		w := lz4.NewWriter(&packed)
		if err := w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(true)); err != nil {
			tb.Fatal(err)
		}
		z = w
	case bagfmt.CompressionBZ2:
		w, err := bzip2.NewWriter(&packed, &bzip2.WriterConfig{Level: 1})
		if err != nil {
			tb.Fatal(err)
		}
		z = w
	case bagfmt.CompressionNone:
		return full
	}
	if _, err := z.Write(chunk.data); err != nil {
		tb.Fatal(err)
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return append(slices.Clone(full[:chunk.off]), rec([]bagfmt.Field{
		{Key: "compression", Value: string(comp)},
		{Key: "op", Value: "\x05"},
		{Key: "size", Value: u32s(uint32(len(chunk.data)))},
	}, packed.Bytes())...)
}

func TestRecoverNoBag(t *testing.T) {
	t.Parallel()
	encrypted := rec([]bagfmt.Field{
		{Key: "op", Value: "\x03"},
		{Key: "index_pos", Value: u32s(0, 0)},
		{Key: "conn_count", Value: u32s(0)},
		{Key: "chunk_count", Value: u32s(0)},
		{Key: "encryptor", Value: "rosbag/AesCbcEncryptor"},
	}, nil)
	for name, tt := range map[string]struct {
		in   []byte
		want error
	}{
		"1.3":       {[]byte("#ROSBAG V1.3\n"), bagfmt.ErrVersion},
		"encrypted": {slices.Concat([]byte("#ROSBAG V2.0\n"), encrypted), bagfmt.ErrEncrypted},
		"zeros":     {make([]byte, 5000), bagfmt.ErrNotBag},
	} {
		if _, _, err := recoverBag(t, tt.in); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRecoverStops ends with the errors of the writer and of Progress.
func TestRecoverStops(t *testing.T) {
	t.Parallel()
	b := sampleBag(t, bagfmt.CompressionNone)
	w, err := bagfmt.NewWriter(&limitedWriter{left: 5000}, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bagfmt.Recover(bytes.NewReader(b), int64(len(b)), w, bagfmt.RecoverOptions{}); !errors.Is(err, errFull) {
		t.Errorf("writer: %v", err)
	}
	conns, msgs := sample(12)
	for i := range msgs {
		msgs[i].Data = strings.Repeat("x", 1<<20)
	}
	b = chunked(t, bagfmt.CompressionNone, conns, msgs, 2)
	if w, err = bagfmt.NewWriter(&memFile{}, bagfmt.WriterOptions{}); err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	var at []int64
	_, err = bagfmt.Recover(bytes.NewReader(b), int64(len(b)), w, bagfmt.RecoverOptions{Progress: func(n int64) error {
		if at = append(at, n); len(at) == 2 {
			return stop
		}
		return nil
	}})
	if !errors.Is(err, stop) || len(at) != 2 || at[0] >= at[1] {
		t.Errorf("progress: %v at %v", err, at)
	}
}

var errFull = errors.New("disk full")

type limitedWriter struct{ left int }

func (w *limitedWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errFull
	}
	return len(p), nil
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
			for i := 0; i <= len(full); i += sparse {
				if i > 100 && i < 4100 {
					continue // padding of the bag header
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
			if before != len(want) && sparse == 1 {
				t.Errorf("%d of %d messages of the whole bag", before, len(want))
			}
		})
	}
}

// TestRecoverFlips flips bits of each byte: what comes is what was written, wherever
// a checksum can tell, and a flip costs no more than the chunk that it is in.
func TestRecoverFlips(t *testing.T) {
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
			all := strings.HasPrefix(name, "ours") && name != "ours_bz2" && !testing.Short()
			for i := 0; i < len(full); i += sparse {
				if i > 100 && i < 4100 {
					continue // padding of the bag header
				}
				for bit := range 8 {
					if !*every && !all && bit != (i+i/8)%8 {
						continue // all bits of all bags take minutes: see every
					}
					b := slices.Clone(full)
					b[i] ^= 1 << bit
					out, rep, err := recoverBag(t, b)
					if err != nil {
						t.Fatalf("byte %d, bit %d: %v", i, bit, err)
					}
					got, ok := results[string(out)]
					if !ok {
						got = soundBag(t, out)
						results[string(out)] = got
					}
					if err := checkRecovered(want, got, most, !strings.HasSuffix(name, "_none") || all, rep); err != nil {
						t.Fatalf("byte %d, bit %d: %v: %+v", i, bit, err, rep)
					}
				}
			}
		})
	}
}

// TestRecoverLengthToRecord gives a chunk a length that ends where another record begins:
// the chunks between are not in it.
func TestRecoverLengthToRecord(t *testing.T) {
	t.Parallel()
	for _, c := range []bagfmt.Compression{bagfmt.CompressionLZ4, bagfmt.CompressionBZ2} {
		b := tinyBag(t, c)
		want, _ := scanAll(t, b)
		header, err := bagfmt.ReadBagHeader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		const chunk = 4117
		length := chunk + 4 + binary.LittleEndian.Uint32(b[chunk:])
		binary.LittleEndian.PutUint32(b[length:], uint32(header.IndexPos)-length-4)
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
func checkRecovered(want, got []msg, most int, checked bool, rep bagfmt.Recovery) error {
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

// TestRecoverMemory bounds what hostile lengths can make Recover allocate.
func TestRecoverMemory(t *testing.T) {
	full := tinyBag(t, bagfmt.CompressionNone)
	var lengths []int
	for _, r := range records(t, full) {
		lengths = append(lengths, r.off, r.dataAt)
		for _, at := range r.fields {
			lengths = append(lengths, at)
		}
	}
	for _, at := range lengths {
		for _, v := range []uint32{0, 1, 2, 3, 1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 2, 1<<32 - 1} {
			if at+4 > len(full) {
				continue
			}
			b := setU32(full, at, v)
			w, err := bagfmt.NewWriter(struct{ io.Writer }{io.Discard}, bagfmt.WriterOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = bagfmt.Recover(bytes.NewReader(b), int64(len(b)), w, bagfmt.RecoverOptions{})
			runtime.ReadMemStats(&after)
			if err != nil && !typed(err) {
				t.Fatalf("%d at %d: %v", v, at, err)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > uint64(8*len(b)+1<<20) {
				t.Errorf("%d at %d: %d bytes allocated for a bag of %d", v, at, got, len(b))
			}
		}
	}
}

// FuzzRecover checks that the result is a good bag, and that its messages are in the
// input, if that holds no compressed chunk.
func FuzzRecover(f *testing.F) {
	seeds(f)
	b := tinyBag(f, bagfmt.CompressionNone)
	f.Add(slices.Concat(b, b[4117:]))
	f.Add(slices.Concat(b, tinyBag(f, bagfmt.CompressionLZ4)))
	f.Fuzz(func(t *testing.T, b []byte) {
		out, rep, err := recoverBag(t, b)
		if err != nil {
			if !typed(err) {
				t.Fatalf("untyped %v", err)
			}
			return
		}
		sameRecovery(t, b, 2)
		got := soundBag(t, out)
		if uint64(len(got)) != rep.Messages {
			t.Fatalf("%d messages, reports %d", len(got), rep.Messages)
		}
		if bytes.Contains(b, []byte("lz4")) || bytes.Contains(b, []byte("\x04\x22\x4d\x18")) || bytes.Contains(b, []byte("BZh")) {
			return
		}
		for _, m := range got {
			if !bytes.Contains(b, []byte(m.Data)) {
				t.Fatalf("a message of %d bytes is not in the input", len(m.Data))
			}
		}
	})
}

// TestRecoverBare has damage in chunks without checksum that have no end, or no header:
// what is behind it in the chunk is found.
func TestRecoverBare(t *testing.T) {
	t.Parallel()
	zeros := func(b []byte, at, n int) []byte {
		return slices.Concat(b[:at], make([]byte, n), b[at+n:])
	}
	bags := stockBags(t)
	for name, tt := range map[string]struct {
		in   []byte
		lost int // messages, at most
	}{
		"killed, zeros":          {zeros(bags["cpp_killed"], recordsOf(t, bags["cpp_killed"], 2)[50].off, 100), 3},
		"killed, garbage length": {setU32(bags["cpp_killed"], recordsOf(t, bags["cpp_killed"], 2)[50].off, 1<<30), 1},
		"killed, data length":    {setU32(bags["cpp_killed"], recordsOf(t, bags["cpp_killed"], 2)[50].dataAt, 200), 6},
		"header of a chunk":      {zeros(bags["cpp_none"], 4000, 130), 0},
		"header of a later one":  {zeros(bags["python_none"], recordsOf(t, bags["python_none"], 5)[1].off, 20), 0},
	} {
		want, _ := scanAll(t, bags["cpp_killed"])
		if strings.HasPrefix(name, "header") {
			want, _ = scanAll(t, bags["cpp_none"])
		}
		if name == "header of a later one" {
			want, _ = scanAll(t, bags["python_none"])
		}
		out, rep, err := recoverBag(t, tt.in)
		if err != nil {
			t.Fatal(err)
		}
		got := soundBag(t, out)
		if len(got) < len(want)-tt.lost || len(got) > len(want) || !rep.Lossy() {
			t.Errorf("%s: %d of %d messages, %+v", name, len(got), len(want), rep)
		}
		if name != "killed, data length" && !subsequence(got, want) {
			t.Errorf("%s: messages that were never written", name)
		}
	}
}

// readCounter counts what it is asked for.
type readCounter struct {
	io.ReaderAt
	bytes int
}

func (c *readCounter) ReadAt(p []byte, off int64) (int, error) {
	c.bytes += len(p)
	return c.ReaderAt.ReadAt(p, off)
}

// TestRecoverHostile has a file full of headers of chunks that it does not hold: little
// is read for each.
func TestRecoverHostile(t *testing.T) {
	t.Parallel()
	for _, comp := range compressions {
		header := rec([]bagfmt.Field{
			{Key: "compression", Value: string(comp)},
			{Key: "op", Value: "\x05"},
			{Key: "size", Value: u32s(100)},
		}, nil)
		header = slices.Concat(header[:len(header)-4], []byte(u32s(1<<31-1)))
		in := slices.Concat(tinyBag(t, comp)[:4117], bytes.Repeat(header, 5000))
		w, err := bagfmt.NewWriter(&memFile{}, bagfmt.WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r := &readCounter{ReaderAt: bytes.NewReader(in)}
		rep, err := bagfmt.Recover(r, int64(len(in)), w, bagfmt.RecoverOptions{})
		if err != nil || rep.Messages > 0 {
			t.Fatalf("%+v, %v", rep, err)
		}
		if limit := 300 * len(in); r.bytes > limit {
			t.Errorf("%s: %d bytes read of %d, limit %d", comp, r.bytes, len(in), limit)
		}
	}
}
