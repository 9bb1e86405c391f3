package registrar

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
)

// TestOrderOfRegistrations: a lower priority goes first, even if it is added while others wait;
// equal priorities go in the order of their subscription, also at a new master.
func TestOrderOfRegistrations(t *testing.T) {
	t.Parallel()
	r := newTestRegistrar()
	var got []string
	register := func(n int) {
		for range n {
			e, _ := r.book.mostUrgent(time.Now())
			got = append(got, e.key.Name)
			r.answered(e)
		}
	}
	for i, name := range []string{"rest1", "live1", "named1", "rest2", "live2", "named2", "rest3"} {
		r.Add(rosapi.Key{Name: name}, "", []int{2, 1, 0}[i%3], nil)
	}
	register(5)
	r.Add(rosapi.Key{Name: "late"}, "", 1, nil)
	r.PublisherUpdate("rest3", nil) // not registered: there is no need to ask twice
	r.PublisherUpdate("live2", nil) // messages of the new publisher are being lost
	register(4)
	want := []string{"named1", "named2", "live1", "live2", "rest1", "live2", "late", "rest2", "rest3"}
	if !slices.Equal(got, want) {
		t.Errorf("registers %v, want %v", got, want)
	}
	if e, due := r.book.mostUrgent(time.Now()); e != nil || !due.IsZero() {
		t.Errorf("%v is due, or something at %v", e, due)
	}
	got = nil
	r.book.registerAll()
	register(8)
	if text := strings.Join(got, " "); text != "named1 named2 live1 live2 late rest1 rest2 rest3" {
		t.Errorf("registers %s at a new master", text)
	}
}

// TestAgendaWithoutOurName: while another node has the name of this node, only removals are due.
func TestAgendaWithoutOurName(t *testing.T) {
	t.Parallel()
	r := newTestRegistrar()
	for _, name := range []string{"a", "b", "c"} {
		r.Add(rosapi.Key{Name: name}, "", 0, nil)
	}
	for range 2 {
		e, _ := r.book.mostUrgent(time.Now())
		r.answered(e)
	}
	r.PublisherUpdate("a", []string{"x"})
	r.setNameTaken(true)
	if e, due := r.book.mostUrgent(time.Now()); e != nil || !due.IsZero() {
		t.Errorf("%v is due, or something at %v", e, due)
	}
	r.Remove(rosapi.Key{Name: "b"})
	r.Remove(rosapi.Key{Name: "c"}) // never registered
	if e, _ := r.book.mostUrgent(time.Now()); e == nil || e.key.Name != "b" || len(r.book.entries) != 2 {
		t.Errorf("%v is due, of %d", e, len(r.book.entries))
	}
	r.setNameTaken(false)
	if e, _ := r.book.mostUrgent(time.Now()); e == nil || e.key.Name != "a" {
		t.Errorf("%v is due", e)
	}
}

// TestReplacedEntry: a topic that is subscribed to again while its unregistration is under way
// is not unregistered once more afterwards.
func TestReplacedEntry(t *testing.T) {
	t.Parallel()
	r := newTestRegistrar()
	k := rosapi.Key{Name: "a"}
	r.Add(k, "", 0, nil)
	old, _ := r.book.mostUrgent(time.Now())
	r.answered(old)
	r.Remove(k)
	if e, _ := r.book.mostUrgent(time.Now()); e != old {
		t.Fatalf("%v is due", e)
	}
	r.Add(k, "", 0, nil)
	r.book.planLocked(old, time.Now()) // as process does
	e, _ := r.book.mostUrgent(time.Now())
	if e == old || e == nil {
		t.Fatal("the old registration is due")
	}
	r.answered(e)
	if e, _ := r.book.mostUrgent(time.Now()); e != nil {
		t.Errorf("%v is due", e)
	}
}

// TestUpdatesAreRationed: a burst of updates of a topic is confirmed without delay, and after that one
// each interval, however many come. After a silence there is a burst again.
func TestUpdatesAreRationed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTestRegistrar()
		r.Add(rosapi.Key{Name: "a"}, "", 0, nil)
		e, _ := r.book.mostUrgent(time.Now())
		r.answered(e)
		confirmed := func() (n int) { // of updates that come without end
			for {
				r.PublisherUpdate("a", []string{"x"})
				if e, _ := r.book.mostUrgent(time.Now()); e == nil {
					return n
				}
				r.book.begin(e)
				r.answered(e)
				if n++; n > 1000 {
					t.Fatal("all updates are confirmed")
				}
			}
		}
		for _, c := range []struct {
			silence time.Duration
			want    int
		}{
			{0, updateBurst},
			{0, 0},
			{r.Timing.UpdateEvery - 1, 0},
			{1, 1},
			{r.Timing.UpdateEvery, 1},
			{3 * r.Timing.UpdateEvery, 3},
			{time.Hour, updateBurst},
		} {
			time.Sleep(c.silence)
			if got := confirmed(); got != c.want {
				t.Errorf("%v later %d updates are confirmed, want %d", c.silence, got, c.want)
			}
			if _, due := r.book.mostUrgent(time.Now()); !due.After(time.Now()) {
				t.Errorf("the next update is due at %v", due)
			}
		}
	})
}

