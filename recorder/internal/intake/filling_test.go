package intake

import (
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// fillingRun is a run of three messages of 100 bytes, which take runBytes in a chunk.
func fillingRun() []byte {
	return append(append(testlink.Frame(1, 0, 96), testlink.Frame(1, 1, 96)...), testlink.Frame(1, 2, 96)...)
}

const fillingRunBytes = 3 * (100 + RecordOverhead)

// TestHowManyMessagesFitTheRest: what is in the chunk already takes its room.
func TestHowManyMessagesFitTheRest(t *testing.T) {
	t.Parallel()
	f := newFilling()
	f.Begin(new(memory.Chunk), 10_000)
	f.Append(testlink.Connection(), rosbag.Time{}, fillingRun(), 3, time.Now())
	for room, want := range map[int]int{-1: 1, 0: 1, 100: 1, 100 + RecordOverhead: 2, fillingRunBytes - 1: 3, fillingRunBytes: 3} {
		f.sealAt = f.Open.Builder().Len() + room
		if n, size := f.Fit(fillingRun(), 3, true); n != want || size != 100*want {
			t.Errorf("with room for %d bytes: %d messages of %d bytes, want %d", room, n, size, want)
		}
	}
}

// TestTimesOfAChunk: a chunk begins with its first message and ends with the latest one, which may be in
// another chunk. A chunk without messages is not taken, and its records are written anew.
func TestTimesOfAChunk(t *testing.T) {
	t.Parallel()
	at := time.Now()
	f := newFilling()
	f.Begin(new(memory.Chunk), 10_000)
	if f.Take() != nil {
		t.Error("a chunk without messages is taken")
	}
	for i := range 3 {
		received := at.Add(time.Duration(i) * time.Second)
		f.Saw(received)
		f.Append(testlink.Connection(), rosbag.Time{}, fillingRun(), 3, received)
	}
	f.Saw(at.Add(time.Hour))
	f.Saw(at)
	if f.Old(at.Add(time.Minute-1), time.Minute) || !f.Old(at.Add(time.Minute), time.Minute) {
		t.Error("the chunk is not as old as its first message")
	}
	if f.TakeEmpty() != nil {
		t.Error("a chunk with messages is taken for empty")
	}
	c := f.Take()
	if c == nil || !c.FirstAt().Equal(at) || !c.LastAt().Equal(at.Add(time.Hour)) || f.Open != nil {
		t.Errorf("%+v, open %v", c, f.Open)
	}
	records := f.Records
	f.Begin(new(memory.Chunk), 10_000)
	if f.TakeEmpty() == nil || f.Records == records {
		t.Error("an empty chunk is not taken, or its records are kept")
	}
}
