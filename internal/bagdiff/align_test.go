package bagdiff

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var seed = flag.Uint64("seed", 1, "of the random tests")

// outcomes takes what an aligner decides, and checks that it decides on each message once
// and in order.
type outcomes struct {
	t                      *testing.T
	a, b                   []int
	next                   [2]uint64
	equal, changed, onlyAB int
	script                 []string
}

func (o *outcomes) pair(a, b *remembered, na, nb uint64) {
	if na != o.next[A] || nb != o.next[B] {
		o.t.Fatalf("pairs %d and %d, the next are %v", na, nb, o.next)
	}
	o.next[A]++
	o.next[B]++
	if (a.sum == b.sum) != (o.a[na] == o.b[nb]) {
		o.t.Fatalf("pairs %d and %d of other messages", na, nb)
	}
	if a.sum == b.sum {
		o.equal++
		return
	}
	o.changed++
	o.script = append(o.script, fmt.Sprintf("%d->%d", o.a[na], o.b[nb]))
}

func (o *outcomes) only(s Side, _ *remembered, n uint64) {
	if n != o.next[s] {
		o.t.Fatalf("leaves %d of %s over, the next is %d", n, s, o.next[s])
	}
	o.next[s]++
	o.onlyAB++
	o.script = append(o.script, fmt.Sprintf("%s%d", [2]string{"-", "+"}[s], [2][]int{o.a, o.b}[s][n]))
}

func message(v int) (m remembered) {
	binary.LittleEndian.PutUint64(m.sum[:], uint64(v)+1)
	m.stamp = int64(v)
	return m
}

// align gives the messages of two streams to an aligner, in a random interleaving in which
// neither is more than ahead messages before the other.
func align(t *testing.T, r *rand.Rand, a, b []int, rule rule, ahead int) (*outcomes, *aligner) {
	t.Helper()
	o := &outcomes{t: t, a: a, b: b}
	x := &aligner{rule: rule, out: o, expected: [2]uint64{uint64(len(a)), uint64(len(b))}}
	streams := [2][]int{a, b}
	var at [2]int
	for at[A] < len(a) || at[B] < len(b) {
		s := Side(r.IntN(2))
		if at[s] == len(streams[s]) || at[s] > at[s.other()]+ahead && at[s.other()] < len(streams[s.other()]) {
			s = s.other()
		}
		x.add(s, message(streams[s][at[s]]))
		if at[s]++; at[s] == len(streams[s]) {
			x.end(s)
		}
	}
	x.end(A)
	x.end(B)
	if o.next[A] != uint64(len(a)) || o.next[B] != uint64(len(b)) || !x.idle() {
		t.Fatalf("decided on %v of %d and %d", o.next, len(a), len(b))
	}
	return o, x
}

