package bagdiff

import (
	"cmp"
	"iter"
	"math"
	"slices"
)

// none is in place of a message that has no counterpart.
const none = -1

// pairing says which of the messages that differ belong together.
type pairing struct {
	byStamp   bool
	tolerance int64 // nanoseconds
}

// pairs goes over a gap: over the messages that belong together, and over those that are left
// over, each with none.
func (p pairing) pairs(g gap, a, b *queue) iter.Seq2[int, int] {
	return func(yield func(i, j int) bool) {
		if p.byStamp {
			p.mergeStamps(g, a.stamps, b.stamps, yield)
			return
		}
		for k := range max(g.a1-g.a0, g.b1-g.b0) {
			i, j := g.a0+k, g.b0+k
			if i >= g.a1 {
				i = none
			}
			if j >= g.b1 {
				j = none
			}
			if !yield(i, j) {
				return
			}
		}
	}
}

// mergeStamps pairs messages whose stamps are within the tolerance: with the nearest one, if
// there are several.
func (p pairing) mergeStamps(g gap, a, b []int64, yield func(i, j int) bool) {
	x, y := sortedBy(a, g.a0, g.a1), sortedBy(b, g.b0, g.b1)
	off := func(i, j int) int64 { return distance(a[x[i]], b[y[j]]) }
	for i, j := 0, 0; i < len(x) || j < len(y); {
		var onlyA, onlyB bool
		switch {
		case i == len(x):
			onlyB = true
		case j == len(y):
			onlyA = true
		case off(i, j) > p.tolerance:
			onlyA = a[x[i]] < b[y[j]]
			onlyB = !onlyA
		default:
			onlyA = i+1 < len(x) && off(i+1, j) < off(i, j)
			onlyB = !onlyA && j+1 < len(y) && off(i, j+1) < off(i, j)
		}
		atA, atB := none, none
		if !onlyB {
			atA = x[i]
			i++
		}
		if !onlyA {
			atB = y[j]
			j++
		}
		if !yield(atA, atB) {
			return
		}
	}
}

// sortedBy returns the numbers from one to another, sorted by the stamps of these messages.
func sortedBy(stamps []int64, from, to int) []int {
	all := make([]int, 0, to-from)
	for i := from; i < to; i++ {
		all = append(all, i)
	}
	slices.SortStableFunc(all, func(i, j int) int { return cmp.Compare(stamps[i], stamps[j]) })
	return all
}

func distance(a, b int64) int64 {
	if a < b {
		return b - a
	}
	return a - b
}

// moveReach is how far a message may have moved that is in the place of another one.
const moveReach = 1 << 10 // messages

// moves says which messages are in both lists, but elsewhere: the number of the counterpart
// plus 1, or 0.
type moves [2][]int32

// loose is a message that differs from what is in its place.
type loose struct {
	sum  digest
	at   int32
	with int32 // what is in its place, or none
}

// moved finds what has moved. Of messages in each other's place, both may have: then they have
// not changed. Those that are left over anyway may come from anywhere.
func (p pairing) moved(x *alignment, a, b *queue) moves {
	m := moves{make([]int32, len(a.items)), make([]int32, len(b.items))}
	var rest [2][]loose
	add := func(s Side, sum digest, at, with int) {
		if at != none && x.common[s][at] {
			rest[s] = append(rest[s], loose{sum, int32(at), int32(with)})
		}
	}
	for g := range x.gaps(len(a.items), len(b.items)) {
		for i, j := range p.pairs(g, a, b) {
			if i != none && j != none && (p.byStamp || a.items[i].sum.small() || b.items[j].sum.small()) {
				continue
			}
			if i != none {
				add(A, a.items[i].sum, i, j)
			}
			if j != none {
				add(B, b.items[j].sum, j, i)
			}
		}
	}
	for s := range rest {
		slices.SortFunc(rest[s], func(a, b loose) int { return cmp.Or(cmp.Compare(a.sum, b.sum), cmp.Compare(a.at, b.at)) })
	}
	m.join(rest[A], rest[B], moveReach)
	for s := range rest {
		o := Side(s).other()
		rest[s] = slices.DeleteFunc(rest[s], func(l loose) bool { return l.with != none && m[o][l.with] == 0 })
	}
	m.join(rest[A], rest[B], math.MaxInt32)
	return m
}

// join pairs messages of the same payload that are not further from each other than reach.
// Both lists are sorted by payload and number.
func (m *moves) join(a, b []loose, reach int64) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		by := int64(a[i].at) - int64(b[j].at)
		switch {
		case m[A][a[i].at] != 0 || a[i].sum < b[j].sum || a[i].sum == b[j].sum && -by > reach:
			i++
		case m[B][b[j].at] != 0 || a[i].sum > b[j].sum || by > reach:
			j++
		default:
			m[A][a[i].at], m[B][b[j].at] = b[j].at+1, a[i].at+1
			i, j = i+1, j+1
		}
	}
}
