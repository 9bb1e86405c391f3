package table

import (
	"encoding/binary"
	"testing"

	"github.com/gorosbag/gorosbag/rosbag"
)

// TestEntries counts index entries, and finds the earliest and the latest time.
func TestEntries(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		secs       []uint32
		start, end uint32
	}{
		"none":   {nil, 0, 0},
		"one":    {[]uint32{7}, 7, 7},
		"time 0": {[]uint32{0}, 0, 0},
		"mixed":  {[]uint32{5, 7, 3, 6}, 3, 7},
	} {
		var b []byte
		for _, sec := range tt.secs {
			b = binary.LittleEndian.AppendUint32(b, sec)
			b = append(b, 0, 0, 0, 0, 9, 9, 9, 9)
		}
		var got Tally
		got.Entries(1, b)
		if n, ok := got.ByID[1]; !ok || int(n) != len(tt.secs) || got.some != (n > 0) || got.start != (rosbag.Time{Sec: tt.start}) || got.end != (rosbag.Time{Sec: tt.end}) {
			t.Errorf("%s: %+v", name, got)
		}
		got.Entries(2, b)
		if got.Sum() != uint64(2*len(tt.secs)) || len(got.ByID) != 2 {
			t.Errorf("%s, twice: %+v", name, got)
		}
	}
}
