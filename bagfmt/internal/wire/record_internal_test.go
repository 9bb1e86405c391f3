package wire

import (
	"bytes"
	"slices"
	"testing"

	"github.com/gorosbag/gorosbag/rosbag"
)

// TestRecordsAfterOthers adds each kind of record after other bytes.
func TestRecordsAfterOthers(t *testing.T) {
	t.Parallel()
	c := &rosbag.Connection{ID: 7, Topic: "/a"}
	for name, add := range map[string]func([]byte) []byte{
		"bag header": func(b []byte) []byte {
			return AppendBagHeader(b, &RecordHeader{IndexPos: 1, ConnCount: 2, ChunkCount: 3, Repeated: rosbag.Repeated{Count: 4, Time: rosbag.Time{Sec: 5, Nsec: 6}}})
		},
		"connection":   func(b []byte) []byte { return AppendConnection(b, c) },
		"chunk header": func(b []byte) []byte { return AppendChunkHeader(b, rosbag.CompressionLZ4, 1, 2, 3) },
		"index header": func(b []byte) []byte { return AppendIndexHeader(b, 1, 2) },
		"chunk info": func(b []byte) []byte {
			return AppendChunkInfo(b, 1, rosbag.Time{Sec: 1, Nsec: 2}, rosbag.Time{Sec: 3, Nsec: 4}, []rosbag.ConnCount{{Conn: c, Count: 5}})
		},
	} {
		before := []byte("before")
		if got, want := add(before), slices.Concat(before, add(nil)); !bytes.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
