package pacing

import (
	"context"
	"time"
)

// Repeat calls tick once in each period until ctx ends. After a delay there is no burst of calls.
func Repeat(ctx context.Context, period time.Duration, tick func()) {
	next := time.Now().Add(period)
	timer := time.NewTimer(period)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		tick()
		next = next.Add(period)
		if late := time.Since(next); late > 0 {
			next = next.Add(late.Truncate(period))
		}
		timer.Reset(time.Until(next))
	}
}
