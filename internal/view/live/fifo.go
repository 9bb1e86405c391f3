package live

// numbered is a frame with its place in the order of all frames.
type numbered struct {
	Frame
	number uint64
}

// keptItems bounds the room that an empty queue keeps for its next frames.
const keptItems = 32

// fifo is a queue of frames with their bytes.
type fifo struct {
	items []numbered
	head  int // index of the oldest frame
	bytes int64
}

func (q *fifo) len() int           { return len(q.items) - q.head }
func (q *fifo) frames() []numbered { return q.items[q.head:] }
func (q *fifo) first() *Frame      { return &q.items[q.head].Frame }
func (q *fifo) number() uint64     { return q.items[q.head].number }

func (q *fifo) push(f numbered) {
	if q.head > 0 && len(q.items) == cap(q.items) && q.head >= len(q.items)/2 {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, f)
	q.bytes += f.charge()
}

// pop removes the oldest frame.
func (q *fifo) pop() Frame {
	f := q.items[q.head].Frame
	q.items[q.head] = numbered{} // releases the payload
	q.head++
	q.bytes -= f.charge()
	if q.len() == 0 {
		q.items, q.head = q.items[:0], 0
		if cap(q.items) > keptItems {
			q.items = nil // the frames that it had room for do not count any more
		}
	}
	return f
}
