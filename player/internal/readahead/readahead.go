// Package readahead reads the messages of a plan ahead of play: a reader serves read requests on another
// core and fills a bounded queue, from which play takes messages and jumps. The lock of the queue is held
// for a few messages at a time, and never while reading.
package readahead

import (
	"context"

	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/timeline"
	"github.com/gorosbag/gorosbag/player/internal/transport"
)

// Readahead is a reader and the queue that it fills. A new read request discards what was read for older
// requests.
type Readahead struct {
	Queue  *Queue
	Memory *Memory // of the chunks
	reader *reader
}

// Of bags in stores, one part in firstAheadShare is read ahead before the first message is played.
const firstAheadShare = 100

// firstAheadBytes returns how many bytes are read ahead before the first message is played: as many as
// the queue holds, but of bags in a store no more than a share of them, however fast the link is.
func firstAheadBytes(p *plan.Plan) int {
	var remote int64
	for _, b := range p.Bags {
		if info := b.Source.Info(); info.Remote {
			remote += info.Size
		}
	}
	if remote == 0 {
		return maxAheadBytes
	}
	return int(min(max(remote/firstAheadShare, minAheadBytes), maxAheadBytes))
}

// New prepares reading the messages of a plan ahead, in an order.
func New(p *plan.Plan, o *timeline.Order) *Readahead {
	q := NewQueue(maxAheadBytes, maxAheadMessages)
	q.firstBytes = firstAheadBytes(p)
	q.window = q.firstBytes
	r := newReader(o, q)
	r.memory = new(Memory)
	o.Memory = r.memory
	return &Readahead{q, r.memory, r}
}

// Begin submits the first read request.
func (r *Readahead) Begin(o transport.ReadRequest) { r.reader.submit(readRequest{ReadRequest: o}) }

// Restart submits another read request and returns its epoch. Only one goroutine at a time
// may call it.
// See ADR 0039.
func (r *Readahead) Restart(o transport.ReadRequest) (epoch uint64) {
	epoch = r.Queue.restart()
	r.reader.submit(readRequest{ReadRequest: o, epoch: epoch})
	return epoch
}

// Run serves read requests until ctx ends.
func (r *Readahead) Run(ctx context.Context) { r.reader.run(ctx) }
