package align

import "math"

// longestCommon finds the longest common subsequence of two lists by the algorithm of Myers ("An O(ND)
// Difference Algorithm and Its Variations", section 4b): paths from both ends meet in the middle of a
// shortest path, and the parts before and after the meeting point are searched in the same way. Memory is
// in proportion to the number of differences. It returns false if a path from one end needs more than
// limit steps, or the search more than steps comparisons.
func longestCommon(a, b []Digest, limit int, steps int64) ([]Run, bool) {
	limit = min(limit, len(a)+len(b))
	s := search{
		a: a, b: b, limit: limit, steps: steps, forward: make([]int, 2*limit+5),
		backward: make([]int, 2*limit+5),
	}
	ok := s.between(0, len(a), 0, len(b))
	return s.runs, ok
}

// search is one call of longestCommon.
type search struct {
	a, b  []Digest
	limit int   // of the length of the path from each end
	steps int64 // comparisons that are left
	runs  []Run

	// The furthest x that paths have reached on each diagonal (x - y). The index is relative to the diagonal
	// of the corner that the paths start from.
	forward, backward []int
}

// between appends the runs of a[a0:a1] and b[b0:b1]. It returns false if the limits are reached.
func (s *search) between(a0, a1, b0, b1 int) bool {
	n := 0
	for a0+n < a1 && b0+n < b1 && s.a[a0+n] == s.b[b0+n] {
		n++
	}
	s.runs = append(s.runs, Run{a0, b0, n})
	a0, b0 = a0+n, b0+n
	n = 0
	for a0 < a1-n && b0 < b1-n && s.a[a1-n-1] == s.b[b1-n-1] {
		n++
	}
	a1, b1 = a1-n, b1-n
	if a0 < a1 && b0 < b1 {
		x, y, ok := s.middle(a0, a1, b0, b1)
		if !ok || !s.between(a0, x, b0, y) || !s.between(x, a1, y, b1) {
			return false
		}
	}
	s.runs = append(s.runs, Run{a1, b1, n})
	return true
}

// middle returns a point on a shortest path from (a0, b0) to (a1, b1). Each step of a path leaves out one
// message; equal messages cost no step.
func (s *search) middle(a0, a1, b0, b1 int) (x, y int, ok bool) {
	const beyond = math.MaxInt
	least, most := a0-b1, a1-b0 // the first and the last diagonal
	from, to := a0-b0, a1-b1    // the diagonals of the corners
	center := s.limit + 2
	fwd, bwd := func(d int) *int { return &s.forward[d-from+center] },
		func(d int) *int { return &s.backward[d-to+center] }
	fmin, fmax, bmin, bmax := from, from, to, to
	odd := (from-to)&1 != 0
	*fwd(from), *bwd(to) = a0, a1
	for range s.limit {
		if fmin > least {
			fmin--
			*fwd(fmin - 1) = -1
		} else {
			fmin++
		}
		if fmax < most {
			fmax++
			*fwd(fmax + 1) = -1
		} else {
			fmax--
		}
		for d := fmax; d >= fmin; d -= 2 {
			x := max(*fwd(d - 1)+1, *fwd(d + 1))
			y, was := x-d, x
			for x < a1 && y < b1 && s.a[x] == s.b[y] {
				x, y = x+1, y+1
			}
			*fwd(d) = x
			s.steps -= int64(x - was + 1)
			if odd && bmin <= d && d <= bmax && *bwd(d) <= x {
				return x, y, true
			}
		}
		if bmin > least {
			bmin--
			*bwd(bmin - 1) = beyond
		} else {
			bmin++
		}
		if bmax < most {
			bmax++
			*bwd(bmax + 1) = beyond
		} else {
			bmax--
		}
		for d := bmax; d >= bmin; d -= 2 {
			x := min(*bwd(d - 1), *bwd(d + 1)-1)
			y, was := x-d, x
			for a0 < x && b0 < y && s.a[x-1] == s.b[y-1] {
				x, y = x-1, y-1
			}
			*bwd(d) = x
			s.steps -= int64(was - x + 1)
			if !odd && fmin <= d && d <= fmax && x <= *fwd(d) {
				return x, y, true
			}
		}
		if s.steps < 0 {
			break
		}
	}
	return 0, 0, false
}
