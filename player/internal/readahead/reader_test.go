package readahead

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/source"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/player/internal/timeline"
	"github.com/gorosbag/gorosbag/player/internal/transport"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Who seeks to and fro unpacks no chunk twice, neither for the state nor for what follows.
func TestSeekUnpacksOnce(t *testing.T) {
	t.Parallel()
	bytesOfNoise := make([]byte, 8<<10) // no chunk is so small that one read brings several
	_, _ = rand.NewChaCha8([32]byte{}).Read(bytesOfNoise)
	noise := " " + string(bytesOfNoise)
	latched := func(i int) testplay.Message {
		return testplay.Message{Conn: testplay.Conn{Topic: fmt.Sprint("/l", i), CallerID: "/n", Latching: true}, At: time.Duration(i) * milli, Text: "state" + noise}
	}
	messages := []testplay.Message{latched(0), latched(1), latched(2)}
	for i := range 50 {
		messages = append(messages, testplay.Message{Conn: testplay.ConnA, At: time.Duration(3+i) * milli, Text: fmt.Sprint(3+i) + noise})
	}
	data := testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 1, Compression: rosbag.CompressionBZ2}, messages...)
	file := &countedChunks{Reader: bytes.NewReader(data), read: map[int]int{}}
	opened, err := bagfmt.NewReader(file, file.Size(), bagfmt.ReaderOptions{Cache: bagfmt.NewCache(1<<20, 1<<20)})
	if err != nil {
		t.Fatal(err)
	}
	bag, err := source.New(t.Context(), "bag", opened)
	if err != nil {
		t.Fatal(err)
	}
	var stored []int64
	for h := range opened.ChunkHeaders() {
		stored = append(stored, h.StoredBytes)
	}
	file.stored = stored
	for i := range opened.NumSpans() {
		file.chunks = append(file.chunks, opened.Span(i).Pos)
	}
	p, err := plan.New(t.Context(), plan.Options{Log: zap.NewNop()}, []*source.Recording{bag}, testplay.Resolve)
	if err != nil {
		t.Fatal(err)
	}
	q := NewQueue(1<<20, 4)
	r := newReader(byReceipt(p), q)
	r.zero, r.zeroKnown = testplay.Base, true
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wg.Go(func() { r.run(ctx) })
	for _, to := range []int{40, 10, 41, 10, 40, 11} {
		o := readRequest{epoch: q.restart(), ReadRequest: transport.ReadRequest{
			From: transport.Place{Stamp: testplay.Base.Add(time.Duration(to) * milli)}, Arrive: true, Loop: transport.Loop{To: transport.Forever},
		}}
		r.submit(o)
		it, ok := popOne(t.Context(), q)
		if !ok || it.Jump == nil || len(it.Jump.Latched) != 3 {
			t.Fatalf("seek to %d: got %+v first", to, it)
		}
		if it, ok = popOne(t.Context(), q); !ok || string(it.Frame[8:]) != fmt.Sprint(to)+noise {
			t.Fatalf("seek to %d: got %.20q", to, it.Frame)
		}
	}
	file.mu.Lock()
	defer file.mu.Unlock()
	if len(file.read) < 7 {
		t.Errorf("only chunks %v are read", file.read)
	}
	for i, n := range file.read {
		if n > 1 {
			t.Errorf("chunk %d is read %d times", i, n)
		}
	}
}

// What the read-ahead keeps in memory are chunks: of a rare topic few messages may
// be read ahead, whatever other chunks of the bag look like.
func TestReadAheadBoundsChunkMemory(t *testing.T) {
	t.Parallel()
	const chunk, bound = 64 << 10, 1 << 20
	tiny, camera := testplay.Conn{Topic: "/tiny"}, testplay.Conn{Topic: "/camera"}
	var messages []testplay.Message
	for i := range 1000 { // chunks of tiny messages only
		messages = append(messages, testplay.Message{Conn: tiny, At: time.Duration(i), Text: strings.Repeat("y", 100)})
	}
	for i := range 100 { // then one of them in each chunk
		at := time.Second + time.Duration(i)
		messages = append(messages, testplay.Message{Conn: tiny, At: at, Text: "t"}, testplay.Message{Conn: camera, At: at, Text: strings.Repeat("x", chunk)})
	}
	data := testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: chunk, Compression: rosbag.CompressionLZ4}, messages...)
	synctest.Test(t, func(t *testing.T) {
		p, err := plan.New(t.Context(), plan.Options{Log: zap.NewNop(), Topics: []string{"/tiny"}}, testplay.OpenBags(t, data), testplay.Resolve)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		r := newReader(byReceipt(p), NewQueue(bound, 1<<20))
		go r.readPasses(ctx, readRequest{})
		synctest.Wait() // it waits for room
		rare := 0
		for _, it := range r.queue.ring.items {
			if it.Frame != nil && it.Pos >= time.Second {
				rare++
			}
		}
		if rare == 0 || rare*chunk > bound {
			t.Errorf("%d messages keep a chunk of %d bytes each, the bound is %d", rare, chunk, bound)
		}
		cancel()
		synctest.Wait()
	})
}

