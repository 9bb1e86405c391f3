//go:build linux

package probe

import (
	"slices"
	"time"
)

// Timing says how well arrivals keep to their schedule.
type Timing struct {
	Messages           int
	P50, P99, P999     time.Duration // error: how much later than the earliest one, by the schedule
	Max                time.Duration
	DriftPerMinute     time.Duration // of the line through the errors
	Disordered, Missed int           // within topics
}

// TimingOf judges arrivals that were due at their offset, divided by rate. Those due
// before skip count for the order only.
func TimingOf(all []Arrival, rate float64, skip time.Duration) Timing {
	var t Timing
	last := map[int]int{} // sequence number by link
	var at, errs []time.Duration
	for _, a := range all {
		due := time.Duration(float64(a.Due) / rate)
		if due >= skip {
			at = append(at, due)
			errs = append(errs, a.At-due)
		}
		next := last[a.Link]
		switch {
		case a.Seq < next:
			t.Disordered++
			continue
		case a.Seq > next:
			t.Missed += a.Seq - next
		}
		last[a.Link] = a.Seq + 1
	}
	if t.Messages = len(errs); t.Messages == 0 {
		return t
	}
	earliest := slices.Min(errs)
	for i := range errs {
		errs[i] -= earliest
	}
	t.DriftPerMinute = time.Duration(slope(at, errs) * float64(time.Minute))
	slices.Sort(errs)
	quantile := func(q float64) time.Duration { return errs[min(int(q*float64(len(errs))), len(errs)-1)] }
	t.P50, t.P99, t.P999, t.Max = quantile(0.5), quantile(0.99), quantile(0.999), errs[len(errs)-1]
	return t
}

// slope returns that of the line with the least squares of distances to the points.
func slope(x, y []time.Duration) float64 {
	var mx, my float64
	for i := range x {
		mx += float64(x[i]) / float64(len(x))
		my += float64(y[i]) / float64(len(x))
	}
	var xy, xx float64
	for i := range x {
		dx := float64(x[i]) - mx
		xy += dx * (float64(y[i]) - my)
		xx += dx * dx
	}
	if xx == 0 {
		return 0
	}
	return xy / xx
}
