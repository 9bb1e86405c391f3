package sublink

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
	"github.com/gorosbag/gorosbag/tcpros/internal/linksink"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// asked is a connection that records how many bytes each read requests, and returns the prepared
// number of bytes, or as many as requested where the number is zero.
type asked struct {
	give  []int
	data  []byte
	asks  []int
	reads int
}

func (a *asked) Read(p []byte) (int, error) {
	if a.reads == len(a.give) {
		return 0, io.EOF
	}
	n := a.give[a.reads]
	if n == 0 {
		n = len(p)
	}
	a.reads++
	a.asks = append(a.asks, len(p))
	n = copy(p[:n], a.data)
	a.data = a.data[n:]
	return n, nil
}

func (a *asked) SetReadDeadline(time.Time) error { return nil }

// A link that has received nothing has a small buffer. Then the buffer doubles when a read has filled it,
// up to its limit, and an incomplete frame is moved to the front when less than half of the buffer is
// free. After a large frame, the link requests few bytes.
func TestReadsAskForWhatIsNeeded(t *testing.T) {
	const k = 1 << 10
	small := func(n int) []byte { return bytes.Repeat(stream(12), n/16) } // n bytes in frames of 16
	large := stream(200*k - 4)
	for name, tt := range map[string]struct {
		data []byte
		give []int
		want []int
	}{
		"full reads":           {small(2 << 20), []int{0, 0, 0, 0, 0, 0}, []int{16 * k, 32 * k, 64 * k, 128 * k, 256 * k, 256 * k}},
		"short reads":          {small(2 << 20), []int{16, 1600, 16*k - 16, 16}, []int{16 * k, 16 * k, 16 * k, 16 * k}},
		"a rest is kept":       {small(2 << 20), []int{1000, 8, 16}, []int{16 * k, 16*k - 1000, 16 * k}},
		"up to half":           {small(2 << 20), []int{8*k - 8, 8 + 4, 16}, []int{16 * k, 8*k + 8, 16*k - 4}},
		"exactly half is free": {append(stream(2), small(2<<20)...), []int{8 * k, 16}, []int{16 * k, 8 * k}},
		"and less":             {append(stream(2), small(2<<20)...), []int{8*k + 1, 16}, []int{16 * k, 16*k - 11}},
		"nothing to move":      {stream(12 * k), []int{10 * k, 100, 16}, []int{16 * k, 6 * k, 6*k - 100}},
		"growing keeps a rest": {append(stream(2), small(2<<20)...), []int{0, 16}, []int{16 * k, 32*k - 10}},
		"after a large one": {
			append(append(stream(12), large...), small(2<<20)...),
			[]int{0, 0, 16, 16},
			[]int{16 * k, 184*k + 16, 4 * k, 32 * k},
		},
	} {
		c := &asked{data: append(stream(12), tt.data...), give: append([]int{16}, tt.give...)}
		tt.want = append([]int{firstReadBuffer}, tt.want...)
		s := &strict{}
		if err := newFrameReader(c, s, wire.DefaultMaxMessage, &linkCounters{}, nil).run(); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", name, err)
		}
		if got := c.asks[:min(len(c.asks), len(tt.want))]; fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s: asked for %v, want %v", name, c.asks, tt.want)
		}
	}
	c := &asked{data: small(2 << 20), give: []int{9, 0, 0}}
	_ = newFrameReader(c, &strict{}, wire.DefaultMaxMessage, &linkCounters{}, nil).run()
	if got, want := fmt.Sprint(c.asks), fmt.Sprint([]int{firstReadBuffer, 16*k - 9, 32 * k}); got != want {
		t.Errorf("a part of the first frame: asked for %s, want %s", got, want)
	}
}

