package check_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/check"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func checkBag(t *testing.T, b []byte, o check.Options) *check.Report {
	t.Helper()
	r, err := check.Check(t.Context(), bytes.NewReader(b), int64(len(b)), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sound is a bag of two chunks, of 7 and 5 messages.
func sound(t *testing.T, h rosbag.Header) []byte {
	t.Helper()
	var f file
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{ChunkBytes: 500})
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.AddConnection("/a", h)
	if err != nil {
		t.Fatal(err)
	}
	for n := range uint32(12) {
		if err := w.Write(c, rosbag.Time{Sec: n}, []byte("\x04\x00\x00\x00text")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return f.b
}

// ownType is the field of a type that ROS does not have.
var ownType = rosbag.Field{Key: "type", Value: "our_msgs/String"}

var stringHeader = rosbag.Header{
	{Key: "type", Value: "std_msgs/String"},
	{Key: "md5sum", Value: "992ce8a1687cec8c8bd883ec73ca41d1"},
	{Key: "message_definition", Value: "string data\n"},
}

type file struct{ b []byte }

func (f *file) Write(p []byte) (int, error) {
	f.b = append(f.b, p...)
	return len(p), nil
}

func (f *file) WriteAt(p []byte, off int64) (int, error) { return copy(f.b[off:], p), nil }

// field returns the offset of the value of the n-th field key=.
func field(t *testing.T, b []byte, key string, n int) int {
	t.Helper()
	at := 0
	for ; n >= 0; n-- {
		i := bytes.Index(b[at:], []byte(key+"="))
		if i < 0 {
			t.Fatalf("no field %s", key)
		}
		at += i + len(key) + 1
	}
	return at
}

func TestDamage(t *testing.T) {
	t.Parallel()
	full := sound(t, stringHeader)
	second := bytes.LastIndex(full, []byte("\x04\x00\x00\x00op=\x05"))
	index := bytes.Index(full, []byte("\x04\x00\x00\x00op=\x04"))
	flip := func(at int) []byte {
		b := slices.Clone(full)
		b[at] ^= 1
		return b
	}
	set := func(at int, v uint32) []byte {
		b := slices.Clone(full)
		binary.LittleEndian.PutUint32(b[at:], v)
		return b
	}
	for name, tt := range map[string]struct {
		in       []byte
		want     []string // the start of each damage
		lost     bool
		messages uint64
	}{
		"none":            {full, nil, false, 12},
		"chunk data":      {flip(4117 + 64 + 30), []string{"chunk at 4117: crc32c of its data"}, true, 5},
		"second chunk":    {flip(second + 100), []string{"chunk at "}, true, 7},
		"index time":      {flip(index + 30), []string{"chunk at 4117: index does not fit"}, false, 12},
		"index count":     {set(field(t, full, "count", 2), 8), []string{"index data at "}, false, 12},
		"chunk info time": {flip(field(t, full, "start_time", 0)), []string{"chunk info of the chunk at 4117: from "}, false, 12},
		"header count":    {set(field(t, full, "chunk_count", 0), 1), []string{"bag header at 13: counts 1 connection and 1 chunk, there are 1 and 2"}, false, 12},
		"not closed":      {slices.Concat(full[:field(t, full, "index_pos", 0)], make([]byte, 8), full[field(t, full, "index_pos", 0)+8:]), []string{"the bag was not closed"}, false, 12},
		"cut":             {full[:second+60], []string{"bag header at 13", "chunk at"}, true, 7},
		"trailing":        {slices.Concat(full, []byte("more")), []string{"4 bytes at "}, false, 12},
		"definition": {sound(t, rosbag.Header{ownType, stringHeader[1], {Key: "message_definition", Value: "int32 data\n"}}), []string{
			`connection 0, /a: the md5sum of its definition of our_msgs/String is da5909fbe378aeaf85e547e830cc1bb7, its header says "992ce8a1687cec8c8bd883ec73ca41d1"; 12 of its 12 messages do not fit that definition`,
		}, false, 12},
		"definition of another md5sum": {sound(t, rosbag.Header{ownType, {Key: "md5sum", Value: "0123"}, {Key: "message_definition", Value: "string data\n"}}), []string{
			`connection 0, /a: the md5sum of its definition of our_msgs/String is 992ce8a1687cec8c8bd883ec73ca41d1, its header says "0123"; its 12 messages fit that definition exactly`,
		}, false, 12},
		"definition wrong": {sound(t, rosbag.Header{ownType, stringHeader[1], {Key: "message_definition", Value: "no field\n"}}), []string{"connection 0, /a: "}, false, 12},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := checkBag(t, tt.in, check.Options{Workers: 2})
			if r.Messages != tt.messages || r.Sound != (len(tt.want) == 0) || r.Version != "2.0" {
				t.Errorf("%+v", r)
			}
			if len(r.Damage) != len(tt.want) {
				t.Fatalf("%+v, want %q", r.Damage, tt.want)
			}
			lost := false
			for i, d := range r.Damage {
				if !strings.HasPrefix(d.What, tt.want[i]) || d.Advice == "" || d.Offset > check.Offset(len(tt.in)) {
					t.Errorf("%+v, want %q", d, tt.want[i])
				}
				lost = lost || d.Lost
			}
			if lost != tt.lost {
				t.Errorf("lost %t: %+v", lost, r.Damage)
			}
		})
	}
}