func count(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func cut(list []int, from, to int) []int { return slices.Concat(list[:from], list[to:]) }

// TestAlign has the least that can have happened.
func TestAlign(t *testing.T) {
	t.Parallel()
	replaced := func(list []int, at, v int) []int {
		list = slices.Clone(list)
		list[at] = v
		return list
	}
	bits := func(n int) []int {
		all := count(n)
		for i := range all {
			all[i] = i & 1
		}
		return all
	}
	tests := map[string]struct {
		a, b []int
		want []string
	}{
		"same":             {count(500), count(500), nil},
		"both empty":       {nil, nil, nil},
		"A empty":          {nil, count(2), []string{"+0", "+1"}},
		"B empty":          {count(1), nil, []string{"-0"}},
		"changed":          {count(500), replaced(count(500), 250, -5), []string{"250->-5"}},
		"first changed":    {count(500), replaced(count(500), 0, -5), []string{"0->-5"}},
		"last changed":     {count(500), replaced(count(500), 499, -5), []string{"499->-5"}},
		"first missing":    {count(500), count(500)[1:], []string{"-0"}},
		"middle missing":   {count(500), cut(count(500), 250, 251), []string{"-250"}},
		"last missing":     {count(500), count(499), []string{"-499"}},
		"one more":         {count(500), slices.Insert(count(500), 250, -5), []string{"+-5"}},
		"one twice":        {count(500), slices.Insert(count(500), 250, 249), []string{"+249"}},
		"swapped":          {count(500), replaced(replaced(count(500), 100, 101), 101, 100), []string{"+101", "-101"}},
		"swapped at end":   {count(3), []int{0, 2, 1}, []string{"+2", "-2"}},
		"missing, changed": {count(500), replaced(cut(count(500), 250, 253), 250, -5), []string{"250->-5", "-251", "-252", "-253"}},
		"of two missing":   {bits(501), cut(bits(501), 250, 251), []string{"-0"}},
		"of two, one more": {bits(501), slices.Insert(bits(501), 250, 1), []string{"+1"}},
		"of two, changed":  {bits(501), replaced(bits(501), 250, 1), []string{"0->1"}},
		"all others":       {count(2), []int{7, 8}, []string{"0->7", "1->8"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range uint64(20) {
				r := rand.New(rand.NewPCG(*seed, round))
				o, _ := align(t, r, tc.a, tc.b, rule{}, r.IntN(600))
				if got := slices.Clone(o.script); !slices.Equal(got, tc.want) && !sameSwap(got, tc.want) {
					t.Fatalf("seed %d, round %d: %v, want %v", *seed, round, got, tc.want)
				}
			}
		})
	}
	for _, gap := range []int{63, 64, 65, 1000, 60_000} {
		n := 2*gap + 500
		r := rand.New(rand.NewPCG(*seed, uint64(gap)))
		o, _ := align(t, r, count(n), cut(count(n), 100, 100+gap), rule{}, 1)
		if o.changed != 0 || o.onlyAB != gap {
			t.Errorf("gap of %d: %d changed, %d left over", gap, o.changed, o.onlyAB)
		}
		o, _ = align(t, r, cut(count(n), 100, 100+gap), count(n), rule{}, 1)
		if o.changed != 0 || o.onlyAB != gap {
			t.Errorf("%d more: %d changed, %d left over", gap, o.changed, o.onlyAB)
		}
		two := cut(cut(count(n), n-100-gap/2, n-100), 100, 100+gap/2)
		o, _ = align(t, r, count(n), two, rule{}, 1)
		if o.changed != 0 || o.onlyAB != gap/2*2 {
			t.Errorf("two gaps of %d: %d changed, %d left over", gap/2, o.changed, o.onlyAB)
		}
		others := slices.Clone(count(n))
		for i := 100; i < 100+gap; i++ {
			others[i] = -1 - i
		}
		o, _ = align(t, r, count(n), others, rule{}, 1)
		if o.changed != gap || o.onlyAB != 0 {
			t.Errorf("%d changed: %d changed, %d left over", gap, o.changed, o.onlyAB)
		}
	}
}

// sameSwap accepts either of two messages that were swapped as the one that moved.
func sameSwap(got, want []string) bool {
	return len(got) == 2 && len(want) == 2 && want[0][1:] == want[1][1:] && got[0][1:] == got[1][1:] && got[0][0] != got[1][0]
}

// TestAlignRandom changes streams at random: a stream and itself are the same, others are
// not, and there are not many more differences than changes.
func TestAlignRandom(t *testing.T) {
	t.Parallel()
	for round := range uint64(400) {
		r := rand.New(rand.NewPCG(*seed, round))
		values := []int{1, 2, 3, 20, 1 << 30}[r.IntN(5)]
		a := make([]int, r.IntN(700))
		for i := range a {
			a[i] = r.IntN(values)
		}
		b := slices.Clone(a)
		cost := 0
		for range r.IntN(8) {
			at := r.IntN(len(b) + 1)
			switch k := r.IntN(4); {
			case k == 0:
				b = slices.Insert(b, at, r.IntN(values))
				cost++
			case k == 1 && at < len(b):
				b[at] = r.IntN(values)
				cost++
			case k == 2:
				to := min(len(b), at+r.IntN(100))
				b = slices.Delete(b, at, to)
				cost += to - at
			case k == 3 && at+1 < len(b):
				b[at], b[at+1] = b[at+1], b[at]
				cost += 2
			}
		}
		o, x := align(t, r, a, b, rule{}, r.IntN(1000))
		if x.gaveUp {
			t.Errorf("seed %d, round %d: gave up", *seed, round)
		}
		if differ := o.changed+o.onlyAB > 0; differ == slices.Equal(a, b) {
			t.Errorf("seed %d, round %d: differ: %v", *seed, round, differ)
		}
		if got := o.changed + o.onlyAB; values > 100 && got > cost+10 {
			t.Errorf("seed %d, round %d: %d differences of %d changes: %v", *seed, round, got, cost, o.script)
		}
	}
}

// TestAlignByStamp pairs messages that are within a tolerance of each other.
func TestAlignByStamp(t *testing.T) {
	t.Parallel()
	steps := func(n, by, shift int) []int {
		all := count(n)
		for i := range all {
			all[i] = i*by + shift
		}
		return all
	}
	tests := map[string]struct {
		a, b      []int
		tolerance int64
		pairs     int
	}{
		"exact":         {steps(300, 10, 0), steps(300, 10, 0), 0, 300},
		"shifted":       {steps(300, 10, 0), steps(300, 10, 3), 5, 300},
		"beyond":        {steps(300, 10, 0), steps(300, 10, 5), 4, 0},
		"a gap":         {steps(300, 10, 0), cut(steps(300, 10, 2), 100, 200), 5, 200},
		"the nearest":   {steps(300, 10, 0), steps(300, 10, 6)[1:], 7, 298},
		"starts again":  {slices.Concat(steps(100, 10, 0), steps(100, 10, 0)), cut(slices.Concat(steps(100, 10, 0), steps(100, 10, 0)), 98, 102), 2, 196},
		"no stamps":     {make([]int, 50), make([]int, 50), 0, 50},
		"a long gap":    {steps(5000, 10, 0), cut(steps(5000, 10, 2), 100, 4000), 5, 1100},
		"half the rate": {steps(300, 10, 0), steps(150, 20, 1), 5, 150},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range uint64(10) {
				r := rand.New(rand.NewPCG(*seed, round))
				o := &pairs{}
				x := &aligner{rule: rule{byHeader: true, tolerance: tc.tolerance}, out: o}
				streams := [2][]int{tc.a, tc.b}
				var at [2]int
				for at[A] < len(tc.a) || at[B] < len(tc.b) {
					s := Side(r.IntN(2))
					if at[s] == len(streams[s]) {
						s = s.other()
					}
					x.add(s, message(streams[s][at[s]]))
					at[s]++
				}
				x.end(A)
				x.end(B)
				if o.furthest > tc.tolerance || len(o.all) != tc.pairs || 2*tc.pairs+o.only2 != len(tc.a)+len(tc.b) {
					t.Fatalf("%d pairs and %d left over, at most %v apart; want %d pairs", len(o.all), o.only2, time.Duration(o.furthest), tc.pairs)
				}
			}
		})
	}
}