// Of many links, each has its part of readMemory: the buffer grows beyond that for a frame only, with what has arrived.
func TestManyLinksShareReadMemory(t *testing.T) {
	const k = 1 << 10
	small := bytes.Repeat(stream(12), 2<<20/16)
	for name, tt := range map[string]struct {
		links int
		data  []byte
		want  []int
	}{
		"300 links":    {300, small, []int{16 * k, 32 * k, 52 * k, 52 * k}},
		"64 links":     {64, small, []int{16 * k, 32 * k, 64 * k, 128 * k, 256 * k, 256 * k}},
		"1,000 links":  {1000, small, []int{16 * k, 16 * k, 16 * k}},
		"10,000 links": {10_000, small, []int{leastReadBuffer, leastReadBuffer, leastReadBuffer}},
		"a long frame": {10_000, stream(30*k - 4), []int{leastReadBuffer, 4 * k, 8 * k, 16 * k}},
	} {
		links := new(endpoint.Links)
		links.Add(tt.links)
		c := &asked{data: append(stream(12), tt.data...), give: append([]int{16}, make([]int, len(tt.want))...)}
		_ = newFrameReader(c, &strict{}, wire.DefaultMaxMessage, &linkCounters{}, links).run()
		want := append([]int{firstReadBuffer}, tt.want...)
		if got := c.asks[:min(len(c.asks), len(want))]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: asked for %v, want %v", name, c.asks, want)
		}
	}
}

// Links that come one after the other, each with all that the earlier ones have left, share readMemory, too: a link whose
// part becomes half of what it was gives the rest back, and loses none of a frame that is incomplete then.
func TestLinksThatComeLaterShareReadMemory(t *testing.T) {
	links := new(endpoint.Links)
	var all []*frameReader
	var sources []*endless
	var sinks []*inOrder
	read := func(i int) {
		sources[i].reads = 12
		_ = all[i].run()
	}
	for i := range 4000 {
		links.Add(1)
		sources = append(sources, &endless{frames: stream(12, 300, 7, 1000)})
		sinks = append(sinks, &inOrder{want: []int{12, 300, 7, 1000}})
		all = append(all, newFrameReader(sources[i], sinks[i], wire.DefaultMaxMessage, &linkCounters{}, links))
		read(i)
	}
	if len(all[0].buf) != maxReadBuffer {
		t.Fatalf("the first link has %d bytes", len(all[0].buf))
	}
	held := 0
	for i := range all {
		read(i)
		held += len(all[i].buf)
		if sinks[i].wrong || sinks[i].frames == 0 {
			t.Fatalf("link %d: frames are not those that came", i)
		}
	}
	if held > 2*readMemory {
		t.Errorf("%d links hold %d KiB, want at most %d", len(all), held>>10, 2*readMemory>>10)
	}
	if allocs := testing.AllocsPerRun(3, func() { read(0) }); allocs != 0 {
		t.Errorf("%v allocations when all links are there", allocs)
	}
}

// TestPartsChangeWithinFrames: links come and go while frames longer than a part arrive in pieces: no byte is lost, and no
// read has no room.
func TestPartsChangeWithinFrames(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		links := new(endpoint.Links)
		sizes := make([]int, 300)
		for i := range sizes {
			sizes[i] = random.IntN(1 << random.IntN(17))
		}
		sink := &inOrder{want: sizes}
		source := &pieces{split: split{data: stream(sizes...)}, before: func() int {
			links.Add(1 + random.IntN(1<<random.IntN(14)) - links.Now())
			return 1 + random.IntN(1<<random.IntN(18))
		}}
		if err := newFrameReader(source, sink, wire.DefaultMaxMessage, &linkCounters{}, links).run(); !errors.Is(err, io.EOF) || sink.wrong || sink.frames != len(sizes) {
			t.Fatalf("seed %d: %d frames of %d, wrong: %v (%v)", seed, sink.frames, len(sizes), sink.wrong, err)
		}
	}
}

// pieces returns as many bytes on each read as before says.
type pieces struct {
	split
	before func() int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(b) == 0 {
		panic("a read without room")
	}
	p.sizes = []int{p.before()}
	return p.split.Read(b)
}

