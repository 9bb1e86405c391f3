package player

import "github.com/gorosbag/gorosbag/player/internal/transport"

// readahead reads ahead of play: a reader that serves read requests on another core, and
// the queue that it fills. A new request discards what was read for older ones.
type readahead struct {
	queue  *queue
	reader *reader
}

func newReadahead(p *plan) *readahead {
	q := newQueue(maxAheadBytes, maxAheadMessages)
	return &readahead{q, newReader(p, q)}
}

// begin submits the first read request.
func (r *readahead) begin(o transport.ReadRequest) { r.reader.submit(readRequest{ReadRequest: o}) }

// restart submits another read request and returns its epoch. Only one goroutine at a time
// may call it.
func (r *readahead) restart(o transport.ReadRequest) (epoch uint64) {
	epoch = r.queue.restart()
	r.reader.submit(readRequest{ReadRequest: o, epoch: epoch})
	return epoch
}