// pairs takes pairs by stamp.
type pairs struct {
	all      [][2]int64
	furthest int64
	only2    int
}

func (o *pairs) pair(a, b *remembered, _, _ uint64) {
	o.all = append(o.all, [2]int64{a.stamp, b.stamp})
	o.furthest = max(o.furthest, distance(a.stamp, b.stamp))
}

func (o *pairs) only(Side, *remembered, uint64) { o.only2++ }

// TestAlignBounds gives an aligner streams of which nothing agrees: it keeps no more than its
// reach, and says so.
func TestAlignBounds(t *testing.T) {
	t.Parallel()
	o := &pairs{}
	x := &aligner{out: o}
	const n = 3 * searchLimit
	for i := range n {
		x.add(A, message(i))
		x.add(B, message(-2-i))
		if waits := x.q[A].len() + x.q[B].len(); waits > 2*searchLimit+2 {
			t.Fatalf("%d messages wait", waits)
		}
	}
	if !x.gaveUp || x.gaveUpAt != 0 {
		t.Errorf("gave up: %v, at %d", x.gaveUp, x.gaveUpAt)
	}
	x.end(A)
	x.end(B)
	if len(o.all) != n || o.only2 != 0 {
		t.Errorf("%d pairs, %d left over", len(o.all), o.only2)
	}

	// One stream is far behind the other.
	o = &pairs{}
	x = &aligner{out: o}
	x.add(B, message(-5))
	for i := range n {
		x.add(A, message(i))
		if i%searchLimit == 0 {
			x.shed()
		}
	}
	for i := range n {
		x.add(B, message(i))
	}
	x.end(A)
	x.end(B)
	if 2*len(o.all)+o.only2 != 2*n+1 {
		t.Errorf("%d pairs, %d left over", len(o.all), o.only2)
	}
}
