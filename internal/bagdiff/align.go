package bagdiff

import (
	"slices"
)

// The reach of the search for what two lists have in common.
const (
	maxEdits = 20_000  // messages that only one of the lists has there
	maxSteps = 1 << 31 // comparisons, of which lists that repeat themselves need most
)

// run is n messages that are the same in both lists: those from a on of A and those from b
// on of B.
type run struct{ a, b, n int }

// alignment says what two lists have in common in the same order. What is between its runs is
// different.
type alignment struct {
	runs   []run
	common [2][]bool // messages whose payload is anywhere among the different ones of the other list
	// byNumber is the first message of those that are compared by number because too few
	// agree, or -1.
	byNumber int
}

// align compares two lists. As few messages as possible are outside of the runs, unless the
// lists are compared by number from some message on.
func align(a, b []item) alignment {
	x := alignment{common: [2][]bool{make([]bool, len(a)), make([]bool, len(b))}, byNumber: -1}
	start := 0
	for start < len(a) && start < len(b) && a[start].sum == b[start].sum {
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && a[endA-1].sum == b[endB-1].sum {
		endA, endB = endA-1, endB-1
	}
	x.add(run{0, 0, start})
	x.alignMiddle(a[start:endA], b[start:endB], start)
	x.add(run{endA, endB, len(a) - endA})
	x.agreeEarly(a, b)
	return x
}

// agreeEarly chooses, of messages that one list has more often in a row, the last ones as
// those that the other list lacks.
func (x *alignment) agreeEarly(a, b []item) {
	runs := x.runs
	x.runs = nil
	i, j := 0, 0 // behind what agrees
	for _, r := range runs {
		for r.n > 0 && (i == r.a) != (j == r.b) && a[i].sum == b[j].sum {
			x.common[A][r.a], x.common[B][r.b] = x.common[A][i], x.common[B][j]
			x.add(run{i, j, 1})
			i, j, r = i+1, j+1, run{r.a + 1, r.b + 1, r.n - 1}
		}
		if x.add(r); r.n > 0 {
			i, j = r.a+r.n, r.b+r.n
		}
	}
}

// alignMiddle aligns what is between the common start and the common end. Messages that the
// other list has nowhere need no search.
func (x *alignment) alignMiddle(a, b []item, start int) {
	inA, inB := shared(a, b)
	if len(inA) == 0 {
		return
	}
	for _, i := range inA {
		x.common[A][start+int(i)] = true
	}
	for _, j := range inB {
		x.common[B][start+int(j)] = true
	}
	s := &search{a: picked(a, inA), b: picked(b, inB), limit: maxEdits / 2, steps: maxSteps}
	if s.compare() {
		for _, r := range s.runs {
			for k := range r.n {
				x.add(run{start + int(inA[r.a+k]), start + int(inB[r.b+k]), 1})
			}
		}
		return
	}
	x.byNumber = start
	for k := range min(len(a), len(b)) {
		if a[k].sum == b[k].sum {
			x.add(run{start + k, start + k, 1})
		}
	}
}

// add adds a run, or makes the last one longer.
func (x *alignment) add(r run) {
	if r.n == 0 {
		return
	}
	if n := len(x.runs); n > 0 {
		last := &x.runs[n-1]
		if last.a+last.n == r.a && last.b+last.n == r.b {
			last.n += r.n
			return
		}
	}
	x.runs = append(x.runs, r)
}

// shared returns the positions of the messages whose payload is in both lists.
func shared(a, b []item) (inA, inB []int32) {
	x, y := sortedSums(a), sortedSums(b)
	both := x[:0]
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case x[i] < y[j]:
			i++
		case x[i] > y[j]:
			j++
		default:
			both = append(both, x[i])
			i, j = i+1, j+1
		}
	}
	within := func(list []item) (at []int32) {
		for i := range list {
			if _, found := slices.BinarySearch(both, list[i].sum); found {
				at = append(at, int32(i))
			}
		}
		return at
	}
	return within(a), within(b)
}

func sortedSums(list []item) []digest {
	all := make([]digest, len(list))
	for i := range list {
		all[i] = list[i].sum
	}
	slices.Sort(all)
	return all
}

// picked returns the payloads of some of a list.
func picked(list []item, at []int32) []digest {
	all := make([]digest, len(at))
	for i, k := range at {
		all[i] = list[k].sum
	}
	return all
}
