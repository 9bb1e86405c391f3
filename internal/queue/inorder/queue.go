// Package inorder does work on other goroutines before its result is needed, and gives the results out in
// the order in which the work was started. The writers and readers of bags, recovery and job use a Queue
// in place of goroutines of their own.
package inorder

// Queue does jobs of type J, each with a worker of type W: a codec with its buffers, for example. A Queue
// belongs to one goroutine, and so does a job, except between Start and Take.
type Queue[J, W any] struct {
	do      func(*J, W)
	workers chan W // the idle ones
	queue   []item[J]
	free    []*J
	tokens  []chan struct{} // of jobs that were taken
	jobs    int             // made so far
}

// item is a job that was started and not taken.
type item[J any] struct {
	job   *J
	done  chan struct{} // gets one token
	ready bool          // the token was received
}

// New returns a Queue that calls do for each job, at most one at a time with each of the workers.
func New[J, W any](workers []W, do func(*J, W)) *Queue[J, W] {
	q := &Queue[J, W]{do: do, workers: make(chan W, len(workers))}
	for _, w := range workers {
		q.workers <- w
	}
	return q
}

// Workers returns the number of workers.
func (q *Queue[J, W]) Workers() int { return cap(q.workers) }

// Len returns the number of jobs that were started and not taken.
func (q *Queue[J, W]) Len() int { return len(q.queue) }

// Job returns a job that was recycled, as it was then, or the zero one.
func (q *Queue[J, W]) Job() *J {
	if n := len(q.free) - 1; n >= 0 {
		j := q.free[n]
		q.free = q.free[:n]
		return j
	}
	q.jobs++
	return new(J)
}

// Spare returns how many jobs Job can return until there are limit of them, recycled ones included.
func (q *Queue[J, W]) Spare(limit int) int { return len(q.free) + max(limit-q.jobs, 0) }

// Start hands j over to the next idle worker.
func (q *Queue[J, W]) Start(j *J) {
	x := item[J]{job: j}
	if n := len(q.tokens) - 1; n >= 0 {
		x.done, q.tokens = q.tokens[n], q.tokens[:n]
	} else {
		x.done = make(chan struct{}, 1)
	}
	q.queue = append(q.queue, x)
	// owner: the Queue; ends when the job is done, and Take or Close waits for that.
	go func() {
		w := <-q.workers
		q.do(j, w)
		q.workers <- w
		x.done <- struct{}{}
	}()
}

// First returns the oldest job of the queue, nil if there is none. Because a worker may be busy with it,
// the caller may only read what Start was given.
func (q *Queue[J, W]) First() *J {
	if len(q.queue) == 0 {
		return nil
	}
	return q.queue[0].job
}

// Wait waits until the oldest job is done. It reports false if cancel, which may be nil, was closed before.
func (q *Queue[J, W]) Wait(cancel <-chan struct{}) bool {
	x := &q.queue[0]
	if x.ready {
		return true
	}
	select {
	case <-x.done:
		x.ready = true
		return true
	case <-cancel:
		return false
	}
}

// Done reports whether the oldest job is done. It does not wait.
func (q *Queue[J, W]) Done() bool {
	if len(q.queue) == 0 {
		return false
	}
	x := &q.queue[0]
	select {
	case <-x.done:
		x.ready = true
	default:
	}
	return x.ready
}

// Take waits until the oldest job is done, and removes it from the queue. It returns nil if there is none.
func (q *Queue[J, W]) Take() *J {
	if len(q.queue) == 0 {
		return nil
	}
	q.Wait(nil)
	x := q.queue[0]
	q.tokens = append(q.tokens, x.done)
	n := copy(q.queue, q.queue[1:])
	q.queue[n] = item[J]{}
	q.queue = q.queue[:n]
	return x.job
}

// Recycle gives a job that was taken back for Job, with its memory.
func (q *Queue[J, W]) Recycle(j *J) { q.free = append(q.free, j) }

// Close waits for all jobs, and recycles them: when it returns no goroutine of the Queue is left.
func (q *Queue[J, W]) Close() {
	for len(q.queue) > 0 {
		q.Recycle(q.Take())
	}
}
