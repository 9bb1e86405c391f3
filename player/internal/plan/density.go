package plan

import (
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// Density divides the played time into n parts and estimates the number of messages in
// each. It does not read chunk indexes: messages are spread evenly over their span.
func (p *Plan) Density(zero rosbag.Time, length time.Duration, n int) []uint64 {
	if n < 1 {
		return nil
	}
	sum := make([]float64, n)
	part := max(float64(length), 1) / float64(n)
	for _, b := range p.Bags {
		for i := range b.Source.NumSpans() {
			span := b.Source.Span(i)
			count := uint64(0)
			for _, c := range span.Counts {
				if b.Playable(c.Conn) {
					count += uint64(c.Count)
				}
			}
			spread(sum, float64(span.Start.Sub(zero))/part, float64(span.End.Sub(zero))/part, float64(count))
		}
	}
	out := make([]uint64, n)
	carry := 0.0 // carries the rounding error, so that the sum of the parts is the number of messages
	for i, v := range sum {
		carry += v
		out[i] = uint64(carry + 0.5)
		carry -= float64(out[i])
	}
	return out
}

// spread distributes a count evenly over the parts between from and to. What lies outside
// of all parts is not added.
func spread(sum []float64, from, to, count float64) {
	n := float64(len(sum))
	if from == to {
		if from >= 0 && from <= n {
			sum[min(int(from), len(sum)-1)] += count
		}
		return
	}
	for i := int(max(from, 0)); i < len(sum) && float64(i) < to; i++ {
		share := min(to, float64(i+1)) - max(from, float64(i))
		sum[i] += count * max(share, 0) / (to - from)
	}
}
