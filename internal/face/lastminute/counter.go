package lastminute

import "time"

// Counter computes the increase of a counter over the last minute. The zero value is ready for the
// first sample.
type Counter struct {
	// samples are in order of time. The first is the newest one that is older than a minute, or the first
	// sample ever.
	samples []counterSample
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