// inOrder checks that frames have the lengths that are sent again and again.
type inOrder struct {
	want   []int
	frames int
	wrong  bool
}

func (s *inOrder) Frames(run []byte, count int, _ time.Time) {
	for range count {
		n := int(binary.LittleEndian.Uint32(run))
		at := s.frames % len(s.want)
		if n != s.want[at] || n > 0 && (run[4] != byte('a'+at%26) || run[3+n] != run[4]) {
			s.wrong = true
			return
		}
		run = run[4+n:]
		s.frames++
	}
}

func (s *inOrder) Closed(error) {}

// strict is a tape that is not called for nothing.
type strict struct{ tape }

func (s *strict) Frames(run []byte, count int, received time.Time) {
	if count == 0 || len(run) == 0 {
		panic("called for nothing")
	}
	s.tape.Frames(run, count, received)
}

// A message may be exactly as long as the limit, in any division into reads.
func TestLimitOfCutFrames(t *testing.T) {
	for _, limit := range []int{0, 3, 100, 9000, linksink.LargeFrameBytes - 4, linksink.LargeFrameBytes - 3, 300_000} {
		for _, first := range []int{3, 4, 5, 50} {
			for over := range 2 {
				s := &strict{}
				data := append(stream(limit+over), stream(0)...)
				err := newFrameReader(&split{data, []int{first}}, s, int64(limit), &linkCounters{}, nil).run()
				if over == 0 && (!errors.Is(err, io.EOF) || s.frames+s.larges != 2) || over == 1 && (!errors.Is(err, wire.ErrTooLarge) || s.frames+s.larges != 0) {
					t.Errorf("limit %d and %d, cut at %d: %d frames, %v", limit, over, first, s.frames+s.larges, err)
				}
			}
		}
	}
}

// clumsy returns buffers that a link cannot use.
type clumsy struct {
	tape
	room int
}

func (s *clumsy) Large(int) linksink.LargeFrame { return s }
func (s *clumsy) Room(int) []byte               { return make([]byte, s.room) }
func (s *clumsy) Commit(time.Time)              {}
func (s *clumsy) Abort()                        {}
func (s *clumsy) String() (text string)         { return fmt.Sprint("room of ", s.room) }

// A buffer from Room that is empty, or longer than requested, is an error of the program.
func TestRoomIsChecked(t *testing.T) {
	for _, room := range []int{0, 200_005} {
		s := &clumsy{room: room}
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.HasPrefix(text, "tcpros: LargeFrame.Room(200004) gave ") {
					t.Errorf("%v: %s", s, text)
				}
			}()
			_ = newFrameReader(&split{data: stream(200_000)}, s, wire.DefaultMaxMessage, &linkCounters{}, nil).run()
		}()
	}
}

// fickle refuses a large frame after the first piece.
type fickle struct {
	tape
	pieces int
}

func (s *fickle) Large(int) linksink.LargeFrame { return s }
func (s *fickle) Commit(time.Time)              { panic("complete") }

func (s *fickle) Room(n int) []byte {
	if s.pieces++; s.pieces > 1 {
		return nil
	}
	return make([]byte, min(n, 10_000))
}

func (s *fickle) Abort() { panic("given up already") }

// A frame that the sink gives up half-way is read to its end, and the next frame arrives as usual.
func TestLargeFrameGivenUp(t *testing.T) {
	for _, first := range []int{100, 9_999, 10_000, 10_001, 16_000} {
		s := &fickle{}
		if err := readAll(t, &split{append(stream(200_000), stream(5)...), []int{first}}, s); !errors.Is(err, io.EOF) || s.frames != 1 || !bytes.Equal(s.all.Bytes(), stream(5)) {
			t.Errorf("first read of %d bytes: %d frames, %q, %v", first, s.frames, s.all.Bytes(), err)
		}
	}
}

