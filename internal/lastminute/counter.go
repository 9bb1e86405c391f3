package lastminute

import "time"

// Counter computes the increase of a counter over the last minute. The zero value is ready for the
// first sample.
type Counter struct {
	samples []counterSample // oldest first; samples[0] is the base: the newest sample that is older than a minute, or the first sample ever
}

type counterSample struct {
	at    time.Time
	count uint64
}

// Add records the value of the counter, and returns its increase over the last minute.
func (c *Counter) Add(now time.Time, count uint64) uint64 {
	if len(c.samples) == 0 {
		c.samples = []counterSample{{now, 0}} // the counter started at zero
	}
	if n := len(c.samples); now.Sub(c.samples[n-1].at) >= time.Second {
		c.samples = append(c.samples, counterSample{now, count})
	}
	for len(c.samples) > 1 && now.Sub(c.samples[1].at) >= time.Minute {
		c.samples = c.samples[1:]
	}
	return count - min(count, c.samples[0].count)
}
