package bagfmt_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosbag"
)

// limitOf returns the LimitError in err.
func limitOf(t *testing.T, err error) *rosbag.LimitError {
	t.Helper()
	var l *rosbag.LimitError
	if !errors.As(err, &l) || !errors.Is(err, rosbag.ErrLimit) {
		t.Fatalf("got %v, want a LimitError", err)
	}
	return l
}

// TestWriterOptionLimits takes each number up to its limit and not beyond.
func TestWriterOptionLimits(t *testing.T) {
	t.Parallel()
	open := func(o bagfmt.WriterOptions) error {
		_, err := bagfmt.NewWriter(&memFile{}, o)
		return err
	}
	most := limitOf(t, open(bagfmt.WriterOptions{ChunkBytes: math.MaxInt32})).Limit
	if most < 1<<30 {
		t.Errorf("chunks of at most %d bytes, but the command line offers 1 GiB", most)
	}
	for n, good := range map[int64]bool{-1: false, 0: true, 1: true, most: true, most + 1: false} {
		if err := open(bagfmt.WriterOptions{ChunkBytes: int(n)}); (err == nil) != good {
			t.Errorf("chunks of %d bytes: %v", n, err)
		} else if err != nil && limitOf(t, err).Got != n {
			t.Errorf("chunks of %d bytes: %v", n, err)
		}
	}
	for n, good := range map[int]bool{-1: false, 0: true, 256: true, 257: false} {
		if err := open(bagfmt.WriterOptions{Workers: n}); (err == nil) != good {
			t.Errorf("%d workers: %v", n, err)
		}
	}
}

// TestChunkThreshold: a chunk is sealed beyond ChunkBytes, not at it, and with
// Workers but without packing within the call that filled it.
func TestChunkThreshold(t *testing.T) {
	t.Parallel()
	conns, _ := sample(0)
	var b chunk.Builder
	b.Reset(nil)
	for range 2 {
		b.AppendRun(conns[0], rosbag.Time{Sec: 1}, frame("message"), 1)
	}
	two := b.Len()
	for _, workers := range []int{0, 3} {
		for size, sealedAt := range map[int]int{two - 1: 2, two: 3, two + 1: 3} {
			var f memFile
			w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{ChunkBytes: size, Workers: workers})
			if err != nil {
				t.Fatal(err)
			}
			c, err := w.AddConnection(conns[0].Topic, conns[0].Header)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for empty := w.Size(); w.Size() == empty; n++ {
				if err := w.Write(c, rosbag.Time{Sec: 1}, []byte("message")); err != nil {
					t.Fatal(err)
				}
			}
			if n != sealedAt || int64(len(f.b)) != w.Size() {
				t.Errorf("%d workers, chunks of %d bytes, 2 messages have %d: sealed after %d messages, want %d", workers, size, two, n, sealedAt)
			}
		}
	}
}

// TestMessageLimit refuses a message that roscpp would not receive.
func TestMessageLimit(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector touches all of a gigabyte")
	}
	const most = 1_000_000_000
	w, err := bagfmt.NewWriter(discardWriter{}, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.AddConnection("/a", header("a/A"))
	if err != nil {
		t.Fatal(err)
	}
	// Memory that is never touched. Go would clear what other tests have used before.
	data, err := unix.Mmap(-1, 0, most+1, unix.PROT_READ, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(data) })
	if l := limitOf(t, w.Write(c, rosbag.Time{Sec: 1}, data)); l.Got != most+1 || l.Limit != most || l.Op != rosbag.OpMessage || l.Offset != w.Size() {
		t.Errorf("got %+v", l)
	}
	if !testkit.Full() {
		return // the largest message that is taken would be copied: 2 GB
	}
	if err := w.Write(c, rosbag.Time{Sec: 1}, data[:most]); err != nil {
		t.Error(err)
	}
}

// discardWriter has Write only.
type discardWriter struct{}

func (discardWriter) Write(b []byte) (int, error) { return len(b), nil }