// Bytes before a frame are no progress of the frame, and each period needs progress of its own.
func TestStallIsJudgedByTheFrame(t *testing.T) {
	for name, tt := range map[string]struct {
		send func(c net.Conn)
		want error
		at   time.Duration
	}{
		"after much else": {func(c net.Conn) {
			_, _ = c.Write(append(bytes.Repeat(stream(1000), 700), stream(100)[:50]...))
			time.Sleep(wire.StallAfter - time.Second)
			_, _ = c.Write([]byte{1})
		}, wire.ErrStalled, wire.StallAfter + stallGrace},
		"enough in each period": {func(c net.Conn) {
			for b := stream(4 * wire.StallBytes)[:4*wire.StallBytes]; len(b) > 0; b = b[wire.StallBytes:] {
				_, _ = c.Write(b[:wire.StallBytes])
				time.Sleep(wire.StallAfter - time.Second)
			}
		}, wire.ErrStalled, 3*(wire.StallAfter-time.Second) + wire.StallAfter + stallGrace},
		"a byte too little": {func(c net.Conn) {
			_, _ = c.Write(stream(4 * wire.StallBytes)[:wire.StallBytes-1])
		}, wire.ErrStalled, wire.StallAfter + stallGrace},
		"in the time of grace": {func(c net.Conn) {
			_, _ = c.Write(stream(100)[:50])
			time.Sleep(wire.StallAfter + stallGrace - time.Millisecond)
			_, _ = c.Write(append(stream(100)[50:], stream(10)[:5]...))
		}, wire.ErrStalled, wire.StallAfter + stallGrace - time.Millisecond + wire.StallAfter + stallGrace},
		"whole frames at last": {func(c net.Conn) {
			_, _ = c.Write(stream(100)[:50])
			time.Sleep(time.Second)
			_, _ = c.Write(stream(100)[50:])
			time.Sleep(2 * wire.StallAfter)
			_ = c.Close()
		}, io.EOF, time.Second + 2*wire.StallAfter},
		"after a long pause": {func(c net.Conn) {
			_, _ = c.Write(stream(100)[:50])
			time.Sleep(time.Second)
			_, _ = c.Write(stream(100)[50:])
			time.Sleep(2 * wire.StallAfter)
			_, _ = c.Write(stream(100)[:50])
		}, wire.ErrStalled, time.Second + 2*wire.StallAfter + wire.StallAfter + stallGrace},
		"a refused one stalls": {func(c net.Conn) {
			_, _ = c.Write(stream(200_000)[:100_000])
		}, wire.ErrStalled, wire.StallAfter + stallGrace},
		"and ends": {func(c net.Conn) {
			_, _ = c.Write(stream(200_000))
			time.Sleep(2 * wire.StallAfter)
			_ = c.Close()
		}, io.EOF, 2 * wire.StallAfter},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				defer here.Close()
				go tt.send(there)
				start := time.Now()
				var counters linkCounters
				err := newFrameReader(here, &tape{refuse: true}, wire.DefaultMaxMessage, &counters, nil).run()
				if !errors.Is(err, tt.want) {
					t.Errorf("ended with %v, want %v", err, tt.want)
				}
				if got := time.Since(start); got != tt.at {
					t.Errorf("ended after %v, want %v", got, tt.at)
				}
			})
		})
	}
}

// The counters agree with the received frames and bytes.
func TestReadCounters(t *testing.T) {
	var c linkCounters
	data := stream(10, 200_000, 300, 0)
	_ = newFrameReader(&split{data: data, sizes: []int{7, 100}}, &tape{}, wire.DefaultMaxMessage, &c, nil).run()
	if c.bytes.Load() != uint64(len(data)) || c.frames.Load() != 4 || c.reading.Load() {
		t.Errorf("%d bytes, %d frames, reading %v", c.bytes.Load(), c.frames.Load(), c.reading.Load())
	}
}
