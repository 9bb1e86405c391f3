package player

import (
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// density returns how many messages lie in each nth part of what is played. Where in
// a chunk they lie only its index would tell: they are spread evenly.
func (p *plan) density(zero bagfmt.Time, length time.Duration, n int) []uint64 {
	if n < 1 {
		return nil
	}
	sum := make([]float64, n)
	part := max(float64(length), 1) / float64(n)
	for _, b := range p.bags {
		for i := range b.reader.Chunks() {
			chunk := &b.reader.Chunks()[i]
			count := uint64(0)
			for _, c := range chunk.Counts {
				if b.playable(c.Conn) {
					count += uint64(c.Count)
				}
			}
			if count > 0 {
				spread(sum, float64(chunk.Start.Sub(zero))/part, float64(chunk.End.Sub(zero))/part, float64(count))
			}
		}
	}
	out := make([]uint64, n)
	carry := 0.0 // so that the sum of what is rounded stays that of the messages
	for i, v := range sum {
		carry += v
		out[i] = uint64(carry + 0.5)
		carry -= float64(out[i])
	}
	return out
}

// spread adds a count to the parts from one place to another, by their share of it.
// What lies outside is not added.
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

// Density implements Control.
func (h *playhead) Density(n int) []uint64 {
	h.mu.Lock()
	zero, length := h.zero, h.length
	h.mu.Unlock()
	return h.plan.density(zero, length, n)
}
