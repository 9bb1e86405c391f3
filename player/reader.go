package player

import (
	"context"
	"sync"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// reader reads ahead of play into a queue, so that a chunk is decompressed on
// another core before its messages are due.
type reader struct {
	plan  *plan
	queue *queue
	loop  bool

	mu     sync.Mutex
	damage []*DamageError
	mended int // damaged indexes that were rebuilt
}

// run fills the queue until the bags, or ctx, end; with loop it goes on with the
// next pass, so that there is no gap between passes. It closes the queue.
func (r *reader) run(ctx context.Context) {
	defer r.queue.close()
	var zero bagfmt.Time
	for pass := 0; ; pass++ {
		t := newTimeline(r.plan, func(e *DamageError) {
			if pass == 0 {
				r.report(e)
			}
		})
		count := 0
		for m, route := t.next(); m != nil; m, route = t.next() {
			if route.reason != "" {
				route.skipped.Add(1)
				continue
			}
			if pass == 0 && count == 0 {
				zero = m.Time
			}
			count++
			it := item{route: route, frame: m.Frame, share: m.Share, stamp: m.Time, pos: m.Time.Sub(zero), pass: pass}
			if !r.queue.push(ctx, it) {
				return
			}
		}
		if !r.loop || count == 0 || ctx.Err() != nil {
			return
		}
	}
}
