package align

// The reach of the search for what two lists have in common.
const (
	maxEdits = 20_000  // messages that only one of the lists has there
	maxSteps = 1 << 31 // comparisons, of which lists that repeat themselves need most
)

// Run is N messages that are the same in both lists: those from A on of the first list, and
// those from B on of the second.
type Run struct{ A, B, N int }

// Difference is a message that has changed, or is in one list only, or elsewhere in the other.
type Difference struct {
	A, B  int32 // the number in each list, or None
	Moved bool  // else it has changed if it has both numbers
}

// Result says how two lists differ.
type Result struct {
	Same      []Run        // in order
	Different []Difference // in the order of A, if messages are not paired by stamp
	// ByNumber is the first message of those that were compared by number because too few
	// agree, or None.
	ByNumber int
}

// Compare compares two lists. As few messages as possible are different, unless they are
// compared by number from some message on.
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

// alignment says what two lists have in common in the same order. What is between its runs is
// different.
type alignment struct {
	runs     []Run
	common   [2][]bool // messages whose payload is anywhere among the different ones of the other list
	byNumber int       // as in Result
}

// align finds the runs.
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

// agreeEarly chooses, of messages that one list has more often in a row, the last ones as
// those that the other list lacks.
func (x *alignment) agreeEarly(a, b []Item) {
	runs := x.runs
	x.runs = nil
	i, j := 0, 0 // behind what agrees
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

// alignMiddle aligns what is between the common start and the common end. Messages that the
// other list has nowhere need no search.
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

// add adds a run, or makes the last one longer.
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

// shared returns the positions of the messages whose payload is in both lists.
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

// picked returns the payloads of some of a list.
func picked(list []Item, at []int32) []Digest {
	all := make([]Digest, len(at))
	for i, k := range at {
		all[i] = list[k].Sum
	}
	return all
}
