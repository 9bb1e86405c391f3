package player

import (
	"context"
	"testing"
	"testing/synctest"
)

func testItem(n int) item {
	return item{frame: make([]byte, n), route: &route{bag: &bagPlan{}}, pass: n}
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
					q.close()
				}()
				synctest.Wait()
				if pushed != tc.fit {
					t.Errorf("%d items got in, want %d", pushed, tc.fit)
				}
				for i, n := range tc.push {
					if it, ok := q.pop(t.Context()); !ok || it.pass != n {
						t.Fatalf("item %d: got %d, %v; want %d", i, it.pass, ok, n)
					}
				}
				if _, ok := q.pop(t.Context()); ok {
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
		if _, ok := q.pop(t.Context()); !ok {
			t.Error("pop lost an item")
		}
		if _, ok := q.pop(ctx); ok {
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
			if it, _ := q.pop(t.Context()); it.pass != out%7 {
				t.Fatalf("item %d out of order", out)
			}
			out++
		}
	}
	if q.count != in-out {
		t.Errorf("%d items left, want %d", q.count, in-out)
	}
}
