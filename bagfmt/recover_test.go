package bagfmt_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/bagfmt/recovery"
	"github.com/gorosbag/gorosbag/rosbag"
)

// recoverBag returns the bag that Recover makes of b.
func recoverBag(tb testing.TB, b []byte) ([]byte, recovery.Report, error) {
	tb.Helper()
	return recoverWith(tb, b, 0)
}

func recoverWith(tb testing.TB, b []byte, workers int) ([]byte, recovery.Report, error) {
	tb.Helper()
	var f memFile
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	rep, err := recovery.Recover(bytes.NewReader(b), int64(len(b)), w, recovery.Options{MaxChunkBytes: fuzzChunkBytes, Workers: workers})
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
	for m, err := range rosbag.Messages(r, rosbag.Query{}) {
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
func tinyBag(tb testing.TB, c rosbag.Compression) []byte {
	tb.Helper()
	conns, msgs := sample(9)
	return chunked(tb, c, conns, msgs, 3)
}

// chunked writes msgs[i] on conns[i%len(conns)], n in each chunk.
func chunked(tb testing.TB, c rosbag.Compression, conns []*rosbag.Connection, msgs []msg, n int) []byte {
	tb.Helper()
	var f memFile
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	z, err := chunk.NewCompressor(c)
	if err != nil {
		tb.Fatal(err)
	}
	var records chunk.Records
	for at := 0; at < len(msgs); at += n {
		var b chunk.Builder
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
		second := chunked(t, comp, []*rosbag.Connection{
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

// TestRecoverLateConnections has connection records only after the messages.
func TestRecoverLateConnections(t *testing.T) {
	t.Parallel()
	conns, msgs := sample(6)
	b := chunked(t, rosbag.CompressionLZ4, conns, msgs, 3)
	chunks := recordsOf(t, b, 5)
	again := chunked(t, rosbag.CompressionLZ4, conns, msgs[:3], 3) // its chunk has all records
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
		msgs[i].Data = string(tinyBag(t, rosbag.CompressionNone))
	}
	full := chunked(t, rosbag.CompressionNone, conns, msgs, 3)
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

func TestRecoverNoBag(t *testing.T) {
	t.Parallel()
	encrypted := rec([]rosbag.Field{
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
		"1.3":       {[]byte("#ROSBAG V1.3\n"), rosbag.ErrVersion},
		"encrypted": {slices.Concat([]byte("#ROSBAG V2.0\n"), encrypted), rosbag.ErrEncrypted},
		"zeros":     {make([]byte, 5000), rosbag.ErrNotBag},
	} {
		if _, _, err := recoverBag(t, tt.in); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRecoverStops ends with the errors of the writer and of Progress.
func TestRecoverStops(t *testing.T) {
	t.Parallel()
	b := sampleBag(t, rosbag.CompressionNone)
	w, err := bagfmt.NewWriter(&limitedWriter{left: 5000}, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := recovery.Recover(bytes.NewReader(b), int64(len(b)), w, recovery.Options{}); !errors.Is(err, errFull) {
		t.Errorf("writer: %v", err)
	}
	conns, msgs := sample(12)
	for i := range msgs {
		msgs[i].Data = strings.Repeat("x", 1<<20)
	}
	b = chunked(t, rosbag.CompressionNone, conns, msgs, 2)
	if w, err = bagfmt.NewWriter(&memFile{}, bagfmt.WriterOptions{}); err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	var at []int64
	_, err = recovery.Recover(bytes.NewReader(b), int64(len(b)), w, recovery.Options{Progress: func(n int64) error {
		if at = append(at, n); len(at) == 2 {
			return stop
		}
		return nil
	}})
	if !errors.Is(err, stop) || len(at) != 2 || at[0] < 4<<20 || at[1] < at[0]+4<<20 {
		t.Errorf("progress: %v at %v", err, at)
	}
	if w, err = bagfmt.NewWriter(&memFile{}, bagfmt.WriterOptions{}); err != nil {
		t.Fatal(err)
	}
	if rep, err := recovery.Recover(bytes.NewReader(b), int64(len(b)), w, recovery.Options{}); err != nil || rep.Messages != uint64(len(msgs)) {
		t.Errorf("without Progress: %+v, %v", rep, err)
	}
}

// TestRecoverStopsAnywhere ends with the error of Progress at whichever call that fails: also
// while chunks are read again whose connections only the index section has.
func TestRecoverStopsAnywhere(t *testing.T) {
	t.Parallel()
	conns, msgs := sample(9)
	full := chunked(t, rosbag.CompressionBZ2, conns, msgs, 3)
	chunks := recordsOf(t, full, 5)
	b := slices.Concat(full[:chunks[0].off], full[chunks[1].off:])
	stop := errors.New("stop")
	for last := 1; ; last++ {
		w, err := bagfmt.NewWriter(&memFile{}, bagfmt.WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		rep, err := recovery.Recover(bytes.NewReader(b), int64(len(b)), w, recovery.Options{Progress: func(int64) error {
			if calls++; calls >= last {
				return stop
			}
			return nil
		}})
		if calls < last { // nothing has stopped it
			if err != nil || rep.Messages != 6 || last < 5 {
				t.Errorf("after %d calls: %+v, %v", calls, rep, err)
			}
			return
		}
		if !errors.Is(err, stop) || calls > last {
			t.Fatalf("stopped by call %d of %d: %+v, %v", last, calls, rep, err)
		}
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

// TestRecoverOldVersions: what a Scanner reads of a bag of an old version is in the new one, with
// its topic, time and data, in the order of the file, and damage is reported.
func TestRecoverOldVersions(t *testing.T) {
	t.Parallel()
	for _, name := range oldBags(t) {
		old := readFile(t, name)
		want, errs := scanAll(t, old)
		b, rep, err := recoverBag(t, old)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := soundBag(t, b)
		if len(got) != len(want) || rep.Messages != uint64(len(want)) {
			t.Errorf("%s: %d messages, the report says %d, want %d", name, len(got), rep.Messages, len(want))
			continue
		}
		for i := range want {
			if got[i].Topic != want[i].Topic || got[i].Time != want[i].Time || got[i].Data != want[i].Data {
				t.Errorf("%s: message %d is %+v, want %+v", name, i, got[i], want[i])
				break
			}
		}
		if rep.Lossy() != (len(errs) > 0) || len(rep.Skipped) != len(errs) {
			t.Errorf("%s: skipped %+v, the Scanner says %v", name, rep.Skipped, errs)
		}
	}
}

// TestRecoverTimesOfChunks: the index section says in which time the messages of a chunk lie, however
// they are sorted, so that a reader finds each of them.
func TestRecoverTimesOfChunks(t *testing.T) {
	t.Parallel()
	for _, comp := range compressions {
		conns, _ := sample(3)
		var msgs []msg
		for _, second := range []uint32{50, 90, 70, 60, 10, 5, 20, 30, 7, 8, 9, 3} { // four in each chunk
			msgs = append(msgs, msg{conns[len(msgs)%len(conns)].Topic, rosbag.Time{Sec: second}, fmt.Sprint(second)})
		}
		out, _, err := recoverBag(t, chunked(t, comp, conns, msgs, 4))
		if err != nil {
			t.Fatal(err)
		}
		r, err := openBag(out)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range [][2]uint32{{50, 90}, {5, 30}, {3, 9}} {
			if got := r.Span(i); got.Start.Sec != want[0] || got.End.Sec != want[1] {
				t.Errorf("%s: chunk %d from %v to %v, want %v", comp, i, got.Start, got.End, want)
			}
		}
		for _, m := range msgs {
			if got, errs := readAll(t, out, rosbag.Query{Start: m.Time, End: m.Time}); len(errs) > 0 || !slices.Equal(got, []msg{m}) {
				t.Errorf("%s: at %v %v, %v; want one message", comp, m.Time, got, errs)
			}
		}
	}
}

// TestRecoverWithoutHead: a file that begins in the middle of a bag, with or without a torn record, is
// recovered from its first chunk on.
func TestRecoverWithoutHead(t *testing.T) {
	t.Parallel()
	full := sampleBag(t, rosbag.CompressionLZ4)
	want, _ := scanAll(t, full)
	first := recordsOf(t, full, 5)[0].off
	for name, head := range map[string]string{"": "", "bytes": "\x00\x01\x02\x03 what is left of a record", "text": "a line\nand another line\n", "version 0": "/t\n*\nstd_msgs/String\n"} {
		out, rep, err := recoverBag(t, append([]byte(head), full[first:]...))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := soundBag(t, out); !slices.Equal(got, want) || rep.Version != "2.0" {
			t.Errorf("%s: %d of %d messages, version %s", name, len(got), len(want), rep.Version)
		}
		if skipped := len(rep.Skipped) > 0 && rep.Skipped[0].Offset == 0 && rep.Skipped[0].Bytes == int64(len(head)); skipped != (head != "") {
			t.Errorf("%s: skipped %+v, want the first %d bytes", name, rep.Skipped, len(head))
		}
	}
}
