package align

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

var seed = flag.Uint64("seed", 1, "of the random tests")

// outcome is what has come out for two lists, in the order of A.
type outcome struct {
	equal, changed, onlyAB int
	script                 []string
	byNumber               bool
}

func listOf(values []int) *List {
	q := &List{}
	for _, v := range values {
		q.Items = append(q.Items, Item{Sum: Digest(v) << 1})
		q.Stamps = append(q.Stamps, int64(v))
	}
	return q
}

// compareLists aligns two lists, and checks that each message is decided on once.
func compareLists(t *testing.T, a, b []int, p Rule) (o outcome) {
	t.Helper()
	x, y := listOf(a), listOf(b)
	got := p.align(x.Items, y.Items)
	o.byNumber = got.ByNumber != None
	var seen [2][]int
	for _, r := range got.Same {
		for k := range r.N {
			if seen[0], seen[1] = append(seen[0], r.A+k), append(seen[1], r.B+k); a[r.A+k] != b[r.B+k] {
				t.Fatalf("pairs %d and %d of other messages", r.A+k, r.B+k)
			}
		}
		o.equal += r.N
	}
	if !slices.IsSorted(seen[0]) || !slices.IsSorted(seen[1]) {
		t.Fatalf("not in order: %v", got.Same)
	}
	for _, d := range p.between(got.Same, x, y) {
		switch {
		case d.B == None:
			o.onlyAB++
			o.script = append(o.script, fmt.Sprintf("-%d", a[d.A]))
		case d.A == None:
			o.onlyAB++
			o.script = append(o.script, fmt.Sprintf("+%d", b[d.B]))
		default:
			o.changed++
			o.script = append(o.script, fmt.Sprintf("%d->%d", a[d.A], b[d.B]))
		}
		if d.A != None {
			seen[0] = append(seen[0], int(d.A))
		}
		if d.B != None {
			seen[1] = append(seen[1], int(d.B))
		}
	}
	for s, n := range [2]int{len(a), len(b)} {
		if slices.Sort(seen[s]); !slices.Equal(seen[s], count(n)) {
			t.Fatalf("decided on %v of %s, not on each of %d", seen[s], [2]string{"A", "B"}[s], n)
		}
	}
	return o
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
			o := compareLists(t, tc.a, tc.b, Rule{})
			if got := o.script; !slices.Equal(got, tc.want) && !sameSwap(got, tc.want) {
				t.Fatalf("%v, want %v", got, tc.want)
			}
		})
	}
	for _, gap := range []int{63, 64, 65, 1000, 60_000} {
		n := 2*gap + 500
		o := compareLists(t, count(n), cut(count(n), 100, 100+gap), Rule{})
		if o.changed != 0 || o.onlyAB != gap {
			t.Errorf("gap of %d: %d changed, %d left over", gap, o.changed, o.onlyAB)
		}
		o = compareLists(t, cut(count(n), 100, 100+gap), count(n), Rule{})
		if o.changed != 0 || o.onlyAB != gap {
			t.Errorf("%d more: %d changed, %d left over", gap, o.changed, o.onlyAB)
		}
		two := cut(cut(count(n), n-100-gap/2, n-100), 100, 100+gap/2)
		o = compareLists(t, count(n), two, Rule{})
		if o.changed != 0 || o.onlyAB != gap/2*2 {
			t.Errorf("two gaps of %d: %d changed, %d left over", gap/2, o.changed, o.onlyAB)
		}
		others := slices.Clone(count(n))
		for i := 100; i < 100+gap; i++ {
			others[i] = -1 - i
		}
		o = compareLists(t, count(n), others, Rule{})
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
		o := compareLists(t, a, b, Rule{})
		if o.byNumber {
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
		"not sorted":    {[]int{50, 10, 90}, []int{91, 51, 11}, 1, 3},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, y := listOf(tc.a), listOf(tc.b)
			got := Rule{}.align(x.Items, y.Items)
			pairs, only := 0, 0
			for _, r := range got.Same {
				pairs += r.N
			}
			p := Rule{ByStamp: true, Tolerance: tc.tolerance}
			for _, d := range p.between(got.Same, x, y) {
				if d.A == None || d.B == None {
					only++
					continue
				}
				if pairs++; max(x.Stamps[d.A]-y.Stamps[d.B], y.Stamps[d.B]-x.Stamps[d.A]) > tc.tolerance {
					t.Fatalf("pairs %d and %d", tc.a[d.A], tc.b[d.B])
				}
			}
			if pairs != tc.pairs || 2*pairs+only != len(tc.a)+len(tc.b) {
				t.Fatalf("%d pairs and %d left over, want %d pairs", pairs, only, tc.pairs)
			}
		})
	}
}

