package sublink

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/tcpros/internal/linksink"
)

// half takes the first half of a large frame, and gives up the rest.
type half struct {
	tape
	got []byte
}

func (s *half) Large(int) linksink.LargeFrame { return s }
func (s *half) Commit(time.Time)              { panic("complete") }
func (s *half) Abort()                        { panic("given up already") }

func (s *half) Room(n int) []byte {
	if len(s.got) > 0 {
		return nil
	}
	s.got = make([]byte, n/2)
	return s.got
}

// Deliver passes a frame on as a link does: a large one in pieces, unless the sink refuses it.
func TestDeliver(t *testing.T) {
	t.Parallel()
	small, large := stream(linksink.LargeFrameBytes-4), stream(linksink.LargeFrameBytes-3)
	for name, tt := range map[string]struct {
		frame          []byte
		sink           tape
		frames, larges int
		want           []byte
	}{
		"small":           {frame: small, frames: 1, want: small},
		"large":           {frame: large, larges: 1, want: large},
		"large in pieces": {frame: large, sink: tape{room: 1000}, larges: 1, want: large},
		"refused":         {frame: large, sink: tape{refuse: true}},
	} {
		s := &tt.sink
		linksink.Deliver(s, tt.frame, time.Now())
		if s.frames != tt.frames || s.larges != tt.larges || !bytes.Equal(s.all.Bytes(), tt.want) {
			t.Errorf("%s: %d frames, %d large, %d bytes", name, s.frames, s.larges, s.all.Len())
		}
	}
	s := &half{}
	if linksink.Deliver(s, large, time.Now()); !bytes.Equal(s.got, large[:len(large)/2]) {
		t.Error("wrong bytes before the sink gave up")
	}
}

// plain is a sink without memory for large frames.
type plain struct {
	tape *tape
	most int // bytes of a run
}

func (s *plain) Frames(run []byte, count int, received time.Time) {
	s.most = max(s.most, len(run))
	s.tape.Frames(run, count, received)
}

func (s *plain) Closed(err error) { s.tape.Closed(err) }

// TestGathered: a sink without a method Large gets large frames, whole, and among the others in their order.
func TestGathered(t *testing.T) {
	t.Parallel()
	sizes := []int{5, linksink.LargeFrameBytes, 3, 3 << 20, 3 << 20, 0}
	want := stream(sizes...)
	s := &plain{tape: &tape{}}
	if err := readAll(t, &split{data: want, sizes: []int{100, 200_000, 1, 1 << 20}}, s); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if !bytes.Equal(s.tape.all.Bytes(), want) || s.tape.frames != len(sizes) || s.most != 4+3<<20 {
		t.Errorf("%d frames, %d bytes, want %d and %d", s.tape.frames, s.tape.all.Len(), len(sizes), len(want))
	}
	s = &plain{tape: &tape{}}
	if linksink.Deliver(s, stream(linksink.LargeFrameBytes), time.Now()); s.tape.frames != 1 || s.most != 4+linksink.LargeFrameBytes {
		t.Errorf("%d frames, the largest of %d bytes", s.tape.frames, s.most)
	}
}

// TestGatheredGrows: the memory for a frame of a sink without a method Large follows what arrives.
func TestGatheredGrows(t *testing.T) {
	t.Parallel()
	s := &plain{tape: &tape{}}
	large := linksink.LargeOf(s, 1<<30)
	for arrived := 0; arrived < 8<<20; {
		room := large.Room(1<<30 - arrived)
		if len(room) == 0 || len(room) > max(arrived, linksink.LargeFrameBytes) {
			t.Fatalf("room of %d bytes after %d", len(room), arrived)
		}
		arrived += len(room)
	}
	if large.Abort(); s.tape.frames != 0 {
		t.Error("a frame that was aborted arrived")
	}
}