// Play continues after a damaged chunk and reports its offset.
func TestDamagedChunk(t *testing.T) {
	t.Parallel()
	data := testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 1, Compression: rosbag.CompressionLZ4}, testplay.Series(testplay.ConnA, "a", 0, 1, 2, 3)...)
	bags := testplay.OpenBags(t, data)
	chunk := bags[0].Source().Span(2)
	data[chunk.Pos+130] ^= 0x55 // in the stored data: its header has about 80 bytes

	p, err := plan.New(t.Context(), plan.Options{Log: zap.NewNop()}, bags, testplay.Resolve)
	if err != nil {
		t.Fatal(err)
	}
	damaged := source.NewDamageLog(p.Log)
	r := newReader(timeline.New(timeline.Options{Workers: 1, Damaged: damaged.Report}, p), NewQueue(1<<20, 1<<10))
	r.readPasses(t.Context(), readRequest{})
	var got []string
	for it, ok := popOne(t.Context(), r.queue); ok; it, ok = popOne(t.Context(), r.queue) {
		got = append(got, string(it.Frame[8:]))
	}
	if d := cmp.Diff([]string{"a0", "a1", "a3"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	damage := damaged.Found()
	var corrupt *rosbag.CorruptError
	if len(damage) != 1 || !errors.As(damage[0], &corrupt) || corrupt.Offset != chunk.Pos || damage[0].Messages != 1 {
		t.Errorf("damage %v, want one place at %d", damage, chunk.Pos)
	}
}

// A chunk that is too large is lost, and the line about it names the option.
func TestLargeChunk(t *testing.T) {
	t.Parallel()
	data := testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 1, Compression: rosbag.CompressionLZ4}, testplay.Concat(testplay.Series(testplay.ConnA, "a", 0), testplay.Series(testplay.ConnB, strings.Repeat("b", 1000), 1))...)
	b := testplay.Open(t, "large", bytes.NewReader(data), int64(len(data)), bagfmt.ReaderOptions{MaxChunkBytes: 900})
	core, logged := observer.New(zap.ErrorLevel)
	p, err := plan.New(t.Context(), plan.Options{Log: zap.New(core)}, []*source.Recording{b}, testplay.Resolve)
	if err != nil {
		t.Fatal(err)
	}
	damaged := source.NewDamageLog(p.Log)
	r := newReader(timeline.New(timeline.Options{Workers: 1, Damaged: damaged.Report}, p), NewQueue(1<<20, 1<<10))
	r.readPasses(t.Context(), readRequest{})
	if damage := damaged.Found(); len(damage) != 1 || !errors.Is(damage[0], rosbag.ErrLimit) || damage[0].Messages != 1 {
		t.Errorf("damage %v", damage)
	}
	if logged.FilterMessageSnippet("--max-chunk").Len() != 1 {
		t.Errorf("logged %v", logged.All())
	}
}

// The reader must not wait for a player that has gone.
func TestReaderEndsWithContext(t *testing.T) {
	t.Parallel()
	p, err := plan.New(t.Context(), plan.Options{Log: zap.NewNop()}, testplay.OpenBags(t, testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Series(testplay.ConnA, "a", 0, 1, 2)...)), testplay.Resolve)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	damaged := source.NewDamageLog(p.Log)
	r := newReader(timeline.New(timeline.Options{Workers: 1, Damaged: damaged.Report}, p), NewQueue(1, 1))
	r.submit(readRequest{ReadRequest: transport.ReadRequest{Loop: transport.Loop{On: true, To: transport.Forever}}})
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.run(ctx)
	}()
	popOne(ctx, r.queue)
	cancel()
	<-done
}

