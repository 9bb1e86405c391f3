package recorder

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/bagname"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestChunkSealedInTurns: a buffer whose chunk was not compressed is compressed the next time,
// with --adaptive, and what it is compressed into is used again.
func TestChunkSealedInTurns(t *testing.T) {
	t.Parallel()
	z, err := chunk.NewCompressor(rosbag.CompressionLZ4)
	if err != nil {
		t.Fatal(err)
	}
	s, err := bagfile.OpenSeries(bagname.Output{Name: filepath.Join(t.TempDir(), "x")}, bagfile.SyncNone, false, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out, err := s.Create(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c, conn := new(memory.Chunk), testlink.Connection()
	var records chunk.Records
	var packed []byte
	const messages = 6
	for n := range uint32(messages) {
		compressor := z
		if n%3 == 0 {
			compressor = nil
		}
		c.Builder().Reset(&records)
		f := testlink.Frame(1, n, 50_000)
		for i := range f[12:] {
			f[12+i] = byte(i/100) + byte(n)
		}
		c.Builder().AppendRun(conn, rosbag.Time{Sec: n + 1}, f, 1)
		if err := c.Seal(compressor); err != nil {
			t.Fatal(err)
		}
		if compressor != nil {
			if packed != nil && &packed[0] != &c.Sealed().Record[0] {
				t.Errorf("chunk %d is compressed into new memory", n)
			}
			packed = c.Sealed().Record
		}
		if err := out.WriteChunk(c.Sealed()); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Finish(); err != nil {
		t.Fatal(err)
	}
	n := uint32(0)
	for m, err := range rosbag.Messages(testlink.OpenBag(t, out.Target()), rosbag.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if want := bytes.Repeat([]byte{byte(n)}, 92); !bytes.HasPrefix(m.Data()[8:], want) {
			t.Errorf("message %d has other bytes", n)
		}
		n++
	}
	if n != messages {
		t.Errorf("%d messages, want %d", n, messages)
	}
}

// TestChunksAreCounted with the compression that they were written with.
func TestChunksAreCounted(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{Compression: rosbag.CompressionLZ4, ChunkBytes: 30_000, Sync: SyncNone}, nil)
	testlink.PublishPlain(open(t, p, "/t", "/p"), 20)
	closePipeline(t, p)
	chunks := uint64(testlink.OpenBag(t, p.Current().Target()).NumSpans())
	if got := p.Chunks(); chunks < 2 || len(got) != 1 || got[rosbag.CompressionLZ4] != chunks {
		t.Errorf("counted %v, want %d chunks", got, chunks)
	}
}

// TestOptionsOfSnapshots at their limits.
func TestOptionsOfSnapshots(t *testing.T) {
	t.Parallel()
	only := Snapshot{Mode: control.SnapshotOnly, Bytes: 10}
	for name, c := range map[string]struct {
		s      Snapshot
		o      Options
		buffer int64
		ok     bool
	}{
		"alone":                       {only, Options{}, 100, true},
		"alone, with splits":          {only, Options{Split: true}, 100, false},
		"alone, with a size":          {only, Options{MaxBytes: 1}, 100, false},
		"alone, with a limit":         {only, Options{Limit: 1}, 100, false},
		"beside splits":               {Snapshot{Mode: control.SnapshotBeside, Bytes: 10}, Options{Split: true, MaxBytes: 1, Limit: 1}, 100, true},
		"three quarters":              {Snapshot{Mode: control.SnapshotBeside, Bytes: 75}, Options{}, 100, true},
		"more than three quarters":    {Snapshot{Mode: control.SnapshotBeside, Bytes: 76}, Options{}, 100, false},
		"no bound":                    {Snapshot{Mode: control.SnapshotBeside}, Options{}, -1, false},
		"no bound but of its own":     {Snapshot{Mode: control.SnapshotBeside, Bytes: 1000}, Options{}, -1, true},
		"options without snapshots":   {Snapshot{PreRoll: 1}, Options{}, 100, false},
		"off":                         {Snapshot{}, Options{Split: true}, 100, true},
		"a pre-roll that is negative": {Snapshot{Mode: control.SnapshotBeside, PreRoll: -1}, Options{}, 100, false},
	} {
		got, err := c.s.withDefaults(&c.o, c.buffer)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if c.s.Bytes > 0 && got.Bytes != c.s.Bytes {
			t.Errorf("%s: %d bytes, want %d", name, got.Bytes, c.s.Bytes)
		}
	}
	if got, err := (Snapshot{Mode: control.SnapshotBeside}).withDefaults(new(Options), 100); err != nil || got.Bytes != 75 {
		t.Errorf("by default: %d bytes of 100, %v", got.Bytes, err)
	}
}
