package publink

const ringFirst = 16

// queue has the frames of one subscriber in the order in which the link sends them. Link.mu guards
// it.
type queue struct {
	limit int   // frames; zero means unlimited
	room  *room // of the publication
	ring  [][]byte
	head  int  // index of the oldest frame
	n     int  // frames
	bytes int  // bytes of memory of the frames
	full  bool // counted in room
}

// newQueue returns a queue of at most limit frames. The queues of a publication with OverflowBlock
// have no limit of frames.
func newQueue(limit int, r *room) queue {
	if r.block {
		limit = 0
	}
	return queue{limit: limit, room: r}
}

// push adds a frame. A queue at its limit drops its oldest frame, which push reports.
func (q *queue) push(frame []byte) (dropped bool) {
	switch {
	case q.limit > 0 && q.n == q.limit:
		q.shift()
		dropped = true
	case q.n == len(q.ring):
		q.grow()
	}
	at := q.head + q.n
	if at >= len(q.ring) {
		at -= len(q.ring)
	}
	q.ring[at] = frame
	q.n++
	q.bytes += len(frame) + frameCost
	if !q.full && q.room.isFull(false, q.n, q.bytes) {
		q.full = true
		q.room.filled()
	}
	return dropped
}

// take moves the oldest frames to batch, as many as a batch may contain.
func (q *queue) take(batch [][]byte) [][]byte {
	for size := 0; q.n > 0 && len(batch) < batchFrames && size < batchBytes; {
		f := q.shift()
		batch = append(batch, f)
		size += len(f)
	}
	return batch
}

// leaveFull reports whether the queue was full and no longer is. If so, the caller calls
// room.release, without Link.mu.
func (q *queue) leaveFull() bool {
	freed := q.full && !q.room.isFull(true, q.n, q.bytes)
	q.full = q.full && !freed
	return freed
}

// end makes the queue not full, and reports whether it was full. If so, the caller calls
// room.release, without Link.mu.
func (q *queue) end() bool {
	full := q.full
	q.full = false
	return full
}

// shift removes the oldest frame and returns it.
func (q *queue) shift() []byte {
	f := q.ring[q.head]
	q.ring[q.head] = nil
	if q.head++; q.head == len(q.ring) {
		q.head = 0
	}
	q.n--
	q.bytes -= len(f) + frameCost
	return f
}

func (q *queue) grow() {
	size := max(ringFirst, 2*len(q.ring))
	if q.limit > 0 {
		size = min(size, q.limit)
	}
	ring := make([][]byte, size)
	k := copy(ring, q.ring[q.head:])
	copy(ring[k:], q.ring[:q.head])
	q.ring, q.head = ring, 0
}
