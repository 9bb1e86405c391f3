package bagdiff

import "time"

// tally is what has come out for a stream.
type tally struct {
	equal, changed, moved uint64
	unpaired              [2]uint64
	over                  uint64 // times that differ by more than limit
	limit                 time.Duration
	times                 spread

	byHeader bool // messages are paired by stamp: what is paired belongs together
	room     int  // for details
	details  []*detail
	timed    []*detail // pairs that differ in time
	single   [2]singles
}

// detail is one difference.
type detail struct {
	kind    Kind
	places  [2]place
	numbers [2]uint64
}

func newTally(o Options, byHeader bool) *tally {
	t := &tally{room: o.Details, byHeader: byHeader}
	if o.Times != nil {
		t.limit = *o.Times
	}
	return t
}

// differs reports whether there is a difference other than of times.
func (t *tally) differs() bool { return t.changed+t.moved+t.unpaired[A]+t.unpaired[B] > 0 }

// same takes two messages of the same payload.
func (t *tally) same(a, b place, na, nb uint64) {
	t.equal++
	t.time(a, b, na, nb)
}

// time takes the times of a pair.
func (t *tally) time(a, b place, na, nb uint64) {
	by := b.time.Sub(a.time)
	t.times.add(by, na, a.time)
	if by.Abs() <= t.limit {
		return
	}
	if t.over++; len(t.timed) < t.room {
		t.timed = append(t.timed, &detail{kind: KindTime, places: [2]place{a, b}, numbers: [2]uint64{na, nb}})
	}
}

// pair takes two messages that belong together.
func (t *tally) pair(a, b *remembered, na, nb uint64) {
	if a.sum == b.sum {
		t.same(a.place, b.place, na, nb)
		return
	}
	if t.elsewhere(A, a, na) || t.elsewhere(B, b, nb) {
		t.only(A, a, na)
		t.only(B, b, nb)
		return
	}
	t.time(a.place, b.place, na, nb)
	t.changed++
	d := t.show(&detail{kind: KindChanged, places: [2]place{a.place, b.place}, numbers: [2]uint64{na, nb}})
	if !t.byHeader && a.place.size > smallPayload && b.place.size > smallPayload {
		x, y := &single{sum: a.sum, place: a.place, number: na, detail: d}, &single{sum: b.sum, place: b.place, number: nb, detail: d}
		x.partner, y.partner = y, x
		t.single[A].put(x)
		t.single[B].put(y)
	}
}

// show keeps a detail if there is room, and returns nil otherwise.
func (t *tally) show(d *detail) *detail {
	if len(t.details) >= t.room {
		return nil
	}
	t.details = append(t.details, d)
	return d
}

// A message that seems to have changed may have moved instead: then it is in the other bag,
// elsewhere. Small payloads, such as a bool, repeat by themselves: that says nothing.
const (
	smallPayload = 16
	moveReach    = 1 << 10 // messages
)

// elsewhere reports whether the other bag has a message among those that seem to have changed.
func (t *tally) elsewhere(s Side, m *remembered, n uint64) bool {
	l := t.single[s.other()].find(m.sum)
	return l != nil && m.place.size > smallPayload && distance(int64(l.number), int64(n)) <= moveReach
}

// only takes a message that one bag has, there. If the other bag has the same one left over
// elsewhere, it has moved.
func (t *tally) only(s Side, m *remembered, n uint64) {
	o := s.other()
	if l := t.single[o].take(m.sum); l != nil {
		t.moved++
		d := l.detail
		if l.partner == nil {
			t.unpaired[o]--
		} else { // it was taken for changed: what it was paired with is left over
			t.changed--
			t.unpaired[s]++
			l.partner.partner, l.partner.detail = nil, nil
			if d != nil {
				l.partner.detail = t.show(leftOver(s, l.partner.place, l.partner.number))
			}
		}
		if d == nil {
			if d = t.show(&detail{}); d == nil {
				return
			}
		}
		d.kind = KindMoved
		d.places[s], d.numbers[s] = m.place, n
		d.places[o], d.numbers[o] = l.place, l.number
		return
	}
	t.unpaired[s]++
	t.single[s].put(&single{sum: m.sum, place: m.place, number: n, detail: t.show(leftOver(s, m.place, n))})
}

func leftOver(s Side, at place, n uint64) *detail {
	d := &detail{kind: onlyIn(s)}
	d.places[s], d.numbers[s] = at, n
	return d
}

// maxSingles is how many messages of a stream without counterpart are remembered, in case
// that it comes elsewhere.
const maxSingles = 1 << 10

// singles remembers the latest messages without counterpart.
type singles struct {
	bySum map[digest][]*single
	order []*single // the oldest first
}

type single struct {
	sum     digest
	place   place
	number  uint64
	detail  *detail // nil if it is not shown
	partner *single // what it was paired with, as if it had changed
	taken   bool
}

func (x *singles) put(l *single) {
	if x.bySum == nil {
		x.bySum = make(map[digest][]*single)
	}
	x.bySum[l.sum] = append(x.bySum[l.sum], l)
	x.order = append(x.order, l)
	if len(x.order) > 2*maxSingles {
		for _, old := range x.order[:maxSingles] {
			if !old.taken {
				x.take(old.sum)
			}
		}
		x.order = append(x.order[:0], x.order[maxSingles:]...)
	}
}

// find returns the oldest one with that payload, or nil.
func (x *singles) find(sum digest) *single {
	if all := x.bySum[sum]; len(all) > 0 {
		return all[0]
	}
	return nil
}

// take returns the oldest one with that payload, or nil, and forgets it.
func (x *singles) take(sum digest) *single {
	all := x.bySum[sum]
	if len(all) == 0 {
		return nil
	}
	if len(all) == 1 {
		delete(x.bySum, sum)
	} else {
		x.bySum[sum] = all[1:]
	}
	all[0].taken = true
	return all[0]
}
