package recorded

import (
	"cmp"
	"slices"

	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/rosbag"
)

// sampledChunks is how many chunks of a file tell the sizes of messages.
const sampledChunks = 8

// MessageBytes returns about how many bytes the messages of each topic have: from the places of messages
// in a few chunks of each file. It is 0 for topics that are in none of these, and in formats without such
// places.
func (s *Set) MessageBytes() []uint64 {
	sums, counts := make([]float64, len(s.Topics)), make([]float64, len(s.Topics))
	files := s.Files
	if step := len(files)/sampledChunks + 1; step > 1 { // many files are parts of one recording
		var some []*bags.Recording
		for i := 0; i < len(files); i += step {
			some = append(some, files[i])
		}
		files = some
	}
	for _, f := range files {
		n := f.Source.NumSpans()
		for i := range min(n, sampledChunks) {
			s.sample(f, i*n/min(n, sampledChunks), sums, counts)
		}
	}
	all := make([]uint64, len(s.Topics))
	for i, t := range s.Topics {
		if counts[i] > 0 {
			all[i] = uint64(sums[i] / counts[i] * float64(t.Messages))
		}
	}
	return all
}

// sample adds the bytes and the number of messages of a chunk, by topic.
func (s *Set) sample(f *bags.Recording, span int, sums, counts []float64) {
	b := f.Bag()
	if b == nil {
		return
	}
	entries, err := b.Index(span, nil)
	if err != nil || len(entries) == 0 {
		return
	}
	slices.SortFunc(entries, func(x, y rosbag.Entry) int { return cmp.Compare(x.Offset, y.Offset) })
	end := int64(0)
	if h, err := b.ChunkHeader(span); err == nil {
		end = h.UncompressedBytes
	}
	for i, e := range entries {
		next := end
		if i+1 < len(entries) {
			next = int64(entries[i+1].Offset)
		}
		if e.Offset > 0 && next > int64(e.Offset) || i == 0 && next > 0 {
			row := s.rows[e.Conn]
			sums[row] += float64(next - int64(e.Offset))
			counts[row]++
		}
	}
}
