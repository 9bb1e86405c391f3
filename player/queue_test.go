package player

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/transport"
)

func testItem(n int) item {
	return item{frame: make([]byte, n), route: &plan.Route{Bag: &plan.Bag{}}, at: transport.Place{Rank: n}}
}

// popOne is pop for one item.
func popOne(ctx context.Context, q *queue) (item, bool) {
	run, ok := q.pop(ctx, make([]item, 0, 1))
	if !ok {
		return item{}, false
	}
	return run[0], true
}

func TestQueueBounds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		bytes, items int
		push         []int // sizes
		fit          int   // how many get in before something is popped
	}{
		"bytes":              {100, 1000, []int{40, 40, 40}, 2},
		"exactly":            {100, 1000, []int{40, 60, 1}, 2},
		"items":              {1000, 2, []int{1, 1, 1}, 2},
		"bigger than all":    {100, 1000, []int{500, 1}, 1},
		"big one must wait":  {100, 1000, []int{1, 500}, 1},
		"empty ones have no": {100, 100, []int{0, 0, 0, 0, 100, 1}, 5},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := newQueue(tc.bytes, tc.items)
				pushed := 0
				go func() {
					for _, n := range tc.push {
						q.push(t.Context(), testItem(n))
						pushed++
					}
					q.close(0)
				}()
				synctest.Wait()
				if pushed != tc.fit {
					t.Errorf("%d items got in, want %d", pushed, tc.fit)
				}
				for i, n := range tc.push {
					if it, ok := popOne(t.Context(), q); !ok || it.at.Rank != n {
						t.Fatalf("item %d: got %d, %v; want %d", i, it.at.Rank, ok, n)
					}
				}
				if _, ok := popOne(t.Context(), q); ok {
					t.Error("an item after the end")
				}
			})
		})
	}
}

// A frame keeps its chunk alive, so a rare topic costs its share of the chunk.
func TestQueueCountsChunkShare(t *testing.T) {
	t.Parallel()
	it := testItem(8)
	it.retained = 700_000
	if got := it.cost(); got != 700_000 {
		t.Errorf("cost %d, want the share of the chunk", got)
	}
}

func TestQueueEndsWithContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(10, 10)
		ctx, cancel := context.WithCancel(t.Context())
		q.push(ctx, testItem(10))
		results := make(chan bool, 2)
		go func() { results <- q.push(ctx, testItem(10)) }()
		synctest.Wait()
		cancel()
		if <-results {
			t.Error("push got room that is not there")
		}
		if _, ok := popOne(t.Context(), q); !ok {
			t.Error("pop lost an item")
		}
		if _, ok := popOne(ctx, q); ok {
			t.Error("pop made up an item")
		}
		if q.starvedCount() != 1 {
			t.Errorf("starved %d times, want 1", q.starvedCount())
		}
	})
}

func TestQueueRing(t *testing.T) {
	t.Parallel()
	q := newQueue(1<<30, 1<<20)
	in, out := 0, 0
	for round := range 50 { // grows while its ring is wrapped
		for range 3 * round {
			q.push(t.Context(), testItem(in%7))
			in++
		}
		for range 2 * round {
			if it, _ := popOne(t.Context(), q); it.at.Rank != out%7 {
				t.Fatalf("item %d out of order", out)
			}
			out++
		}
	}
	if q.count != in-out {
		t.Errorf("%d items left, want %d", q.count, in-out)
	}
}

// A run is bounded by the room for it and by its bytes, but holds one item of any size.
func TestQueueRuns(t *testing.T) {
	t.Parallel()
	q := newQueue(1<<30, 1<<20)
	for _, n := range []int{1, 1, 1, 1, 2 * runBytes, 1, runBytes - 1, 1, 1} {
		q.push(t.Context(), testItem(n))
	}
	run := make([]item, 0, 3)
	for i, want := range []int{3, 2, 2, 2} {
		run, _ = q.pop(t.Context(), run[:0])
		if len(run) != want {
			t.Errorf("run %d has %d items, want %d", i, len(run), want)
		}
	}
}

