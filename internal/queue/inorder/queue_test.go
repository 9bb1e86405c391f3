package inorder

import (
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestOrder: jobs come in their order, each with a worker of its own, and no more of them at a time than
// there are workers.
func TestOrder(t *testing.T) {
	t.Parallel()
	type job struct{ in, out int }
	var running, most atomic.Int32
	q := New([]*int{new(int), new(int), new(int)}, func(j *job, w *int) {
		if n := running.Add(1); n > most.Load() {
			most.Store(n)
		}
		*w++ // a race if two have it
		j.out = j.in * j.in
		running.Add(-1)
	})
	next := 0
	for i := range 1000 {
		j := q.Job()
		j.in = i
		q.Start(j)
		if q.Len() < 10 {
			continue
		}
		if first := q.First(); first.in != next {
			t.Fatalf("job %d is the first, want %d", first.in, next)
		}
		if j = q.Take(); j.in != next || j.out != next*next {
			t.Fatalf("took %+v, want job %d", j, next)
		}
		next++
		q.Recycle(j)
	}
	q.Close()
	if q.Len() != 0 || q.First() != nil || q.Take() != nil || q.Done() {
		t.Error("there are jobs after Close")
	}
	if most.Load() > 3 || q.jobs != 10 || q.Spare(10) != 10 || q.Spare(12) != 12 {
		t.Errorf("%d jobs at a time, %d made, %d to spare", most.Load(), q.jobs, q.Spare(10))
	}
}

// TestWait: what is not done is not waited for once it is canceled.
func TestWait(t *testing.T) {
	t.Parallel()
	release, cancel := make(chan struct{}), make(chan struct{})
	q := New(make([]struct{}, 2), func(*int, struct{}) { <-release })
	for range 2 {
		q.Start(q.Job())
	}
	close(cancel)
	if q.Wait(cancel) || q.Done() {
		t.Error("the job is done")
	}
	close(release)
	for range 2 { // the second time it is known
		if !q.Wait(nil) || !q.Done() {
			t.Error("the job is not done")
		}
	}
	q.Take()
	q.Close()
}
