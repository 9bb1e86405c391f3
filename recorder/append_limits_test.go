package recorder

import (
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// smallRun is a run of three messages of 100 bytes, which take runBytes in a chunk.
func smallRun() []byte {
	return append(append(testlink.Frame(1, 0, 96), testlink.Frame(1, 1, 96)...), testlink.Frame(1, 2, 96)...)
}

const runBytes = 3 * (100 + recordOverhead)

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
				l.connection.stored = in.rotation.Part() + 1
			}
			in.pool.Waiting, in.pool.Waiters = 1, 1 // of another topic, so that this one is not light
			in.pool.Held = budget - memory.KeptChunks*chunkBytes - need + short
			in.append(l.connection, smallRun(), 3, time.Now())
			of := l.connection.topic
			if of.messages != uint64(3*(1-short)) || of.dropped[dropBufferFull] != uint64(3*short) {
				t.Errorf("in the file %v, %d bytes too few: %d messages, %d dropped", inFile, short, of.messages, of.dropped[dropBufferFull])
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
	of := l.connection.topic
	if of.messages != 3 || of.bytes != 3*96 || of.account.Waiting != 0 {
		t.Errorf("%d messages of %d bytes, %d wait; want 3 of 288, and none", of.messages, of.bytes, of.account.Waiting)
	}
	in.sealOpen()
	if of.account.Waiting != runBytes {
		t.Errorf("%d bytes wait, want %d", of.account.Waiting, runBytes)
	}
}

// TestWhenAChunkIsSealed: when it has gone beyond its size, and not before it has a message.
func TestWhenAChunkIsSealed(t *testing.T) {
	t.Parallel()
	first := bareIntake(-1, 10_000)
	first.append(bareLink(first, 100).connection, smallRun(), 3, time.Now())
	size := first.open.Builder.Len()
	for chunkBytes, open := range map[int]bool{size: true, size - 1: false} {
		in := bareIntake(-1, chunkBytes)
		in.append(bareLink(in, 100).connection, smallRun(), 3, time.Now())
		if (in.open != nil) != open {
			t.Errorf("a chunk of %d bytes, with %d in it, is open: %v", chunkBytes, size, !open)
		}
	}
	in := bareIntake(-1, 100)
	in.openChunk()
	if in.sealOpen(); in.open == nil {
		t.Error("a chunk without messages is sealed")
	}
}

// TestHowManyMessagesFitTheRest: what is in the chunk already takes its room.
func TestHowManyMessagesFitTheRest(t *testing.T) {
	t.Parallel()
	in := bareIntake(-1, 10_000)
	l := bareLink(in, 100)
	in.append(l.connection, smallRun(), 3, time.Now())
	for room, want := range map[int]int{-1: 1, 0: 1, 100: 1, 100 + recordOverhead: 2, runBytes - 1: 3, runBytes: 3} {
		in.sealAt = in.open.Builder.Len() + room
		if n, size := in.fit(l.connection.topic, smallRun(), 3); n != want || size != 100*want {
			t.Errorf("with room for %d bytes: %d messages of %d bytes, want %d", room, n, size, want)
		}
	}
}

// TestWhenAnOldChunkIsSealed: at the age of the flush interval.
func TestWhenAnOldChunkIsSealed(t *testing.T) {
	t.Parallel()
	in := bareIntake(-1, 10_000)
	in.flush = time.Second
	received := time.Now()
	in.append(bareLink(in, 100).connection, smallRun(), 3, received)
	if in.tick(received.Add(in.flush - 1)); in.open == nil {
		t.Error("sealed before it is old")
	}
	if in.tick(received.Add(in.flush)); in.open != nil {
		t.Error("open although it is old")
	}
}

// TestAbandonedMessages: what is in no file is lost to the disk, and not recorded. Of a ring
// without a recording it is not known what was to be written.
func TestAbandonedMessages(t *testing.T) {
	t.Parallel()
	for name, only := range map[string]bool{"a recording": false, "a ring": true} {
		in := bareIntake(-1, 100)
		if only {
			addRing(in, ringOptions{only: true})
		}
		of := &topic{tally: tally{10, 1000}}
		of.written = tally{7, 700}
		of.dropped[dropDisk] = 1
		in.topics = []*topic{of}
		recorded, lost := tally{7, 700}, uint64(1+3)
		if only {
			recorded, lost = tally{10, 1000}, 1
		}
		if in.abandon(); !in.ended || of.tally != recorded || of.dropped[dropDisk] != lost {
			t.Errorf("%s: ended %v, %+v, %d lost; want %+v and %d", name, in.ended, of.tally, of.dropped[dropDisk], recorded, lost)
		}
	}
}
