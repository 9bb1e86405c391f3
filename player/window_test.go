package player

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// faultyFile is a bag on a disk that makes trouble after opening.
type faultyFile struct {
	*bytes.Reader
	fault func(off int64, n int) error // called before each read
}

func (f *faultyFile) ReadAt(p []byte, off int64) (int, error) {
	if f.fault != nil {
		if err := f.fault(off, len(p)); err != nil {
			return 0, err
		}
	}
	return f.Reader.ReadAt(p, off)
}

func openFaulty(t *testing.T, data []byte) (*Bag, *faultyFile) {
	t.Helper()
	f := &faultyFile{Reader: bytes.NewReader(data)}
	b, err := NewBag(t.Context(), "faulty", f, int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return b, f
}

// A read that does not return must not keep Run from ending, in any part of play.
func TestStalledFile(t *testing.T) {
	t.Parallel()
	latched := TestConn{Topic: "/l", Latching: true}
	data := MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 1}, concat(series(latched, "l", 0), series(connA, "a", 10, 20, 30))...)
	for name, o := range map[string]Options{
		"last stamp":        {},
		"state before":      {Start: 5},
		"window in a chunk": {Start: 10, Duration: 15},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, f := openFaulty(t, data)
				stuck := make(chan struct{})
				f.fault = func(int64, int) error {
					<-stuck
					return nil
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				start := time.Now()
				o.Bags = []*Bag{b}
				s, err := playFake(ctx, newFakeGraph(), o)
				if got := time.Since(start); got > time.Minute+readerGrace || err != nil || !s.Interrupted {
					t.Errorf("ended after %v with %+v, %v", got, s, err)
				}
				close(stuck)
				synctest.Wait()
			})
		})
	}
}

// Planning needs times only: it must not read the data of big chunks.
func TestPlanReadsIndexesOnly(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 1<<20)
	data := MakeBag(t, bagfmt.WriterOptions{}, series(connA, big, 0, 10, 20, 30)...)
	b, f := openFaulty(t, data)
	read := 0
	f.fault = func(_ int64, n int) error {
		read += n
		return nil
	}
	o := Options{Bags: []*Bag{b}, Start: 5, Duration: 20, Log: zap.NewNop()}
	p, err := newPlan(t.Context(), &o, newFakeGraph().Resolve)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.last.Sub(testBase); got != 20 || read > 256<<10 {
		t.Errorf("last at %v; %d bytes read of a bag of %d", got, read, len(data))
	}
}

// A latched topic without a message in the window or before it is not offered:
// --wait-for-subscribers would wait for somebody to listen to nothing.
func TestLatchedTopicAfterTheWindow(t *testing.T) {
	t.Parallel()
	late := TestConn{Topic: "/late", Latching: true}
	bag := MakeBag(t, bagfmt.WriterOptions{}, concat(series(connA, "a", 0, 10, 20), series(late, "l", 40))...)
	p, _ := makePlan(t, Options{Start: 5, Duration: 20}, bag)
	if d := cmp.Diff([]string{"/a"}, topicNames(p)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What the read-ahead keeps in memory are chunks: of a rare topic few messages may
// be read ahead, whatever other chunks of the bag look like.
func TestReadAheadBoundsChunkMemory(t *testing.T) {
	t.Parallel()
	const chunk, bound = 64 << 10, 1 << 20
	tiny, camera := TestConn{Topic: "/tiny"}, TestConn{Topic: "/camera"}
	var messages []TestMessage
	for i := range 1000 { // chunks of tiny messages only
		messages = append(messages, TestMessage{tiny, time.Duration(i), strings.Repeat("y", 100)})
	}
	for i := range 100 { // then one of them in each chunk
		at := time.Second + time.Duration(i)
		messages = append(messages, TestMessage{tiny, at, "t"}, TestMessage{camera, at, strings.Repeat("x", chunk)})
	}
	data := MakeBag(t, bagfmt.WriterOptions{ChunkBytes: chunk, Compression: bagfmt.CompressionLZ4}, messages...)
	synctest.Test(t, func(t *testing.T) {
		p, _ := makePlan(t, Options{Topics: []string{"/tiny"}}, data)
		ctx, cancel := context.WithCancel(t.Context())
		r := newReader(p, newQueue(bound, 1<<20))
		go r.read(ctx, order{})
		synctest.Wait() // it waits for room
		rare := 0
		for _, it := range r.queue.items {
			if it.frame != nil && it.pos >= time.Second {
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