// TestTorn cuts a bag, closed or not, at every byte: where messages are missing, that is said, and
// nowhere that none is lost.
func TestTorn(t *testing.T) {
	t.Parallel()
	closed := sound(t, stringHeader)
	at := field(t, closed, "index_pos", 0)
	end := int(binary.LittleEndian.Uint64(closed[at:])) // of the messages and their index data
	open := slices.Concat(closed[:at], make([]byte, 8), closed[at+8:end])
	for name, full := range map[string][]byte{"closed": closed, "not closed": open} {
		for cut := 4117; cut < len(full); cut++ {
			r := checkBag(t, full[:cut], check.Options{})
			lost, denied := false, false
			for _, d := range r.Damage {
				lost, denied = lost || d.Lost, denied || strings.Contains(d.Advice, " message is lost")
			}
			switch {
			case r.Sound, lost == denied:
				t.Fatalf("%s, cut at %d: a loss is told: %t, and denied: %t: %+v", name, cut, lost, denied, r.Damage)
			case name == "closed" && r.Messages < 12 && !lost:
				t.Fatalf("%s, cut at %d: %d messages are missing: %+v", name, cut, 12-r.Messages, r.Damage)
			}
		}
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		header rosbag.Header
		want   string
	}{
		{rosbag.Header{ownType, stringHeader[1]}, "connection 0 has no message definition"},
		{rosbag.Header{stringHeader[0], stringHeader[1]}, "connection 0: its definition of std_msgs/String is empty: that of ROS noetic is used"},
		{rosbag.Header{stringHeader[0], stringHeader[1], {Key: "message_definition", Value: "no field\n"}}, `connection 0: its definition of std_msgs/String has errors (line 1: no definition of "std_msgs/no"): that of ROS noetic is used`},
	} {
		r := checkBag(t, sound(t, tt.header), check.Options{Deep: true})
		if !r.Sound || len(r.Warnings) != 1 || r.Warnings[0].Topic != "/a" || r.Warnings[0].What != tt.want {
			t.Errorf("%+v, want %q", r, tt.want)
		}
	}
}

