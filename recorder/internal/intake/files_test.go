package intake

import (
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/encode"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
	"github.com/gorosbag/gorosbag/recorder/internal/rotation"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestAbandonedMessages: what is in no file is lost to the disk, and not recorded. Of a ring
// without a recording it is not known what was to be written.
func TestAbandonedMessages(t *testing.T) {
	t.Parallel()
	for name, only := range map[string]bool{"a recording": false, "a ring": true} {
		in := queueing(memory.Options{Limit: -1, ChunkBytes: 100}, &ring.Options{Most: 1 << 20, Only: only})
		l := bareLink(in, 100)
		for n, written := range []bool{true, false} {
			l.Frames(testlink.Frame(1, uint32(n), 96), 1, time.Now())
			if written {
				in.sealOpenLocked()
				next, _ := in.Next()
				next.Chunk.Seal(nil)
				in.Written(next.Chunk, 0)
			}
		}
		l.connection.Topic().Drop(control.DropDisk, 1)
		recorded, lost := account.Tally{Messages: 1, Bytes: 96}, uint64(1+1)
		if only {
			recorded, lost = account.Tally{Messages: 2, Bytes: 2 * 96}, 1
		}
		if in.Abandon(); !in.mode.Ended || l.connection.Topic().Tally() != recorded || dropped(in, control.DropDisk) != lost {
			t.Errorf("%s: ended %v, %+v, %d lost; want %+v and %d", name, in.mode.Ended, l.connection.Topic().Tally(), dropped(in, control.DropDisk), recorded, lost)
		}
	}
}

// TestRepeatedConnectionsAreKept until the file that begins with their messages is closed,
// which happens behind the intake's back.
func TestRepeatedConnectionsAreKept(t *testing.T) {
	t.Parallel()
	in := bareIntake(10_000, 100)
	in.rotation = rotationAt(rotation.Options{}, 3, 0)
	c := latchingConnection(in, "/a")
	in.Buffers.latched.Remember(c.Source(), []byte("x"))
	pinned := in.fileStartLocked(time.Now(), false).Latched
	in.Buffers.latched.Forget(c.Source())
	in.Buffers.ReleaseLatched(pinned)
	for closed, want := range map[int]bool{3: false, 4: true} { // parts below this number
		if in.Accounts.closed = closed; in.neededLocked(c) == want {
			t.Errorf("the parts below %d are closed: the connection may go: %v, want %v", closed, !want, want)
		}
	}
}

// TestConnectionsOfASnapshotAreKept: while a snapshot is written, connections may be in its file.
func TestConnectionsOfASnapshotAreKept(t *testing.T) {
	t.Parallel()
	in := bareIntake(10_000, 100)
	in.rotation = rotationAt(rotation.Options{}, 3, 0)
	in.Accounts.closed = 4
	in.Buffers.keepRing(ring.Options{})
	c := latchingConnection(in, "/a")
	if in.Buffers.ring.Begin(new(ring.Snapshot), latch.State{}); !in.neededLocked(c) {
		t.Error("a snapshot is being written, and the connection may go")
	}
	if in.Buffers.ring.FileCompleted(); in.neededLocked(c) {
		t.Error("no snapshot is being written, and the connection is kept")
	}
}

// TestRepeatedMessagesTakeRoomInTheirFile: of the file that is filled, and half of its size at
// most.
func TestRepeatedMessagesTakeRoomInTheirFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		part, bytes int
		want        int64
	}{
		"few bytes":       {part: 3, bytes: 300, want: 100 + 300},
		"many":            {part: 3, bytes: 700, want: 100 + 500},
		"of another file": {part: 2, bytes: 300, want: 100},
	} {
		in := bareIntake(-1, 100)
		in.rotation = rotationAt(rotation.Options{MaxBytes: 1000}, 3, 100)
		in.RepeatedInFile(&chunk.Sealed{Record: make([]byte, c.bytes)}, c.part)
		if got := in.rotation.Stored(); got != c.want {
			t.Errorf("%s: the file counts %d bytes, want %d", name, got, c.want)
		}
	}
}

// TestFileEndsAtItsSize: with its last byte a file is not too long yet; with one more the
// next begins, or the recording ends, and says so once.
func TestFileEndsAtItsSize(t *testing.T) {
	t.Parallel()
	for _, split := range []bool{false, true} {
		p := bareIntake(-1, 800)
		p.mode.State = control.StateRecording
		p.rotation = rotationAt(rotation.Options{MaxBytes: 1000, Split: split}, 0, 1000)
		p.checkSizeLocked(time.Now())
		if p.rotation.Part() != 0 || p.mode.Full {
			t.Errorf("split %v: a file that has its size exactly has ended", split)
		}
		for range 2 {
			p.rotation.Written(p.rotation.Part(), 0, 1001-p.rotation.Stored(), false)
			p.checkSizeLocked(time.Now())
		}
		if split && (p.rotation.Part() != 2 || p.mode.Full || len(p.filled) != 0) {
			t.Errorf("with splits: file %d after two ends, full: %v", p.rotation.Part(), p.mode.Full)
		}
		if !split && (p.rotation.Part() != 0 || !p.mode.Full || len(p.filled) != 1) {
			t.Errorf("without: file %d, full: %v, said %d times", p.rotation.Part(), p.mode.Full, len(p.filled))
		}
	}
}

// TestChunksBeforeTheEndOfAFile: a chunk is as long as it is asked for, or as there is room
// in the file. Where that is an estimate a chunk is not shorter than an eighth.
func TestChunksBeforeTheEndOfAFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		left       int64
		compressed bool
		want       int
	}{
		{801, false, 800},
		{800, false, 800},
		{799, false, 799},
		{0, false, 0},
		{-1, false, 0},
		{801, true, 800},
		{101, true, 101},
		{99, true, 100},
		{-1, true, 100},
	} {
		p := bareIntake(-1, 800)
		p.rotation = rotationAt(rotation.Options{MaxBytes: 10_000}, 0, 10_000-c.left)
		if c.compressed {
			p.cfg.Encoder = encode.New(encode.Options{Compression: rosbag.CompressionLZ4, Workers: 1})
		}
		if got := p.sealLimitLocked(); got != c.want {
			t.Errorf("room for %d, compressed %v: a chunk is sealed beyond %d, want %d", c.left, c.compressed, got, c.want)
		}
	}
}

// TestWrittenChunkCountsInItsFile as what it takes there, and not as on its way any more.
func TestWrittenChunkCountsInItsFile(t *testing.T) {
	t.Parallel()
	for part, want := range map[int][2]int64{3: {100 + 1000, 500 - 200}, 2: {100, 500}} {
		in := bareIntake(-1, 100)
		in.rotation = rotationAt(rotation.Options{MaxBytes: 10_000}, 3, 100)
		in.rotation.ChunkQueued(500, rosbag.Time{}, time.Time{})
		c := sealedChunk(t, in, 1000, 1000)
		c.QueuedFor(part, 200)
		in.Written(c, part)
		if got := [2]int64{in.rotation.Stored(), 10_000 - in.rotation.Stored() - in.rotation.Left()}; got != want {
			t.Errorf("a chunk of file %d: %v bytes are stored and on their way in file 3, want %v", part, got, want)
		}
	}
}
