package sublink

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/tcpros/internal/linksink"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// script is a connection whose reads are prepared.
type script struct{ r io.Reader }

func (s *script) Read(p []byte) (int, error)      { return s.r.Read(p) }
func (s *script) SetReadDeadline(time.Time) error { return nil }

// split returns at most the next size on each read, and later as many bytes as requested.
type split struct {
	data  []byte
	sizes []int
}

func (s *split) Read(p []byte) (int, error) {
	if len(s.data) == 0 {
		return 0, io.EOF
	}
	n := len(p)
	if len(s.sizes) > 0 {
		n, s.sizes = min(n, s.sizes[0]), s.sizes[1:]
	}
	n = copy(p[:n], s.data)
	s.data = s.data[n:]
	return n, nil
}

func (s *split) SetReadDeadline(time.Time) error { return nil }

// tape stores the bytes of all frames in order, and counts the frames.
type tape struct {
	all                  bytes.Buffer
	runs, frames, larges int
	aborted, closed      int
	room                 int // most bytes that Room returns; zero means no limit
	refuse               bool
	unwanted             int
}

func (s *tape) Frames(run []byte, count int, received time.Time) {
	if received.IsZero() {
		panic("no time")
	}
	s.all.Write(run)
	s.runs++
	s.frames += count
	for range count {
		run = run[4+binary.LittleEndian.Uint32(run):]
	}
	if len(run) != 0 {
		panic("a run is not made of whole frames")
	}
}

func (s *tape) Large(n int) linksink.LargeFrame {
	if s.refuse {
		s.unwanted++
		return nil
	}
	s.larges++
	return &tapeFrame{tape: s, want: n}
}

func (s *tape) Closed(error) { s.closed++ }

type tapeFrame struct {
	tape *tape
	want int
	got  []byte
}

func (f *tapeFrame) Room(n int) []byte {
	if f.tape.room > 0 {
		n = min(n, f.tape.room)
	}
	at := len(f.got)
	f.got = append(f.got, make([]byte, n)...)
	return f.got[at:]
}

func (f *tapeFrame) Commit(time.Time) {
	if len(f.got) != f.want {
		panic("a frame is not complete")
	}
	f.tape.all.Write(f.got)
}

func (f *tapeFrame) Abort() { f.tape.aborted++ }

// stream makes frames with payloads of the given sizes.
func stream(sizes ...int) []byte {
	var b []byte
	for i, n := range sizes {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
		b = append(b, bytes.Repeat([]byte{byte('a' + i%26)}, n)...)
	}
	return b
}

// The limit also applies to a message that is already in the buffer; the messages before it arrive.
func TestLimitOfWholeFrames(t *testing.T) {
	s := &tape{}
	c := &script{bytes.NewReader(stream(100, 100, 101, 5))}
	err := newFrameReader(c, s, 100, &linkCounters{}, nil).run()
	if !errors.Is(err, wire.ErrTooLarge) || s.frames != 2 {
		t.Errorf("%d frames, then %v", s.frames, err)
	}
}

func readAll(t *testing.T, c frameConn, s linksink.LinkSink) error {
	t.Helper()
	err := newFrameReader(c, s, wire.DefaultMaxMessage, &linkCounters{}, nil).run()
	if err == nil {
		t.Fatal("run ended without an error")
	}
	return err
}

func TestFramesAtEverySplit(t *testing.T) {
	data := stream(0, 1, 5, 0, 0, 17, 3)
	for first := 1; first < len(data); first++ {
		for second := 1; second < len(data)-first; second++ {
			s := &tape{}
			if err := readAll(t, &split{data, []int{first, second}}, s); !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			if !bytes.Equal(s.all.Bytes(), data) || s.frames != 7 {
				t.Fatalf("cut at %d and %d: %d frames, %d bytes", first, second, s.frames, s.all.Len())
			}
		}
	}
}

func TestFramesOneByteAtATime(t *testing.T) {
	data := stream(0, 1, minReadBuffer-4, minReadBuffer-3, 3, linksink.LargeFrameBytes-4, linksink.LargeFrameBytes-3, 2, 400_000, 1)
	s := &tape{room: 77_777}
	if err := readAll(t, &script{iotest.OneByteReader(bytes.NewReader(data))}, s); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if !bytes.Equal(s.all.Bytes(), data) {
		t.Errorf("%d bytes of %d, or wrong ones", s.all.Len(), len(data))
	}
	if s.larges != 2 {
		t.Errorf("%d large frames, want 2", s.larges)
	}
}