// Whatever makes a chunk unreadable, what is lost with it is counted; a damaged
// index costs nothing.
func TestLossesOfAChunk(t *testing.T) {
	t.Parallel()
	errDisk := errors.New("disk")
	long := strings.Repeat("x", 100<<10) // reads of a neighbor do not get to its middle
	data := testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 1}, testplay.Series(testplay.ConnA, long, 0, 1, 2, 3)...)
	opened := testplay.OpenBags(t, data)[0].Source()
	pos := opened.Span(1).Pos
	indexAt := pos + int64(bytes.Index(data[pos:], []byte("ver=")))
	tests := map[string]struct {
		damage   func(data []byte)
		fault    func(off int64, n int) error
		messages []uint64 // lost, for each damage
		played   int
		wantErr  error
	}{
		"sound": {played: 4},
		"index, rebuilt from the chunk": {
			damage: func(data []byte) { data[indexAt+4] = 9 },
			played: 4,
		},
		"read error in the chunk": {
			fault: func(off int64, n int) error {
				if middle := pos + 50<<10; off <= middle && middle < off+int64(n) {
					return errDisk
				}
				return nil
			},
			messages: []uint64{1}, played: 3, wantErr: errDisk,
		},
		"length of the chunk": {
			damage: func(data []byte) {
				at := pos + 4 + int64(binary.LittleEndian.Uint32(data[pos:])) // after its header
				binary.LittleEndian.PutUint32(data[at:], 1<<31-16)
			},
			messages: []uint64{1}, played: 3,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := slices.Clone(data)
			b, f := testplay.OpenFaulty(t, data)
			if tc.damage != nil {
				tc.damage(data)
			}
			f.Fault = tc.fault
			p, err := plan.New(t.Context(), plan.Options{Log: zap.NewNop()}, []*source.Recording{b}, testplay.Resolve)
			if err != nil {
				t.Fatal(err)
			}
			damaged := source.NewDamageLog(p.Log)
			r := newReader(timeline.New(timeline.Options{Workers: 1, Damaged: damaged.Report}, p), NewQueue(1<<30, 1<<10))
			r.readPasses(t.Context(), readRequest{})
			var lost []uint64
			for _, e := range damaged.Found() {
				lost = append(lost, e.Messages)
				if tc.wantErr != nil && !errors.Is(e, tc.wantErr) || e.IsReadError() != (tc.wantErr != nil) {
					t.Errorf("got %v, unread %v, want %v", e, e.IsReadError(), tc.wantErr)
				}
			}
			if d := cmp.Diff(tc.messages, lost); d != "" || r.queue.ring.count != tc.played {
				t.Errorf("%d played, want %d; damage %v, lost (-want +got):\n%s", r.queue.ring.count, tc.played, damaged.Found(), d)
			}
		})
	}
}

// A chunk that is too big to be unpacked is lost with its messages.
func TestChunkBeyondTheLimit(t *testing.T) {
	t.Parallel()
	data := testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 1, Compression: rosbag.CompressionLZ4}, testplay.Series(testplay.ConnA, "a", 0, 1, 2)...)
	bags := testplay.OpenBags(t, data)
	pos := int(bags[0].Source().Span(1).Pos)
	size := pos + bytes.Index(data[pos:], []byte("size=")) + len("size=")
	binary.LittleEndian.PutUint32(data[size:], 1<<32-16) // no reader takes more than 2 GiB
	p, err := plan.New(t.Context(), plan.Options{Log: zap.NewNop()}, bags, testplay.Resolve)
	if err != nil {
		t.Fatal(err)
	}
	damaged := source.NewDamageLog(p.Log)
	r := newReader(timeline.New(timeline.Options{Workers: 1, Damaged: damaged.Report}, p), NewQueue(1<<20, 1<<10))
	r.readPasses(t.Context(), readRequest{})
	damage := damaged.Found()
	if len(damage) != 1 || !errors.Is(damage[0], rosbag.ErrLimit) || damage[0].Messages != 1 || r.queue.ring.count != 2 {
		t.Errorf("%d played, damage %+v", r.queue.ring.count, damage)
	}
}

