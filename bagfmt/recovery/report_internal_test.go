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

// TestLossy: what was skipped may have held messages, unless it is in or behind the index section.
func TestLossy(t *testing.T) {
	t.Parallel()
	var r Report
	if r.repair(errors.New("a test")); r.Lossy() {
		t.Error("a repair loses messages")
	}
	position := r.addSkipped(SkippedRange{Bytes: 10, Trailing: true})
	if r.Lossy() {
		t.Error("what is behind the index section held messages")
	}
	r.setTrailing(position) // again
	other := r.addSkipped(SkippedRange{Bytes: 5})
	if !r.Lossy() {
		t.Error("what was skipped held no messages")
	}
	if r.setTrailing(other); r.Lossy() || r.SkippedBytes != 15 {
		t.Errorf("what turned out to be behind the index section held messages; %d bytes skipped", r.SkippedBytes)
	}
	for range maxReports {
		r.skip(0, 1, 0, nil)
	}
	if len(r.Skipped) != maxReports || r.More != 2 || r.SkippedBytes != 15+maxReports || !r.Lossy() {
		t.Errorf("%d skipped and %d more, %d bytes", len(r.Skipped), r.More, r.SkippedBytes)
	}
}

// TestReportedLoss: as many messages are lost as the index counts, or as are there of unknown connections,
// beside those that are kept.
func TestReportedLoss(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kept     int
		orphans  uint64
		expected uint64 // by the index
		want     uint64
	}{
		{3, 0, 3, 0},
		{3, 0, 0, 0}, // there is no index
		{3, 0, 5, 2},
		{3, 2, 5, 2},
		{3, 2, 0, 2},
		{3, 2, 7, 4},
		{0, 2, 1, 2},
	} {
		s := chunkStage{report: &Report{}, index: chunkIndex{ChunkIndex: wire.ChunkIndex{Entries: make([]wire.IndexEntry, c.kept)}, orphans: c.orphans}}
		s.reportLoss(&stagedChunk{}, c.expected)
		if s.report.Dropped != c.want || s.report.Lossy() != (c.want > 0) {
			t.Errorf("%+v: %d messages are lost", c, s.report.Dropped)
		}
	}
}
