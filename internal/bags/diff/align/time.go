package align

import "slices"

// alignByTime pairs messages with the same time and payload, and then, between those, as many as possible
// of the others with the same payload.
func (r *Result) alignByTime(a, b []Item) {
	exact := sameTimes(a, b)
	r.markLoose(a, b, exact)
	i, j := 0, 0
	for _, run := range append(exact, Run{len(a), len(b), 0}) {
		r.alignBetween(a, b, Run{A: i, B: j}, run)
		r.add(run)
		i, j = run.A+run.N, run.B+run.N
	}
}

// sameTimes returns the runs of messages that have the same time and payload in both lists. Of several
// messages with one time, it pairs all or none.
func sameTimes(a, b []Item) []Run {
	var r Result
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i].Time.Before(b[j].Time):
			i++
		case b[j].Time.Before(a[i].Time):
			j++
		default:
			n, m := sameTime(a[i:]), sameTime(b[j:])
			if slices.Equal(a[i:i+n], b[j:j+m]) {
				r.add(Run{i, j, n})
			}
			i, j = i+n, j+m
		}
	}
	return r.Same
}

// sameTime returns how many of the first messages of a list have the time of the first one.
func sameTime(list []Item) int {
	n := 1
	for n < len(list) && list[n].Time == list[0].Time {
		n++
	}
	return n
}

// markLoose marks in common the messages that are in no exact run and whose payload the other list has
// outside of these runs, too.
func (r *Result) markLoose(a, b []Item, exact []Run) {
	end := Run{len(a), len(b), 0}
	looseA, looseB := make(map[Digest]struct{}), make(map[Digest]struct{})
	eachLoose := func(visit func(fromA, toA, fromB, toB int)) {
		i, j := 0, 0
		for _, run := range append(exact[:len(exact):len(exact)], end) {
			visit(i, run.A, j, run.B)
			i, j = run.A+run.N, run.B+run.N
		}
	}
	eachLoose(func(fromA, toA, fromB, toB int) {
		for i := fromA; i < toA; i++ {
			looseA[a[i].Sum] = struct{}{}
		}
		for j := fromB; j < toB; j++ {
			looseB[b[j].Sum] = struct{}{}
		}
	})
	eachLoose(func(fromA, toA, fromB, toB int) {
		for i := fromA; i < toA; i++ {
			_, r.common[0][i] = looseB[a[i].Sum]
		}
		for j := fromB; j < toB; j++ {
			_, r.common[1][j] = looseA[b[j].Sum]
		}
	})
}

// alignBetween pairs as many messages with the same payload as possible from the indexes of from on, up
// to those of to.
func (r *Result) alignBetween(a, b []Item, from, to Run) {
	inA, inB := marked(r.common[0], from.A, to.A), marked(r.common[1], from.B, to.B)
	if len(inA) == 0 || len(inB) == 0 {
		return
	}
	share := float64(len(inA)+len(inB)) / float64(len(a)+len(b))
	runs, ok := longestCommon(picked(a, inA), picked(b, inB), maxEdits/2, int64(maxSteps*share)+maxEdits)
	if !ok {
		if r.ByNumber == None {
			r.ByNumber = from.A
		}
		for k := range min(to.A-from.A, to.B-from.B) {
			if a[from.A+k].Sum == b[from.B+k].Sum {
				r.add(Run{from.A + k, from.B + k, 1})
			}
		}
	}
	for _, run := range runs {
		for k := range run.N {
			r.add(Run{int(inA[run.A+k]), int(inB[run.B+k]), 1})
		}
	}
}

// marked returns the indexes from from up to to that are marked.
func marked(marks []bool, from, to int) (at []int32) {
	for i := from; i < to; i++ {
		if marks[i] {
			at = append(at, int32(i))
		}
	}
	return at
}
