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

	// common says of each message whether the other list has the same payload, the common start and the
	// common end left out. Only such messages can have moved.
	common [2][]bool
}

// Compare compares two lists. It finds as few differences as possible, except where it compares by number.
func Compare(a, b *List, rule Rule) Result {
	r := rule.align(a.Items, b.Items)
	r.Different = rule.findMoves(rule.between(r.Same, a, b), r.common, a, b)
	return r
}

// align finds all of a result but Different: by time what alignByTime finds, otherwise the common start
// of two lists, their common end, and what alignMiddle finds. Messages between the runs differ.
func (rule Rule) align(a, b []Item) Result {
	r := Result{ByNumber: None, common: [2][]bool{make([]bool, len(a)), make([]bool, len(b))}}
	if rule.ByTime {
		r.alignByTime(a, b)
		r.agreeEarly(a, b, true)
		return r
	}
	start := 0
	for start < len(a) && start < len(b) && a[start].Sum == b[start].Sum {
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && a[endA-1].Sum == b[endB-1].Sum {
		endA, endB = endA-1, endB-1
	}
	r.add(Run{0, 0, start})
	r.alignMiddle(a[start:endA], b[start:endB], start)
	r.add(Run{endA, endB, len(a) - endA})
	r.agreeEarly(a, b, false)
	return r
}

// alignMiddle aligns the messages between the common start, which has start messages, and the common end. It
// searches only among messages that both lists have.
func (r *Result) alignMiddle(a, b []Item, start int) {
	// one for both: each takes as much memory as the lists
	known := make(map[Digest]struct{}, max(len(a), len(b)))
	inA, inB := shared(a, b, known, r.common[0][start:]), shared(b, a, known, r.common[1][start:])
	if runs, ok := longestCommon(picked(a, inA), picked(b, inB), maxEdits/2, maxSteps); ok {
		for _, run := range runs {
			for k := range run.N {
				r.add(Run{start + int(inA[run.A+k]), start + int(inB[run.B+k]), 1})
			}
		}
		return
	}
	r.ByNumber = start
	for k := range min(len(a), len(b)) {
		if a[k].Sum == b[k].Sum {
			r.add(Run{start + k, start + k, 1})
		}
	}
}

// shared marks in common the messages whose payload the other list has, too, and returns their indexes.
// It needs known, whose content it replaces.
func shared(list, other []Item, known map[Digest]struct{}, common []bool) []int32 {
	clear(known)
	at := make([]int32, 0, min(len(list), len(other)))
	for i := range other {
		known[other[i].Sum] = struct{}{}
	}
	for i := range list {
		if _, common[i] = known[list[i].Sum]; common[i] {
			at = append(at, int32(i))
		}
	}
	return at
}

// picked returns the digests of the messages at some indexes.
func picked(list []Item, at []int32) []Digest {
	all := make([]Digest, len(at))
	for i, k := range at {
		all[i] = list[k].Sum
	}
	return all
}

// agreeEarly moves runs to the front where the messages allow it. If one list has three equal messages in
// a row where the other has one, the first of them agrees then, and the last two are missing in the
// other. By time, messages that have the same time stay paired.
func (r *Result) agreeEarly(a, b []Item, byTime bool) {
	runs := r.Same
	r.Same = nil
	i, j := 0, 0 // after the run before
	for _, run := range runs {
		for run.N > 0 && (i == run.A) != (j == run.B) && a[i].Sum == b[j].Sum &&
			(!byTime || a[run.A].Time != b[run.B].Time) {
			r.common[0][run.A], r.common[1][run.B] = r.common[0][i], r.common[1][j]
			r.add(Run{i, j, 1})
			i, j, run = i+1, j+1, Run{run.A + 1, run.B + 1, run.N - 1}
		}
		if r.add(run); run.N > 0 {
			i, j = run.A+run.N, run.B+run.N
		}
	}
}

// add adds a run. If the run continues the last one, that becomes longer.
func (r *Result) add(run Run) {
	if run.N == 0 {
		return
	}
	if n := len(r.Same); n > 0 {
		last := &r.Same[n-1]
		if last.A+last.N == run.A && last.B+last.N == run.B {
			last.N += run.N
			return
		}
	}
	r.Same = append(r.Same, run)
}
