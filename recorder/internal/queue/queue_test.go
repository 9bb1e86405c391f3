package queue

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// TestQueueKeepsOrder: also where it is used again, and what it held is not kept alive. A
// queue that is closed gives what is in it.
func TestQueueKeepsOrder(t *testing.T) {
	t.Parallel()
	q := New[*int]()
	in, out := 0, 0
	take := func() {
		t.Helper()
		if v, ok := q.Take(); !ok || *v != out {
			t.Fatalf("took %v, want %d", v, out)
		}
		out++
	}
	for range 1000 {
		for range 3 {
			v := in
			q.Put(&v)
			in++
		}
		for range 3 {
			take()
		}
	}
	if cap(q.items) > 16 {
		t.Errorf("a queue of at most 3 takes memory for %d", cap(q.items))
	}
	for range 20 { // it grows
		v := in
		q.Put(&v)
		in++
	}
	for range 15 {
		take()
	}
	for range 5 + cap(q.items) - len(q.items) { // and what is left moves to the front
		v := in
		q.Put(&v)
		in++
	}
	for in-out > 10 {
		take()
	}
	alive := 0
	for _, v := range q.items[:cap(q.items)] {
		if v != nil {
			alive++
		}
	}
	if alive != 10 {
		t.Errorf("%d items are kept alive of a queue that holds 10", alive)
	}
	q.Close()
	for range 10 {
		take()
	}
	if v, ok := q.Take(); ok || v != nil {
		t.Errorf("took %v from a queue that is closed and empty", v)
	}
}

// TestQueueMovesItemsRarely: a long queue through which items pass moves them when its memory
// is used up, not with each item.
func TestQueueMovesItemsRarely(t *testing.T) {
	t.Parallel()
	q := New[int]()
	const length, passed = 1000, 10_000
	for i := range length {
		q.Put(i)
	}
	moves := 0
	for i := range passed {
		q.Take()
		before := q.head
		if q.Put(i); q.head < before {
			moves++
		}
	}
	if moves > 2*passed/(cap(q.items)-length) || cap(q.items) > 2*length {
		t.Errorf("%d items through a queue of %d with memory for %d: moved %d times", passed, length, cap(q.items), moves)
	}
}

// TestQueueWakesWhoWaits: one for each item, and all when it is closed.
func TestQueueWakesWhoWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New[int64]()
		var got, ended atomic.Int64
		for range 3 {
			go func() {
				if v, ok := q.Take(); ok {
					got.Add(v)
				} else {
					ended.Add(1)
				}
			}()
			synctest.Wait() // it waits
		}
		q.Put(7)
		synctest.Wait()
		if got.Load() != 7 || ended.Load() != 0 {
			t.Errorf("of three that wait for 7 one got %d, %d ended", got.Load(), ended.Load())
		}
		q.Close()
		synctest.Wait()
		if got.Load() != 7 || ended.Load() != 2 {
			t.Errorf("%d of two that wait ended with the queue", ended.Load())
		}
	})
}
