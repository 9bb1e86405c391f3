package recovery

import (
	"errors"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestRecoveryIsBounded: the lists of a report end at their bound, and the rest is counted.
func TestRecoveryIsBounded(t *testing.T) {
	t.Parallel()
	var r Report
	for range maxReports + 3 {
		r.repair(errors.New("a test"))
	}
	if len(r.Repairs) != maxReports || r.More != 3 {
		t.Errorf("%d repairs and %d more, want %d and 3", len(r.Repairs), r.More, maxReports)
	}
}

// TestLostBytes: of a chunk that is whole as it was read, only what its messages do not take is lost.
func TestLostBytes(t *testing.T) {
	t.Parallel()
	place := wire.ChunkPlace{Pos: 100}
	whole := decodedChunk{place: place, stored: make([]byte, 50), data: make([]byte, 50)}
	packed := decodedChunk{place: place, stored: make([]byte, 20), data: make([]byte, 50)}
	for name, test := range map[string]struct {
		index chunkIndex
		chunk stagedChunk
		want  int64
	}{
		"no error":  {chunkIndex{from: 10, to: 20}, stagedChunk{decodedChunk: whole, end: 180}, 0},
		"a hole":    {chunkIndex{from: 10, to: 20, err: rosbag.ErrCorrupt}, stagedChunk{decodedChunk: whole, end: 180}, 10},
		"in packed": {chunkIndex{from: 10, to: 20, err: rosbag.ErrCorrupt}, stagedChunk{decodedChunk: packed, end: 180}, 80},
	} {
		if got := test.index.lostBytes(&test.chunk); got != test.want {
			t.Errorf("%s: %d bytes, want %d", name, got, test.want)
		}
	}
	one := chunkIndex{orphans: 1, orphan: 7}
	if err := one.missing(&stagedChunk{decodedChunk: whole}, 5); err == nil || err.Error() != wire.Corrupt(100, rosbag.OpChunk, "1 messages of unknown connections, one is 7").Error() {
		t.Errorf("got %v", err)
	}
	var none chunkIndex
	if err := none.missing(&stagedChunk{decodedChunk: whole}, 5); err == nil || err.Error() != wire.Corrupt(100, rosbag.OpChunk, "holds 0 messages, its index counts 5").Error() {
		t.Errorf("got %v", err)
	}
}