// TestRegistrationIsLinear: the cost of a registration grows with the logarithm of the number of
// registrations. A search through all entries for the next one took 53 s with 20,000 entries.
func TestRegistrationIsLinear(t *testing.T) {
	t.Parallel()
	synctest.Test(t, registrationIsLinear) // no time passes: a refused registration is not due again before the end
}

func registrationIsLinear(t *testing.T) {
	t.Helper()
	const n = 20_000
	r := newTestRegistrar()
	key := func(i int) rosapi.Key { return rosapi.Key{Name: fmt.Sprint("/t", i)} }
	each := func(what string, times int, do func(i int)) {
		before := r.book.agenda.compared
		for i := range times {
			do(i)
		}
		if per, most := (r.book.agenda.compared-before)/uint64(times), uint64(4*bits.Len(n)); per > most {
			t.Errorf("%s: %d comparisons each, want at most %d", what, per, most)
		}
	}
	due := func(int) *entry {
		e, _ := r.book.mostUrgent(time.Now())
		if e == nil {
			t.Fatal("nothing is due")
		}
		return e
	}
	each("subscribe", n, func(i int) { r.Add(key(i), "", i%3, nil) })
	each("register", n, func(i int) { r.answered(due(i)) })
	each("update", n, func(i int) { r.PublisherUpdate(key(i).Name, []string{"x"}) })
	each("confirm", n, func(i int) { r.answered(due(i)) })
	each("nothing to do", n, func(int) {
		if e, _ := r.book.mostUrgent(time.Now()); e != nil {
			t.Fatalf("%v is due", e)
		}
	})
	r.book.registerAll()
	each("be refused", n, func(i int) {
		if err := r.recordResult(t.Context(), due(i), &rosapi.CallError{Err: rosapi.ErrStatus, Answered: true}); err != nil {
			t.Fatal(err)
		}
	})
	each("remove", n, func(i int) { r.Remove(key(i)) })
}

// stuckLink is a subscription whose publisher is never reached.
type stuckLink struct{}

func (stuckLink) SetPublishers(rosapi.Publishers) {}
func (stuckLink) AllUp() bool                     { return false }

// TestUnreachedPublishersAreAskedForInTurn: crashed nodes that stay listed with many topics
// cost the master a few calls in each round.
func TestUnreachedPublishersAreAskedForInTurn(t *testing.T) {
	t.Parallel()
	const n = 500
	r := newTestRegistrar()
	nodes := map[rosapi.Key][]string{}
	for i := range n {
		name := fmt.Sprint("/t", i)
		r.Add(rosapi.Key{Name: name}, "", 0, stuckLink{})
		nodes[rosapi.Key{Name: name}] = []string{"/us"}
		nodes[rosapi.Key{Kind: rosapi.Publisher, Name: name}] = []string{"/crashed"}
	}
	asked := map[string]int{}
	round := func() (calls int) {
		r.book.compare(nodes, "/us")
		for {
			e, _ := r.book.mostUrgent(time.Now())
			if e == nil {
				return calls
			}
			r.answered(e)
			asked[e.key.Name]++
			calls++
		}
	}
	round() // registers
	if n := round(); n != 500 {
		t.Errorf("asks for %d topics with publishers not seen before", n)
	}
	clear(asked)
	for range n / refreshMost {
		if n := round(); n != refreshMost {
			t.Fatalf("asks for %d topics in a round, want %d", n, refreshMost)
		}
	}
	if len(asked) != n {
		t.Errorf("has asked for %d topics, want each in its turn", len(asked))
	}
	nodes[rosapi.Key{Kind: rosapi.Publisher, Name: "/t7"}] = []string{"/another"}
	if n := round(); n != refreshMost+1 {
		t.Errorf("asks for %d topics, want those and the one with another publisher", n)
	}
}
