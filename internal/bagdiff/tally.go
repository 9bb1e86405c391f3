package bagdiff

import (
	"time"

	"github.com/gorosbag/gorosbag/internal/bagdiff/align"
	"github.com/gorosbag/gorosbag/internal/bagdiff/report"
)

// tally compares the messages of a publisher in both bags, and holds what has come out.
type tally struct {
	rule  align.Rule
	lists [2]align.List // what follows the messages that agree
	last  align.Digest  // of these
	apart bool          // the lists begin with different messages

	equal, changed, moved uint64
	unpaired              [2]uint64
	byNumber              uint64 // the first message that was compared by number, counted from 1; 0 if none was
	over                  uint64 // times that differ by more than limit
	limit                 time.Duration
	times                 spread

	room    int // for details
	details []detail
	timed   []detail // pairs that differ in time
}

// detail is one difference.
type detail struct {
	kind    report.Kind
	numbers [2]uint64 // from 0
	items   [2]align.Item
	repeats bool
}

func newTally(o Options, byHeader bool) *tally {
	t := &tally{rule: align.Rule{ByStamp: byHeader, Tolerance: int64(o.Tolerance)}, room: o.Details}
	if o.Times != nil {
		t.limit = *o.Times
	}
	return t
}

// add takes the next message of a bag. While the bags agree, it is kept only until the other
// bag has come as far.
func (t *tally) add(s Side, m align.Item, stamp int64) {
	q, o := &t.lists[s], &t.lists[s.other()]
	if !t.apart && len(o.Items) > 0 {
		if x := [2]align.Item{m, m}; o.Items[0].Sum == m.Sum {
			x[s.other()] = o.Items[0]
			t.timesOf([2]uint64{t.equal, t.equal}, x)
			t.equal++
			t.last = m.Sum
			o.Pop()
			return
		}
		t.apart = true
	}
	q.Items = append(q.Items, m)
	if t.rule.ByStamp {
		q.Stamps = append(q.Stamps, stamp)
	}
}

// kept returns how many messages of a bag are in the lists.
func (t *tally) kept(s Side) int { return len(t.lists[s].Items) }

// timesOf takes the times of two messages that belong together.
func (t *tally) timesOf(numbers [2]uint64, items [2]align.Item) {
	by := items[B].Time.Sub(items[A].Time)
	t.times.add(by, numbers[A], items[A].Time)
	if by.Abs() <= t.limit {
		return
	}
	if t.over++; len(t.timed) < t.room {
		t.timed = append(t.timed, detail{kind: report.KindTime, numbers: numbers, items: items})
	}
}

// settle compares what is left of both bags, and forgets that.
func (t *tally) settle() {
	a, b, agreed := &t.lists[A], &t.lists[B], t.equal
	r := align.Compare(a, b, t.rule)
	if r.ByNumber != align.None {
		t.byNumber = agreed + uint64(r.ByNumber) + 1
	}
	at := func(i, j int32) ([2]uint64, [2]align.Item) {
		return [2]uint64{agreed + uint64(i), agreed + uint64(j)}, [2]align.Item{a.Items[i], b.Items[j]}
	}
	for _, same := range r.Same {
		t.equal += uint64(same.N)
		for k := range same.N {
			t.timesOf(at(int32(same.A+k), int32(same.B+k)))
		}
	}
	for _, d := range r.Different {
		switch {
		case d.B == align.None:
			t.unpaired[A]++
			t.show(agreed, report.KindOnlyA, d)
		case d.A == align.None:
			t.unpaired[B]++
			t.show(agreed, report.KindOnlyB, d)
		case d.Moved:
			t.moved++
			t.show(agreed, report.KindMoved, d)
		default:
			t.changed++
			t.timesOf(at(d.A, d.B))
			t.show(agreed, report.KindChanged, d)
		}
	}
	t.lists = [2]align.List{}
}

// show keeps a detail if there is room.
func (t *tally) show(agreed uint64, kind report.Kind, different align.Difference) {
	if len(t.details) >= t.room {
		return
	}
	d := detail{kind: kind}
	for s, at := range [2]int32{different.A, different.B} {
		if at == align.None {
			continue
		}
		items, before := t.lists[s].Items, t.last
		d.numbers[s], d.items[s] = agreed+uint64(at), items[at]
		if at > 0 {
			before = items[at-1].Sum
		}
		d.repeats = before == items[at].Sum && d.numbers[s] > 0
	}
	t.details = append(t.details, d)
}
