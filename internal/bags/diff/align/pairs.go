package align

import (
	"cmp"
	"math"
	"slices"
)

// None stands for the index of a message that has no counterpart.
const None = -1

// Rule says how messages are paired. ByTime pairs equal messages with the same time before it looks for
// equal payloads: one of the lists is a copy of a part of the other, and payloads that repeat themselves
// say little. Messages that differ are paired the first with the first after each run and so on or, by
// stamp, those whose header stamps differ by at most Tolerance.
type Rule struct {
	ByTime    bool // not with ByStamp; both lists are in the order of time
	ByStamp   bool
	Tolerance int64 // nanoseconds
}

// between pairs the messages between the runs of two lists.
func (r Rule) between(runs []Run, a, b *List) []Difference {
	var all []Difference
	a0, b0 := 0, 0
	for i := range len(runs) + 1 {
		next := Run{len(a.Items), len(b.Items), 0}
		if i < len(runs) {
			next = runs[i]
		}
		if r.ByStamp {
			all = r.mergeStamps(all, sortedBy(a.Stamps, a0, next.A), sortedBy(b.Stamps, b0, next.B), a.Stamps,
				b.Stamps)
		} else {
			for k := range max(next.A-a0, next.B-b0) {
				d := Difference{A: None, B: None}
				if a0+k < next.A {
					d.A = int32(a0 + k)
				}
				if b0+k < next.B {
					d.B = int32(b0 + k)
				}
				all = append(all, d)
			}
		}
		a0, b0 = next.A+next.N, next.B+next.N
	}
	return all
}

// mergeStamps appends pairs of the messages with the indexes x in the first list and y in the second, which
// are sorted by stamp; a and b are all stamps of each list. Of several messages within the tolerance the
// nearest is taken.
func (r Rule) mergeStamps(all []Difference, x, y []int32, a, b []int64) []Difference {
	off := func(i, j int) int64 {
		if i >= len(x) || j >= len(y) {
			return math.MaxInt64
		}
		return max(a[x[i]]-b[y[j]], b[y[j]]-a[x[i]])
	}
	for i, j := 0, 0; i < len(x) || j < len(y); {
		by := off(i, j)
		switch {
		case j == len(y) || i < len(x) && by > r.Tolerance && a[x[i]] < b[y[j]] || off(i+1, j) < by:
			all = append(all, Difference{A: x[i], B: None})
			i++
		case i == len(x) || by > r.Tolerance || off(i, j+1) < by:
			all = append(all, Difference{A: None, B: y[j]})
			j++
		default:
			all = append(all, Difference{A: x[i], B: y[j]})
			i, j = i+1, j+1
		}
	}
	return all
}

// sortedBy returns the indexes from from up to to, sorted by the stamps there.
func sortedBy(stamps []int64, from, to int) []int32 {
	all := make([]int32, 0, to-from)
	for i := from; i < to; i++ {
		all = append(all, int32(i))
	}
	slices.SortStableFunc(all, func(i, j int32) int { return cmp.Compare(stamps[i], stamps[j]) })
	return all
}

// moveReach is how many places a message may have moved that is paired with another one.
const moveReach = 1 << 10

// moves holds, for each message of both lists, the index plus 1 that the message has in the other list if it
// moved, or 0.
type moves [2][]int32

// loose is a message that is in no run.
type loose struct {
	sum  Digest
	at   int32 // its index
	with int32 // the index of the message that it is paired with, or None
}

// findMoves finds out which of the messages that differ have moved: those within moveReach first.
// Messages that are left over then, because they are not paired, or because the message that they are
// paired with moved, may have moved any distance. A message that moved is listed once, where it is in A.
func (r Rule) findMoves(differing []Difference, common [2][]bool, a, b *List) []Difference {
	var rest [2][]loose
	for _, d := range differing {
		if d.A != None && d.B != None && (r.ByStamp || a.Items[d.A].Sum.Small() || b.Items[d.B].Sum.Small()) {
			continue
		}
		if d.A != None && common[0][d.A] {
			rest[0] = append(rest[0], loose{a.Items[d.A].Sum, d.A, d.B})
		}
		if d.B != None && common[1][d.B] {
			rest[1] = append(rest[1], loose{b.Items[d.B].Sum, d.B, d.A})
		}
	}
	if len(rest[0]) == 0 || len(rest[1]) == 0 {
		return differing
	}
	m := moves{make([]int32, len(a.Items)), make([]int32, len(b.Items))}
	for s := range rest {
		slices.SortFunc(rest[s],
			func(a, b loose) int { return cmp.Or(cmp.Compare(a.sum, b.sum), cmp.Compare(a.at, b.at)) })
	}
	m.join(rest, moveReach)
	for s := range rest {
		rest[s] = slices.DeleteFunc(rest[s],
			func(l loose) bool { return l.with != None && m[1-s][l.with] == 0 })
	}
	m.join(rest, math.MaxInt32)

	all := make([]Difference, 0, len(differing))
	for _, d := range differing {
		movedA, movedB := d.A != None && m[0][d.A] != 0, d.B != None && m[1][d.B] != 0
		switch {
		case movedA:
			all = append(all, Difference{A: d.A, B: m[0][d.A] - 1, Moved: true})
		case d.A != None && movedB:
			all = append(all, Difference{A: d.A, B: None})
		case !movedB:
			all = append(all, d)
		}
		if movedA && d.B != None && !movedB {
			all = append(all, Difference{A: None, B: d.B})
		}
	}
	return all
}

// join notes as moved the messages that have the same digest in both lists, at indexes that differ by at most
// reach. The lists are sorted by digest and index.
func (m *moves) join(lists [2][]loose, reach int64) {
	for a, b := lists[0], lists[1]; len(a) > 0 && len(b) > 0; {
		x, y := a[0], b[0]
		by := int64(x.at) - int64(y.at)
		switch {
		case m[0][x.at] != 0 || x.sum < y.sum || x.sum == y.sum && -by > reach:
			a = a[1:]
		case m[1][y.at] != 0 || x.sum > y.sum || by > reach:
			b = b[1:]
		default:
			m[0][x.at], m[1][y.at] = y.at+1, x.at+1
		}
	}
}