func TestUnplayable(t *testing.T) {
	t.Parallel()
	good := testplay.Conn{Topic: "/t", CallerID: "/first"}
	tests := map[string]struct {
		conn testplay.Conn
		want string
	}{
		"other md5sum": {
			testplay.Conn{Topic: "/t", Type: "std_msgs/Int32", MD5Sum: "da5909fbe378aeaf85e547e830cc1bb7"},
			"the topic is played as std_msgs/String [992ce8a1687cec8c8bd883ec73ca41d1], " +
				"this connection is std_msgs/Int32 [da5909fbe378aeaf85e547e830cc1bb7]",
		},
		"md5sum wildcard": {
			testplay.Conn{Topic: "/t", MD5Sum: "*"},
			"the topic is played as std_msgs/String [992ce8a1687cec8c8bd883ec73ca41d1], this connection is std_msgs/String [*]",
		},
		"md5sum empty": {testplay.Conn{Topic: "/w", Type: "x_msgs/X", MD5Sum: " ", NoDefinition: true}, `the bag has md5sum "" for it`},
		"name":         {testplay.Conn{Topic: "/w-x"}, `name "/w-x": `},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Concat(testplay.Series(good, "a", 0, 2), testplay.Series(tc.conn, "b", 1, 3, 4))...)
			core, logs := observer.New(zap.WarnLevel)
			p, err := plan.New(t.Context(), plan.Options{Log: zap.New(core)}, testplay.OpenBags(t, bag), testplay.Resolve)
			if err != nil {
				t.Fatal(err)
			}
			if logs.Len() != 1 {
				t.Errorf("%d log lines, want 1", logs.Len())
			}
			if d := cmp.Diff([]string{"/t"}, []string{string(p.Topics[0].Name)}); d != "" {
				t.Errorf("topics (-want +got):\n%s", d)
			}
			r := newReader(byReceipt(p), NewQueue(1<<20, 1<<10))
			r.readPasses(t.Context(), readRequest{})
			if r.queue.ring.count != 2 {
				t.Errorf("%d messages to play, want 2", r.queue.ring.count)
			}
			s := control.Summary{Unplayable: p.Unplayable()}
			if len(s.Unplayable) != 1 || !s.Lossy() {
				t.Fatalf("summary %+v", s)
			}
			u := s.Unplayable[0]
			if u.Messages != 3 || u.Bag != "bag0" || len(u.Reason) < len(tc.want) || u.Reason[:len(tc.want)] != tc.want {
				t.Errorf("got %+v, want reason %q and 3 messages", u, tc.want)
			}
		})
	}
}

// What is valid where a seek leads to was received before the reach: what comes later is
// read, and has its turn.
func TestHeaderOrderStateOfSeek(t *testing.T) {
	t.Parallel()
	const s = time.Second
	p, err := plan.New(t.Context(), plan.Options{Log: zap.NewNop()}, testplay.OpenBags(t, testplay.HeadedBag(t, bagfmt.WriterOptions{}, []testplay.Headed{
		{Topic: "/latched", Received: 1 * s, Stamp: 1 * s}, {Topic: "/latched", Received: 4500 * milli, Stamp: 5500 * milli}, {Topic: "/latched", Received: 6 * s, Stamp: 6 * s},
	})), testplay.Resolve)
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(timeline.New(timeline.Options{Reach: 2 * time.Second, Workers: 1, Damaged: func(*control.DamageError) {}}, p), NewQueue(1<<30, 100))
	r.zero, r.zeroKnown = testplay.Base.Add(s), true
	r.readPasses(t.Context(), readRequest{ReadRequest: transport.ReadRequest{From: transport.Place{Stamp: testplay.Base.Add(5 * s)}, Arrive: true}})
	r.closing.Wait()
	it, ok := popOne(t.Context(), r.queue)
	if !ok || it.Jump == nil || len(it.Jump.Latched) != 1 || testplay.NumberOf(&rosbag.Message{Frame: it.Jump.Latched[0].Frame}) != 0 {
		t.Fatalf("got %+v first, want the state of message 0", it)
	}
	for _, want := range []uint32{1, 2} {
		if it, ok := popOne(t.Context(), r.queue); !ok || testplay.NumberOf(&rosbag.Message{Frame: it.Frame}) != want {
			t.Errorf("got %+v, want message %d", it, want)
		}
	}
}

