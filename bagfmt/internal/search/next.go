package search

import (
	"encoding/binary"
	"sort"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// NextMessage returns the offset of the first message record after at in the data of a chunk, or the end
// of the data. offsets are those of its index, sorted; they may be wrong.
func NextMessage(data []byte, offsets []uint32, at int) int {
	i := sort.Search(len(offsets), func(i int) bool { return int64(offsets[i]) > int64(at) })
	for ; i < len(offsets) && int64(offsets[i]) < int64(len(data)); i++ {
		if isMessage(data[offsets[i]:]) {
			return int(offsets[i])
		}
	}
	return len(data)
}

// maxOddHeader is the longest header of a message that isMessage looks at: it is asked about each entry
// of an index.
const maxOddHeader = 256

// isMessage reports whether b begins with a message, also with one whose header has another order of
// fields, as that of stock's older recorders.
func isMessage(b []byte) bool {
	if _, _, _, _, ok := wire.CutMessage(b); ok {
		return true
	}
	if len(b) < 4 || binary.LittleEndian.Uint32(b) > maxOddHeader {
		return false
	}
	var h wire.RecordHeader
	_, _, err := wire.CutRecord(b, &h)
	return err == nil && h.Op == rosbag.OpMessage
}
