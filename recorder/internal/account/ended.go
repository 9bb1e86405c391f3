package account

import (
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
)

// KeptTopics is how many topics that nobody publishes any more keep an account of their own. Some robots
// make new topics for each task.
const KeptTopics = 256

// Leave notes that a topic has no publisher and no link, and releases the accounts of its publishers.
func (a *Accounts) Leave(t *Topic, now time.Time) {
	a.FoldPublishers(t, 0, func(*loss.Publisher) bool { return true }, now)
	a.left = append(a.left, t)
}

// foldTopics adds the accounts of the topics that were left first to the account of topics that ended,
// until KeptTopics accounts of topics that were left remain.
func (a *Accounts) foldTopics() {
	more := len(a.left) - KeptTopics
	if more <= 0 {
		return
	}
	folded := map[*Topic]bool{}
	a.left = slices.DeleteFunc(a.left, func(t *Topic) bool {
		if len(folded) == more || !t.over() || slices.Contains(a.own, t) {
			return false
		}
		if a.ended == nil {
			a.ended = &Topic{name: control.EndedTopics, reportedDrops: new([control.DropCauses]loss.Reported)}
			a.topics = append(a.topics, a.ended)
		}
		a.ended.merge(t)
		folded[t] = true
		return true
	})
	if len(folded) > 0 {
		a.topics = slices.DeleteFunc(a.topics, func(t *Topic) bool { return folded[t] })
	}
}

// over reports whether nothing refers to the account of a topic that was left, and nothing about the
// topic is still to be reported. A topic with a limit keeps its account: the limit holds also when the
// topic comes back.
func (t *Topic) over() bool {
	if len(t.conns) > 0 || len(t.publishers.all) > 0 || t.sampler.limit > 0 || t.heldUp.longest > 0 {
		return false
	}
	for cause, n := range t.dropped {
		if n > 0 && (t.reportedDrops == nil || !t.reportedDrops[cause].All(n)) {
			return false
		}
	}
	return true
}

// merge adds the account of a topic that is over to t.
func (t *Topic) merge(o *Topic) {
	t.recorded.Add(o.recorded)
	t.written.Add(o.written)
	t.repeated += o.repeated
	t.passed += o.passed
	t.sampler.leftOut += o.sampler.leftOut
	t.heldUp.over += o.heldUp.over
	t.beginning.pickup = max(t.beginning.pickup, o.beginning.pickup)
	if o.last.After(t.last) {
		t.last = o.last
	}
	for cause, n := range o.dropped {
		t.dropped[cause] += n
		t.reportedDrops[cause].Skip(n)
	}
	addFormer(&t.publishers.former, o.publishers.former)
	for uri := range o.publishers.refused {
		t.publishers.refuse(uri)
	}
	t.publishers.addUnlinked(o.publishers.unlinked)
}
