package bagdiff

import "math"

// What messages cost in a script. A message that moved is one left over in each stream,
// which is less than two that changed; one that changed is less than that.
const (
	costOnly   = 2
	costChange = 3
)

// step is a part of a script that makes the one stream of the other.
type step uint8

const (
	stepSame step = iota
	stepChange
	stepOnlyA
	stepOnlyB
)

// resolveNear looks for the least that may have happened to the first messages, and settles
// that. It reports false if too little of the window agrees for that.
func (x *aligner) resolveNear() bool {
	n, m := min(x.q[A].len(), nearWindow), min(x.q[B].len(), nearWindow)
	openA := n < x.q[A].len() || !x.ended[A] // more follows the window
	openB := m < x.q[B].len() || !x.ended[B]
	script := x.script(n, m, openA, openB)
	run, same := 0, 0
	for i, s := range script {
		if s != stepSame {
			run = 0
			continue
		}
		same++
		if run++; run == sureRun {
			x.apply(script[:i+1-sureRun])
			return true
		}
	}
	switch {
	case !openA && !openB:
		x.apply(script)
	case 4*same >= min(n, m) && same > 0: // they agree now and then: what the end of the window says is not sure
		x.apply(script[:(len(script)+1)/2])
	default:
		return false
	}
	return true
}

func (x *aligner) apply(script []step) {
	for _, s := range script {
		switch s {
		case stepSame, stepChange:
			x.pairHeads()
		case stepOnlyA:
			x.drop(A)
		case stepOnlyB:
			x.drop(B)
		}
	}
}

// script returns the cheapest way from the first n messages of A to the first m of B, and of
// several the one in which messages agree earliest. If more follows in a stream, messages at
// the end of the other one may have their counterparts there: they are not part of the script
// then.
func (x *aligner) script(n, m int, openA, openB bool) []step {
	a, b := &x.q[A], &x.q[B]
	over := func(i, j int) bool { return i == n && (openA || j == m) || j == m && openB }
	var costs [nearWindow + 1][nearWindow + 1]uint16 // from there to the end
	from := func(i, j int) int {
		if i > n || j > m {
			return math.MaxInt16
		}
		return int(costs[i][j])
	}
	// with is the cost of going on with a pair.
	with := func(i, j int) (cost int, same bool) {
		switch {
		case i == n || j == m:
			return math.MaxInt16, false
		case x.same(a.at(i), b.at(j)):
			return from(i+1, j+1), true
		case x.byHeader:
			return math.MaxInt16, false
		}
		return from(i+1, j+1) + costChange, false
	}
	for i := n; i >= 0; i-- {
		for j := m; j >= 0; j-- {
			if !over(i, j) {
				pair, _ := with(i, j)
				costs[i][j] = uint16(min(pair, from(i+1, j)+costOnly, from(i, j+1)+costOnly))
			}
		}
	}
	more := int64(x.expected[A]-a.first) - int64(x.expected[B]-b.first)
	script := make([]step, 0, n+m)
	for i, j := 0, 0; !over(i, j); {
		pair, same := with(i, j)
		onlyA, onlyB := from(i+1, j)+costOnly, from(i, j+1)+costOnly
		switch least := min(pair, onlyA, onlyB); {
		case pair == least && same:
			script = append(script, stepSame)
			i, j = i+1, j+1
		case pair == least:
			script = append(script, stepChange)
			i, j = i+1, j+1
		case onlyA == least && (onlyB > least || more >= 0): // of two equal ways, of what there is more
			script = append(script, stepOnlyA)
			i, more = i+1, more-1
		default:
			script = append(script, stepOnlyB)
			j, more = j+1, more+1
		}
	}
	return script
}
