package align

// The limits of the search for what two lists have in common. Lists that exceed them are compared by number.
const (
	maxEdits = 20_000  // messages that only one of the lists has
	maxSteps = 1 << 31 // comparisons; lists that repeat themselves need most
)

// Run is N consecutive messages that are equal in both lists: from index A on in the first list, and from
// index B on in the second.
type Run struct{ A, B, N int }

// Difference is a message that changed (A and B are set), moved (Moved is set, too), or is in one list only.
type Difference struct {
	A, B  int32 // the index in each list, or None
	Moved bool
}

// Result says how two lists differ.
type Result struct {
	Same      []Run        // in order
	Different []Difference // in the order of A, if messages are not paired by stamp
	// ByNumber is the index from which on messages were compared by number, because the lists have too little
	// in common, or None.
	ByNumber int
}

// Compare compares two lists. It finds as few differences as possible, except where it compares by number.
func Compare(a, b *List, rule Rule) Result {
	x := align(a.Items, b.Items)
	differing := rule.between(x.runs, a, b)
	m := rule.moved(differing, x.common, a, b)
	r := Result{Same: x.runs, ByNumber: x.byNumber}
	for _, d := range differing {
		movedA, movedB := d.a != None && m[0][d.a] != 0, d.b != None && m[1][d.b] != 0
		switch {
		case !movedA && !movedB:
			r.Different = append(r.Different, Difference{A: d.a, B: d.b})
			continue
		case movedA: // listed once, where it is in A
			r.Different = append(r.Different, Difference{A: d.a, B: m[0][d.a] - 1, Moved: true})
		case d.a != None:
			r.Different = append(r.Different, Difference{A: d.a, B: None})
		}
		if d.b != None && !movedB {
			r.Different = append(r.Different, Difference{A: None, B: d.b})
		}
	}
	return r
}

// alignment says what two lists have in common in the same order. Messages between its runs differ.
type alignment struct {
	runs     []Run
	common   [2][]bool // for each message, whether the other list has the same payload anywhere outside the common start and end
	byNumber int       // as in Result
}

// align finds the runs of two lists: their common start, their common end, and what alignMiddle finds.
func align(a, b []Item) alignment {
	x := alignment{common: [2][]bool{make([]bool, len(a)), make([]bool, len(b))}, byNumber: None}
	start := 0
	for start < len(a) && start < len(b) && a[start].Sum == b[start].Sum {
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && a[endA-1].Sum == b[endB-1].Sum {
		endA, endB = endA-1, endB-1
	}
	x.add(Run{0, 0, start})
	x.alignMiddle(a[start:endA], b[start:endB], start)
	x.add(Run{endA, endB, len(a) - endA})
	x.agreeEarly(a, b)
	return x
}

// agreeEarly moves runs to the front where the messages allow it. If one list has three equal messages in
// a row where the other has one, the first of them agrees then, and the last two are missing in the other.
func (x *alignment) agreeEarly(a, b []Item) {
	runs := x.runs
	x.runs = nil
	i, j := 0, 0 // after the run before
	for _, r := range runs {
		for r.N > 0 && (i == r.A) != (j == r.B) && a[i].Sum == b[j].Sum {
			x.common[0][r.A], x.common[1][r.B] = x.common[0][i], x.common[1][j]
			x.add(Run{i, j, 1})
			i, j, r = i+1, j+1, Run{r.A + 1, r.B + 1, r.N - 1}
		}
		if x.add(r); r.N > 0 {
			i, j = r.A+r.N, r.B+r.N
		}
	}
}

// alignMiddle aligns the messages between the common start, which has start messages, and the common end. It
// searches only among messages that both lists have.
func (x *alignment) alignMiddle(a, b []Item, start int) {
	inA, inB := shared(a, b)
	if len(inA) == 0 {
		return
	}
	for _, i := range inA {
		x.common[0][start+int(i)] = true
	}
	for _, j := range inB {
		x.common[1][start+int(j)] = true
	}
	s := &search{a: picked(a, inA), b: picked(b, inB), limit: maxEdits / 2, steps: maxSteps}
	if s.compare() {
		for _, r := range s.runs {
			for k := range r.N {
				x.add(Run{start + int(inA[r.A+k]), start + int(inB[r.B+k]), 1})
			}
		}
		return
	}
	x.byNumber = start
	for k := range min(len(a), len(b)) {
		if a[k].Sum == b[k].Sum {
			x.add(Run{start + k, start + k, 1})
		}
	}
}

// add adds a run. If the run continues the last one, that becomes longer.
func (x *alignment) add(r Run) {
	if r.N == 0 {
		return
	}
	if n := len(x.runs); n > 0 {
		last := &x.runs[n-1]
		if last.A+last.N == r.A && last.B+last.N == r.B {
			last.N += r.N
			return
		}
	}
	x.runs = append(x.runs, r)
}

// shared returns the indexes of the messages whose payload is in both lists.
func shared(a, b []Item) (inA, inB []int32) {
	in := func(list, other []Item) (at []int32) {
		known := make(map[Digest]struct{}, len(other))
		for i := range other {
			known[other[i].Sum] = struct{}{}
		}
		for i := range list {
			if _, ok := known[list[i].Sum]; ok {
				at = append(at, int32(i))
			}
		}
		return at
	}
	return in(a, b), in(b, a)
}

// picked returns the digests of the messages at some indexes.
func picked(list []Item, at []int32) []Digest {
	all := make([]Digest, len(at))
	for i, k := range at {
		all[i] = list[k].Sum
	}
	return all
}
