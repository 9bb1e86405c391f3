package intake

import (
	"slices"
	"time"

	"go.uber.org/zap"
)

// A publisher that is held up for so long is reported.
const (
	BlockageReport = 3 * time.Second
	blockageAgain  = 10 * time.Second
)

// Blockage is one wait of a link for room, until it goes on: a literal with its topic begins
// one. It is guarded by intake.mu.
type Blockage struct {
	Topic      *Topic
	Since      time.Time // zero while it did not have to wait
	reportedAt time.Time // when it was reported; zero if it was not
}

// wait lets a link wait until there may be room. mu is held.
func (in *Intake) wait(b *Blockage) {
	if b.Since.IsZero() {
		b.Since = time.Now()
		in.Blocked = append(in.Blocked, b)
	}
	in.Room.Wait()
}

// EndBlockage is called when the link goes on, whether it had to wait or not. mu is held.
func (in *Intake) EndBlockage(b *Blockage) {
	if b.Since.IsZero() {
		return
	}
	in.Blocked = slices.DeleteFunc(in.Blocked, func(o *Blockage) bool { return o == b })
	took := time.Since(b.Since)
	if took >= BlockageReport {
		b.Topic.HeldUp += took
	}
	if !b.reportedAt.IsZero() {
		b.Topic.freed = max(b.Topic.freed, took)
	}
}

// HeldUp returns how long links of t have been held up, in waits that are worth a report.
// mu is held.
func (in *Intake) HeldUp(t *Topic, now time.Time) time.Duration {
	all := t.HeldUp
	for _, b := range in.Blocked {
		if took := now.Sub(b.Since); b.Topic == t && took >= BlockageReport {
			all += took
		}
	}
	return all
}

// blockageNews is what tick tells of one topic.
type blockageNews struct {
	topic string
	took  time.Duration
	Over  bool
}

// BlockageNews returns what is to be told. mu is held.
func (in *Intake) BlockageNews(now time.Time) (all []blockageNews) {
	if !in.Pool.Blocks {
		return nil
	}
	for _, b := range in.Blocked {
		if took := now.Sub(b.Since); took >= BlockageReport && now.Sub(b.reportedAt) >= blockageAgain {
			b.reportedAt = now
			all = append(all, blockageNews{b.Topic.Name, took, false})
		}
	}
	for _, t := range in.Topics {
		if t.freed > 0 && now.Sub(t.freedReportedAt) >= blockageAgain {
			all = append(all, blockageNews{t.Name, t.freed, true})
			t.freed, t.freedReportedAt = 0, now
		}
	}
	return all
}

// logBlockages logs it.
func (in *Intake) logBlockages(all []blockageNews) {
	for _, n := range all {
		took := zap.Duration("for", n.took.Round(time.Millisecond))
		if n.Over {
			in.log.Info("a publisher goes on", zap.String("topic", n.topic), took)
		} else {
			in.log.Warn("a publisher is held up, as --overflow block asks: the buffer is full; what its own queue does not hold is lost there", zap.String("topic", n.topic), took)
		}
	}
}
