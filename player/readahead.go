package player

import (
	"context"

	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/timeline"
	"github.com/gorosbag/gorosbag/player/internal/transport"
)

// readahead reads ahead of play: a reader that serves read requests on another core, and
// the queue that it fills. A new request discards what was read for older ones.
type readahead struct {
	queue  *queue
	reader *reader
}

// firstAheadShare of the bags in stores is read ahead before the first message is played.
const firstAheadShare = 100

// firstAheadBytes returns what of the bags is read ahead before play has gone on: all that the
// queue holds, but of bags in a store no more than a share of them, however fast the link is.
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

func newReadahead(p *plan.Plan, o *timeline.Order) *readahead {
	q := newQueue(maxAheadBytes, maxAheadMessages)
	q.firstBytes = firstAheadBytes(p)
	q.window = q.firstBytes
	return &readahead{q, newReader(o, q)}
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

// run serves read requests until ctx ends.
func (r *readahead) run(ctx context.Context) { r.reader.run(ctx) }
