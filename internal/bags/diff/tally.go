package diff

import (
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/internal/bags/diff/align"
	"github.com/gorosbag/gorosbag/internal/bags/diff/report"
	"github.com/gorosbag/gorosbag/rosbag"
)

// tally compares the messages of a stream and holds the result.
type tally struct {
	rule  align.Rule
	lists [2]align.List   // messages that are not compared yet
	first [2]uint64       // the numbers of the first messages in lists, from 0
	last  [2]align.Digest // of the messages before those
	apart bool            // the first messages in lists differ

	// repeated has the numbers of messages, from 0, that a cut of a recording repeats at its start with
	// the time of the cut: that they have another time is no difference.
	repeated [2][]uint64

	counts   report.Counts // of them OtherTimes are pairs whose times differ by more than limit
	limit    time.Duration
	byNumber uint64 // the number, from 1, of the first message that was compared by number; 0 if none was
	times    spread

	room    int // the most details to keep, and the most of timed
	details []detail
	timed   []detail // pairs of equal or changed messages with another time
}

func newTally(o Options, byHeader, byTime bool) *tally {
	t := &tally{
		rule: align.Rule{ByTime: byTime, ByStamp: byHeader, Tolerance: int64(o.Tolerance)},
		room: o.Details,
	}
	if o.Times != nil {
		t.limit = *o.Times
	}
	return t
}

// add adds the next message of a bag. While the bags agree, the message is kept only until the other bag
// comes to its counterpart.
func (t *tally) add(s Side, m align.Item, stamp int64) {
	q, o := &t.lists[s], &t.lists[s.other()]
	if !t.apart && len(o.Items) > 0 {
		if x := [2]align.Item{m, m}; o.Items[0].Sum == m.Sum &&
			(!t.rule.ByTime || o.Items[0].Time == m.Time) {
			x[s.other()] = o.Items[0]
			t.timesOf(t.first, x)
			t.counts.Equal++
			t.first, t.last = [2]uint64{t.first[A] + 1, t.first[B] + 1}, [2]align.Digest{m.Sum, m.Sum}
			o.Pop()
			return
		}
		t.apart = true
	}
	q.Items = append(q.Items, m)
	if t.rule.ByStamp {
		q.Stamps = append(q.Stamps, stamp)
	}
}

// repeats notes that the next message of a bag is one that the bag repeats.
func (t *tally) repeats(s Side) {
	t.repeated[s] = append(t.repeated[s], t.first[s]+uint64(t.kept(s)))
}

// kept returns how many messages of a bag are in the lists.
func (t *tally) kept(s Side) int { return len(t.lists[s].Items) }

// timesOf compares the times of two messages that are paired.
func (t *tally) timesOf(numbers [2]uint64, items [2]align.Item) {
	if slices.Contains(t.repeated[A], numbers[A]) || slices.Contains(t.repeated[B], numbers[B]) {
		return
	}
	by := items[B].Time.Sub(items[A].Time)
	t.times.add(by, numbers[A], items[A].Time)
	if by.Abs() <= t.limit {
		return
	}
	if t.counts.OtherTimes++; len(t.timed) < t.room {
		t.timed = append(t.timed, detail{Difference: report.Difference{
			Kind: report.KindTime, A: place(numbers[A], items[A]), B: place(numbers[B], items[B]),
		}})
	}
}

func place(number uint64, m align.Item) *report.Place {
	return &report.Place{Number: number + 1, Time: report.Stamp(m.Time)}
}

// settle compares all messages in the lists.
func (t *tally) settle() { t.settleFirst([2]int{t.kept(A), t.kept(B)}) }

// sureRun is how many equal messages in a row a run needs so that lists that are too long are cut after it.
const sureRun = 64

// settleSome compares and removes at least half of the messages in the lists: those up to the end of the
// last run of at least sureRun messages. If there is no such run, it takes of each list as many messages
// as the shorter list has, or half of the list if that is more.
func (t *tally) settleSome() {
	lens := [2]int{t.kept(A), t.kept(B)}
	if to, ok := t.halfTime(); ok {
		t.settleFirst(to)
		return
	}
	n := min(lens[A], lens[B])
	to := [2]int{max(n, (lens[A]+1)/2), max(n, (lens[B]+1)/2)}
	for _, same := range align.Compare(&t.lists[A], &t.lists[B], t.rule).Same {
		if end := [2]int{same.A + same.N, same.B + same.N}; same.N >= sureRun &&
			2*(end[A]+end[B]) >= lens[A]+lens[B] {
			to = end
		}
	}
	t.settleFirst(to)
}

// halfTime returns, if messages are paired by time, how many of each list are before the message in the
// middle of the longer list. ok is false if none are.
func (t *tally) halfTime() (n [2]int, ok bool) {
	longer := t.lists[A].Items
	if t.kept(B) > t.kept(A) {
		longer = t.lists[B].Items
	}
	if !t.rule.ByTime || len(longer) == 0 {
		return n, false
	}
	at := longer[len(longer)/2].Time
	for s := range n {
		n[s], _ = slices.BinarySearchFunc(t.lists[s].Items, at,
			func(m align.Item, at rosbag.Time) int { return m.Time.Compare(at) })
	}
	return n, n[A]+n[B] > 0
}

// settleFirst compares the first n messages of each list, and removes them.
func (t *tally) settleFirst(n [2]int) {
	lists := [2]align.List{t.lists[A].Cut(n[A]), t.lists[B].Cut(n[B])}
	r := align.Compare(&lists[A], &lists[B], t.rule)
	if r.ByNumber != align.None && t.byNumber == 0 {
		t.byNumber = t.first[A] + uint64(r.ByNumber) + 1
	}
	paired := func(i, j int) {
		t.timesOf([2]uint64{t.first[A] + uint64(i), t.first[B] + uint64(j)},
			[2]align.Item{lists[A].Items[i], lists[B].Items[j]})
	}
	for _, same := range r.Same {
		t.counts.Equal += uint64(same.N)
		for k := range same.N {
			paired(same.A+k, same.B+k)
		}
	}
	for _, d := range r.Different {
		kind := report.KindChanged
		switch {
		case d.B == align.None:
			t.counts.OnlyA++
			kind = report.KindOnlyA
		case d.A == align.None:
			t.counts.OnlyB++
			kind = report.KindOnlyB
		case d.Moved:
			t.counts.Moved++
			kind = report.KindMoved
		default:
			t.counts.Changed++
			paired(int(d.A), int(d.B))
		}
		t.show(kind, lists, d)
	}
	for s := range lists {
		if t.first[s] += uint64(n[s]); n[s] > 0 {
			t.last[s] = lists[s].Items[n[s]-1].Sum
		}
	}
	t.apart = t.kept(A) > 0 && t.kept(B) > 0
}

// show keeps a detail if there is room.
func (t *tally) show(kind report.Kind, lists [2]align.List, different align.Difference) {
	if len(t.details) >= t.room {
		return
	}
	d := detail{Difference: report.Difference{Kind: kind}}
	at := [2]int32{different.A, different.B}
	for s, p := range [2]**report.Place{&d.A, &d.B} {
		if at[s] == align.None {
			continue
		}
		m, before := lists[s].Items[at[s]], t.last[s]
		if at[s] > 0 {
			before = lists[s].Items[at[s]-1].Sum
		}
		*p, d.sums[s] = place(t.first[s]+uint64(at[s]), m), m.Sum
		d.Repeats = at[1-s] == align.None && (*p).Number > 1 && before == m.Sum
	}
	t.details = append(t.details, d)
}
