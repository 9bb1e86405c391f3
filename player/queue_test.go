package player

import (
	"context"
	"testing"
	"testing/synctest"
)

func testItem(n int) item {
	return item{frame: make([]byte, n), route: &route{bag: &bagPlan{}}, rank: n}
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
					if it, ok := popOne(t.Context(), q); !ok || it.rank != n {
						t.Fatalf("item %d: got %d, %v; want %d", i, it.rank, ok, n)
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
	it.share = 700_000
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
		if q.timesStarved() != 1 {
			t.Errorf("starved %d times, want 1", q.timesStarved())
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
			if it, _ := popOne(t.Context(), q); it.rank != out%7 {
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

// Who waits for room is woken once for many items, not for each.
func TestQueueWakesAtHalf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1000, 10)
		pushed := 0
		go func() {
			for range 20 {
				q.push(t.Context(), testItem(1))
				pushed++
			}
		}()
		for i, want := range []int{10, 10, 10, 10, 10, 15, 15} {
			synctest.Wait()
			if pushed != want {
				t.Errorf("after %d were popped %d had been pushed, want %d", i, pushed, want)
			}
			popOne(t.Context(), q)
		}
		for range 13 {
			popOne(t.Context(), q)
		}
	})
}