func TestShiftStamps(t *testing.T) {
	t.Parallel()
	at, moved := rosbag.Time{Sec: 100, Nsec: 900e6}, rosbag.Time{Sec: 103, Nsec: 400e6}
	clock := func(t rosbag.Time) []byte { return testplay.HeaderData(t, "")[4:12] }
	tests := map[string]struct {
		definition    string
		payload, want []byte
	}{
		"header":           {"Header header" + testplay.HeaderBlock, testplay.HeaderData(at, "map"), testplay.HeaderData(moved, "map")},
		"header not first": {"int32 x\nHeader header" + testplay.HeaderBlock, append(clock(at)[:4:4], testplay.HeaderData(at, "map")...), append(clock(at)[:4:4], testplay.HeaderData(moved, "map")...)},
		"no stamp":         {"Header header" + testplay.HeaderBlock, testplay.HeaderData(rosbag.Time{}, "map"), testplay.HeaderData(rosbag.Time{}, "map")},
		"too short":        {"Header header" + testplay.HeaderBlock, testplay.HeaderData(at, "")[:11:11], testplay.HeaderData(at, "")[:11:11]},
		"clock":            {"time clock\n", clock(at), clock(moved)},
		"tf":               {testplay.TFDefinition(), testplay.TFData(at, rosbag.Time{}, at), testplay.TFData(moved, rosbag.Time{}, moved)},
		"tf, empty":        {testplay.TFDefinition(), testplay.TFData(), testplay.TFData()},
		"tf, too many":     {testplay.TFDefinition(), []byte{255, 255, 255, 255, 0, 0, 0, 0}, []byte{255, 255, 255, 255, 0, 0, 0, 0}},
		"no stamps at all": {"string data\n", testplay.StringData("x"), testplay.StringData("x")},
		"the last time there is": {
			"Header header" + testplay.HeaderBlock, testplay.HeaderData(rosbag.Time{Sec: 1<<32 - 1}, ""), testplay.HeaderData(rosbag.Time{Sec: 1<<32 - 1, Nsec: 999999999}, ""),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			frame := testplay.Framed(tc.payload)
			before := slices.Clone(frame)
			var s stampShifter
			got := s.shift(testplay.StampsOf(t, tc.definition), frame, 2500*milli)
			if d := cmp.Diff(testplay.Framed(tc.want), got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if !bytes.Equal(frame, before) {
				t.Error("the frame of the bag was modified")
			}
		})
	}
}

// What latched publishers hold moves with the pass; the state that was read does not.
func TestShiftedState(t *testing.T) {
	t.Parallel()
	var s stampShifter
	frame := testplay.Framed(testplay.HeaderData(rosbag.Time{Sec: 100}, "map"))
	state := []plan.Latched{{Route: &plan.Route{Topic: &plan.Topic{Stamps: testplay.StampsOf(t, "Header header"+testplay.HeaderBlock)}}, Frame: frame}}
	moved := s.shiftState(state, time.Second)
	if d := cmp.Diff(testplay.Framed(testplay.HeaderData(rosbag.Time{Sec: 101}, "map")), moved[0].Frame); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if &state[0].Frame[0] != &frame[0] {
		t.Error("the state that was read has changed")
	}
	if same := s.shiftState(state, 0); &same[0] != &state[0] {
		t.Error("a pass that does not move costs a copy")
	}
}

// A list of transforms that ends early is left as it is.
func TestShiftDamagedTransforms(t *testing.T) {
	t.Parallel()
	h := testplay.StampsOf(t, testplay.TFDefinition())
	at := rosbag.Time{Sec: 100}
	whole := testplay.Framed(testplay.TFData(at, at))
	var s stampShifter
	for i := range whole {
		if got := s.shift(h, whole[:i:i], time.Second); !bytes.Equal(got, whole[:i]) {
			t.Errorf("cut at %d of %d: %x", i, len(whole), got)
		}
	}
}

// countedChunks counts how often each chunk is read.
type countedChunks struct {
	*bytes.Reader
	chunks []int64 // where they begin
	stored []int64

	mu   sync.Mutex
	read map[int]int
}

func (c *countedChunks) ReadAt(p []byte, off int64) (int, error) {
	for i := range c.stored {
		if pos := c.chunks[i]; int64(len(p)) == c.stored[i] && off > pos && off < pos+200 {
			c.mu.Lock()
			c.read[i]++
			c.mu.Unlock()
		}
	}
	return c.Reader.ReadAt(p, off)
}

const milli = time.Millisecond

// byReceipt is the order of receipt.
func byReceipt(p *plan.Plan) *timeline.Order {
	return timeline.New(timeline.Options{Workers: 1, Damaged: source.NewDamageLog(p.Log).Report}, p)
}