// TestDefinitionsOfSeveral: what one connection lacks does not hide damage of the next one.
func TestDefinitionsOfSeveral(t *testing.T) {
	t.Parallel()
	wrong := rosbag.Header{ownType, {Key: "md5sum", Value: "0123"}, stringHeader[2]}
	anySum := rosbag.Field{Key: "md5sum", Value: "*"}
	for name, tt := range map[string]struct {
		before rosbag.Header
		want   int // damages
	}{
		"any type":                           {rosbag.Header{{Key: "type", Value: "*"}, anySum, {Key: "message_definition", Value: ""}}, 1},
		"any md5sum":                         {rosbag.Header{ownType, anySum, stringHeader[2]}, 1},
		"any md5sum, and no syntax":          {rosbag.Header{ownType, anySum, {Key: "message_definition", Value: "no field\n"}}, 1},
		"any md5sum, the definition of ROS":  {rosbag.Header{stringHeader[0], anySum}, 1},
		"no definition":                      {rosbag.Header{ownType, stringHeader[1]}, 1},
		"no definition, that of ROS is used": {rosbag.Header{stringHeader[0], stringHeader[1]}, 1},
		"no syntax":                          {rosbag.Header{ownType, stringHeader[1], {Key: "message_definition", Value: "no field\n"}}, 2},
	} {
		var f file
		w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i, h := range []rosbag.Header{tt.before, wrong} {
			c, err := w.AddConnection([]string{"/before", "/wrong"}[i], h)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Write(c, rosbag.Time{Sec: 1}, []byte("\x04\x00\x00\x00text")); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r := checkBag(t, f.b, check.Options{})
		if n := len(r.Damage); n != tt.want || !strings.HasPrefix(r.Damage[n-1].What, "connection 1, /wrong: the md5sum of its definition") {
			t.Errorf("after %s: %+v", name, r.Damage)
		}
	}
}

// TestOutOfOrder: messages that are earlier than the one before on their connection are counted, those of each
// connection for itself. Marks are dated back to what they are about.
func TestOutOfOrder(t *testing.T) {
	t.Parallel()
	var f file
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range []string{"/turned", "/sorted", "/gorecord/marks"} {
		c, err := w.AddConnection(topic, stringHeader)
		if err != nil {
			t.Fatal(err)
		}
		for _, sec := range map[string][]uint32{"/turned": {5, 3, 4, 1, 1}, "/sorted": {1, 2, 2}, "/gorecord/marks": {3, 1}}[topic] {
			if err := w.Write(c, rosbag.Time{Sec: sec}, []byte("\x04\x00\x00\x00text")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := checkBag(t, f.b, check.Options{})
	if len(r.Warnings) != 1 || r.Warnings[0].Topic != "/turned" || !strings.HasPrefix(r.Warnings[0].What, "2 messages of connection 0 out of the order") {
		t.Errorf("%+v", r.Warnings)
	}
}

// intHeader is a header of a definition that the messages of sound do not fit.
var intHeader = rosbag.Header{
	{Key: "type", Value: "std_msgs/Int32"},
	{Key: "md5sum", Value: "da5909fbe378aeaf85e547e830cc1bb7"},
	{Key: "message_definition", Value: "int32 data\n"},
}

// TestDeepSource: where a message is in a recording of another format is not known, and not said.
func TestDeepSource(t *testing.T) {
	t.Parallel()
	b := sound(t, intHeader)
	s, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := check.Source(t.Context(), s, check.Options{Deep: true})
	if err != nil || len(r.Damage) != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, d := range r.Damage {
		text, err := json.Marshal(d)
		if err != nil || !bytes.HasPrefix(text, []byte(`{"offset":null,`)) || !strings.HasPrefix(d.What, "message of /a at time ") || strings.Contains(d.What, "offset") {
			t.Errorf("%s, %v", text, err)
		}
	}
}

// miscounted is a recording that counts one message more in each chunk than it has.
type miscounted struct{ *bagfmt.Reader }

func (m miscounted) Span(i int) *rosbag.Span {
	s := *m.Reader.Span(i)
	s.Counts = slices.Clone(s.Counts)
	s.Counts[0].Count++
	return &s
}

// TestCounted: counts of a recording that are wrong are named; nothing is lost.
func TestCounted(t *testing.T) {
	t.Parallel()
	b := sound(t, intHeader)
	s, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := check.Source(t.Context(), miscounted{s}, check.Options{})
	if err != nil || !r.Sound || len(r.Warnings) != 1 || r.Warnings[0].Topic != "/a" ||
		r.Warnings[0].What != "the recording counts 14 messages, there are 12" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestDeep has messages that do not fit their definition.
func TestDeep(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{0, 1, 4} {
		b := sound(t, intHeader)
		if r := checkBag(t, b, check.Options{Workers: workers}); !r.Sound {
			t.Errorf("not deep: %+v", r)
		}
		r := checkBag(t, b, check.Options{Deep: true, Workers: workers})
		if len(r.Damage) != 3 || !strings.Contains(r.Damage[0].What, "at time 0.000000000") || !strings.Contains(r.Damage[2].What, "and 9 more of connection 0") {
			t.Errorf("%d workers: %+v", workers, r.Damage)
		}
	}
}

// TestOddTimes has times and stamps with the nanoseconds of four seconds.
func TestOddTimes(t *testing.T) {
	t.Parallel()
	const nsecs = math.MaxUint32
	header := rosbag.Header{
		{Key: "type", Value: "std_msgs/Header"},
		{Key: "md5sum", Value: "2176decaecbce78abc3b96ef049fabed"},
		{Key: "message_definition", Value: "uint32 seq\ntime stamp\nstring frame_id\n"},
	}
	for name, tt := range map[string]struct {
		time, stamp uint32
		deep        bool
		want        string
	}{
		"sound":             {999_999_999, 999_999_999, true, ""},
		"time":              {nsecs, 0, false, "message of /a before offset 4474: its time is 7 s and 4294967295 ns; and 1 more of connection 0"},
		"stamp":             {0, nsecs, true, "message of /a before offset 4474: the stamp of its header is 8 s and 4294967295 ns; and 1 more of connection 0"},
		"stamp, not deep":   {0, nsecs, false, ""},
		"a second and none": {0, 1_000_000_000, true, "message of /a before offset 4474: the stamp of its header is 8 s and 1000000000 ns; and 1 more of connection 0"},
	} {
		var f file
		w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := w.AddConnection("/a", header)
		for range 2 {
			b := binary.LittleEndian.AppendUint32(make([]byte, 4), 8)
			b = append(binary.LittleEndian.AppendUint32(b, tt.stamp), 0, 0, 0, 0)
			err = errors.Join(err, w.Write(c, rosbag.Time{Sec: 7, Nsec: tt.time}, b))
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		r := checkBag(t, f.b, check.Options{Deep: tt.deep, Workers: 2})
		if r.Sound != (tt.want == "") || !r.Sound && (len(r.Damage) != 1 || r.Damage[0].What != tt.want || r.Damage[0].Lost) {
			t.Errorf("%s: %+v, want %q", name, r.Damage, tt.want)
		}
	}
}

func TestOldBag(t *testing.T) {
	t.Parallel()
	r := checkBag(t, []byte("#ROSRECORD V1.1\n/a\n*\n*\n\x01\x00\x00\x00\x02\x00\x00\x00\x05\x00\x00\x00\x01\x00\x00\x00x"), check.Options{Deep: true})
	if !r.Sound || r.Version != "1.1" || r.Messages != 1 {
		t.Errorf("%+v", r)
	}
}

// TestOldBagThatWasNotClosed: the file header of version 1.2, which releases without an index do not write, says so.
func TestOldBagThatWasNotClosed(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]check.Damage{
		"v12_indexed":       {},
		"v12_unindexed_cpp": {},
		"v12_indexed_notclosed": {
			{Offset: 16, What: "the bag was not closed and has no index", Advice: "no written message is lost, but those just before the crash may never have been written (gorecord: up to --flush-interval, 1 s); gobag reindex makes a new index"},
		},
		"v12_indexed_notclosed_cut": {
			{Offset: 16, What: "the bag was not closed and has no index", Advice: "gobag reindex makes a new index"},
			{Offset: 29073, What: "message at 29073: file ends after 41 of 48 bytes of its data", Advice: "gobag reindex keeps what is before", Lost: true},
		},
	} {
		b, err := os.ReadFile("../../../../bagfmt/testdata/old/" + name + ".bag")
		if err != nil {
			t.Fatal(err)
		}
		r := checkBag(t, b, check.Options{})
		if d := cmp.Diff(want, r.Damage); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestNoBag(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "hello\n", "#ROSBAG V1.3\n"} {
		_, err := check.Check(t.Context(), strings.NewReader(in), int64(len(in)), check.Options{})
		if !errors.Is(err, rosbag.ErrNotBag) && !errors.Is(err, rosbag.ErrVersion) {
			t.Errorf("%q: %v", in, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := sound(t, stringHeader)
	if _, err := check.Check(ctx, bytes.NewReader(b), int64(len(b)), check.Options{Deep: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// TestEncrypted checks a bag that stock has encrypted, whole and damaged, and asks for its
// key once.
func TestEncrypted(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../../../bagfmt/testdata/encrypted/cpp_lz4.bag")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	o := check.Options{Deep: true, UnwrapKey: func(rosbag.Encryption) ([]byte, error) {
		asked++
		return hex.DecodeString("218dbf0f368bd7d3535521751db84d27") // as in the tests of bagfmt
	}}
	if r := checkBag(t, b, o); !r.Sound || !r.Indexed || !r.Encrypted || r.Messages != 27 || r.Connections != 3 || asked != 1 {
		t.Errorf("%+v, asked %d times", r, asked)
	}
	b[4117+200] ^= 1
	r := checkBag(t, b, o)
	if r.Sound || len(r.Damage) != 1 || r.Damage[0].Offset != 4117 || r.Damage[0].Advice != "gobag decrypt keeps the other messages" {
		t.Errorf("damaged: %+v", r)
	}
	if _, err := check.Check(t.Context(), bytes.NewReader(b), int64(len(b)), check.Options{}); !errors.Is(err, rosbag.ErrEncrypted) {
		t.Errorf("without a key: %v", err)
	}
}

// TestStock checks bags that stock tools wrote.
func TestStock(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"cpp_none", "cpp_lz4", "cpp_bz2", "python_none", "python_lz4", "python_bz2"} {
		b, err := os.ReadFile("../../../../bagfmt/testdata/" + name + ".bag")
		if err != nil {
			t.Fatal(err)
		}
		if r := checkBag(t, b, check.Options{Deep: true, Workers: 2}); !r.Sound || !r.Indexed || r.Messages < 26 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// watchedMemory notes the most memory in use when something is read.
type watchedMemory struct {
	io.ReaderAt
	most atomic.Uint64
}

func (w *watchedMemory) ReadAt(b []byte, off int64) (int, error) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	for most := w.most.Load(); m.HeapAlloc > most && !w.most.CompareAndSwap(most, m.HeapAlloc); most = w.most.Load() {
	}
	return w.ReaderAt.ReadAt(b, off)
}

// TestDeepMemory decodes 400 messages of 1 MB, whose memory is bounded.
func TestDeepMemory(t *testing.T) { // not parallel: others take memory, too
	var f file
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{Compression: rosbag.CompressionLZ4})
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.AddConnection("/big", stringHeader)
	data := make([]byte, 1_000_000)
	binary.LittleEndian.PutUint32(data, uint32(len(data)-4))
	for i := range uint32(400) {
		err = errors.Join(err, w.Write(c, rosbag.Time{Sec: i + 1}, data))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	r := &watchedMemory{ReaderAt: bytes.NewReader(f.b)}
	report, err := check.Check(t.Context(), r, int64(len(f.b)), check.Options{Deep: true, Workers: 2})
	if err != nil || !report.Sound || report.Messages != 400 {
		t.Fatalf("%+v, %v", report, err)
	}
	if most := r.most.Load(); most > 160<<20 {
		t.Errorf("%d MiB in use", most>>20)
	}
}

// TestUnknownConnection: a message of a bag of stock, whose chunks have no checksums, names a connection that
// does not exist. It is lost, although its index entry is there.
func TestUnknownConnection(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../../../bagfmt/testdata/cpp_none.bag")
	if err != nil {
		t.Fatal(err)
	}
	sound := checkBag(t, b, check.Options{})
	b[bytes.Index(b, []byte("\x04\x00\x00\x00op=\x02"))-1] = 0xff // the highest byte of conn
	r := checkBag(t, b, check.Options{})
	if r.Messages != sound.Messages-1 || len(r.Damage) != 1 || !r.Damage[0].Lost || strings.Contains(r.Damage[0].Advice, " message is lost") {
		t.Errorf("%d of %d messages: %+v", r.Messages, sound.Messages, r.Damage)
	}
}
