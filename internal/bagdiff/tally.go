package bagdiff

import "time"

// tally compares the messages of a publisher in both bags, and holds what has come out.
type tally struct {
	rule  pairing
	lists [2]queue // what follows the messages that agree
	last  digest   // of these
	apart bool     // the lists begin with different messages

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
	kind    Kind
	numbers [2]uint64 // from 0
	items   [2]item
	repeats bool
}

func newTally(o Options, byHeader bool) *tally {
	t := &tally{rule: pairing{byHeader, int64(o.Tolerance)}, room: o.Details}
	if o.Times != nil {
		t.limit = *o.Times
	}
	return t
}

// add takes the next message of a bag. While the bags agree, it is kept only until the other
// bag has come as far.
func (t *tally) add(s Side, m item, stamp int64) {
	q, o := &t.lists[s], &t.lists[s.other()]
	if !t.apart && len(o.items) > 0 {
		if x := [2]item{m, m}; o.items[0].sum == m.sum {
			x[s.other()] = o.items[0]
			t.timesOf([2]uint64{t.equal, t.equal}, x)
			t.equal++
			t.last = m.sum
			o.pop()
			return
		}
		t.apart = true
	}
	q.items = append(q.items, m)
	if t.rule.byStamp {
		q.stamps = append(q.stamps, stamp)
	}
}

// kept returns how many messages of a bag are in the lists.
func (t *tally) kept(s Side) int { return len(t.lists[s].items) }

// timesOf takes the times of two messages that belong together.
func (t *tally) timesOf(numbers [2]uint64, items [2]item) {
	by := items[B].time.Sub(items[A].time)
	t.times.add(by, numbers[A], items[A].time)
	if by.Abs() <= t.limit {
		return
	}
	if t.over++; len(t.timed) < t.room {
		t.timed = append(t.timed, detail{kind: KindTime, numbers: numbers, items: items})
	}
}

// settle compares what is left of both bags, and forgets that.
func (t *tally) settle() {
	a, b, agreed := &t.lists[A], &t.lists[B], t.equal
	x := align(a.items, b.items)
	if x.byNumber >= 0 {
		t.byNumber = agreed + uint64(x.byNumber) + 1
	}
	at := func(i, j int32) ([2]uint64, [2]item) {
		return [2]uint64{agreed + uint64(i), agreed + uint64(j)}, [2]item{a.items[i], b.items[j]}
	}
	for _, r := range x.runs {
		t.equal += uint64(r.n)
		for k := range r.n {
			t.timesOf(at(int32(r.a+k), int32(r.b+k)))
		}
	}
	differing := t.rule.between(x.runs, a, b)
	moves := t.rule.moved(differing, x.common, a, b)
	for _, d := range differing {
		movedA, movedB := d.a != none && moves[A][d.a] != 0, d.b != none && moves[B][d.b] != 0
		if d.a != none && d.b != none && !movedA && !movedB {
			t.changed++
			t.timesOf(at(d.a, d.b))
			t.show(agreed, KindChanged, d)
			continue
		}
		switch {
		case movedA: // what has moved counts where it is in A
			t.moved++
			t.show(agreed, KindMoved, pair{d.a, moves[A][d.a] - 1})
		case d.a != none:
			t.unpaired[A]++
			t.show(agreed, KindOnlyA, pair{d.a, none})
		}
		if d.b != none && !movedB {
			t.unpaired[B]++
			t.show(agreed, KindOnlyB, pair{none, d.b})
		}
	}
	t.lists = [2]queue{}
}

// show keeps a detail if there is room.
func (t *tally) show(agreed uint64, kind Kind, p pair) {
	if len(t.details) >= t.room {
		return
	}
	d := detail{kind: kind}
	for s, at := range [2]int32{p.a, p.b} {
		if at == none {
			continue
		}
		items, before := t.lists[s].items, t.last
		d.numbers[s], d.items[s] = agreed+uint64(at), items[at]
		if at > 0 {
			before = items[at-1].sum
		}
		d.repeats = before == items[at].sum && d.numbers[s] > 0
	}
	t.details = append(t.details, d)
}
