package readahead

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/transport"
)

func testItem(n int) Item {
	return Item{Frame: make([]byte, n), Route: &plan.Route{Bag: &plan.Bag{}}, At: transport.Place{Rank: n}}
}

// popOne is pop for one item.
func popOne(ctx context.Context, q *Queue) (Item, bool) {
	run, ok := q.Pop(ctx, make([]Item, 0, 1))
	if !ok {
		return Item{}, false
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
				q := NewQueue(tc.bytes, tc.items)
				pushed := 0
				go func() {
					for _, n := range tc.push {
						q.Push(t.Context(), testItem(n))
						pushed++
					}
					q.Close(0)
				}()
				synctest.Wait()
				if pushed != tc.fit {
					t.Errorf("%d items got in, want %d", pushed, tc.fit)
				}
				for i, n := range tc.push {
					if it, ok := popOne(t.Context(), q); !ok || it.At.Rank != n {
						t.Fatalf("item %d: got %d, %v; want %d", i, it.At.Rank, ok, n)
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

// Memory takes no room of messages, however large they are, and nobody waits for it.
func TestQueueOfMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(10, 10)
		memory := Item{Frame: make([]byte, 100)}
		popped := make(chan []Item)
		go func() {
			run, _ := q.Pop(t.Context(), make([]Item, 0, RunItems))
			popped <- run
		}()
		synctest.Wait()
		q.Push(t.Context(), memory)
		synctest.Wait()
		select {
		case run := <-popped:
			t.Fatalf("got %d items without a message", len(run))
		default:
		}
		q.Push(t.Context(), testItem(1000))
		if run := <-popped; len(run) != 2 || !run[0].Memory() || q.StarvedCount() != 1 {
			t.Errorf("got %d items, starved %d times", len(run), q.StarvedCount())
		}
	})
}

func TestQueueEndsWithContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(10, 10)
		ctx, cancel := context.WithCancel(t.Context())
		q.Push(ctx, testItem(10))
		results := make(chan bool, 2)
		go func() { results <- q.Push(ctx, testItem(10)) }()
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
		if q.StarvedCount() != 1 {
			t.Errorf("starved %d times, want 1", q.StarvedCount())
		}
	})
}

func TestQueueRing(t *testing.T) {
	t.Parallel()
	q := NewQueue(1<<30, 1<<20)
	in, out := 0, 0
	for round := range 50 { // grows while its ring is wrapped
		for range 3 * round {
			q.Push(t.Context(), testItem(in%7))
			in++
		}
		for range 2 * round {
			if it, _ := popOne(t.Context(), q); it.At.Rank != out%7 {
				t.Fatalf("item %d out of order", out)
			}
			out++
		}
	}
	if q.ring.count != in-out {
		t.Errorf("%d items left, want %d", q.ring.count, in-out)
	}
}

// A run is bounded by the room for it and by its bytes, but holds one item of any size.
func TestQueueRuns(t *testing.T) {
	t.Parallel()
	q := NewQueue(1<<30, 1<<20)
	for _, n := range []int{1, 1, 1, 1, 2 * runBytes, 1, runBytes - 1, 1, 1} {
		q.Push(t.Context(), testItem(n))
	}
	run := make([]Item, 0, 3)
	for i, want := range []int{3, 2, 2, 2} {
		run, _ = q.Pop(t.Context(), run[:0])
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
			q := NewQueue(tc.bytes, tc.items)
			pushed := 0
			go func() {
				for range 20 {
					q.Push(t.Context(), testItem(tc.itemBytes))
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
	q := NewQueue(100, 1<<10)
	q.firstBytes, q.window = 20, 20
	fill := func() (n int) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for ; ; n++ {
			if q.QueuedBytes()+10 > q.window {
				cancel()
			}
			if it := testItem(10); !q.Push(ctx, Item{Route: it.Route, Frame: it.Frame, Epoch: q.epoch}) {
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
	if fill(); q.QueuedBytes() != 100 {
		t.Errorf("%d bytes at most", q.QueuedBytes())
	}
	q.restart()
	if n := fill(); n != 2 {
		t.Errorf("%d items after a restart", n)
	}
}

// A push wakes pop only while it waits.
func TestQueueWakesNobody(t *testing.T) {
	t.Parallel()
	q := NewQueue(100, 10)
	for range 3 {
		q.Push(t.Context(), testItem(1))
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
		q := NewQueue(100, 10)
		go func() {
			time.Sleep(2 * time.Second)
			if got := q.StarvedFor(); got != 2*time.Second {
				t.Errorf("dry for %v, want 2s", got)
			}
			q.Push(t.Context(), testItem(1))
		}()
		popOne(t.Context(), q)
		time.Sleep(time.Second)
		if got := q.StarvedFor(); got != 0 {
			t.Errorf("dry for %v after an item came", got)
		}
		go func() {
			time.Sleep(2 * time.Second)
			q.Close(0)
		}()
		popOne(t.Context(), q)
		if got := q.StarvedFor(); got != 0 || q.StarvedCount() != 2 {
			t.Errorf("dry for %v at the end, starved %d times", got, q.StarvedCount())
		}
	})
}

// An epoch is done when it has ended and everything of it was popped.
func TestQueueIsDone(t *testing.T) {
	t.Parallel()
	q := NewQueue(100, 10)
	q.Push(t.Context(), testItem(1))
	for _, step := range []struct {
		what string
		do   func()
		want bool
	}{
		{"with an item", func() {}, false},
		{"closed, with an item", func() { q.Close(0) }, false},
		{"closed and empty", func() { popOne(t.Context(), q) }, true},
		{"a new epoch", func() { q.restart() }, false},
		{"the end of an old epoch", func() { q.Close(0) }, false},
	} {
		if step.do(); q.Drained() != step.want {
			t.Errorf("%s: done is %v", step.what, q.Drained())
		}
	}
}

// A restart forgets everything, and what is pushed for an older epoch is refused.
func TestQueueRestarts(t *testing.T) {
	t.Parallel()
	q := NewQueue(100, 10)
	for range 3 {
		q.Push(t.Context(), testItem(7))
	}
	epoch := q.restart()
	if q.QueuedBytes() != 0 || q.Push(t.Context(), testItem(7)) {
		t.Error("something of the old epoch is left")
	}
	it := testItem(5)
	if it.Epoch = epoch; !q.Push(t.Context(), it) || q.QueuedBytes() != 5 {
		t.Error("the new epoch has no room")
	}
}
