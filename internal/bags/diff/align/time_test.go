package align

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gorosbag/gorosbag/rosbag"
)

// TestAlignByTime copies lists that repeat themselves, and takes messages out of the copies: what is left has the same
// time in both, and is paired with itself.
func TestAlignByTime(t *testing.T) {
	t.Parallel()
	for round := range uint64(300) {
		r := rand.New(rand.NewPCG(*seed, round))
		var a, b List
		at, values := uint32(0), 1+r.IntN(3)
		for range r.IntN(400) {
			at += uint32(1 + r.IntN(2))
			a.Items = append(a.Items, Item{Sum: Digest(r.IntN(values)), Time: rosbag.Time{Sec: at}})
		}
		from := r.IntN(len(a.Items) + 1)
		b.Items = slices.Clone(a.Items[from : from+r.IntN(len(a.Items)-from+1)])
		for range r.IntN(4) {
			if i := r.IntN(len(b.Items) + 1); i < len(b.Items) {
				b.Items = slices.Delete(b.Items, i, i+1)
			}
		}
		got := Compare(&a, &b, Rule{ByTime: true})
		equal := 0
		for _, run := range got.Same {
			equal += run.N
			if !slices.Equal(a.Items[run.A:run.A+run.N], b.Items[run.B:run.B+run.N]) {
				t.Fatalf("seed %d, round %d: pairs messages of other times: %+v", *seed, round, run)
			}
		}
		if equal != len(b.Items) || len(got.Different) != len(a.Items)-len(b.Items) {
			t.Fatalf("seed %d, round %d: %d of %d equal, %d different", *seed, round, equal, len(b.Items), len(got.Different))
		}
	}
}

// TestAlignAtOneTime: many messages with one time are compared by their payloads.
func TestAlignAtOneTime(t *testing.T) {
	t.Parallel()
	a, b := listOf(count(50_000)), listOf(cut(count(50_000), 100, 200))
	if got := Compare(a, b, Rule{ByTime: true}); len(got.Different) != 100 || got.ByNumber != None {
		t.Errorf("%d different, by number from %d on", len(got.Different), got.ByNumber)
	}
}
