package intake

import (
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/internal/account"
)

// wait lets a link wait until there may be room. mu is held.
func (in *Intake) wait(w *account.Wait) {
	in.Account.BeginWait(w, time.Now())
	in.Room.Wait()
}

// logWaits reports links that are held up, and links that go on.
func (in *Intake) logWaits(all []account.WaitNews) {
	for _, n := range all {
		took := zap.Duration("for", n.Took.Round(time.Millisecond))
		if n.Over {
			in.log.Info("a publisher goes on", zap.String("topic", n.Topic), took)
		} else {
			in.log.Warn("a publisher is held up, as --overflow block asks: the buffer is full; what its own queue does not hold is lost there", zap.String("topic", n.Topic), took)
		}
	}
}

// logPublishers reports messages and links that were lost, and publishers that are back.
func (in *Intake) logPublishers(all []account.PublisherNews) {
	for _, n := range all {
		log := in.log.With(zap.String("topic", n.Topic), zap.String("publisher", n.Publisher))
		without := zap.Duration("without", n.Without.Round(time.Millisecond))
		if n.Missed > 0 {
			log.Warn("messages that were published have not reached us: the publisher's queue is too small, or the way to here too slow", zap.Uint64("messages", n.Missed))
		}
		if n.Lost > 0 {
			log.Warn("link to a publisher lost", zap.Uint64("times", n.Lost), without)
		}
		if n.Back > 0 {
			log.Info("a publisher is back", zap.Uint64("times", n.Back), without)
		}
	}
}
