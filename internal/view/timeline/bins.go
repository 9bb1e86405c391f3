// Package timeline counts the messages of topics in the bins of a time line, and finds where topics are
// silent.
//
// It computes, from values that its caller reads: the times and counts of chunks for an overview, the
// times of messages where few chunks are in view. It knows neither files nor pages.
package timeline

import (
	"math"
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// MaxBins is the most bins of an Axis: the pixels of a wide screen.
const MaxBins = 4096

// Axis divides a stretch of time into bins of equal width.
type Axis struct {
	From, To rosbag.Time
	Bins     int // from 1 to MaxBins
}

// place returns where t is, in bins from From.
func (a Axis) place(t rosbag.Time) float64 {
	span := a.To.Sub(a.From)
	if span <= 0 {
		return 0
	}
	return float64(t.Sub(a.From)) / float64(span) * float64(a.Bins)
}

// Meets reports whether a stretch of time is partly within the axis.
func (a Axis) Meets(start, end rosbag.Time) bool { return !a.To.Before(start) && !end.Before(a.From) }

// Density is how many messages of each row are in each bin.
type Density struct {
	axis Axis
	rows [][]float32
}

// NewDensity returns an empty Density. Rows take memory with their first message.
func NewDensity(axis Axis, rows int) *Density { return &Density{axis, make([][]float32, rows)} }

func (d *Density) row(i int) []float32 {
	if d.rows[i] == nil {
		d.rows[i] = make([]float32, d.axis.Bins)
	}
	return d.rows[i]
}

// Add counts a message. One outside of the axis does not count.
func (d *Density) Add(row int, t rosbag.Time) {
	if d.axis.Meets(t, t) {
		d.row(row)[min(int(d.axis.place(t)), d.axis.Bins-1)]++
	}
}

// Spread counts n messages, evenly over the time from start to end, as far as that is within the axis.
func (d *Density) Spread(row int, start, end rosbag.Time, n uint32) {
	if n == 0 || !d.axis.Meets(start, end) {
		return
	}
	from, to := d.axis.place(start), d.axis.place(end)
	bins, last := d.row(row), d.axis.Bins-1
	if to <= from || int(from) == int(to) { // all within one bin
		bins[max(0, min(int(from), last))] += float32(n)
		return
	}
	each := float64(n) / (to - from)
	for b := max(0, int(math.Floor(from))); b <= min(last, int(to)); b++ {
		if share := min(to, float64(b+1)) - max(from, float64(b)); share > 0 {
			bins[b] += float32(share * each)
		}
	}
}

// Levels returns how dense a row is in each bin, on a scale of logarithms: 0 where there is nothing, 255
// in its densest bin. It is nil without messages.
func (d *Density) Levels(row int) []byte {
	bins := d.rows[row]
	if bins == nil {
		return nil
	}
	most := 0.0
	for _, n := range bins {
		most = max(most, float64(n))
	}
	levels := make([]byte, len(bins))
	for i, n := range bins {
		if n > 0 {
			// faint, but seen
			levels[i] = byte(max(24, math.Round(255*math.Log1p(float64(n))/math.Log1p(most))))
		}
	}
	return levels
}

// A gap is longer than gapPeriods periods of its topic, as in gobag info -v, and longer than leastGap:
// what a busy machine holds up for a moment has not stopped.
const (
	gapPeriods = 5
	leastGap   = 500 * time.Millisecond
)

// MaxGaps is the most gaps of a topic that are kept, the longest ones.
const MaxGaps = 100

// Gap is a time without messages of a topic.
type Gap struct{ From, To rosbag.Time }

// Len returns how long the gap is.
func (g Gap) Len() time.Duration { return g.To.Sub(g.From) }

// Silence finds the gaps of one topic in what it is shown in the order of time.
type Silence struct {
	least time.Duration // that a gap lasts
	begun bool
	last  rosbag.Time

	Gaps []Gap // by time, MaxGaps at most
	More int   // gaps that are not in Gaps
}

// NewSilence returns a Silence for a topic whose messages come once in a period. Without a period nothing
// is a gap.
func NewSilence(period time.Duration) *Silence {
	if period <= 0 {
		return &Silence{}
	}
	return &Silence{least: max(gapPeriods*period, leastGap)}
}

// From says that the topic is to be there from t on: silence from then to the first message is a gap, too.
func (s *Silence) From(t rosbag.Time) { s.last, s.begun = t, true }

// See says that there are messages from start to end. Starts come in order.
func (s *Silence) See(start, end rosbag.Time) {
	if s.begun && s.last.Before(start) {
		s.gap(Gap{s.last, start})
	}
	if !s.begun || s.last.Before(end) {
		s.last = end
	}
	s.begun = true
}

// Around returns the gaps, with those that are known from elsewhere before first, which was seen first,
// and after what was seen last.
func (s *Silence) Around(known []Gap, first rosbag.Time) []Gap {
	all := s.Gaps
	for _, g := range known {
		switch {
		case !first.Before(g.To):
			all = append(all, Gap{g.From, first})
		case !g.From.Before(s.last):
			all = append(all, Gap{s.last, g.To})
		}
	}
	return all
}

func (s *Silence) gap(g Gap) {
	if s.least <= 0 || g.Len() <= s.least {
		return
	}
	if len(s.Gaps) == MaxGaps {
		s.More++
		shortest := 0
		for i, other := range s.Gaps {
			if other.Len() < s.Gaps[shortest].Len() {
				shortest = i
			}
		}
		if s.Gaps[shortest].Len() >= g.Len() {
			return
		}
		s.Gaps = append(s.Gaps[:shortest], s.Gaps[shortest+1:]...)
	}
	s.Gaps = append(s.Gaps, g)
}