func TestFramesOverPipe(t *testing.T) {
	data := stream(3, 70_000, 1, 300_000, 300_000, 0, 9)
	here, there := net.Pipe()
	go func() {
		for b := data; len(b) > 0; {
			n, _ := there.Write(b[:min(len(b), 4099)])
			b = b[n:]
		}
		_ = there.Close()
	}()
	s := &tape{}
	if err := readAll(t, here, s); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if !bytes.Equal(s.all.Bytes(), data) {
		t.Error("wrong bytes")
	}
}

func TestFramesRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	size := func() int { return int(math.Exp(rnd.Float64() * math.Log(400_000))) }
	for range 30 {
		var sizes, cuts []int
		for range 1 + rnd.IntN(60) {
			sizes = append(sizes, size()-1)
		}
		for range 2000 {
			cuts = append(cuts, size())
		}
		data := stream(sizes...)
		s := &tape{room: rnd.IntN(3) * 10_001}
		if err := readAll(t, &split{data, cuts}, s); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if !bytes.Equal(s.all.Bytes(), data) || s.frames+s.larges != len(sizes) {
			t.Fatalf("%d+%d frames of %d, %d bytes of %d", s.frames, s.larges, len(sizes), s.all.Len(), len(data))
		}
	}
}

func TestLargeFrameRefused(t *testing.T) {
	data := stream(3, 500_000, 4)
	s := &tape{refuse: true}
	_ = readAll(t, &split{data: data}, s)
	if s.unwanted != 1 || s.frames != 2 || !bytes.Equal(s.all.Bytes(), append(stream(3), 4, 0, 0, 0, 'c', 'c', 'c', 'c')) {
		t.Errorf("%d refused, %d frames: %q", s.unwanted, s.frames, s.all.Bytes())
	}
}

func TestLinkEndsInsideLargeFrame(t *testing.T) {
	data := stream(3, 500_000)
	s := &tape{}
	_ = readAll(t, &split{data: data[:300_000]}, s)
	if s.aborted != 1 || s.frames != 1 {
		t.Errorf("%d aborted, %d frames", s.aborted, s.frames)
	}
}

