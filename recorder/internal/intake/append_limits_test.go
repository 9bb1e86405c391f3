package intake

import (
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// smallRun is a run of three messages of 100 bytes, which take runBytes in a chunk.
func smallRun() []byte {
	return append(append(testlink.Frame(1, 0, 96), testlink.Frame(1, 1, 96)...), testlink.Frame(1, 2, 96)...)
}

const runBytes = 3 * (100 + RecordOverhead)

// TestWhatARunTakes: a run of messages is admitted with its records, and with that of its
// connection if the file does not have it yet, and to the last byte.
func TestWhatARunTakes(t *testing.T) {
	t.Parallel()
	const budget, chunkBytes, record = 100_000, 1000, 500
	for _, inFile := range []bool{false, true} {
		need := int64(runBytes)
		if !inFile {
			need += record
		}
		for _, short := range []int64{0, 1} {
			in := bareIntake(budget, chunkBytes)
			l := bareLink(in, record)
			if inFile {
				l.connection.NoteRecord(in.rotation.Part())
			}
			other := new(memory.Chunk) // of another topic, so that this one is not light
			other.AddAlone(new(memory.Account), 1)
			in.Buffers.pool.Charge(other)
			setHeld(in, budget-memory.KeptChunks*chunkBytes-need+short)
			in.append(l.connection, smallRun(), 3, time.Now())
			of := l.connection.Topic()
			if of.Tally().Messages != uint64(3*(1-short)) || dropped(in, control.DropBufferFull) != uint64(3*short) {
				t.Errorf("in the file %v, %d bytes too few: %d messages, %d dropped", inFile, short, of.Tally().Messages, dropped(in, control.DropBufferFull))
			}
		}
	}
}

// TestWhatARunCounts: the payloads count as recorded, and all that the messages take in a
// chunk as waiting for the disk.
func TestWhatARunCounts(t *testing.T) {
	t.Parallel()
	in := bareIntake(-1, 10_000)
	l := bareLink(in, 100)
	in.append(l.connection, smallRun(), 3, time.Now())
	of := l.connection.Topic()
	if of.Tally().Messages != 3 || of.Tally().Bytes != 3*96 || of.Memory().Waiting() != 0 {
		t.Errorf("%d messages of %d bytes, %d wait; want 3 of 288, and none", of.Tally().Messages, of.Tally().Bytes, of.Memory().Waiting())
	}
	in.sealOpenLocked()
	if of.Memory().Waiting() != runBytes {
		t.Errorf("%d bytes wait, want %d", of.Memory().Waiting(), runBytes)
	}
}

// TestEnoughIsNotLeftOut: once a topic has its messages, or the file its size, those that come do not count as left out.
func TestEnoughIsNotLeftOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		count             int
		full              bool
		recorded, leftOut uint64
	}{
		"without a count":       {0, false, 3, 3},
		"with a count":          {2, false, 2, 1},
		"the file has its size": {0, true, 0, 0},
	} {
		in := bareIntake(-1, 10_000)
		in.mode.Full = c.full
		limit(in, account.Limit{Topics: "**", Every: 2, Count: c.count})
		l := bareLink(in, 100)
		of := l.connection.Topic()
		in.append(l.connection, smallRun(), 3, time.Now())
		in.append(l.connection, smallRun(), 3, time.Now())
		if of.Tally().Messages != c.recorded || topicStats(in).LeftOut != c.leftOut {
			t.Errorf("%s: %d messages, %d left out; want %d and %d", name, of.Tally().Messages, topicStats(in).LeftOut, c.recorded, c.leftOut)
		}
		for range 2 { // the first one is taken if the topic has not enough
			if f := l.Large(2000); f != nil {
				f.Abort()
			}
		}
		if enough := c.count > 0 || c.full; (topicStats(in).LeftOut == c.leftOut) != enough {
			t.Errorf("%s: %d left out after two large messages, %d before", name, topicStats(in).LeftOut, c.leftOut)
		}
	}
}

// TestWhenAChunkIsSealed: when it has gone beyond its size, and not before it has a message.
func TestWhenAChunkIsSealed(t *testing.T) {
	t.Parallel()
	first := bareIntake(-1, 10_000)
	first.append(bareLink(first, 100).connection, smallRun(), 3, time.Now())
	size := first.filling.Open.Builder().Len()
	for chunkBytes, open := range map[int]bool{size: true, size - 1: false} {
		in := bareIntake(-1, chunkBytes)
		in.append(bareLink(in, 100).connection, smallRun(), 3, time.Now())
		if (in.filling.Open != nil) != open {
			t.Errorf("a chunk of %d bytes, with %d in it, is open: %v", chunkBytes, size, !open)
		}
	}
	in := bareIntake(-1, 100)
	in.openChunkLocked()
	if in.sealOpenLocked(); in.filling.Open == nil {
		t.Error("a chunk without messages is sealed")
	}
}

// TestWhenAnOldChunkIsSealed: at the age of the flush interval.
func TestWhenAnOldChunkIsSealed(t *testing.T) {
	t.Parallel()
	in := bareIntake(-1, 10_000)
	in.cfg.Flush = time.Second
	received := time.Now()
	in.append(bareLink(in, 100).connection, smallRun(), 3, received)
	if in.Tick(received.Add(in.cfg.Flush - 1)); in.filling.Open == nil {
		t.Error("sealed before it is old")
	}
	if in.Tick(received.Add(in.cfg.Flush)); in.filling.Open != nil {
		t.Error("open although it is old")
	}
}

// TestRoomThatNobodyWants: an open chunk is no room for a topic that is not recorded.
func TestRoomThatNobodyWants(t *testing.T) {
	t.Parallel()
	p := bareIntake(-1, 100)
	p.filling.Open = new(memory.Chunk)
	for state, want := range map[control.State]bool{control.StateRecording: true, control.StatePaused: false} {
		p.mode.State = state
		if got := p.waitForChunkLocked(new(account.Topic)); got != want {
			t.Errorf("in state %v there is room: %v, want %v", state, got, want)
		}
	}
}

// TestYoungBuffersAreReused: small chunks one after the other take one buffer.
func TestYoungBuffersAreReused(t *testing.T) {
	t.Parallel()
	in := queueing(memory.Options{Limit: 256 << 20, ChunkBytes: 768 << 10}, nil)
	l := linkOf(t, in, testlink.Info("/t", "/p"))
	var one int64
	for n := range uint32(300) {
		l.Frames(testlink.Frame(1, n, 100), 1, time.Now())
		executeQueued(t, in)
		held := in.Buffers.pool.Usage().Held
		if n == 0 {
			one = held
		}
		if held != one {
			t.Fatalf("%d bytes after %d small chunks, %d after the first", held, n+1, one)
		}
	}
}
