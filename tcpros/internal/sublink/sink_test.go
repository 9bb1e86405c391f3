package sublink

import (
	"bytes"
	"testing"
	"time"
)

// half takes the first half of a large frame, and gives up the rest.
type half struct {
	tape
	got []byte
}

func (s *half) Large(int) LargeFrame { return s }
func (s *half) Commit(time.Time)     { panic("complete") }
func (s *half) Abort()               { panic("given up already") }

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
	small, large := stream(largeFrameBytes-4), stream(largeFrameBytes-3)
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
		Deliver(s, tt.frame, time.Now())
		if s.frames != tt.frames || s.larges != tt.larges || !bytes.Equal(s.all.Bytes(), tt.want) {
			t.Errorf("%s: %d frames, %d large, %d bytes", name, s.frames, s.larges, s.all.Len())
		}
	}
	s := &half{}
	if Deliver(s, large, time.Now()); !bytes.Equal(s.got, large[:len(large)/2]) {
		t.Error("wrong bytes before the sink gave up")
	}
}