// Who waits for room is woken once for many items, not for each: when half of what the
// queue holds, items or bytes, is free, not before.
func TestQueueWakesAtHalf(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ bytes, items, itemBytes int }{"items": {1000, 10, 1}, "bytes": {100, 1000, 10}} {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue(tc.bytes, tc.items)
			pushed := 0
			go func() {
				for range 20 {
					q.push(t.Context(), testItem(tc.itemBytes))
					pushed++
				}
			}()
			for i, want := range []int{10, 10, 10, 10, 10, 15, 15} {
				synctest.Wait()
				if pushed != want {
					t.Errorf("%s: after %d were popped %d had been pushed, want %d", name, i, pushed, want)
				}
				popOne(t.Context(), q)
			}
			for range 13 {
				popOne(t.Context(), q)
			}
		})
	}
}

// An epoch begins with a part of the room, which grows by what is popped.
func TestQueueWindow(t *testing.T) {
	t.Parallel()
	q := newQueue(100, 1<<10)
	q.firstBytes, q.window = 20, 20
	fill := func() (n int) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for ; ; n++ {
			if q.queuedBytes()+10 > q.window {
				cancel()
			}
			if it := testItem(10); !q.push(ctx, item{route: it.route, frame: it.frame, epoch: q.epoch}) {
				return n
			}
		}
	}
	if n := fill(); n != 2 {
		t.Errorf("%d items of 10 bytes at first", n)
	}
	for range 2 {
		popOne(t.Context(), q)
	}
	if n := fill(); n != 4 {
		t.Errorf("%d items after 20 bytes were popped", n)
	}
	for range 50 {
		fill()
		popOne(t.Context(), q)
	}
	if fill(); q.queuedBytes() != 100 {
		t.Errorf("%d bytes at most", q.queuedBytes())
	}
	q.restart()
	if n := fill(); n != 2 {
		t.Errorf("%d items after a restart", n)
	}
}

// A push wakes pop only while it waits.
func TestQueueWakesNobody(t *testing.T) {
	t.Parallel()
	q := newQueue(100, 10)
	for range 3 {
		q.push(t.Context(), testItem(1))
	}
	popOne(t.Context(), q)
	popOne(t.Context(), q)
	if len(q.notFull) > 0 || q.pushWaiting {
		t.Error("a push that had room is said to wait for it")
	}
	if len(q.notEmpty) > 0 || q.popWaiting {
		t.Error("a pop that had an item is said to wait for one")
	}
}

// Whoever pops is waiting for the disk until an item comes or the epoch ends.
func TestQueueIsDry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(100, 10)
		go func() {
			time.Sleep(2 * time.Second)
			if got := q.starvedFor(); got != 2*time.Second {
				t.Errorf("dry for %v, want 2s", got)
			}
			q.push(t.Context(), testItem(1))
		}()
		popOne(t.Context(), q)
		time.Sleep(time.Second)
		if got := q.starvedFor(); got != 0 {
			t.Errorf("dry for %v after an item came", got)
		}
		go func() {
			time.Sleep(2 * time.Second)
			q.close(0)
		}()
		popOne(t.Context(), q)
		if got := q.starvedFor(); got != 0 || q.starvedCount() != 2 {
			t.Errorf("dry for %v at the end, starved %d times", got, q.starvedCount())
		}
	})
}

// An epoch is done when it has ended and everything of it was popped.
func TestQueueIsDone(t *testing.T) {
	t.Parallel()
	q := newQueue(100, 10)
	q.push(t.Context(), testItem(1))
	for _, step := range []struct {
		what string
		do   func()
		want bool
	}{
		{"with an item", func() {}, false},
		{"closed, with an item", func() { q.close(0) }, false},
		{"closed and empty", func() { popOne(t.Context(), q) }, true},
		{"a new epoch", func() { q.restart() }, false},
		{"the end of an old epoch", func() { q.close(0) }, false},
	} {
		if step.do(); q.drained() != step.want {
			t.Errorf("%s: done is %v", step.what, q.drained())
		}
	}
}

// A restart forgets everything, and what is pushed for an older epoch is refused.
func TestQueueRestarts(t *testing.T) {
	t.Parallel()
	q := newQueue(100, 10)
	for range 3 {
		q.push(t.Context(), testItem(7))
	}
	epoch := q.restart()
	if q.queuedBytes() != 0 || q.push(t.Context(), testItem(7)) {
		t.Error("something of the old epoch is left")
	}
	it := testItem(5)
	if it.epoch = epoch; !q.push(t.Context(), it) || q.queuedBytes() != 5 {
		t.Error("the new epoch has no room")
	}
}
