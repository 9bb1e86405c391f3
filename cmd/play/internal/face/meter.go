// This file measures how fast play is now.

package face

import (
	"time"

	"github.com/gorosbag/gorosbag/player/control"
)

const (
	// how much play a pace is about: so that it is steady, and still follows changes quickly.
	window = 4 * time.Second
	// a pace of less play is not known.
	known = time.Second
	// minimum time between two samples that are kept, which bounds their number.
	interval = 100 * time.Millisecond
)

// Meter computes the pace of play, its bag time per wall time, from samples of its state. Pauses and
// jumps do not change the pace, and a new rate begins it afresh. The zero value is ready for the first
// sample.
type Meter struct {
	// at the current rate, in order; the first is the newest one that is older than window, or the first
	samples []sample
	last    sample
	rate    float64
}

// sample is how much was played: bag time and wall time.
type sample struct{ played, elapsed time.Duration }

// Add adds a sample.
func (m *Meter) Add(s *control.Status) {
	m.last = sample{s.Played, s.Elapsed}
	if s.Rate != m.rate {
		m.rate, m.samples = s.Rate, nil
	}
	if n := len(m.samples); n == 0 || m.last.elapsed-m.samples[n-1].elapsed >= interval {
		m.samples = append(m.samples, m.last)
	}
	for len(m.samples) > 1 && m.last.elapsed-m.samples[1].elapsed >= window {
		m.samples = m.samples[1:]
	}
}

// Pace returns the bag time per wall time of the last seconds of play. It reports false while that is not
// known.
func (m *Meter) Pace() (pace float64, ok bool) {
	if len(m.samples) == 0 {
		return 0, false
	}
	played, elapsed := m.last.played-m.samples[0].played, m.last.elapsed-m.samples[0].elapsed
	if elapsed < known {
		return 0, false
	}
	return float64(played) / float64(elapsed), true
}