// TestConnectionsOfChunks: an id has one meaning in a bag, and AddConnection takes ids
// after those of chunks.
func TestConnectionsOfChunks(t *testing.T) {
	t.Parallel()
	w, err := bagfmt.NewWriter(&memFile{}, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	add := func(id rosbag.ConnID, topic string, h rosbag.Header) error {
		var b chunk.Builder
		b.Reset(nil)
		b.AppendRun(&rosbag.Connection{ID: id, Topic: topic, Header: h}, rosbag.Time{Sec: 1}, frame("x"), 1)
		return w.WriteChunk(seal(t, &b, nil))
	}
	next := func(want rosbag.ConnID) {
		t.Helper()
		c, err := w.AddConnection("/own", header("a/A"))
		if err != nil || c.ID != want {
			t.Fatalf("connection %+v, %v, want id %d", c, err, want)
		}
	}
	next(0)
	for _, step := range []struct {
		id    rosbag.ConnID
		topic string
		h     rosbag.Header
		good  bool
	}{
		{4, "/a", header("a/A"), true},
		{4, "/a", header("a/A"), true}, // another copy that says the same
		{4, "/b", header("a/A"), false},
		{4, "/a", header("b/B"), false},
		{0, "/own", header("a/A"), true},
		{0, "/other", header("a/A"), false},
	} {
		size := w.Size()
		err := add(step.id, step.topic, step.h)
		if (err == nil) != step.good || (w.Size() == size) == step.good {
			t.Errorf("connection %d of %s: %v, size from %d to %d", step.id, step.topic, err, size, w.Size())
		}
	}
	next(5)
	if err := add(2, "/late", header("a/A")); err != nil { // below the next one
		t.Fatal(err)
	}
	next(6)
	if err := add(math.MaxUint32, "/last", header("a/A")); err != nil {
		t.Fatal(err)
	}
	next(7) // the ids do not begin again
	var ids []rosbag.ConnID
	for _, c := range w.Connections() {
		ids = append(ids, c.ID)
	}
	if want := []rosbag.ConnID{0, 2, 4, 5, 6, 7, math.MaxUint32}; !slices.Equal(ids, want) {
		t.Errorf("connections %v, want %v", ids, want)
	}
}

// TestConnectionLimitsExact walks to each limit of a connection record: what is
// refused names what it has and may have, and what has just that is in the bag.
func TestConnectionLimitsExact(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		connection func(n int) (topic string, h rosbag.Header)
		what       string
		length     func(bag []byte, r record) int // what is limited, as the bag has it
	}{
		"topic": {
			func(n int) (string, rosbag.Header) { return strings.Repeat("t", n), header("a/A") }, "record header",
			func(_ []byte, r record) int { return r.dataAt - r.off - 4 },
		},
		"definition": {
			func(n int) (string, rosbag.Header) {
				return "/a", rosbag.Header{{Key: "message_definition", Value: strings.Repeat("d", n)}}
			}, "connection header",
			func(_ []byte, r record) int { return len(r.data) },
		},
	} {
		w, err := bagfmt.NewWriter(&memFile{}, bagfmt.WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		const tooMuch = 3 << 20
		l := limitOf(t, second(w.AddConnection(tc.connection(tooMuch))))
		if l.What != tc.what || l.Op != rosbag.OpConnection {
			t.Errorf("%s: %+v", name, l)
		}
		most := tooMuch - int(l.Got-l.Limit)
		if beyond := limitOf(t, second(w.AddConnection(tc.connection(most+1)))); beyond.Got != l.Limit+1 {
			t.Errorf("%s: one more is %d, limit %d", name, beyond.Got, l.Limit)
		}
		topic, h := tc.connection(most)
		b := writeBag(t, bagfmt.WriterOptions{}, []*rosbag.Connection{{Topic: topic, Header: h}}, []msg{{topic, rosbag.Time{Sec: 1}, "x"}})
		if got := tc.length(b, recordsOf(t, b, 7)[0]); int64(got) != l.Limit {
			t.Errorf("%s: the largest that is taken has %d bytes, limit %d", name, got, l.Limit)
		}
		if msgs, errs := readAll(t, b, rosbag.Query{}); len(msgs) != 1 || errs != nil {
			t.Errorf("%s: %d messages, %v", name, len(msgs), errs)
		}
	}
	w, err := bagfmt.NewWriter(&memFile{}, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for own, most := range map[bool]int{true: fields.MaxFields + 16, false: fields.MaxFields + 13} { // three are added
		for n, good := range map[int]bool{most: true, most + 1: false} {
			var h rosbag.Header
			if own {
				h = header("a/A")
			}
			for i := len(h); i < n; i++ {
				h = append(h, rosbag.Field{Key: fmt.Sprint("key", i)})
			}
			if _, err := w.AddConnection("/a", h); (err == nil) != good || err != nil && !errors.Is(err, rosbag.ErrLimit) {
				t.Errorf("%d fields, those of stock among them %v: %v", n, own, err)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestRepeatBudget: a connection record is repeated just when all repeats are at most
// 1 % of what was written, bytes of every kind, and of what was taken back none.
func TestRepeatBudget(t *testing.T) {
	t.Parallel()
	c := &rosbag.Connection{Topic: "/t", Header: header("a/A")}
	var b chunk.Builder
	b.Reset(nil)
	b.AppendRun(c, rosbag.Time{}, frame(""), 1)
	withRecord := b.Len()
	b.AppendRun(c, rosbag.Time{}, frame(""), 1)
	message := b.Len() - withRecord // without data
	size := withRecord - message    // of the connection record

	for _, way := range []string{"run", "large", "aborted", "run of two"} {
		for _, less := range []int{0, 1} {
			var r chunk.Records
			// has reports whether the next chunk, of one message, has the record.
			has := func(data string) bool {
				b.Reset(&r)
				if way == "aborted" { // of this connection, and of one that is new
					for _, c := range []*rosbag.Connection{c, {ID: 1, Topic: "/new", Header: header("a/A")}} {
						b.BeginMessage(c, 1000)
						b.Room(100)
						b.AbortMessage()
					}
				}
				switch f := frame(data); way {
				case "large":
					b.BeginMessage(c, len(f))
					for rest := f; len(rest) > 0; {
						rest = rest[copy(b.Room(len(rest)), rest):]
					}
					b.FinishMessage(rosbag.Time{Sec: 1})
				case "run of two":
					half := len(data) - message
					b.AppendRun(c, rosbag.Time{Sec: 1}, slices.Concat(frame(data[:half/2]), frame(data[half/2:half])), 2)
				default:
					b.AppendRun(c, rosbag.Time{Sec: 1}, f, 1)
				}
				return bytes.Contains(seal(t, &b, nil).Record, []byte("topic=/t"))
			}
			data := func(total int) string { return strings.Repeat("x", total-message) } // so many bytes with its record
			if !has(data(100*size - size - less)) {                                      // the first use, then 100 records' worth
				t.Fatal("no record at the first use")
			}
			if got := has(data(98*size - 1)); got != (less == 0) {
				t.Errorf("%s: %d bytes less than 100 records: repeated %v", way, less, got)
			}
			if less > 0 {
				continue
			}
			// 199 records' worth less one byte, of which one is repeated: too little for two.
			if has(data(200)) {
				t.Errorf("%s: repeated with less than 200 records", way)
			}
			if !has(data(200)) {
				t.Errorf("%s: not repeated with more than 200 records", way)
			}
		}
	}
}

// TestChunkMisuse: what a program must not do to a builder panics and says what.
func TestChunkMisuse(t *testing.T) {
	t.Parallel()
	c := &rosbag.Connection{Topic: "/a", Header: header("a/A")}
	for name, tc := range map[string]struct {
		do   func(b *chunk.Builder)
		want string
	}{
		"run inside a message": {func(b *chunk.Builder) {
			b.BeginMessage(c, 10)
			b.AppendRun(c, rosbag.Time{}, frame("x"), 1)
		}, "AppendRun inside a message"},
		"run with more frames": {func(b *chunk.Builder) {
			b.AppendRun(c, rosbag.Time{}, slices.Concat(frame("x"), frame("y")), 1)
		}, "AppendRun with bytes after the last frame"},
		"message inside a message": {func(b *chunk.Builder) {
			b.BeginMessage(c, 10)
			b.BeginMessage(c, 10)
		}, "BeginMessage inside a message"},
		"frame without length": {func(b *chunk.Builder) { b.BeginMessage(c, 3) }, "less than 4 bytes"},
		"room outside":         {func(b *chunk.Builder) { b.Room(1) }, "Room outside a message"},
		"no room":              {func(b *chunk.Builder) { b.BeginMessage(c, 4); b.Room(0) }, "Room beyond the end"},
		"room beyond the end": {func(b *chunk.Builder) {
			b.BeginMessage(c, 4)
			b.Room(4)
			b.Room(1)
		}, "Room beyond the end"},
		"finish outside": {func(b *chunk.Builder) { b.FinishMessage(rosbag.Time{}) }, "FinishMessage of an incomplete message"},
		"finish too early": {func(b *chunk.Builder) {
			b.BeginMessage(c, 8)
			copy(b.Room(7), frame("xyz"))
			b.FinishMessage(rosbag.Time{})
		}, "FinishMessage of an incomplete message"},
		"wrong length": {func(b *chunk.Builder) {
			b.BeginMessage(c, 8)
			copy(b.Room(8), frame("xyz"))
			b.FinishMessage(rosbag.Time{})
		}, "a frame with a wrong length"},
		"frame outside": {func(b *chunk.Builder) { b.Frame() }, "Frame outside a message"},
		"abort outside": {func(b *chunk.Builder) { b.AbortMessage() }, "AbortMessage outside a message"},
		"seal inside": {func(b *chunk.Builder) {
			b.BeginMessage(c, 8)
			_, _ = b.Seal(nil, nil)
		}, "Seal inside a message"},
	} {
		func() {
			defer func() {
				if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), "chunk: ") || !strings.Contains(fmt.Sprint(r), tc.want) {
					t.Errorf("%s: panic %v, want %q", name, r, tc.want)
				}
			}()
			var b chunk.Builder
			b.Reset(nil)
			tc.do(&b)
		}()
	}
}

// TestResetInsideMessage: a message that is under way is forgotten with its chunk.
func TestResetInsideMessage(t *testing.T) {
	t.Parallel()
	conns, _ := sample(0)
	var b chunk.Builder
	b.Reset(nil)
	b.BeginMessage(conns[0], 100)
	b.Room(10)
	b.Reset(nil)
	b.AppendRun(conns[1], rosbag.Time{Sec: 1}, frame("x"), 1)
	want := []msg{{conns[1].Topic, rosbag.Time{Sec: 1}, "x"}}
	if got, errs := readAll(t, bagOf(t, seal(t, &b, nil)), rosbag.Query{}); !slices.Equal(got, want) || errs != nil {
		t.Errorf("%v, %v", got, errs)
	}
}

// TestMessageInPieces reads the smallest messages into a chunk, a byte at a time.
func TestMessageInPieces(t *testing.T) {
	t.Parallel()
	conns, _ := sample(0)
	var b chunk.Builder
	b.Reset(nil)
	var want []msg
	for i, data := range []string{"", "x", "xyz"} {
		f := frame(data)
		b.BeginMessage(conns[0], len(f))
		for k := range f {
			if n := copy(b.Room(1), f[k:]); n != 1 {
				t.Fatalf("room of %d bytes, want 1", n)
			}
			if got := b.Frame(); !bytes.Equal(got, f[:k+1]) {
				t.Errorf("frame %q, want %q", got, f[:k+1])
			}
		}
		at := rosbag.Time{Sec: uint32(9 - i), Nsec: 7}
		b.FinishMessage(at)
		want = append(want, msg{conns[0].Topic, at, data})
	}
	c := seal(t, &b, nil)
	if c.Start != want[2].Time || c.End != want[0].Time || c.Counts[0].Count != 3 {
		t.Errorf("from %s to %s, %v", c.Start, c.End, c.Counts)
	}
	if got, errs := readAll(t, bagOf(t, c), rosbag.Query{}); !slices.Equal(got, byTime(want)) || errs != nil {
		t.Errorf("%v, %v", got, errs)
	}
}

// TestRoomFollowsData: in a chunk that holds much already, a message that announces
// much more gets little memory before it comes.
func TestRoomFollowsData(t *testing.T) {
	t.Parallel()
	conns, _ := sample(0)
	var b chunk.Builder
	b.Reset(nil)
	b.AppendRun(conns[0], rosbag.Time{Sec: 1}, frame(strings.Repeat("x", 8<<20)), 1)
	b.BeginMessage(conns[0], 64<<20)
	for b.Cap()-b.Len() > 0 && b.Len() < b.Cap()-64<<10 { // what happens to be there
		b.Room(64 << 10)
	}
	before := b.Cap()
	for b.Cap() == before {
		b.Room(64 << 10)
	}
	if got := b.Cap() - before; got > 1<<20 {
		t.Errorf("%d bytes more for a message of which few have come, in a chunk of %d", got, before)
	}
	b.AbortMessage()
}

// TestRoomIsExact: who keeps an account of memory knows before Room what it will take, and
// a message takes no more than its size and a page.
func TestRoomIsExact(t *testing.T) {
	t.Parallel()
	conns, _ := sample(0)
	const size = 5<<20 + 123
	var b chunk.Builder
	b.Reset(nil)
	b.BeginMessage(conns[0], size)
	const page = 8 << 10
	for left := size; left > 0; {
		want := b.NextCap()
		left -= len(b.Room(left))
		if got := b.Cap(); got < want || got > want+page {
			t.Fatalf("%d bytes of memory, %d were announced", got, want)
		}
	}
	if got := b.Cap() - size; got > 2*page {
		t.Errorf("%d bytes of memory more than the message has", got)
	}
	if b.NextCap() != b.Cap() {
		t.Error("a complete message needs more memory")
	}
	b.AbortMessage()
}

// TestFirstChunkGrowsInFewSteps: the memory of a builder's first chunk is not copied
// over and over.
func TestFirstChunkGrowsInFewSteps(t *testing.T) {
	t.Parallel()
	conns, _ := sample(0)
	f := frame(strings.Repeat("x", 4000))
	var b chunk.Builder
	b.Reset(nil)
	steps := 0
	for before := b.Cap(); b.Len() < chunk.DefaultBytes; {
		b.AppendRun(conns[0], rosbag.Time{Sec: 1}, f, 1)
		if grown := b.Cap(); grown-before > 8<<10 { // and not the entries
			before = grown
			steps++
		}
	}
	if steps > 4 {
		t.Errorf("the memory grew %d times up to %d bytes", steps, b.Len())
	}
}

// TestSealAtEveryFill seals chunks of every number of small messages: wherever the
// memory ends, the index finds room.
func TestSealAtEveryFill(t *testing.T) {
	t.Parallel()
	conns, _ := sample(0)
	for n := 1; n < 400; n++ {
		var b chunk.Builder
		b.Reset(nil)
		for i := range n {
			b.AppendRun(conns[0], rosbag.Time{Sec: uint32(i)}, frame(""), 1)
		}
		c, err := b.Seal(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		index := cutRecord(t, c.Record, int(c.UncompressedBytes)+cutRecord(t, c.Record, 0).dataAt+4)
		if len(index.data) != 12*n || len(c.Record) != index.dataAt+4+12*n {
			t.Fatalf("%d messages: an index of %d bytes", n, len(index.data))
		}
	}
}

// TestIndexData checks the bytes after a chunk: a record for each connection with
// messages, by ascending id, the entries in the order of times and then of places.
func TestIndexData(t *testing.T) {
	t.Parallel()
	connection := func(id rosbag.ConnID) *rosbag.Connection {
		return &rosbag.Connection{ID: id, Topic: fmt.Sprint("/t", id), Header: header("a/A")}
	}
	var b chunk.Builder
	b.Reset(nil)
	// A chunk with much of connection 0, out of order, as the builder will remember.
	for i := range uint32(100) {
		b.AppendRun(connection(0), rosbag.Time{Sec: 1000 - i}, frame("old"), 1)
	}
	seal(t, &b, nil)

	b.Reset(nil)
	type entry struct {
		at     rosbag.Time
		offset uint32
	}
	want := map[rosbag.ConnID][]entry{}
	b.AppendRun(connection(0), rosbag.Time{Sec: 1}, nil, 0) // a connection without messages
	for i, m := range []struct {
		id rosbag.ConnID
		at rosbag.Time
	}{
		{65536, rosbag.Time{Sec: 7}},
		{3, rosbag.Time{Sec: 5, Nsec: 1}},
		{65535, rosbag.Time{Sec: 6}},
		{3, rosbag.Time{Sec: 5}},
		{65536, rosbag.Time{Sec: 7}},
		{3, rosbag.Time{Sec: 5, Nsec: 1}},
		{3, rosbag.Time{Sec: 4, Nsec: 999_999_999}},
		{65536, rosbag.Time{Sec: 8}},
		{65535, rosbag.Time{Sec: 5}},
	} {
		data := strings.Repeat("d", i)
		b.AppendRun(connection(m.id), m.at, frame(data), 1)
		end := b.Len()
		record := rec(fields.List{{Key: "conn", Value: u32s(0)}, {Key: "op", Value: "\x02"}, {Key: "time", Value: u32s(0, 0)}}, []byte(data))
		want[m.id] = append(want[m.id], entry{m.at, uint32(end - len(record))})
	}
	for _, list := range want {
		slices.SortStableFunc(list, func(a, b entry) int { return a.at.Compare(b.at) })
	}
	c := seal(t, &b, nil)
	if c.Start != (rosbag.Time{Sec: 4, Nsec: 999_999_999}) || c.End != (rosbag.Time{Sec: 8}) {
		t.Errorf("from %s to %s", c.Start, c.End)
	}
	var ids []rosbag.ConnID
	chunk := cutRecord(t, c.Record, 0)
	for at := chunk.dataAt + 4 + len(chunk.data); at < len(c.Record); {
		r := cutRecord(t, c.Record, at)
		at = r.dataAt + 4 + len(r.data)
		id := rosbag.ConnID(binary.LittleEndian.Uint32(c.Record[r.fields["conn"]:]))
		ids = append(ids, id)
		var got []entry
		for e := r.data; len(e) >= 12; e = e[12:] {
			got = append(got, entry{rosbag.Time{Sec: binary.LittleEndian.Uint32(e), Nsec: binary.LittleEndian.Uint32(e[4:])}, binary.LittleEndian.Uint32(e[8:])})
		}
		if count := binary.LittleEndian.Uint32(c.Record[r.fields["count"]:]); r.op != 4 || int(count) != len(got) || !slices.Equal(got, want[id]) {
			t.Errorf("connection %d: op %d, %d entries %v, want %v", id, r.op, count, got, want[id])
		}
	}
	if !slices.Equal(ids, []rosbag.ConnID{3, 65535, 65536}) {
		t.Errorf("index data of connections %v", ids)
	}
	for i, n := range c.Counts {
		if n.Conn.ID != ids[i] || int(n.Count) != len(want[n.Conn.ID]) {
			t.Errorf("count %d of connection %d", n.Count, n.Conn.ID)
		}
	}
}

// TestSealAfterLargerChunk seals a connection without messages that had many, out of
// order, at the end of a chunk larger than this one can be.
func TestSealAfterLargerChunk(t *testing.T) {
	t.Parallel()
	conns, _ := sample(0)
	z, err := chunk.NewCompressor(rosbag.CompressionLZ4)
	if err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 1000)
	_, _ = rand.NewChaCha8([32]byte{11}).Read(noise)
	var b chunk.Builder
	b.Reset(nil)
	for i := range uint32(300) {
		b.AppendRun(conns[0], rosbag.Time{Sec: 1000 - i}, frame(string(noise)+fmt.Sprint(i)), 1)
	}
	seal(t, &b, z)
	b.Reset(nil)
	b.AppendRun(conns[0], rosbag.Time{Sec: 1}, nil, 0)
	b.AppendRun(conns[1], rosbag.Time{Sec: 2}, frame("x"), 1) // a byte and its length word
	c := seal(t, &b, z)
	if got, errs := readAll(t, bagOf(t, c), rosbag.Query{}); len(got) != 1 || got[0].Data != "x" || errs != nil || len(c.Counts) != 1 || !slices.Equal(c.PayloadBytes, []uint64{1}) {
		t.Errorf("%v, %v, %d connections, %v bytes", got, errs, len(c.Counts), c.PayloadBytes)
	}
}

// shortWriter takes less than it gets from its n-th write on, without an error.
type shortWriter struct{ n int }

func (s *shortWriter) Write(b []byte) (int, error) {
	if s.n--; s.n < 0 {
		return len(b) - 1, nil
	}
	return len(b), nil
}

func TestShortWrite(t *testing.T) {
	t.Parallel()
	for n := range 3 {
		w, err := bagfmt.NewWriter(&shortWriter{n: n}, bagfmt.WriterOptions{ChunkBytes: 1})
		if n == 0 {
			if !errors.Is(err, io.ErrShortWrite) {
				t.Errorf("head: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		c, err := w.AddConnection("/a", header("a/A"))
		if err != nil {
			t.Fatal(err)
		}
		size := w.Size()
		err = w.Write(c, rosbag.Time{Sec: 1}, []byte("x"))
		if errors.Is(err, io.ErrShortWrite) != (n == 1) || (w.Size() == size) != (n == 1) {
			t.Errorf("chunk, write %d: %v, size from %d to %d", n, err, size, w.Size())
		}
		if err := w.Close(); !errors.Is(err, io.ErrShortWrite) { // nothing to write the index with
			t.Errorf("close, write %d: %v", n, err)
		}
	}
}

// cannotTruncate is a failing file that cannot be cut.
type cannotTruncate struct{ failing }

func (*cannotTruncate) Truncate(int64) error { return errInjected }

// TestCloseAfterFailure: Close reports what its own last chunk lost, and has made a good
// bag of the rest; what it cannot repair is an error each time.
func TestCloseAfterFailure(t *testing.T) {
	t.Parallel()
	write := func(f io.Writer) *bagfmt.Writer {
		w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := w.AddConnection("/a", header("a/A"))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(c, rosbag.Time{Sec: 1}, []byte("x")); err != nil {
			t.Fatal(err)
		}
		return w
	}
	f := &failing{left: 2} // the head, then the chunk
	w := write(f)
	if err := w.Close(); !errors.Is(err, errInjected) {
		t.Errorf("lost the last chunk: %v", err)
	}
	if msgs, errs := readAll(t, f.b, rosbag.Query{}); len(msgs) != 0 || errs != nil || f.syncs != 2 {
		t.Errorf("after the first Close: %d messages, %v, %d syncs", len(msgs), errs, f.syncs)
	}
	if err := w.Close(); err != nil || f.syncs != 2 {
		t.Errorf("second Close: %v, %d syncs", err, f.syncs)
	}
	for name, f := range map[string]io.Writer{
		"nothing can be written any more": &failing{left: 2, sticky: true},
		"nothing can be cut off":          &cannotTruncate{failing{left: 2}},
	} {
		w := write(f)
		for range 2 {
			if err := w.Close(); !errors.Is(err, errInjected) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestUnknownRecordInIndex has another record in the place of a chunk's index data: the
// index is incomplete and says so, and the messages are found without it.
func TestUnknownRecordInIndex(t *testing.T) {
	t.Parallel()
	full := sampleBag(t, rosbag.CompressionNone)
	chunks := recordsOf(t, full, 5)
	for i, index := range recordsOf(t, full, 4)[:3] {
		msgs, errs := readAll(t, setOp(full, index, 99), rosbag.Query{})
		var c *rosbag.CorruptError
		if len(msgs) != 30 || len(errs) != 1 || !errors.As(errs[0], &c) || c.Offset != int64(chunks[0].off) || c.Op != rosbag.OpChunk ||
			!strings.Contains(c.Error(), "2 of 3 index data records follow") {
			t.Errorf("record %d: %d messages, %v", i, len(msgs), errs)
		}
	}
	index := recordsOf(t, full, 4)[0]
	count := binary.LittleEndian.Uint32(full[index.fields["count"]:])
	_, errs := readAll(t, setU32(full, index.fields["count"], count+5), rosbag.Query{})
	if want := fmt.Sprintf("%d messages of connection 0, the chunk info says %d", count+5, count); len(errs) != 1 || !strings.Contains(errs[0].Error(), want) {
		t.Errorf("got %v, want %q", errs, want)
	}
}

// TestConnectionTwice has a second record of a connection in a chunk: it may say more,
// but not something else.
func TestConnectionTwice(t *testing.T) {
	t.Parallel()
	base := rosbag.Header{{Key: "type", Value: "a/A"}, {Key: "md5sum", Value: stringMD5}, {Key: "message_definition", Value: "d"}, {Key: "callerid", Value: "/a"}}
	with := func(i int, key, value string) rosbag.Header {
		h := slices.Clone(base)
		h[i] = rosbag.Field{Key: key, Value: value}
		return h
	}
	record := func(topic string, h rosbag.Header) []byte {
		return rec(fields.List{{Key: "op", Value: "\x07"}, {Key: "conn", Value: u32s(0)}, {Key: "topic", Value: topic}}, fields.List(h).Append(nil))
	}
	message := rec(fields.List{{Key: "op", Value: "\x02"}, {Key: "conn", Value: u32s(0)}, {Key: "time", Value: u32s(1, 0)}}, []byte("data"))
	for name, tc := range map[string]struct {
		topic string
		h     rosbag.Header
		good  bool
	}{
		"the same":           {"/imu", base, true},
		"another topic":      {"/odom", base, false},
		"another type":       {"/imu", with(0, "type", "b/B"), false},
		"no type":            {"/imu", with(0, "typo", "a/A"), false},
		"another md5sum":     {"/imu", with(1, "md5sum", "*"), false},
		"another definition": {"/imu", with(2, "message_definition", "e"), true},
		"another node":       {"/imu", with(3, "callerid", "/b"), true},
		"one field more":     {"/imu", append(slices.Clone(base), rosbag.Field{Key: "x", Value: "y"}), true},
		"one field less":     {"/imu", base[:3:3], true},
	} {
		b := bomb(t, rosbag.CompressionNone, slices.Concat(record("/imu", base), record(tc.topic, tc.h), message), 0)
		b = b[:recordsOf(t, b, 7)[0].off] // the sample's own record
		s, err := bagfmt.NewScanner(bytes.NewReader(b), bagfmt.ScannerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.Next()
		bad := errors.Is(err, rosbag.ErrCorrupt)
		if bad {
			m, err = s.Next()
		}
		if bad == tc.good {
			t.Errorf("%s: error %v, want one %v", name, bad, !tc.good)
		}
		if err == nil && (m.Conn.Topic != "/imu" || !slices.Equal(m.Conn.Header, base)) {
			t.Errorf("%s: connection %+v, want the first", name, m.Conn)
		}
	}
}

func TestConnectionHeader(t *testing.T) {
	t.Parallel()
	h := rosbag.Header{
		{Key: "callerid", Value: "/node"},
		{Key: "topic", Value: "/t"},
		{Key: "type", Value: "a/A"},
		{Key: "md5sum", Value: "m"},
		{Key: "message_definition", Value: "d"},
		{Key: "latching", Value: "1"},
		{Key: "latching", Value: "0"},
	}
	if topic, ok := h.Get("topic"); h.CallerID() != "/node" || topic != "/t" || !ok || h.Type() != "a/A" || h.MD5Sum() != "m" || h.MessageDefinition() != "d" {
		t.Errorf("header %v", h)
	}
	for value, want := range map[string]bool{"1": true, "0": false, "": false, "true": false} {
		if got := (rosbag.Header{{Key: "latching", Value: value}}).Latching(); got != want {
			t.Errorf("latching=%s: %v", value, got)
		}
	}
	if !h.Latching() || h[:5].Latching() {
		t.Error("latching is not that of the first such field")
	}
}

func TestReadBagHeader(t *testing.T) {
	t.Parallel()
	full := sampleBag(t, rosbag.CompressionNone)
	want := bagfmt.BagHeader{Connections: 3, Chunks: uint32(len(recordsOf(t, full, 5)))}
	if got, err := bagfmt.ReadBagHeader(bytes.NewReader(full), int64(len(full))); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	for size, want := range map[int64]error{0: rosbag.ErrNotBag, 13: rosbag.ErrCorrupt, 50: rosbag.ErrCorrupt} {
		if got, err := bagfmt.ReadBagHeader(bytes.NewReader(full), size); !errors.Is(err, want) || got != (bagfmt.BagHeader{}) {
			t.Errorf("%d bytes: %+v, %v, want %v", size, got, err, want)
		}
	}
}

// appendFails is a file of which WriteAt or Truncate fails.
type appendFails struct {
	memFile
	write, truncate error
}

func (f *appendFails) WriteAt(p []byte, off int64) (int, error) {
	if f.write != nil {
		return 0, f.write
	}
	return f.memFile.WriteAt(p, off)
}

func (f *appendFails) Truncate(size int64) error {
	if f.truncate != nil {
		return f.truncate
	}
	return f.memFile.Truncate(size)
}

// TestAppendFails: what cannot be done is an error, and a bag that is not touched stays
// as it is.
func TestAppendFails(t *testing.T) {
	t.Parallel()
	full := sampleBag(t, rosbag.CompressionNone)
	file := func(more int) memFile { return memFile{b: append(slices.Clone(full), make([]byte, more)...)} }
	for name, f := range map[string]*appendFails{
		"WriteAt": {file(0), errInjected, nil}, "Truncate": {file(5), nil, errInjected},
	} {
		if err := amend(f, len(f.b), addition{&rosbag.Connection{Topic: "/x", Header: header("a/X")}, rosbag.Time{}, "x"}); !errors.Is(err, errInjected) || !bytes.Equal(f.b[:len(full)], full) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f := file(0)
	if _, err := bagfmt.Append(&f, int64(len(full)), bagfmt.WriterOptions{Workers: -1}); err == nil || !bytes.Equal(f.b, full) {
		t.Errorf("-1 workers: %v, the file has %d of %d bytes", err, len(f.b), len(full))
	}
}

// TestSealedMessagesDamaged gets nothing from a chunk that cannot be read but the error.
func TestSealedMessagesDamaged(t *testing.T) {
	t.Parallel()
	conns, _ := sample(0)
	for _, comp := range compressions {
		z, err := chunk.NewCompressor(comp)
		if err != nil {
			t.Fatal(err)
		}
		var b chunk.Builder
		b.Reset(nil)
		b.AppendRun(conns[0], rosbag.Time{Sec: 1}, frame(strings.Repeat("x", 100)), 1)
		c := seal(t, &b, z)
		r := cutRecord(t, c.Record, 0)
		for i := range r.data[:min(40, len(r.data))] {
			r.data[i] = 0xff
		}
		var messages, failed int
		for _, err := range c.Messages() {
			if err != nil {
				failed++
			} else {
				messages++
			}
		}
		if messages != 0 || failed != 1 {
			t.Errorf("%s: %d messages, %d errors", comp, messages, failed)
		}
	}
}
