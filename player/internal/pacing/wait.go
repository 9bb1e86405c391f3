package pacing

import (
	"context"
	"time"
)

// Wait returns after d, or when ctx ends.
func Wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
