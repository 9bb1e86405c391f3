package lastminute

import "time"

// Counter computes the increase of a counter over the last minute. The zero value has seen none.
type Counter struct {
	samples []counterSample // oldest first; the first one is the base: the newest that is older than a minute, or the first sample
}

type counterSample struct {
	at    time.Time
	count uint64
}

// Add records the counter, and returns its increase.
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