// TestAlignBounds has lists that differ too much to find the least: they are compared by
// number, and what agrees there is not different.
func TestAlignBounds(t *testing.T) {
	t.Parallel()
	const n = 3 * maxEdits
	a, b := count(n), count(n)
	r := rand.New(rand.NewPCG(*seed, 0))
	r.Shuffle(n-1000, func(i, j int) { b[500+i], b[500+j] = b[500+j], b[500+i] })
	b[700] = a[700]
	start := time.Now()
	o := compareLists(t, a, b, Rule{})
	if !o.byNumber || o.onlyAB != 0 || o.equal < 1001 || o.equal > 1100 {
		t.Errorf("%d equal, %d changed, %d left over, by number: %v", o.equal, o.changed, o.onlyAB, o.byNumber)
	}
	t.Logf("in %v", time.Since(start))

	// Lists of which nothing agrees, and nothing but gaps, need no search.
	if o = compareLists(t, count(n), slices.Repeat([]int{-5}, n), Rule{}); o.byNumber || o.changed != n {
		t.Errorf("%d changed, by number: %v", o.changed, o.byNumber)
	}
	every := slices.DeleteFunc(count(n), func(v int) bool { return v%2 == 0 })
	if o = compareLists(t, count(n), every, Rule{}); o.byNumber || o.onlyAB != n/2 || o.changed != 0 {
		t.Errorf("%d changed, %d left over, by number: %v", o.changed, o.onlyAB, o.byNumber)
	}
}

// TestLongestCommon compares with the longest common subsequence that a table gives.
func TestLongestCommon(t *testing.T) {
	t.Parallel()
	for round := range uint64(2000) {
		r := rand.New(rand.NewPCG(*seed, round))
		lists := [2][]Digest{make([]Digest, 2+r.IntN(30)), make([]Digest, 2+r.IntN(30))}
		values := 1 + r.IntN(6)
		for s, l := range lists {
			for i := range l {
				l[i] = Digest(r.IntN(values))
			}
			l[0], l[len(l)-1] = Digest(100+s), Digest(200+s)
		}
		a, b := lists[0], lists[1]
		best := make([][]int, len(a)+1)
		for i := range best {
			best[i] = make([]int, len(b)+1)
		}
		for i := range a {
			for j := range b {
				if best[i+1][j+1] = max(best[i][j+1], best[i+1][j]); a[i] == b[j] {
					best[i+1][j+1] = best[i][j] + 1
				}
			}
		}
		want := best[len(a)][len(b)]
		runs, ok := longestCommon(a, b, 50, maxSteps)
		if !ok {
			t.Fatalf("seed %d, round %d: gives up", *seed, round)
		}
		got := 0
		for _, r := range runs {
			got += r.N
		}
		if got != want {
			t.Fatalf("seed %d, round %d: %d of %v and %v agree, want %d", *seed, round, got, a, b, want)
		}
		// Half of the difference is enough for the paths from both ends, not less.
		edits := len(a) + len(b) - 2*want
		if _, ok := longestCommon(a, b, edits/4, maxSteps); edits > 7 && ok {
			t.Fatalf("seed %d, round %d: %d edits within a limit of %d", *seed, round, edits, edits/4)
		}
	}
}

