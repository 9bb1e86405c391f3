package recorder

import (
	"slices"
	"time"

	"go.uber.org/zap"
)

// A publisher that is held up for so long is reported.
const (
	blockageReport = 3 * time.Second
	blockageAgain  = 10 * time.Second
)

// blockage is one wait of a link for room, until it goes on: a literal with its topic begins
// one. It is guarded by intake.mu.
type blockage struct {
	topic      *topic
	since      time.Time // zero while it did not have to wait
	reportedAt time.Time // when it was reported; zero if it was not
}

// wait lets a link wait until there may be room. mu is held.
func (in *intake) wait(b *blockage) {
	if b.since.IsZero() {
		b.since = time.Now()
		in.blocked = append(in.blocked, b)
	}
	in.room.Wait()
}

// endBlockage is called when the link goes on, whether it had to wait or not. mu is held.
func (in *intake) endBlockage(b *blockage) {
	if b.since.IsZero() {
		return
	}
	in.blocked = slices.DeleteFunc(in.blocked, func(o *blockage) bool { return o == b })
	took := time.Since(b.since)
	if took >= blockageReport {
		b.topic.heldUp += took
	}
	if !b.reportedAt.IsZero() {
		b.topic.freed = max(b.topic.freed, took)
	}
}

// heldUp returns how long links of t have been held up, in waits that are worth a report.
// mu is held.
func (in *intake) heldUp(t *topic, now time.Time) time.Duration {
	all := t.heldUp
	for _, b := range in.blocked {
		if took := now.Sub(b.since); b.topic == t && took >= blockageReport {
			all += took
		}
	}
	return all
}

// blockageNews is what tick tells of one topic.
type blockageNews struct {
	topic string
	took  time.Duration
	over  bool
}

// blockageNews returns what is to be told. mu is held.
func (in *intake) blockageNews(now time.Time) (all []blockageNews) {
	if !in.pool.Blocks {
		return nil
	}
	for _, b := range in.blocked {
		if took := now.Sub(b.since); took >= blockageReport && now.Sub(b.reportedAt) >= blockageAgain {
			b.reportedAt = now
			all = append(all, blockageNews{b.topic.name, took, false})
		}
	}
	for _, t := range in.topics {
		if t.freed > 0 && now.Sub(t.freedReportedAt) >= blockageAgain {
			all = append(all, blockageNews{t.name, t.freed, true})
			t.freed, t.freedReportedAt = 0, now
		}
	}
	return all
}

// logBlockages logs it.
func (in *intake) logBlockages(all []blockageNews) {
	for _, n := range all {
		took := zap.Duration("for", n.took.Round(time.Millisecond))
		if n.over {
			in.log.Info("a publisher goes on", zap.String("topic", n.topic), took)
		} else {
			in.log.Warn("a publisher is held up, as --overflow block asks: the buffer is full; what its own queue does not hold is lost there", zap.String("topic", n.topic), took)
		}
	}
}
