package bagdiff

import (
	"time"
)

// tally is what has come out for a stream.
type tally struct {
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

func newTally(o Options) *tally {
	t := &tally{room: o.Details}
	if o.Times != nil {
		t.limit = *o.Times
	}
	return t
}

// pair takes the times of two messages that belong together.
func (t *tally) pair(na, nb uint64, a, b item) {
	by := b.time.Sub(a.time)
	t.times.add(by, na, a.time)
	if by.Abs() <= t.limit {
		return
	}
	if t.over++; len(t.timed) < t.room {
		t.timed = append(t.timed, detail{kind: KindTime, numbers: [2]uint64{na, nb}, items: [2]item{a, b}})
	}
}

// differing is what follows in the bags after the first messages of a stream, which agree.
type differing struct {
	lists  [2]queue
	agreed uint64 // messages before the lists
	before digest // the last of these
}

// settle compares the lists.
func (t *tally) settle(d *differing, p pairing) {
	a, b := &d.lists[A], &d.lists[B]
	x := align(a.items, b.items)
	if x.byNumber >= 0 {
		t.byNumber = d.agreed + uint64(x.byNumber) + 1
	}
	for _, r := range x.runs {
		t.equal += uint64(r.n)
		for k := range r.n {
			t.pair(d.number(r.a+k), d.number(r.b+k), a.items[r.a+k], b.items[r.b+k])
		}
	}
	moves := p.moved(&x, a, b)
	for g := range x.gaps(len(a.items), len(b.items)) {
		for i, j := range p.pairs(g, a, b) {
			if i != none && j != none && moves[A][i] == 0 && moves[B][j] == 0 {
				t.changed++
				t.pair(d.number(i), d.number(j), a.items[i], b.items[j])
				t.show(d, KindChanged, i, j)
				continue
			}
			if i != none {
				t.leave(d, A, i, int(moves[A][i])-1)
			}
			if j != none {
				t.leave(d, B, j, int(moves[B][j])-1)
			}
		}
	}
}

// leave takes a message that is not in the place in which it is in the other bag. There it has
// another number, or none. One that has moved counts where it is in A.
func (t *tally) leave(d *differing, s Side, at, other int) {
	switch {
	case other != none && s == A:
		t.moved++
		t.show(d, KindMoved, at, other)
	case other != none:
	case s == A:
		t.unpaired[A]++
		t.show(d, KindOnlyA, at, none)
	default:
		t.unpaired[B]++
		t.show(d, KindOnlyB, none, at)
	}
}

// show keeps a detail if there is room.
func (t *tally) show(d *differing, kind Kind, i, j int) {
	if len(t.details) >= t.room {
		return
	}
	x := detail{kind: kind}
	for s, at := range [2]int{i, j} {
		if at == none {
			continue
		}
		items, before := d.lists[s].items, d.before
		x.numbers[s], x.items[s] = d.number(at), items[at]
		if at > 0 {
			before = items[at-1].sum
		}
		x.repeats = before == items[at].sum && (at > 0 || d.agreed > 0)
	}
	t.details = append(t.details, x)
}

func (d *differing) number(at int) uint64 { return d.agreed + uint64(at) }