// TestMoves says what has moved of lists whose messages are in pairs by number.
func TestMoves(t *testing.T) {
	t.Parallel()
	large := func(values []int) *List {
		q := listOf(values)
		for i := range q.Items {
			q.Items[i].Sum |= 1
		}
		return q
	}
	far := count(3 * moveReach)
	farSwapped := slices.Clone(far)
	farSwapped[10], farSwapped[2*moveReach] = farSwapped[2*moveReach], farSwapped[10]
	farMoved := slices.Insert(cut(far, 10, 11), 2*moveReach, 10)
	tests := map[string]struct {
		a, b    []int
		of      func([]int) *List
		byStamp bool
		want    int
	}{
		"nothing":                   {count(9), count(9), large, false, 0},
		"changed":                   {[]int{1, 2, 3}, []int{1, 9, 3}, large, false, 0},
		"swapped":                   {[]int{1, 2, 3, 4}, []int{1, 3, 2, 4}, large, false, 1},
		"swapped apart":             {[]int{1, 2, 3, 3, 3, 4, 5}, []int{1, 4, 3, 3, 3, 2, 5}, large, false, 2},
		"swapped apart, small":      {[]int{1, 2, 3, 3, 3, 4, 5}, []int{1, 4, 3, 3, 3, 2, 5}, listOf, false, 0},
		"swapped apart, by stamp":   {[]int{1, 2, 3, 4, 5}, []int{1, 4, 3, 2, 5}, large, true, 2},
		"swapped too far apart":     {far, farSwapped, large, false, 0},
		"moved far":                 {far, farMoved, large, false, 1},
		"moved far, small":          {far, farMoved, listOf, false, 1},
		"one of two has moved":      {[]int{1, 7, 3, 4, 5}, []int{1, 8, 3, 7, 4, 5}, large, false, 1},
		"one replaced, two of them": {[]int{1, 7, 3, 4, 5, 6}, []int{1, 8, 3, 7, 4, 7, 6}, large, false, 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := tc.of(tc.a), tc.of(tc.b)
			got := 0
			for _, d := range Compare(a, b, Rule{ByStamp: tc.byStamp}).Different {
				if !d.Moved {
					continue
				}
				if got++; tc.a[d.A] != tc.b[d.B] {
					t.Errorf("%d has moved to %d", d.A, d.B)
				}
			}
			if got != tc.want {
				t.Errorf("%d moved, want %d", got, tc.want)
			}
		})
	}
}

// FuzzCompare compares any two lists: each message is decided on once, what is the same is, and
// what has moved is the same elsewhere.
func FuzzCompare(f *testing.F) {
	f.Add([]byte("abcdef"), []byte("abdcef"), false, int64(0))
	f.Add([]byte("aAbBcC"), []byte("cCbBaA"), true, int64(1))
	f.Add([]byte("aabbaabbccaabb"), []byte("abababcacbabaa"), false, int64(-1))
	f.Fuzz(func(t *testing.T, a, b []byte, byStamp bool, tolerance int64) {
		var lists [2]List
		for s, values := range [][]byte{a, b} {
			for i, v := range values {
				lists[s].Items = append(lists[s].Items, Item{Sum: Digest(v), Time: rosbag.Time{Sec: uint32(i) * uint32(1+s) / 2}})
				lists[s].Stamps = append(lists[s].Stamps, int64(v)+int64(i)/8)
			}
		}
		r := Compare(&lists[0], &lists[1], Rule{ByTime: tolerance < 0 && !byStamp, ByStamp: byStamp, Tolerance: max(tolerance, 0)})
		seen := [2][]int{make([]int, len(a)), make([]int, len(b))}
		for _, same := range r.Same {
			for k := range same.N {
				if a[same.A+k] != b[same.B+k] {
					t.Fatalf("%+v is not the same", same)
				}
				seen[0][same.A+k]++
				seen[1][same.B+k]++
			}
		}
		for _, d := range r.Different {
			switch both := d.A != None && d.B != None; {
			case d.Moved && (!both || a[d.A] != b[d.B]), both && !d.Moved && !byStamp && a[d.A] == b[d.B]:
				t.Fatalf("%+v", d)
			case both && !d.Moved && byStamp && max(lists[0].Stamps[d.A]-lists[1].Stamps[d.B], lists[1].Stamps[d.B]-lists[0].Stamps[d.A]) > max(tolerance, 0):
				t.Fatalf("%+v is too far apart", d)
			}
			if d.A != None {
				seen[0][d.A]++
			}
			if d.B != None {
				seen[1][d.B]++
			}
		}
		for s := range seen {
			if i := slices.IndexFunc(seen[s], func(n int) bool { return n != 1 }); i >= 0 {
				t.Fatalf("message %d of %d is decided on %d times", i, s, seen[s][i])
			}
		}
	})
}

// TestMemory: comparing long lists takes a bounded multiple of their memory, garbage included: of garbage that comes faster
// than the collector works, a process once took half as much again as usual.
func TestMemory(t *testing.T) { // not parallel: it measures the heap
	const messages, most = 1 << 17, 80 // bytes for each message of a list of 16 bytes each
	var values [2][]int
	for i := range messages {
		if values[0] = append(values[0], i); i%100 != 0 {
			values[1] = append(values[1], i)
		}
	}
	a, b := listOf(values[0]), listOf(values[1])
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := Compare(a, b, Rule{})
	runtime.ReadMemStats(&after)
	if len(r.Different) != messages/100+1 {
		t.Errorf("%d differences", len(r.Different))
	}
	each := (after.TotalAlloc - before.TotalAlloc) / messages
	t.Logf("%d bytes for each message", each)
	if each > most {
		t.Errorf("%d bytes for each message, want %d at most", each, most)
	}
}