// An announced length costs no memory: memory grows with the received bytes.
func TestLengthBomb(t *testing.T) {
	for _, claim := range []uint32{wire.DefaultMaxMessage + 1, 1 << 30, math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32} {
		t.Run(fmt.Sprint(claim), func(t *testing.T) {
			s := &tape{}
			data := append(stream(5), binary.LittleEndian.AppendUint32(nil, claim)...)
			err := readAll(t, &split{data: data}, s)
			large := (*wire.TooLargeError)(nil)
			if !errors.As(err, &large) || large.Bytes != int64(claim) || !errors.Is(err, wire.ErrTooLarge) {
				t.Errorf("got %v", err)
			}
			if s.frames != 1 || s.larges != 0 {
				t.Errorf("%d frames before it, %d large", s.frames, s.larges)
			}
		})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		data := binary.LittleEndian.AppendUint32(nil, linksink.LargeFrameBytes-4)
		_ = readAll(t, &split{data: append(data, 'x')}, &tape{})
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 100*(minReadBuffer+4096) {
		t.Errorf("100 claims of %d bytes cost %d", linksink.LargeFrameBytes, got)
	}
}

// endless returns whole small frames forever.
type endless struct {
	frames []byte
	at     int
	reads  int
}

var errEnough = errors.New("enough")

func (e *endless) Read(p []byte) (int, error) {
	if e.reads--; e.reads < 0 {
		return 0, errEnough
	}
	n := 0
	for n < len(p) {
		m := copy(p[n:], e.frames[e.at:])
		n += m
		e.at = (e.at + m) % len(e.frames)
	}
	return n, nil
}

func (e *endless) SetReadDeadline(time.Time) error { return nil }

type counter struct{ frames int }

func (c *counter) Frames(_ []byte, count int, _ time.Time) { c.frames += count }
func (c *counter) Closed(error)                            {}

func TestReadAllocatesNothing(t *testing.T) {
	testkit.SkipInRace(t, "memory is measured, and the detector makes sync.Pool throw buffers away")
	for _, size := range []int{0, 20, 1000, 60_000, 120_000} {
		src := &endless{frames: stream(size, size, size, size/2, size)}
		sink := &counter{}
		f := newFrameReader(src, sink, wire.DefaultMaxMessage, &linkCounters{}, nil)
		src.reads = 20 // until the buffer has its size
		_ = f.run()
		sink.frames = 0
		const reads = 50
		allocs := testing.AllocsPerRun(10, func() {
			src.reads = reads
			if err := f.run(); !errors.Is(err, errEnough) {
				t.Fatal(err)
			}
		})
		if allocs != 0 {
			t.Errorf("frames of %d bytes: %v allocations in %d reads", size, allocs, reads)
		}
		if sink.frames == 0 {
			t.Errorf("frames of %d bytes: none came", size)
		}
	}
}

func TestStall(t *testing.T) {
	tests := map[string]struct {
		send func(c net.Conn)
		want error
		at   time.Duration
	}{
		"quiet between messages": {func(c net.Conn) {
			_, _ = c.Write(stream(10))
			time.Sleep(time.Hour)
			_, _ = c.Write(stream(10))
			_ = c.Close()
		}, io.EOF, time.Hour},
		"stops inside a length": {func(c net.Conn) {
			_, _ = c.Write(stream(10)[:2])
		}, wire.ErrStalled, wire.StallAfter + stallGrace},
		"stops inside a message": {func(c net.Conn) {
			_, _ = c.Write(stream(10))
			time.Sleep(10 * time.Second)
			_, _ = c.Write(stream(100)[:50])
		}, wire.ErrStalled, 10*time.Second + wire.StallAfter + stallGrace},
		"stops inside a large message": {func(c net.Conn) {
			_, _ = c.Write(stream(1_000_000)[:200_000])
		}, wire.ErrStalled, wire.StallAfter + stallGrace},
		"a byte a second": {func(c net.Conn) {
			for _, b := range stream(1000) {
				time.Sleep(time.Second)
				if _, err := c.Write([]byte{b}); err != nil {
					return
				}
			}
		}, wire.ErrStalled, time.Second + wire.StallAfter + stallGrace},
		"slow but moving": {func(c net.Conn) {
			for b := stream(2_000_000); len(b) > 0; {
				time.Sleep(time.Second)
				n, _ := c.Write(b[:min(len(b), 4000)])
				b = b[n:]
			}
			_ = c.Close()
		}, io.EOF, 501 * time.Second},
		"message after message": {func(c net.Conn) {
			b := stream(100, 100)
			_, _ = c.Write(b[:50])
			for range 100 { // always one has begun when a read returns
				time.Sleep(3 * time.Second)
				_, _ = c.Write(b[50:154])
			}
			time.Sleep(time.Second) // deadlines fire with the writes: on a pipe that closes just then one cannot be set
			_ = c.Close()           // inside one
		}, io.ErrUnexpectedEOF, 301 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				var wg sync.WaitGroup
				defer wg.Wait()
				defer here.Close()
				wg.Go(func() { tt.send(there) })
				start := time.Now()
				err := readAll(t, here, &tape{})
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

// A sink that blocks the link must not make a sound peer look stalled.
func TestSlowSinkIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer here.Close()
		data := stream(10, 10)
		go func() {
			_, _ = there.Write(data[:20]) // the second frame has begun
			_, _ = there.Write(data[20:])
			_, _ = there.Write(stream(5))
			_ = there.Close()
		}()
		s := &slowSink{wait: 10 * time.Minute}
		if err := readAll(t, here, s); !errors.Is(err, io.EOF) {
			t.Errorf("ended with %v", err)
		}
		if s.frames != 3 {
			t.Errorf("%d frames", s.frames)
		}
	})
}

type slowSink struct {
	counter
	wait time.Duration
}

func (s *slowSink) Frames(_ []byte, count int, _ time.Time) {
	time.Sleep(s.wait)
	s.frames += count
}

func TestBackoff(t *testing.T) {
	retry := DefaultTiming().Retry
	b := backoff{timing: &retry}
	want := retry.First
	for range 20 {
		got := b.wait(retry.Most)
		if low, high := time.Duration(float64(want)*0.8), time.Duration(float64(want)*1.2); got < low || got > high {
			t.Errorf("wait of %v, want %v to %v", got, low, high)
		}
		want = min(2*want, retry.Most)
	}
	// The network is down: the link tries as often as a link that has just failed.
	if got := b.wait(retry.Silent); got > retry.Silent*12/10 {
		t.Errorf("while nothing answers: %v", got)
	}
	b.reset()
	if got := b.wait(retry.Most); got > 120*time.Millisecond {
		t.Errorf("after reset: %v", got)
	}
}

func BenchmarkRead(b *testing.B) {
	for _, size := range []int{16, 1 << 10, 60 << 10} {
		b.Run(fmt.Sprintf("msg=%d", size), func(b *testing.B) {
			src := &endless{frames: stream(size, size, size)}
			sink := &counter{}
			f := newFrameReader(src, sink, wire.DefaultMaxMessage, &linkCounters{}, nil)
			b.SetBytes(maxReadBuffer)
			b.ReportAllocs()
			for b.Loop() {
				src.reads = 1
				_ = f.run()
			}
		})
	}
}
